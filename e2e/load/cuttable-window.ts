// A window without a browser: the real link, over connections that can be cut and stalled.

import type { ConnectionState } from '../../client/connect.ts'
import {
  type DownFrame,
  type HttpVersion,
  type Message,
  type Mode,
  parseCursor,
  type Random,
} from '../../client/wire.ts'
import { type NodeTransport, openTransport } from '../clients/client.ts'
import { documentContent } from '../clients/document-content.ts'
import { type LinkOpening, type NodeLink, openNodeLink } from '../lab/node-link.ts'

export type Seen = Pick<Message, 'id' | 'seq'>

/** A resume with `recovered: false`. */
interface SnapshotMark {
  /** Deliveries before it. */
  readonly place: number
  /** The log's newest number then: later numbers are live messages. */
  readonly head: number
}

/** When a window was closed or disturbed; ms since the run began. */
export interface Outage {
  readonly fromMs: number
  toMs: number | null
}

export type WindowRecord = ReturnType<typeof createWindowRecord>

/** `mode`: at opening. */
export function createWindowRecord(name: string, mode: string, isWriter: boolean) {
  return {
    name,
    mode,
    isWriter,
    published: [] as string[],
    /** Sequence numbers by acknowledged id. */
    accepted: new Map<string, number>(),
    /** Refused messages, with the reason. */
    refused: [] as string[],
    seen: [] as Seen[],
    /** After its first opening. */
    outages: [] as Outage[],
    /** Cuts and stalls of its own connection. */
    disturbances: [] as Outage[],
    /** Received message frames, including those that the link dropped as known. */
    frames: 0,
    /** Resumes that delivered all missed messages. */
    recovered: 0,
    /** Resumes with a snapshot instead, which loses any missed messages. */
    snapshots: [] as SnapshotMark[],
    repairs: 0,
    modeChanges: 0,
    cuts: 0,
    stalls: 0,
    /** Counts by the sentence that ended a connection. */
    reasons: new Map<string, number>(),
  }
}

export interface WindowOpening {
  readonly name: string
  readonly mode: Mode
  /** Channel that it writes to and reads. */
  readonly channel: string
  readonly isWriter: boolean
  readonly random: Random
  /** Whether it may fall back to another mode. */
  readonly mayFall: boolean
  readonly origin: Readonly<Record<HttpVersion, string>>
  readonly ca: string
  /** Ms since the run began. */
  readonly elapsed: () => number
}

type Moment = 'requested' | 'welcomed'

/** Approximate time for a request to arrive and its response to begin. */
const requestMs = 3

/** The server's defaults. */
const polling = { intervalMs: 150, holdMs: 300 }

/** Never evicts: every published message is expected. */
const bounds = { messages: 1_000_000, bytes: 1024 ** 3 }

export class CuttableWindow {
  readonly record: WindowRecord
  readonly mode: Mode
  /** Messages that the server has not stored yet. */
  unstored = 0
  readonly #channel: string
  readonly #yjsClient: number
  readonly #link: NodeLink
  readonly #elapsed: () => number
  readonly #connections = new Set<NodeTransport>()
  #cutNext: Moment | null = null
  /** By `performance.now()`; null while closed. */
  #openSince: number | null = null
  #stall: Outage | null = null
  #wasWelcomed = false

  constructor({ name, mode, channel, isWriter, random, mayFall, origin, ca, elapsed }: WindowOpening) {
    const record = createWindowRecord(name, mode.name, isWriter)
    this.record = record
    this.mode = mode
    this.#channel = channel
    this.#yjsClient = Math.floor(random() * 2 ** 32)
    this.#elapsed = elapsed
    this.#link = openNodeLink({
      name,
      channels: [channel],
      mode,
      mayFall,
      ca,
      polling,
      bounds,
      originFor: (http) => origin[http],
      connect: (opening) => this.#connect({ ...opening, ca }),
      onState: (state) => this.#noteState(state),
      onMessage: ({ id, seq }) => void record.seen.push({ id, seq }),
      outbox: {
        onOutbox: ({ unstored }) => {
          this.unstored = unstored
        },
        onStored: ({ id }, seq) => void record.accepted.set(id, seq),
        onRefused: ({ id }, sentence) => void record.refused.push(`${id}: ${sentence}`),
      },
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

  /** Sends a text as a title or, if it is longer, as an update. */
  publish(text: string): void {
    const { kind, body } = documentContent(text, this.#yjsClient)
    const draft = this.#link.publish(this.#channel, kind, body)
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

  #noteState({ status, mode, reason, repairs = 0 }: ConnectionState): void {
    const { record } = this
    record.repairs = repairs
    if (reason !== null) record.reasons.set(reason, (record.reasons.get(reason) ?? 0) + 1)
    if (status === 'open' && mode !== this.mode.name) record.modeChanges += 1
    if ((status === 'open') === this.isOpen) return
    this.#openSince = status === 'open' ? performance.now() : null
    const last = record.outages.at(-1)
    if (!this.isOpen) record.outages.push({ fromMs: this.#elapsed(), toMs: null })
    else if (last) last.toMs = this.#elapsed()
  }
}
