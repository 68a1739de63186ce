// Drafts that the server has not stored: numbered, bounded, and sent in order.

import type { Bodies, Draft, Kind, Stored } from '../server/wire/messages.ts'
import type { Timers } from '../server/wire/time.ts'
import { QueuedDraft, SendQueue } from './send-queue.ts'
import { type OpenTransport, RefusedError } from './transports/transport.ts'

export interface OutboxState {
  /** Number of edits, including those merged into one draft. */
  readonly unstored: number
  /** Of these, how many the browser keeps beyond this window's life: written, not just being written. */
  readonly kept: number
  /** Edits dropped for newer ones since the outbox was last empty. */
  readonly superseded: number
  /** Over the bounds: the newest edits are kept in this window only. */
  readonly isFull: boolean
  /** False if the browser cannot keep unstored drafts beyond this window's life. */
  readonly isSaved: boolean
}

export interface OutboxOptions {
  readonly window: string
  /** `bytes`: of the JSON in UTF-8. */
  readonly bounds: { readonly messages: number; readonly bytes: number }
  readonly timers: Timers
}

/** Each draft ends in exactly one of stored, refused, superseded and renamed. */
export interface OutboxListener {
  onOutbox(outbox: OutboxState): void
  onStored(draft: Draft, seq: number): void
  /** `code` is listed in PROTOCOL.md. */
  onRefused(draft: Draft, sentence: string, code: string): void
  /** A newer draft contains this one. */
  onSuperseded?(draft: Draft): void
  /** Resent under a new id: the log holds another message under the old one. */
  onRenamed?(id: string, draft: Draft): void
}

const utf8 = new TextEncoder()
/** As JSON; 0 of what is none, such as undefined. */
export const bytesOf = (value: unknown) => utf8.encode(JSON.stringify(value)).length

export class OutboxDraft extends QueuedDraft {
  bytes: number

  constructor(draft: Draft) {
    super(draft)
    this.bytes = bytesOf(draft)
  }
}

/** In memory; each message is sent as it was given. */
export class Outbox<Queued extends OutboxDraft = OutboxDraft> {
  protected readonly options: OutboxOptions
  protected readonly listener: OutboxListener
  protected readonly queue: SendQueue<Queued>
  protected isClosed = false
  #numbers = 0

  constructor(options: OutboxOptions, listener: OutboxListener) {
    this.options = options
    this.listener = listener
    this.queue = new SendQueue(options.timers, (queued, answer) => {
      if (this.isClosed) return
      this.answered(queued, answer)
      this.changed()
    })
  }

  get state(): OutboxState {
    return { unstored: this.unstored().length, kept: 0, superseded: 0, isFull: false, isSaved: true }
  }

  /**
   * Numbers, stamps and queues a message; `cursor` is the window's log position. Null if it exceeds
   * the bounds.
   */
  publish<K extends Kind>(channel: string, kind: K, body: Bodies[K], cursor: string | null): Draft<K> | null {
    const { window, timers } = this.options
    const draft: Draft<K> = { id: this.nextId(), channel, kind, from: window, at: timers.now(), body }
    if (!this.add(this.queued(draft, cursor))) return null
    this.queue.sendMore()
    this.changed()
    return draft
  }

  /** Starts sending. `onBroken`: a send failed and may or may not have arrived. */
  connect(send: OpenTransport['send'], mostUnderWay: number, onBroken: () => void): void {
    this.queue.connect(send, mostUnderWay, onBroken)
  }

  disconnect(): void {
    this.queue.disconnect()
  }

  /** Sends everything now: a page that is ending gets no further turn. */
  flush(): void {
    this.queue.sendMore()
  }

  /** Ids of what was sent over this connection, and has no answer yet. */
  sent(): ReadonlySet<string> {
    const sent = this.unstored().filter(({ state }) => state === 'under way')
    return new Set(sent.map(({ draft: { id } }) => id))
  }

  /** Everything, for a page that is ending: from now on the server may have stored it. */
  leave(): readonly Draft[] {
    this.flush()
    const unstored = this.unstored()
    for (const queued of unstored) queued.leave()
    return unstored.map(({ draft }) => draft)
  }

  /**
   * Ends what is not stored: the server does not let this window in, or not these messages. An outbox
   * that keeps them sends them later all the same.
   */
  refuse(error: RefusedError, isMeant: (draft: Draft) => boolean = () => true): void {
    for (const queued of this.unstored()) {
      if (!isMeant(queued.draft)) continue
      queued.state = 'refused'
      this.answered(queued, error)
    }
    this.queue.sendMore()
    this.changed()
  }

  close(): void {
    this.isClosed = true
    this.queue.disconnect()
  }

  protected queued(draft: Draft, _cursor: string | null): Queued {
    return new OutboxDraft(draft) as Queued
  }

  /** False if it exceeds the bounds. */
  protected add(added: Queued): boolean {
    const { messages, bytes } = this.options.bounds
    const all = [...this.unstored(), added]
    if (all.length > messages || all.reduce((sum, one) => sum + one.bytes, 0) > bytes) return false
    this.append(added)
    return true
  }

  protected unstored(): Queued[] {
    return [...this.queue.drafts.values()]
  }

  protected append(queued: Queued): void {
    this.queue.drafts.set(queued.draft.id, queued)
  }

  protected remove({ draft }: Queued): void {
    this.queue.drafts.delete(draft.id)
  }

  protected answered(queued: Queued, answer: Stored | RefusedError): void {
    const { draft } = queued
    this.remove(queued)
    if (answer instanceof RefusedError) this.listener.onRefused(draft, answer.message, answer.code)
    else this.listener.onStored(draft, answer.seq)
  }

  protected changed(): void {
    this.listener.onOutbox(this.state)
  }

  protected nextId(): string {
    this.#numbers += 1
    return `${this.options.window}-${this.#numbers}`
  }
}
