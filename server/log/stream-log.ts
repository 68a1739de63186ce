// A server's log on a stream that it shares with other servers: it appends to it and follows it.

import { setTimeout as pause } from 'node:timers/promises'
import type { Cursor, Draft, Message } from '../../protocol/messages.ts'
import { idTaken } from '../../protocol/refusal.ts'
import { HistoryLog } from './history-log.ts'
import { draftText } from './kept-json.ts'
import {
  isRepeat,
  keyOf,
  type LogParts,
  logUnavailable,
  lossHandlerFor,
  type OnFailure,
  type Outage,
  StorageUnfit,
} from './log.ts'
import type { View } from './view.ts'

/** A message as it is in the stream: JSON with these fields. */
export type StoredDraft = Draft & { readonly acceptedAt: number }

/** A draft in progress, until it is in the view. */
export interface Entry extends PromiseWithResolvers<number> {
  readonly draft: Draft
  readonly key: string
  readonly acceptedAt: number
  /** A `StoredDraft`. */
  readonly payload: string
  readonly enteredAt: number
}

/** Deadline for the stream to store a draft, including a reconnect; then the sender tries again. */
export const publishWithinMs = 5000
/** Deadline for the stream to deliver the next part of its stored messages. */
export const deliverWithinMs = 5000
export const undelivered = 'the stream does not deliver messages that it accepted'

/** See `LogFigures`. */
export const figuresWithinMs = 300
/** Deadline for receiving what another server has received already. */
const hearWithinMs = 2000
const hearAgainMs = 5

/** Retry interval while the stream is away. */
export const retryMs = 100
const sayEachMs = 10_000

export type Waiting = Pick<LogParts, 'now' | 'print' | 'signal'>

/**
 * Retries until it succeeds, and prints every ten seconds what it waits for. Rejects with a
 * `StorageUnfit` at once.
 */
export async function whenReady<Result>(
  what: string,
  { now, print, signal }: Waiting,
  run: () => Promise<Result>,
): Promise<Result> {
  let sayAt = now()
  for (;;) {
    try {
      return await run()
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof StorageUnfit) throw error
      if (now() >= sayAt) {
        print?.(`Waiting for ${what}: ${asError(error).message}.`)
        sayAt = now() + sayEachMs
      }
      await pause(retryMs)
    }
  }
}

/** An error in a callback could end the connection: a note that cannot be used, such as one of another version, is reported. */
export function noteReader(onNote: (note: unknown) => void, onFailure: OnFailure) {
  return (note: string): void => {
    try {
      onNote(JSON.parse(note))
    } catch (cause) {
      onFailure(new Error('A note of another server cannot be used: is it of this version?', { cause }))
    }
  }
}

export const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)))

/**
 * Each message has the stream's number: cursors are valid on every server. All servers must have the
 * same limits.
 */
export abstract class StreamLog extends HistoryLog<Entry> {
  readonly #parts: LogParts
  readonly #view: View
  protected readonly onLoss: (sentence: string) => void
  readonly #lost = Promise.withResolvers<string>()
  #isLost = false
  /** Reason for which this server is cut off from the stream; null if it is not. */
  protected away: string | null = null
  /** Why the stream refused the newest draft, since when it has refused drafts, and when it last did. */
  protected refused: { readonly reason: string; readonly since: number; readonly at: number } | null = null
  #heardAt: number

  constructor(parts: LogParts, epoch: string, view: View) {
    const { limits, typeOf, roomMaking, now, onFailure } = parts
    const onLoss = lossHandlerFor(parts)
    const { history } = view
    super({ epoch, history, typeOf, maxChannels: limits.maxChannels, roomMaking, onFailure, onLoss })
    this.#parts = parts
    this.#view = view
    this.onLoss = onLoss
    this.#heardAt = now()
  }

