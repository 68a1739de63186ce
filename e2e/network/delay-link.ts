// TCP relay with the delays, jitter and rate of a network profile.

import { once } from 'node:events'
import { type AddressInfo, createServer, Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import type { Random, Timers } from '../../client/wire.ts'
import { processTimers } from '../../scripts/process.ts'
import { createPaths, type Path, type Profile } from './profiles.ts'
import { reset } from './reset.ts'
import { sumTls, TlsConnection } from './tls-records.ts'

interface LinkSettings {
  readonly targetPort: number
  /** Default: 127.0.0.1. */
  readonly targetHost?: string
  /** Where it listens; default: a free port of 127.0.0.1. */
  readonly listen?: { readonly host: string; readonly port: number }
  readonly profile: Profile
  /** Equal seeds give equal queues and stalls, counted from the link's start. */
  readonly random: Random
  readonly timers?: Timers
}

const local = '127.0.0.1'

type Way = 'up' | 'down'

export type LinkFigures = ReturnType<Link['figures']>

/** Mean lateness of all these links since their start; 0 without traffic. */
export function meanLateness(links: readonly Pick<LinkFigures, Way>[]): number {
  const ways = links.flatMap(({ up, down }) => [up, down]).filter(({ n }) => n > 0)
  const entries = ways.reduce((sum, { n }) => sum + n, 0)
  return entries === 0 ? 0 : ways.reduce((sum, { n, meanMs }) => sum + n * meanMs, 0) / entries
}

/** Mean lateness over both directions between two readings of a link; 0 without traffic. */
export function lateBetween(before: Pick<LinkFigures, Way>, after: Pick<LinkFigures, Way>): number {
  const left = after.up.n + after.down.n - before.up.n - before.down.n
  const totalMs = ({ up, down }: Pick<LinkFigures, Way>) =>
    [up, down].reduce((sum, { n, meanMs }) => (n === 0 ? sum : sum + n * meanMs), 0)
  return left === 0 ? 0 : (totalMs(after) - totalMs(before)) / left
}

/** TCP payload per Ethernet segment with timestamps; under a rate limit each leaves separately. */
const segmentBytes = 1448
/** Half of how late `wholeTimers` may be. */
const maxGraceMs = 0.5
/** Receive window: reading pauses above this, per direction and connection. Allows 1.7 MB/s at 150 ms. */
const maxBufferedBytes = 256 * 1024

export async function startLink(settings: LinkSettings): Promise<Link> {
  const link = new Link(settings)
  await link.listen()
  return link
}

/**
 * Exact: each byte's delay, in order within a direction and shared by all connections; connections are accepted after
 * 1.5 round trips; ends and resets travel like bytes; the rate covers TCP payload. A client's `connect` returns at
 * once (the link's kernel accepts); its first bytes wait a round trip. Not modelled: slow start, congestion windows
 * (beyond 256 KiB), acknowledgements, and loss, which is a stall of the whole path. Refusals arrive one round trip
 * late.
 */
export class Link {
  readonly #target: { readonly host: string; readonly port: number }
  readonly #listen: { readonly host: string; readonly port: number }
  readonly #queues: Readonly<Record<Way, DelayQueue>>
  readonly #bytes: Record<Way, number> = { up: 0, down: 0 }
  readonly #maxBytesAtOnce: number
  readonly #connections = new Set<readonly [near: Socket, far: Socket]>()
  readonly #tls: TlsConnection[] = []
  readonly #server = createServer({ noDelay: true, pauseOnConnect: true, allowHalfOpen: true }, (near) =>
    this.#relay(near),
  )
  #opened = 0

  constructor({ targetPort, targetHost = local, listen, profile, random, timers }: LinkSettings) {
    this.#target = { host: targetHost, port: targetPort }
    this.#listen = listen ?? { host: local, port: 0 }
    this.#maxBytesAtOnce = profile.kilobitsPerSecond === null ? Number.POSITIVE_INFINITY : segmentBytes
    const paths = createPaths(profile, random)
    const floorMs = Math.min(profile.up.floorMs, profile.down.floorMs)
    const common = {
      kilobitsPerSecond: profile.kilobitsPerSecond,
      timers: timers ?? (floorMs < 1 ? spinningTimers : wholeTimers),
      graceMs: Math.min(maxGraceMs, floorMs / 10),
    }
    this.#queues = {
      up: new DelayQueue({ ...common, path: paths.up }),
      down: new DelayQueue({ ...common, path: paths.down }),
    }
  }

  /** A property, since callers pass it on as a cleanup. */
  readonly close = async (): Promise<void> => {
    this.#queues.up.stop()
    this.#queues.down.stop()
    this.#server.close()
    for (const connection of this.#connections) for (const socket of connection) reset(socket)
    await once(this.#server, 'close')
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#listen)
    await once(this.#server, 'listening')
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  figures() {
    return {
      connections: this.#connections.size,
      opened: this.#opened,
      upBytes: this.#bytes.up,
      downBytes: this.#bytes.down,
      /** The link's own error. */
      up: this.#queues.up.lateness(),
      down: this.#queues.down.lateness(),
    }
  }

  /** Application data of all connections so far. Throws if one is not of TLS 1.3. */
  tlsFigures() {
    return { opened: this.#opened, up: sumTls(this.#tls, 'up'), down: sumTls(this.#tls, 'down') }
  }

  #relay(near: Socket): void {
    const far = new Socket({ allowHalfOpen: true }).setNoDelay(true)
    const connection = [near, far] as const
    this.#opened += 1
    this.#connections.add(connection)
    const tls = new TlsConnection()
    this.#tls.push(tls)
    this.#carry(near, far, 'up', tls)
    this.#carry(far, near, 'down', tls)
    this.#shakeHands(near, far)
    for (const socket of connection) {
      socket.once('close', () => {
        if (near.closed && far.closed) this.#connections.delete(connection)
      })
    }
  }

  /** SYN, SYN-ACK, ACK. The kernel has accepted already: `near` is read only after the SYN-ACK's delay. */
  #shakeHands(near: Socket, far: Socket): void {
    const { up, down } = this.#queues
    up.enter(0, () =>
      down.enter(0, () => {
        up.enter(0, () => !far.destroyed && far.connect(this.#target))
        near.resume()
      }),
    )
  }

  #carry(from: Socket, to: Socket, way: Way, tls: TlsConnection): void {
    const queue = this.#queues[way]
    let bufferedBytes = 0

    from.on('data', (chunk: Buffer) => {
      this.#bytes[way] += chunk.length
      tls[way].take(chunk)
      bufferedBytes += chunk.length
      if (bufferedBytes > maxBufferedBytes) from.pause()
      for (let at = 0; at < chunk.length; at += this.#maxBytesAtOnce) {
        const segment = chunk.subarray(at, at + this.#maxBytesAtOnce)
        queue.enter(segment.length, () => to.write(segment, () => onWritten(segment.length)))
      }
    })

    function onWritten(bytes: number): void {
      bufferedBytes -= bytes
      if (bufferedBytes <= maxBufferedBytes && from.isPaused()) from.resume()
    }

    from.on('end', () => queue.enter(0, () => to.end()))
    from.on('error', () => undefined)
    from.once('close', (hadError) => {
      if (hadError || !from.readableEnded) queue.enter(0, () => to.destroyed || reset(to))
    })
  }
}

interface DelayQueueSettings {
  readonly path: Path
  /** Shared by all entries; null: no limit. */
  readonly kilobitsPerSecond: number | null
  readonly timers: Timers
  /**
   * How early an entry may leave, ms: half a timer's resolution, so that the mean lateness is 0.
   */
  readonly graceMs: number
}

interface Entry {
  readonly dueMs: number
  readonly leave: () => void
}

/** Histograms hold positive integers: lateness is stored in µs above this minimum. */
const earliestMs = -1

/** One direction of a link: entries leave in order, each when due. */
export class DelayQueue {
  readonly #settings: DelayQueueSettings
  readonly #startedAt: number
  readonly #entries: Entry[] = []
  readonly #lateness = createHistogram()
  /** Entries before this index have left. */
  #first = 0
  #freeAtMs = 0
  #isFlushing = false
  #isStopped = false
  #cancel: (() => void) | null = null

  constructor(settings: DelayQueueSettings) {
    this.#settings = settings
    this.#startedAt = settings.timers.now()
  }

  /** Runs `leave` when the last of `bytes` bytes reaches the far end. */
  enter(bytes: number, leave: () => void): void {
    if (this.#isStopped) return
    const { path, kilobitsPerSecond } = this.#settings
    // 1 bit/ms = 1 kbit/s.
    const sendingMs = kilobitsPerSecond === null ? 0 : (bytes * 8) / kilobitsPerSecond
    this.#freeAtMs = Math.max(this.#nowMs(), this.#freeAtMs) + sendingMs
    this.#entries.push({ dueMs: path(this.#freeAtMs), leave })
    if (!this.#isFlushing && !this.#cancel) this.#flush()
  }

  /** How long an entry would wait for those before it to be sent. */
  get backlogMs(): number {
    return Math.max(0, this.#freeAtMs - this.#nowMs())
  }

  /** Departure minus due time, ms; negative if early. NaN before the first departure. */
  lateness() {
    const { count: n, mean, max } = this.#lateness
    const toMs = (micros: number) => (n === 0 ? Number.NaN : micros / 1000 + earliestMs)
    const p99 = this.#lateness.percentile(99)
    return { n, meanMs: toMs(mean), p99Ms: toMs(p99), maxMs: toMs(max) }
  }

  stop(): void {
    this.#isStopped = true
    this.#entries.length = 0
    this.#first = 0
    this.#cancel?.()
    this.#cancel = null
  }

  #flush(): void {
    const { timers, graceMs } = this.#settings
    this.#cancel = null
    this.#isFlushing = true
    for (let next = this.#due(); next; next = this.#due()) {
      this.#first += 1
      this.#record(this.#nowMs() - next.dueMs)
      next.leave()
    }
    this.#isFlushing = false
    this.#entries.splice(0, this.#first)
    this.#first = 0
    const [head] = this.#entries
    if (head) this.#cancel = timers.later(() => this.#flush(), head.dueMs - this.#nowMs() - graceMs)
  }

  #due(): Entry | undefined {
    const head = this.#entries[this.#first]
    return head && head.dueMs <= this.#nowMs() + this.#settings.graceMs ? head : undefined
  }

  #record(lateMs: number): void {
    this.#lateness.record(Math.max(1, Math.round((lateMs - earliestMs) * 1000)))
  }

  #nowMs(): number {
    return this.#settings.timers.now() - this.#startedAt
  }
}

/** Node truncates a delay to whole ms and fires about this much later. */
const usualLatenessMs = 0.2

/** Node's timers, whole ms: up to 1 ms late, no CPU while waiting. */
export const wholeTimers: Timers = {
  now: processTimers.now,
  later: (run, delayMs) => processTimers.later(run, Math.max(1, Math.ceil(delayMs - usualLatenessMs))),
}

/** Delays below 1 ms spin the event loop and occupy one CPU. */
export const spinningTimers: Timers = {
  now: processTimers.now,
  later(run, delayMs) {
    if (delayMs >= 1) return wholeTimers.later(run, delayMs)
    const turn = setImmediate(run)
    return () => clearImmediate(turn)
  },
}
