// The fleet's transports in the link's hands, with a hold on whatever is open, so that it can be cut and stalled.

import type { DownFrame } from '../../server/wire/frames.ts'
import { type TransportName, transportNames } from '../../server/wire/modes.ts'
import type { Opening, WebTransport } from '../../web/transports/transport.ts'
import { fleetTransports } from '../fleet/clients.ts'
import type { FleetTransport } from '../fleet/transport.ts'

/** When a connection is to be cut that is only just being made. */
export type Moment = 'asked' | 'welcomed'

export interface Connections {
  readonly transports: Readonly<Record<TransportName, WebTransport>>
  /** Breaks what is open; says how many connections that were. */
  readonly cut: () => number
  /** Breaks the next one that is opened, at that moment of its beginning. */
  readonly cutNext: (moment: Moment) => void
  readonly pause: () => void
  /** Reads on, where the paused connection is still there. */
  readonly resume: () => void
}

export interface Watch {
  /** Every frame of every connection, before the link has it. */
  readonly onFrame: (frame: DownFrame) => void
  /** A connection was broken while it was being made. */
  readonly onCut: () => void
}

/** Time that a question takes to arrive and an answer to begin, roughly, ms. */
const askedMs = 3

export function createConnections(ca: string, watch: Watch): Connections {
  const open = new Set<FleetTransport>()
  const paused = new Set<FleetTransport>()
  let next: Moment | null = null

  function openOne(transport: TransportName, opening: Opening) {
    const moment = next
    next = null
    const fleet: FleetTransport = fleetTransports[transport]({
      ...opening,
      ca,
      onFrame(frame, receivedAt) {
        watch.onFrame(frame)
        opening.onFrame(frame, receivedAt)
        if (moment === 'welcomed' && frame.type === 'welcome') cutYoung(fleet)
      },
      onClose(closing) {
        forget(fleet)
        opening.onClose(closing)
      },
    })
    open.add(fleet)
    if (moment === 'asked') setTimeout(() => cutYoung(fleet), askedMs)
    return {
      send: fleet.send,
      beat: fleet.beat,
      askClock: fleet.askClock,
      close() {
        forget(fleet)
        fleet.close()
      },
    }
  }

  function cutYoung(fleet: FleetTransport): void {
    if (!open.has(fleet)) return
    watch.onCut()
    fleet.cut()
  }

  function forget(fleet: FleetTransport): void {
    open.delete(fleet)
    paused.delete(fleet)
  }

  const named = transportNames.map((name): [TransportName, WebTransport] => [
    name,
    { name, open: (opening) => openOne(name, opening) },
  ])
  return {
    transports: Object.fromEntries(named) as Record<TransportName, WebTransport>,
    cut() {
      const all = [...open]
      for (const fleet of all) fleet.cut()
      return all.length
    },
    cutNext(moment) {
      next = moment
    },
    pause() {
      for (const fleet of open) {
        paused.add(fleet)
        fleet.pause()
      }
    },
    resume() {
      for (const fleet of paused) fleet.resume()
      paused.clear()
    },
  }
}
