// The path of a message from the transports into the log: steps, each of which may refuse it.

import type { Draft, Stored } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Clock } from '../../protocol/time.ts'
import type { Log } from '../log/log.ts'
import { RateLimit, reserveOf } from './rate-limit.ts'
import type { QuotaHolder } from './subscriber.ts'

/** A draft on its path into the log. */
export interface Writing {
  readonly draft: Draft
  /** Ms since the epoch. */
  readonly acceptedAt: number
  /** The sender; absent for the server itself. */
  readonly holder: QuotaHolder | undefined
}

/** Returns the number. Throws or rejects with a `Refusal` or the store's error. */
export type Write = (writing: Writing) => number | Promise<number>

/** Refuses a draft, or calls `next` with it, as Koa's middleware does. */
export type Step = (writing: Writing, next: Write) => number | Promise<number>

interface WriterParts {
  readonly log: Pick<Log, 'append' | 'heads'>
  readonly now: Clock
  readonly meter: { readonly stored: (ms: number) => void; readonly failed: () => void }
  readonly newChannelsPerHour: number
  readonly maxChannels: number
  /** Steps of the composition, before the log; an application's are in `library/channels.ts`. */
  readonly steps?: readonly Step[] | undefined
}

/**
 * Before these steps, a transport has read the message within limits (`body-reader.ts`), admitted it
 * (`Admission`: its shape and sender), checked the sender's grant, and completed it (the user, a
 * schema's result). After them, the log passes the draft through the gate of its channel's type, and
 * stores it.
 */
export class Writer {
  readonly #now: Clock
  readonly #write: Write

  constructor(parts: WriterParts) {
    const { log, now, steps = [] } = parts
    const store: Write = ({ draft, acceptedAt }) => log.append(draft, acceptedAt)
    this.#now = now
    this.#write = composed([limitNewChannels(parts), countStored(parts), nameDraft, ...steps], store)
  }

  /** See `Hub#publish`. */
  publish(draft: Draft, holder: QuotaHolder | undefined): Stored | Promise<Stored> {
    const answer = (seq: number): Stored => ({ type: 'stored', id: draft.id, seq })
    try {
      const seq = this.#write({ draft, acceptedAt: this.#now(), holder })
      return typeof seq === 'number' ? answer(seq) : seq.then(answer)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

function composed(steps: readonly Step[], last: Write): Write {
  return steps.reduceRight<Write>((next, step) => (writing) => step(writing, next), last)
}

const hourMs = 3_600_000

/**
 * Each connection and account may begin `newChannelsPerHour` channels an hour. In the last quarter of
 * `maxChannels` all together may begin that many, and each of them a hundredth. Refuses with 429
 * `too-fast`.
 */
function limitNewChannels({ log, now, maxChannels, newChannelsPerHour }: WriterParts): Step {
  const limit = (perHour: number) => new RateLimit(perHour, now, hourMs)
  const usual = limit(newChannelsPerHour)
  const reserve = {
    perConnection: limit(Math.max(1, Math.floor(newChannelsPerHour / 100))),
    total: limit(newChannelsPerHour),
  }
  const all = {}
  /** New channels whose first message is not stored yet. */
  const beginning = new Set<string>()

  function mustBegin({ id, channel }: Draft, { connection, account }: QuotaHolder): void {
    const isReserve = log.heads().size + beginning.size >= reserveOf(maxChannels)
    const waitMs =
      usual.take(connection) ||
      (account && usual.take(all, account)) ||
      (isReserve && (reserve.perConnection.take(connection) || reserve.total.take(all))) ||
      0
    if (waitMs === 0) return
    const few = isReserve ? ', and fewer when little room is left (limits.maxChannels)' : ''
    const sentence = `Channel "${channel}" does not exist yet; a connection, an account or a user may create at most ${newChannelsPerHour} channels an hour (limits.newChannelsPerHour)${few}. Use an existing channel, or wait.`
    throw new Refusal('too-fast', sentence, id, Math.ceil(waitMs))
  }

  return (writing, next) => {
    const { draft, holder } = writing
    const { channel } = draft
    if (log.heads().has(channel)) return next(writing)
    if (holder && !beginning.has(channel)) mustBegin(draft, holder)
    const seq = next(writing)
    if (typeof seq === 'number') return seq
    beginning.add(channel)
    return seq.finally(() => beginning.delete(channel))
  }
}

/** Counts stored messages, and failures of the log to store one. */
function countStored({ meter, now }: WriterParts): Step {
  return (writing, next) => {
    const count = (seq: number) => {
      meter.stored(now() - writing.acceptedAt)
      return seq
    }
    const seq = next(writing)
    if (typeof seq === 'number') return count(seq)
    return seq.then(count, (error) => {
      if (!(error instanceof Refusal) || error.code.startsWith('log-')) meter.failed()
      throw error
    })
  }
}

/** The log's refusals name the draft. */
const nameDraft: Step = (writing, next) => {
  const seq = next(writing)
  if (typeof seq === 'number') return seq
  return seq.catch((error) => {
    throw error instanceof Refusal ? error.about(writing.draft.id) : error
  })
}
