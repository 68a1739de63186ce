// Publishes drafts to the log, within a quota for new channels.

import type { Log } from '../log/log.ts'
import type { Draft, Stored } from '../wire/messages.ts'
import { Refusal } from '../wire/refusal.ts'
import type { Clock } from '../wire/time.ts'
import { RateLimit, reserveOf } from './rate-limit.ts'
import type { Holder } from './subscriber.ts'

interface PublisherParts {
  readonly log: Pick<Log, 'append' | 'heads'>
  readonly now: Clock
  readonly meter: { readonly stored: (ms: number) => void; readonly failed: () => void }
  readonly newChannelsPerHour: number
  readonly maxChannels: number
}

const hourMs = 3_600_000

/** Stores messages, and limits the new channels of each sender. */
export class Publisher {
  readonly #parts: PublisherParts
  readonly #all = {}
  /**
   * Each connection and invitation may begin `newChannelsPerHour` channels an hour. In the last quarter of `maxChannels` all
   * together may begin that many, and each of them a hundredth.
   */
  readonly #usual: RateLimit
  readonly #reserve: { readonly ofEach: RateLimit; readonly ofAll: RateLimit }
  /** New channels whose first message is not stored yet. */
  readonly #beginning = new Set<string>()

  constructor(parts: PublisherParts) {
    this.#parts = parts
    const limit = (perHour: number) => new RateLimit(perHour, parts.now, hourMs)
    const { newChannelsPerHour: perHour } = parts
    this.#usual = limit(perHour)
    this.#reserve = { ofEach: limit(Math.max(1, Math.floor(perHour / 100))), ofAll: limit(perHour) }
  }

  /** See `Hub#publish`. */
  publish(draft: Draft, holder: Holder | undefined): Stored | Promise<Stored> {
    const { log, now, meter } = this.#parts
    try {
      if (holder) this.#mayBegin(draft, holder)
    } catch (refusal) {
      return Promise.reject(refusal)
    }
    const acceptedAt = now()
    const answer = (seq: number): Stored => {
      meter.stored(now() - acceptedAt)
      return { type: 'stored', id: draft.id, seq }
    }
    const seq = log.append(draft, acceptedAt)
    if (typeof seq === 'number') return answer(seq)
    const { channel } = draft
    if (!log.heads().has(channel)) this.#beginning.add(channel)
    return seq
      .finally(() => this.#beginning.delete(channel))
      .then(answer, (error) => {
        if (!(error instanceof Refusal)) {
          meter.failed()
          throw error
        }
        if (error.code.startsWith('log-')) meter.failed()
        throw error.about(draft.id)
      })
  }

  /** Throws a `Refusal` (429 `too-fast`) if a new channel exceeds the quota. */
  #mayBegin({ id, channel }: Draft, { connection, invitation }: Holder): void {
    const { log, maxChannels, newChannelsPerHour } = this.#parts
    const heads = log.heads()
    if (heads.has(channel) || this.#beginning.has(channel)) return
    const isReserve = heads.size + this.#beginning.size >= reserveOf(maxChannels)
    const { ofEach, ofAll } = this.#reserve
    const waitMs =
      this.#usual.take(connection) ||
      (invitation && this.#usual.take(this.#all, invitation)) ||
      (isReserve && (ofEach.take(connection) || ofAll.take(this.#all))) ||
      0
    if (waitMs === 0) return
    const few = isReserve ? ', and fewer when little room is left (limits.maxChannels)' : ''
    const sentence = `Channel "${channel}" does not exist yet; a connection, an invitation or a user may create at most ${newChannelsPerHour} channels an hour (limits.newChannelsPerHour)${few}. Use an existing channel, or wait.`
    throw new Refusal('too-fast', sentence, id, Math.ceil(waitMs))
  }
}
