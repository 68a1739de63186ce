// A server's view of a stream that several servers share: a copy of its messages.

import type { Message } from '../../protocol/messages.ts'
import { rulesFor } from '../channels/channel-type.ts'
import { History } from './history.ts'
import { bytesOf, Kept, type KeptMessage, type KeptStore } from './kept.ts'
import { writerOf } from './kept-json.ts'
import type { LogParts, Memory } from './log.ts'
import { openInMemory } from './memory-log.ts'
import { Entry, Tables } from './tables.ts'

/** The stream, as far as a view writes to it. */
export interface ViewedStream extends KeptStore {
  /** Erases a channel's messages before this number. */
  readonly purge: (channel: string, before: number) => Promise<void>
}

interface ViewParts extends LogParts {
  readonly stream: ViewedStream
  /** See `memoryWithin`. */
  readonly memory?: Memory | undefined
}

/** The state before the stream's first message. */
interface ViewStart {
  readonly floor: number
  readonly kept: readonly KeptMessage[]
}

export class View {
  readonly history: History
  readonly #database = openInMemory()
  readonly #stream: ViewedStream
  readonly #onFailure: LogParts['onFailure']
  readonly #kept: Kept
  /** The number up to which each channel had dropped its messages before the start. */
  readonly #floors: ReadonlyMap<string, number>
  #erasing: Promise<void> | null = null
  /** Purges of erased channels. */
  #purging = Promise.resolve()

  constructor(parts: ViewParts, { floor, kept }: ViewStart) {
    const { limits, typeOf, now, onFailure, stream, memory } = parts
    this.#stream = stream
    this.#onFailure = onFailure
    this.#kept = new Kept(stream, kept, onFailure)
    this.history = new History({
      tables: new Tables(this.#database, false),
      bases: this.#kept.baseStore,
      head: floor,
      erasesDropped: false,
      onChannelErased: (channel, before) => this.#eraseAll(channel, before),
      defer: setImmediate,
      typeOf,
      limits,
      memory,
      now,
      onFailure,
    })
    this.#floors = new Map(this.#kept.floors().map(({ channel, seq }) => [channel, seq]))
    this.history.noteGap(floor)
    for (const base of this.#kept.bases())
      if (rulesFor(typeOf, base.channel, base.kind).fold) this.history.adopt(base, bytesOf(base), true)
    for (const message of this.#kept.newest()) {
      const { channel, kind, seq } = message
      const isDropped = seq <= Math.max(floor, this.#floors.get(channel) ?? 0)
      if (isDropped && !rulesFor(typeOf, channel, kind).fold)
        this.history.adopt(message, bytesOf(message), false)
    }
    for (const [channel, seq] of this.#floors) this.history.noteGap(seq, channel)
  }

  /** Returns null if it is a repeat of another message, or was dropped before the start. */
  take(message: Message): Message | null {
    if (message.seq <= (this.#floors.get(message.channel) ?? 0)) {
      this.history.skip(message.seq)
      return null
    }
    const entry = new Entry(message, message.acceptedAt)
    const [stored] = this.history.insert([entry], message.seq)
    if (stored !== message.seq) {
      this.history.skip(message.seq)
      return null
    }
    this.history.add(message, entry.bytes, writerOf(message))
    this.#erasing ??= this.#eraseSome()
      .catch(this.#onFailure)
      .finally(() => {
        this.#erasing = null
      })
    return message
  }

  async close(): Promise<void> {
    await this.#erasing
    this.history.close()
    await this.#kept.written().catch(this.#onFailure)
    await this.#purging
    this.#database.close()
  }

  #eraseAll(channel: string, before: number): void {
    this.#kept.erase(channel, before)
    // Done last: while something is in the bucket, the next start erases the rest.
    const purging = this.#kept
      .written()
      .then(() => this.#stream.purge(channel, before))
      .catch(this.#onFailure)
    this.#purging = this.#purging.then(() => purging)
  }

  async #eraseSome(): Promise<void> {
    const dropped = this.history.eraser.take()
    if (!dropped) return
    const { channels } = dropped
    for (const { name, upTo, newest } of channels) {
      for (const message of newest()) this.#kept.keep(message)
      this.#kept.keepFloor(name, upTo)
    }
    // The stream may drop only messages that are stored elsewhere.
    await this.#kept.written()
    // The newest stays: a server that starts reads up to it.
    for (const { name, upTo } of channels)
      await this.#stream.purge(name, Math.min(upTo + 1, this.history.head))
    dropped.erase()
    dropped.done()
  }
}
