// What the server shows and searches of documents: their first lines, heading and text.

import type { Message } from '../../protocol/messages.ts'
import type { Timers } from '../../protocol/time.ts'
import { type Documents, type ReadableLog, TooCostly } from '../../server/index.ts'
import { contentOf } from './document-reader.ts'
import type { PageTasks, Reading } from './document-tasks.ts'

/** Share of the time in which a document may be read: a page is opened more often than one is exported. */
const share = 0.25

/** Characters in all readings together. */
const maxKept = 16_000_000

/** For what a reading takes beside its texts. */
const leastCharacters = 500

interface Kept {
  /** Number of the document's newest change when it was read. */
  readonly seq: number
  /** Null if it cannot be read. */
  readonly reading: Promise<Reading | null>
  characters: number
}

/** Of one log: each document is read once until it changes. */
export class Readings {
  readonly #log: Pick<ReadableLog, 'snapshot'>
  readonly #timers: Timers
  /** By channel; the one asked for last at the end. */
  readonly #kept = new Map<string, Kept>()
  #characters = 0

  constructor(log: Pick<ReadableLog, 'snapshot'>, timers: Timers) {
    this.#log = log
    this.#timers = timers
  }

  /** `messages` are the document's, as in a snapshot. */
  ofMessages(channel: string, messages: readonly Message[], documents: Documents<PageTasks>, waitMs: number) {
    return this.of(channel, contentOf(messages)?.seq ?? 0, documents, waitMs, () => messages)
  }

  /**
   * `seq` is the number of the newest change. Resolves to null where the document is not read within `waitMs`: then it
   * is there for the next request, unless reading it takes too long, which is tried only once.
   */
  async of(
    channel: string,
    seq: number,
    documents: Documents<PageTasks>,
    waitMs: number,
    messages: () => readonly Message[] | Promise<readonly Message[]> = () => this.#messagesOf(channel),
  ): Promise<Reading | null> {
    const known = this.#kept.get(channel)
    const isKnown = known !== undefined && known.seq >= seq
    const kept = isKnown ? known : this.#begin(channel, seq, documents, messages)
    this.#kept.delete(channel)
    this.#kept.set(channel, kept)
    const { promise, resolve } = Promise.withResolvers<null>()
    const cancel = this.#timers.later(() => resolve(null), waitMs)
    try {
      return await Promise.race([kept.reading, promise])
    } finally {
      cancel()
    }
  }

  async #messagesOf(channel: string): Promise<readonly Message[]> {
    return (await this.#log.snapshot(new Set([channel]))).messages
  }

  #begin(
    channel: string,
    seq: number,
    documents: Documents<PageTasks>,
    messages: () => readonly Message[] | Promise<readonly Message[]>,
  ): Kept {
    this.#drop(channel)
    const read = async () => {
      try {
        const reading = await documents.within(share).run('readingOf', await messages())
        const { firstLines, text, plainText } = reading
        this.#charge(channel, kept, leastCharacters + firstLines.length + text.length + plainText.length)
        return reading
      } catch (error) {
        if (error instanceof TooCostly) this.#kept.set(channel, { ...kept, seq: Infinity })
        else this.#drop(channel)
        return null
      }
    }
    const kept: Kept = { seq, reading: Promise.resolve().then(read), characters: 0 }
    return kept
  }

  #charge(channel: string, kept: Kept, characters: number): void {
    if (this.#kept.get(channel) !== kept) return
    kept.characters = characters
    this.#characters += characters
    for (const oldest of this.#kept.keys()) {
      if (this.#characters <= maxKept) break
      this.#drop(oldest)
    }
  }

  #drop(channel: string): void {
    this.#characters -= this.#kept.get(channel)?.characters ?? 0
    this.#kept.delete(channel)
  }
}
