// What one server holds of a stream of NATS: the newest messages, the state of every channel, and what may be erased.

import type { ObjectStore } from '@nats-io/obj'
import type { Message } from '../wire/messages.ts'
import { Folding } from './folding.ts'
import type { Bounds, LogParts } from './log.ts'
import { bytesOf, createKept, type KeptMessage, type Life } from './nats-bucket.ts'
import { Retention, type Stored, Tail } from './retention.ts'

interface ViewParts extends LogParts {
  /** Memory cache, within the limits. */
  readonly memory?: Omit<Bounds, 'ageMs'> | undefined
  /** The stream has what follows. */
  readonly floor: number
  readonly life: Life
  readonly kept: readonly KeptMessage[]
  readonly bucket: ObjectStore
  /** Everything up to this number. */
  readonly erase: (seq: number) => Promise<void>
  /** What the stream has of it before that number. */
  readonly eraseChannel: (channel: string, before: number) => Promise<void>
}

const defaultMemory = { messages: 4096, bytes: 8_388_608 }

export class View {
  readonly tail: Tail
  readonly folding: Folding
  readonly #parts: ViewParts
  readonly #kept: ReturnType<typeof createKept>
  readonly #retention: Retention
  /** After the retention's floor. */
  readonly #held = new Map<number, Stored & { readonly channel: string }>()
  #erasing: Promise<void> | null = null

  constructor(parts: ViewParts) {
    const { limits, folds = {}, now, onFailure, memory = defaultMemory, floor, life, bucket } = parts
    this.#parts = parts
    this.#kept = createKept({ bucket, life, loaded: parts.kept, onFailure })
    this.#retention = new Retention({
      bounds: limits,
      now,
      extent: { floor, head: floor, bytes: 0 },
      oldestAfter: (seq) => {
        const stored = this.#held.get(seq + 1)
        return stored ? [stored] : []
      },
    })
    this.folding = new Folding(
      {
        folds,
        bases: { ...this.#kept.bases, erase: (channel, before) => this.#eraseAll(channel, before) },
        defer: setImmediate,
        onFailure,
        onFolded: (messages) => messages.forEach((message) => void this.tail.superseded(message)),
        floor: () => this.#retention.floor,
      },
      this.#kept.stored((kind) => folds[kind] !== undefined),
    )
    const bounds = {
      messages: Math.min(memory.messages, limits.messages),
      bytes: Math.min(memory.bytes, limits.bytes),
      ageMs: limits.ageMs,
    }
    const newest = this.#kept.newest((kind) => folds[kind] === undefined)
    this.tail = new Tail(bounds, now, this.folding, floor, newest)
  }

  take(message: Message): void {
    const bytes = bytesOf(message)
    this.#held.set(message.seq, { bytes, acceptedAt: message.acceptedAt, channel: message.channel })
    this.#retention.add(bytes)
    this.tail.add(message, bytes)
    this.#retention.forget()
    this.#erasing ??= this.#eraseSome()
      .catch(this.#parts.onFailure)
      .finally(() => {
        this.#erasing = null
      })
  }

  floor(): number {
    this.#retention.forget()
    return this.#retention.floor
  }

  /** Whether the message of that number was erased with its document. */
  isBlank(seq: number): boolean {
    return this.#held.get(seq)?.channel === ''
  }

  async close(): Promise<void> {
    await this.#erasing
    this.folding.close()
    await this.#kept.written().catch(this.#parts.onFailure)
  }

  #eraseAll(channel: string, before: number): void {
    const { eraseChannel, onFailure } = this.#parts
    this.#kept.erase(channel, before)
    for (const [seq, stored] of this.#held) {
      if (stored.channel !== channel || seq >= before) continue
      this.#held.set(seq, { channel: '', bytes: 0, acceptedAt: stored.acceptedAt })
      if (seq > this.#retention.floor) this.#retention.shrank(stored.bytes)
    }
    // Last: while it has something, the next start erases the rest.
    this.#kept
      .written()
      .then(() => eraseChannel(channel, before))
      .catch(onFailure)
  }

  async #eraseSome(): Promise<void> {
    const count = this.#retention.erasable()
    const after = this.#retention.erasedTo
    if (count === 0 || !this.folding.areErasable(after, count)) return
    for (let seq = after + 1; seq <= after + count; seq += 1) {
      const newest = this.tail.newestAt(seq)
      if (newest) this.#kept.keep(newest)
    }
    // The stream may lose only what is kept elsewhere for good.
    await this.#kept.written()
    await this.#parts.erase(after + count)
    for (let seq = after + 1; seq <= after + count; seq += 1) this.#held.delete(seq)
    this.#retention.erased(count)
  }
}
