// Publishes drafts: a quota for new channels, the log, and its errors as refusals.

import {
  DocumentDeleted,
  IdTaken,
  type Log,
  LogClosed,
  LogFull,
  LogUnavailable,
  NotThere,
  TooManyChannels,
} from '../log/log.ts'
import { Refusal } from '../refusal.ts'
import { type Draft, probesChannel, type Stored } from '../wire/messages.ts'
import type { Clock } from '../wire/time.ts'
import { NewChannels } from './rate-limit.ts'
import type { Holder } from './subscriber.ts'

interface PublisherParts {
  readonly log: Pick<Log, 'append' | 'heads'>
  readonly now: Clock
  readonly meter: { readonly stored: (ms: number) => void; readonly failed: () => void }
  readonly newChannelsPerHour: number
  readonly maxChannels: number
}

/** Until a message is sent again that the log's broker did not take. */
const unavailableMs = 1000

/** The same where the disk is full: somebody has to make room. */
const fullMs = 5000

/** The same for a deleted document: what a window has kept for it is stored once it was brought back. */
const deletedMs = 5000

/** The same for a server that is shutting down. */
const closedMs = 300

export class Publisher {
  readonly #parts: PublisherParts
  readonly #newChannels: NewChannels
  /** New channels whose first message is not stored yet. */
  readonly #beginning = new Set<string>()

  constructor(parts: PublisherParts) {
    this.#parts = parts
    this.#newChannels = new NewChannels(parts.newChannelsPerHour, parts.maxChannels, parts.now)
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
        const refusal = refusalFor(error, draft.id)
        if (!(refusal instanceof Refusal) || refusal.code.startsWith('log-')) meter.failed()
        throw refusal
      })
  }

  #mayBegin(draft: Draft, holder: Holder): void {
    const { channel } = draft
    const heads = this.#parts.log.heads()
    if (channel === probesChannel || heads.has(channel) || this.#beginning.has(channel)) return
    this.#newChannels.begin(holder, draft, heads.size + this.#beginning.size)
  }
}

export function documentDeleted({ message }: DocumentDeleted, id: string): Refusal {
  const sentence = `${message} Bring it back first (a message of the kind "deletion" with {"deleted":false}), or write to another one.`
  return new Refusal(410, 'document-deleted', sentence, id, deletedMs)
}

/** Errors that nobody expects stay unchanged. */
function refusalFor(error: unknown, id: string): unknown {
  if (error instanceof TooManyChannels) {
    const sentence = `${error.message} Write to one that is there, delete one, or raise limits.maxChannels.`
    return new Refusal(403, 'too-many-channels', sentence, id)
  }
  if (error instanceof DocumentDeleted) return documentDeleted(error, id)
  if (error instanceof NotThere) return new Refusal(404, 'not-found', error.message, id)
  if (error instanceof IdTaken) {
    const sentence = `${error.message} Send this one under an id that its sender has not used there.`
    return new Refusal(409, 'id-taken', sentence, id)
  }
  if (error instanceof LogUnavailable) {
    const sentence = `The log takes no messages: ${error.message}. This one may not be stored; send it again.`
    return new Refusal(503, 'log-unavailable', sentence, id, unavailableMs)
  }
  if (error instanceof LogFull) {
    const sentence = `${error.message} The message is not stored; send it again when there is some.`
    return new Refusal(503, 'log-full', sentence, id, fullMs)
  }
  if (error instanceof LogClosed) {
    return new Refusal(503, 'draining', 'The server is shutting down.', id, closedMs)
  }
  return error
}
