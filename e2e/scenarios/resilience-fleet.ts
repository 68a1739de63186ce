// Windows without a browser: the real link over connections that can be cut and stalled.

import type { Link, LinkState } from '../../client/engine.ts'
import { type DownFrame, parseCursor } from '../../server/wire/messages.ts'
import type { HttpVersion, Mode } from '../../server/wire/modes.ts'
import { createSeededRandom, type Random } from '../../server/wire/time.ts'
import { type NodeTransport, openTransport } from '../clients/client.ts'
import { requireModes } from '../lab/mode-names.ts'
import { type LinkOpening, openNodeLink } from '../lab/node-link.ts'
import { createWindowRecord, type Outage, type WindowRecord } from './resilience-summary.ts'

const writersPerMode = 2

interface FleetOpening {
  /** Whether windows may fall back to another mode. */
  readonly mayFall: boolean
  readonly origin: Readonly<Record<HttpVersion, string>>
  readonly ca: string
  readonly elapsed: () => number
}

/** Each window must receive exactly what its mode's windows wrote. */
export function channelOf(mode: string): string {
  return `resilience-${mode.replace('/', '-')}`
}

export function requireWindowForEach({
  modes,
  windows,
}: {
  readonly modes: readonly string[]
  readonly windows: number
}): void {
  requireModes(modes)
  if (windows < modes.length)
    throw new Error(`--windows is ${windows}: ${modes.length} modes need at least one each.`)
}

/** Opens this many windows, distributed over the modes in rotation. */
export function openFleet(modes: readonly Mode[], windows: number, seed: number, opening: FleetOpening) {
  const fleet: FleetWindow[] = []
  for (let place = 0; fleet.length < windows; place += 1)
    for (const mode of modes.slice(0, windows - fleet.length))
      fleet.push(new FleetWindow(mode, place, createSeededRandom(seed + fleet.length), opening))
  return fleet
}

/** Writers publish whether open or not, until the returned function is called. */
export function startWriting(windows: readonly FleetWindow[], perSecond: number): () => void {
  const writers = windows.filter(({ record }) => record.isWriter)
  const everyMs = 1000 / perSecond
  const running = new Set<NodeJS.Timeout>()
  for (const [place, window] of writers.entries()) {
    const write = () => window.publish(`<p>${window.record.name} ${window.record.published.length + 1}</p>`)
    // Staggers the writers over one interval.
    const begin = () => void running.add(setInterval(write, everyMs))
    running.add(setTimeout(begin, (everyMs * place) / writers.length))
  }
  return () => {
    for (const timer of running) clearTimeout(timer)
  }
}

type Pause = (ms: number) => Promise<void>

const lookMs = 100
const openWithinMs = 60_000

/** Resolves to the ms it took, or to null on a timeout. */
export async function timeUntil(holds: () => boolean, withinMs: number, pause: Pause) {
  const startedAt = performance.now()
  while (!holds()) {
    if (performance.now() - startedAt > withinMs) return null
    await pause(lookMs)
  }
  return performance.now() - startedAt
}

/** Rejects with their names if some do not open. */
export async function untilOpen(windows: readonly FleetWindow[], pause: Pause): Promise<void> {
  const closed = () => windows.filter(({ isOpen }) => !isOpen).map(({ record }) => record.name)
  if ((await timeUntil(() => closed().length === 0, openWithinMs, pause)) === null)
    throw new Error(`Windows did not open: ${closed().join(', ')}.`)
}

/**
 * Nothing waits to be sent, and each window has the newest message of every writer in its mode, or
 * a snapshot after it.
 */
export function isSettled(windows: readonly FleetWindow[]): boolean {
  if (!windows.every(({ isOpen, unstored }) => isOpen && unstored === 0)) return false
  const byMode = Map.groupBy(windows, ({ mode }) => mode)
  return byMode.values().every((own) => {
    const newest = own.flatMap(({ record }) => [...record.accepted].slice(-1))
    return own.every(({ record: { seen, snapshots } }) =>
      newest.every(
        ([wanted, seq]) => seen.findLast(({ id }) => id === wanted) || (snapshots.at(-1)?.head ?? 0) >= seq,
      ),
    )
  })
}

type Moment = 'requested' | 'welcomed'

/** Approximate time for a request to arrive and its response to begin. */
const requestMs = 3

/** The server's defaults. */
const polling = { intervalMs: 150, holdMs: 300 }

/** Never evicts: every published message is expected. */
const bounds = { messages: 1_000_000, bytes: 1024 ** 3 }

export class FleetWindow {
  readonly record: WindowRecord
  readonly mode: Mode
  /** Messages that the server has not stored yet. */
  unstored = 0
  readonly #link: Link
  readonly #elapsed: () => number
  readonly #connections = new Set<NodeTransport>()
  #cutNext: Moment | null = null
  /** By `performance.now()`; null while closed. */
  #openSince: number | null = null
  #stall: Outage | null = null
  #wasWelcomed = false

