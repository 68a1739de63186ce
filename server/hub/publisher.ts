// Publishes drafts to the log, within a quota for new channels.

import type { Log } from '../log/log.ts'
import { type Draft, probesChannel, type Stored } from '../wire/messages.ts'
import { Refusal } from '../wire/refusal.ts'
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
        if (!(error instanceof Refusal)) {
          meter.failed()
          throw error
        }
        if (error.code.startsWith('log-')) meter.failed()
        throw error.about(draft.id)
      })
  }

  #mayBegin(draft: Draft, holder: Holder): void {
    const { channel } = draft
    const heads = this.#parts.log.heads()
    if (channel === probesChannel || heads.has(channel) || this.#beginning.has(channel)) return
    this.#newChannels.begin(holder, draft, heads.size + this.#beginning.size)
  }
}
