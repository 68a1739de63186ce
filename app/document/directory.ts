// The documents in the log, with titles and last changes; read at the first request, then followed.

import { isKind, type Message } from '../../protocol/messages.ts'
import type { ReadableLog } from '../../server/index.ts'
import { mainChannel, probesChannel, windChannel } from '../shared/page-messages.ts'

export interface DocumentEntry {
  /** Empty until the document is named. */
  readonly title: string
  /** Time of the last change, ms since the epoch; null before the first. */
  readonly at: number | null
  /** Time of its deletion, ms since the epoch; null unless it is deleted. */
  readonly deletedAt: number | null
  /** Number of the newest change of its text; 0 before the first. */
  readonly textSeq: number
}

/** With the numbers of the newest title, deletion and message. */
interface Known extends DocumentEntry {
  readonly titleSeq: number
  readonly deletionSeq: number
  readonly seq: number
}

const unknown: Known = {
  title: '',
  at: null,
  deletedAt: null,
  textSeq: 0,
  titleSeq: 0,
  deletionSeq: 0,
  seq: 0,
}

/** Number of channels read from the log together: a document's content may be large. */
const channelsPerRead = 32

/**
 * Always contains the main page. Reads the log once, then follows it. Takes about a hundred bytes
 * per document.
 */
export class Directory {
  readonly #log: Pick<ReadableLog, 'follow' | 'heads' | 'snapshot'>
  readonly #entries = new Map<string, Known>([[mainChannel, unknown]])
  #reading: Promise<void> | null = null
  #unfollow: (() => void) | null = null

  constructor(log: Pick<ReadableLog, 'follow' | 'heads' | 'snapshot'>) {
    this.#log = log
  }

  /** Rejects with the log's error; the next call reads again. */
  async entries(): Promise<ReadonlyMap<string, DocumentEntry>> {
    this.#reading ??= this.#read()
    try {
      await this.#reading
    } catch (error) {
      this.#reading = null
      throw error
    }
    return this.#entries
  }

  stop(): void {
    this.#unfollow?.()
  }

  async #read(): Promise<void> {
    // Follows first, so that nothing is missed in between; repeats change nothing.
    this.#unfollow ??= this.#log.follow((message) => this.#handleMessage(message))
    const channels = Array.from(this.#log.heads().keys()).filter(mayBeDocument)
    for (let index = 0; index < channels.length; index += channelsPerRead) {
      const some = new Set(channels.slice(index, index + channelsPerRead))
      // The channel may have been erased since.
      for (const message of (await this.#log.snapshot(some)).messages)
        if (this.#log.heads().has(message.channel)) this.#handleMessage(message)
    }
  }

  #handleMessage(message: Message): void {
    const { channel, seq, acceptedAt } = message
    const known = this.#entries.get(channel) ?? unknown
    const at = Math.max(acceptedAt, known.at ?? 0)
    const change = (next: Partial<Known>) =>
      this.#entries.set(channel, { ...known, seq: Math.max(seq, known.seq), ...next })
    if (isKind(message, 'title')) {
      change(seq > known.titleSeq ? { title: message.body.title, titleSeq: seq, at } : { at })
    } else if (isKind(message, 'edit') || isKind(message, 'update'))
      change({ at, textSeq: Math.max(seq, known.textSeq) })
    else if (isKind(message, 'deletion') && seq > known.deletionSeq)
      change({ deletedAt: message.body.deleted ? acceptedAt : null, deletionSeq: seq })
    else if (isKind(message, 'erasure') && known.seq <= message.body.head) {
      this.#entries.delete(channel)
      if (channel === mainChannel) this.#entries.set(channel, unknown)
    }
  }
}

const mayBeDocument = (channel: string) => channel !== windChannel && channel !== probesChannel
