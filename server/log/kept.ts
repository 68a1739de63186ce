// Messages that outlive a shared stream's limits, as named objects beside the stream.

import type { Kind, Message } from '../../protocol/messages.ts'
import { KeptJson } from './kept-json.ts'
import type { BaseStore } from './tables.ts'

export interface KeptMessage {
  readonly name: string
  readonly message: Message
}

/** Where the objects are. */
export interface KeptStore {
  /** Writes an object, unless it has a message with the same or a greater number. */
  readonly write: (name: string, message: Message) => Promise<void>
  readonly erase: (name: string) => Promise<void>
}

/**
 * Bases, past bases, and the newest messages of the other kinds. They are read at the start and
 * written one after the other in the background; newer ones of other servers stay.
 */
export class Kept {
  readonly #store: KeptStore
  readonly #onFailure: (error: unknown) => void
  readonly #messages: Map<string, Message>
  readonly #unwritten = new Map<string, Message | null>()
  #writing: Promise<void> | null = null

  constructor(store: KeptStore, loaded: readonly KeptMessage[], onFailure: (error: unknown) => void) {
    this.#store = store
    this.#onFailure = onFailure
    this.#messages = new Map(loaded.map(({ name, message }) => [name, message]))
  }

  readonly baseStore: BaseStore = {
    read: (channel, kind) => this.#messages.get(nameOf('base', channel, kind)),
    write: (base) => {
      this.#set(nameOf('base', base.channel, base.kind), base)
      return bytesOf(base)
    },
    past: (channel, kind) =>
      this.#under(nameOf('past', channel, kind))
        .map(([, { seq }]) => seq)
        .sort((one, other) => one - other),
    readPast: (channel, kind, seq) => this.#messages.get(pastName(channel, kind, seq)),
    keepPast: (base) => this.#set(pastName(base.channel, base.kind, base.seq), base),
    forgetPast: (channel, kind, seq) => this.#set(pastName(channel, kind, seq), null),
  }

  erase(channel: string, before: number): void {
    // The newest is erased last: while it exists, the next start finds the channel and erases the rest.
    for (const role of ['floor', 'past', 'base', 'newest'] as const)
      for (const [name, { seq }] of this.#under(`${role}.${tokenOf(channel)}.`))
        if (seq < before) this.#set(name, null)
  }

  /** The newest of each channel and cumulative kind. */
  bases(): Message[] {
    return this.#under('base.').map(([, message]) => message)
  }

  newest(): Message[] {
    return this.#under('newest.')
      .map(([, message]) => message)
      .sort((one, other) => one.seq - other.seq)
  }

  /** Keeps a message that is the newest of its channel and kind. */
  keep(message: Message): void {
    const name = nameOf('newest', message.channel, message.kind)
    if (this.#messages.get(name)?.seq !== message.seq) this.#set(name, message)
  }

  /** The newest number that each channel dropped, as far as known. */
  floors(): Message[] {
    return this.#under('floor.').map(([, message]) => message)
  }

  keepFloor(channel: string, seq: number): void {
    const name = `floor.${tokenOf(channel)}.`
    if ((this.#messages.get(name)?.seq ?? 0) < seq) this.#set(name, floorAt(channel, seq))
  }

  /** Rejects if an earlier message could not be written; that one is retried with the next. */
  async written(): Promise<void> {
    while (this.#writing !== null || this.#unwritten.size > 0) {
      this.#writing ??= this.#writeAll().finally(() => {
        this.#writing = null
      })
      await this.#writing
    }
  }

  async #writeAll(): Promise<void> {
    for (const [name, message] of this.#unwritten) {
      if (message) await this.#store.write(name, message)
      else await this.#store.erase(name)
      if (this.#unwritten.get(name) === message) this.#unwritten.delete(name)
    }
  }

  #set(name: string, message: Message | null): void {
    if (message) this.#messages.set(name, message)
    else this.#messages.delete(name)
    // Written after those that it must not overtake.
    this.#unwritten.delete(name)
    this.#unwritten.set(name, message)
    this.written().catch(this.#onFailure)
  }

  #under(prefix: string): [string, Message][] {
    return [...this.#messages].filter(([name]) => name.startsWith(prefix))
  }
}

/** The form of all objects. */
const floorAt = (channel: string, seq: number): Message<'erasure'> => ({
  id: '',
  channel,
  kind: 'erasure',
  from: '',
  at: 0,
  body: { head: 0 },
  seq,
  acceptedAt: 0,
})

/** A channel may contain a dot, which separates the parts of a name. */
export const tokenOf = (channel: string) => Buffer.from(channel).toString('base64url')

const nameOf = (role: 'base' | 'past' | 'newest', channel: string, kind: Kind) =>
  `${role}.${tokenOf(channel)}.${kind}.`

const pastName = (channel: string, kind: Kind, seq: number) => nameOf('past', channel, kind) + seq

export const bytesOf = ({ body }: Message) =>
  body instanceof KeptJson ? body.size : Buffer.byteLength(JSON.stringify(body))