  readonly outage = (): Outage | null => {
    if (this.away !== null) return { reason: this.away, since: this.#heardAt, isCutOff: true }
    return this.refused && { reason: this.refused.reason, since: this.refused.since, isCutOff: false }
  }

  /**
   * Resolves to the reason when the stream was replaced or lost messages, so that this log must no
   * longer be used.
   */
  get lost(): Promise<string> {
    return this.#lost.promise
  }

  protected get isLost(): boolean {
    return this.#isLost
  }

  protected now(): number {
    return this.#parts.now()
  }

  /** The newest number of the stream. */
  protected abstract newest(): Promise<number>

  /** Stores the pending draft in the stream; if that fails, refuses it, and the sender's later ones. */
  protected abstract send(entry: Entry): void

  protected hear(): void {
    if (this.#isLost) return
    this.#heardAt = this.now()
    this.away = null
  }

  /** Refuses everything pending: the senders repeat it, to the next stream. */
  protected lose(reason: string): void {
    this.#isLost = true
    this.away = reason
    this.refuse(this.pending.values(), reason)
    this.#lost.resolve(reason)
  }

  protected notTaken(reason: string): void {
    this.refused = { reason, since: this.refused?.since ?? this.now(), at: this.now() }
  }

  protected refuse(entries: Iterable<Entry>, cause: unknown): void {
    for (const entry of [...entries]) {
      if (this.pending.get(entry.key) !== entry) continue
      this.pending.delete(entry.key)
      entry.reject(logUnavailable(cause))
    }
  }

  /** Refuses what was not delivered in time. Returns whether there was any. */
  protected refuseOverdue(): boolean {
    const overdue = this.now() - publishWithinMs - deliverWithinMs
    const late = [...this.pending.values().filter(({ enteredAt }) => enteredAt < overdue)]
    if (late.length === 0) return false
    const reason = this.away ?? undelivered
    this.refuse(late, reason)
    this.notTaken(reason)
    return true
  }

  /** Takes the stream's next message into the view. */
  protected receive(message: Message): void {
    this.hear()
    this.refused = null
    if (this.#view.take(message)) this.tell(message)
    this.#settle(message)
  }

  /**
   * The messages up to this number were erased before this server received them: windows that
   * receive a later one would not notice that they miss them.
   */
  protected loseUnreceived(upTo: number): void {
    this.lose(
      `the messages from ${this.history.head + 1} to ${upTo} were erased before this server received them`,
    )
  }

  /** The message is in the view, or it repeats one that is there: answers the pending draft. */
  #settle(message: Message): void {
    const entry = this.pending.get(keyOf(message))
    if (!entry) return
    this.pending.delete(entry.key)
    const { seq } = this.history.find(message) ?? message
    if (isRepeat(message, entry.draft)) entry.resolve(seq)
    else entry.reject(idTaken(entry.draft))
  }

  /**
   * For a window that comes from a server ahead of this one: waits until this server has received as
   * much, if the stream has it. Rejects when that takes too long, because a snapshot would be older
   * than the window's state.
   */
  protected override async catchUp({ epoch, seq }: Cursor): Promise<void> {
    if (epoch !== this.epoch || seq <= this.history.head) return
    const late = AbortSignal.timeout(hearWithinMs)
    const newest = await this.newest().catch((cause) => {
      throw logUnavailable(cause)
    })
    if (seq > newest) return
    while (seq > this.history.head) {
      if (late.aborted) throw logUnavailable(late.reason)
      await pause(hearAgainMs)
    }
  }

  protected override enter(draft: Draft, acceptedAt: number): number | Promise<number> {
    const known = this.repeatOf(draft)
    if (known !== null) return known
    const key = keyOf(draft)
    const payload = draftText(draft, acceptedAt)
    const enteredAt = this.now()
    const entry = { ...Promise.withResolvers<number>(), draft, key, acceptedAt, payload, enteredAt }
    this.pending.set(key, entry)
    this.send(entry)
    return entry.promise
  }

  protected override async finish(): Promise<void> {
    await super.finish()
    await this.leave()
    await this.#view.close()
  }

  /** Stops following the stream; nothing is pending. */
  protected abstract leave(): Promise<void>
}