  /** `place`: index among the windows of its mode, from 0. */
  constructor(mode: Mode, place: number, random: Random, { mayFall, origin, ca, elapsed }: FleetOpening) {
    const name = `${mode.name.replace('/', '-')}-${place + 1}`.replaceAll('.', '_')
    const record = createWindowRecord(name, mode.name, place < writersPerMode)
    const channels = [channelOf(mode.name)]
    this.record = record
    this.mode = mode
    this.#elapsed = elapsed
    this.#link = openNodeLink({
      ...{ name, channels, mode, mayFall, polling, bounds, random },
      originFor: (http) => origin[http],
      connect: (opening) => this.#connect({ ...opening, ca }),
      onState: (state) => this.#noteState(state),
      onMessage: ({ id, seq }) => void record.seen.push({ id, seq }),
      onOutbox: ({ unstored }) => {
        this.unstored = unstored
      },
      onStored: ({ id }, seq) => void record.accepted.set(id, seq),
      onRefused: ({ id }, sentence) => void record.refused.push(`${id}: ${sentence}`),
      onSuperseded: ({ id }) => void record.refused.push(`${id}: dropped for a newer one`),
      onRenamed: (id) => void record.refused.push(`${id}: its id was taken`),
    })
  }

  get isOpen(): boolean {
    return this.#openSince !== null
  }

  get openForMs(): number {
    return this.#openSince === null ? 0 : performance.now() - this.#openSince
  }

  get isStalled(): boolean {
    return this.#stall !== null
  }

  publish(html: string): void {
    const draft = this.#link.publish(channelOf(this.mode.name), 'edit', { html })
    if (draft) this.record.published.push(draft.id)
    else this.record.refused.push('The outbox was full.')
  }

  /** Cuts now and, with a moment, again during the resume. False without a connection. */
  cut(again?: Moment): boolean {
    if (again) this.#cutNext = again
    const open = [...this.#connections]
    if (open.length > 0) this.#noteCut()
    for (const connection of open) connection.cut()
    return open.length > 0
  }

  /** Returns the function that resumes reading. */
  stall(): () => void {
    const stall: Outage = { fromMs: this.#elapsed(), toMs: null }
    this.#stall = stall
    this.record.stalls += 1
    this.record.disturbances.push(stall)
    const paused = [...this.#connections]
    for (const connection of paused) connection.pause()
    return () => {
      this.#stall = null
      stall.toMs = this.#elapsed()
      for (const connection of paused) if (this.#connections.has(connection)) connection.resume()
    }
  }

  close(): void {
    this.#link.close()
  }

  #connect(opening: LinkOpening & { readonly ca: string }) {
    const moment = this.#cutNext
    this.#cutNext = null
    const connection: NodeTransport = openTransport({
      ...opening,
      onFrame: (frame, receivedAt) => {
        this.#noteFrame(frame)
        opening.onFrame(frame, receivedAt)
        if (moment === 'welcomed' && frame.type === 'welcome') this.#cutIfConnected(connection)
      },
      onClose: (closing) => {
        this.#connections.delete(connection)
        opening.onClose(closing)
      },
    })
    this.#connections.add(connection)
    if (moment === 'requested') setTimeout(() => this.#cutIfConnected(connection), requestMs)
    return {
      ...connection,
      close: () => {
        this.#connections.delete(connection)
        connection.close()
      },
    }
  }

  #cutIfConnected(connection: NodeTransport): void {
    if (!this.#connections.has(connection)) return
    this.#noteCut()
    connection.cut()
  }

  #noteCut(): void {
    this.record.cuts += 1
    const atMs = this.#elapsed()
    this.record.disturbances.push({ fromMs: atMs, toMs: atMs })
  }

  /** Runs before the link sees the frame. */
  #noteFrame(frame: DownFrame): void {
    if (frame.type === 'message') this.record.frames += 1
    if (frame.type !== 'welcome') return
    if (frame.recovered) this.record.recovered += 1
    else if (this.#wasWelcomed) {
      const head = parseCursor(frame.cursor)?.seq ?? 0
      this.record.snapshots.push({ place: this.record.seen.length, head })
    }
    this.#wasWelcomed = true
  }

  #noteState({ state, mode, reason, repairs }: LinkState): void {
    const { record } = this
    record.repairs = repairs
    if (reason !== null) record.reasons.set(reason, (record.reasons.get(reason) ?? 0) + 1)
    if (state === 'open' && mode !== this.mode.name) record.modeChanges += 1
    if ((state === 'open') === this.isOpen) return
    this.#openSince = state === 'open' ? performance.now() : null
    const last = record.outages.at(-1)
    if (!this.isOpen) record.outages.push({ fromMs: this.#elapsed(), toMs: null })
    else if (last) last.toMs = this.#elapsed()
  }
}
