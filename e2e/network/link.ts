// The delay link: a stretch of network between clients and the server as long, as slow and as uneven as a profile says.

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Random } from '../../server/wire/random.ts'
import type { Timers } from '../../server/wire/time.ts'
import { spinningTimers, wholeTimers } from './fine-timers.ts'
import { createLane } from './lane.ts'
import { createLatenessRecord, type Lateness } from './lateness.ts'
import { createPaths, type Path } from './path.ts'
import type { Profile } from './profiles.ts'
import { startRelay } from './relay.ts'

export interface LinkSettings {
  readonly targetPort: number
  readonly profile: Profile
  /** The same seed gives the same queues and stalls, counted from the start of the link. */
  readonly random: Random
  /** Where the server is, 127.0.0.1 unless it is said; the link itself listens on 127.0.0.1. */
  readonly host?: string
  readonly timers?: Timers
}

export interface LinkFigures {
  readonly connections: number
  /** Since the start. */
  readonly opened: number
  readonly upBytes: number
  readonly downBytes: number
  /** How far the link itself was from what it meant to do: when something left, minus when it was due. */
  readonly up: Lateness
  readonly down: Lateness
}

export interface Link {
  readonly port: number
  readonly figures: () => LinkFigures
  /** Breaks off every connection. */
  readonly close: () => Promise<void>
}

/** What a segment of TCP carries over Ethernet with time stamps; with a rate, each leaves by itself. */
const segmentBytes = 1448
/** Half of what `wholeTimers` may be late. */
const mostGraceMs = 0.5

/**
 * Exact: each byte's delay, in order within a direction, shared by all connections as a path is; one round trip until the
 * server hears of a connection, half of one more until it accepts it; ends and resets under way like bytes; the rate,
 * of what TCP carries, without its headers. A client's own `connect` returns at once, since the link's kernel accepts, and
 * waits for its round trip with its first bytes. Not modelled: slow start and congestion windows (beyond a fixed window of
 * 256 KiB), acknowledgements, and loss, which is a stall of the whole path. A refused connection is told a round trip later
 * than by a real host.
 */
export async function startLink(settings: LinkSettings): Promise<Link> {
  const { targetPort, profile, random, host = '127.0.0.1' } = settings
  const late = { up: createLatenessRecord(), down: createLatenessRecord() }
  const bytes = { up: 0, down: 0 }
  const paths = createPaths(profile, random)
  const up = laneOf(settings, paths.up, late.up.add)
  const down = laneOf(settings, paths.down, late.down.add)
  const breaks = new Set<() => void>()
  let opened = 0

  const server = createServer({ noDelay: true, pauseOnConnect: true, allowHalfOpen: true }, (near) => {
    opened += 1
    const breakOff = startRelay({
      near,
      target: { port: targetPort, host },
      up,
      down,
      segmentBytes: profile.kilobitsPerSecond === null ? Number.POSITIVE_INFINITY : segmentBytes,
      onBytes: (way, count) => {
        bytes[way] += count
      },
      onClosed: () => breaks.delete(breakOff),
    })
    breaks.add(breakOff)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    figures: () => ({
      connections: breaks.size,
      opened,
      upBytes: bytes.up,
      downBytes: bytes.down,
      up: late.up.figures(),
      down: late.down.figures(),
    }),
    async close() {
      up.stop()
      down.stop()
      server.close()
      for (const breakOff of breaks) breakOff()
      await once(server, 'close')
    },
  }
}

function laneOf({ profile, timers }: LinkSettings, path: Path, onLeft: (lateMs: number) => void) {
  const floorMs = Math.min(profile.up.floorMs, profile.down.floorMs)
  return createLane({
    path,
    kilobitsPerSecond: profile.kilobitsPerSecond,
    timers: timers ?? (floorMs < 1 ? spinningTimers : wholeTimers),
    graceMs: Math.min(mostGraceMs, floorMs / 10),
    onLeft,
  })
}
