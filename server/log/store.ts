// The contract of a store that another package brings: where servers share a log.

import type { LogFigures } from './log.ts'

/** What the option `storage` takes from a package. */
export interface SharedStorage {
  readonly kind: 'shared'
  /** Such as `PostgreSQL`. */
  readonly name: string
  /** Such as `PostgreSQL at db1.example:5432`; for sentences about it. */
  readonly place: string
  /** Called again for each log that replaces a lost one. Opens nothing before `open` is called. */
  readonly connect: (events: StoreEvents) => LogStore
}

/** What a store tells the server. */
export interface StoreEvents {
  /** There may be new messages. Some calls may be missing: the server also looks every half second. */
  readonly onAppended: () => void
  /** A note of a server, perhaps of this one. */
  readonly onNote: (note: string) => void
  /** Notes may be missing, because the connection broke and is open again. */
  readonly onReturned: () => void
}

/**
 * One server's access to the shared log. Every method may be called at any time after `open`, also
 * while another call is pending. It rejects if the store does not answer within some seconds, with an
 * error whose message is a clause, and connects again when it is called again.
 */
export interface LogStore {
  /**
   * Connects, and creates the log if there is none. Called again while it rejects, unless with a
   * `StorageUnfit`.
   */
  readonly open: () => Promise<void>
  /** The log's state, and its oldest messages after a number: some, if there are any. Null if there is no log. */
  readonly read: (after: number) => Promise<StorePage | null>
  /**
   * Stores drafts in their order, all or none. Returns the number of each: the next one, or that of the
   * stored message with the same key. Resolves when they are as durable as the store promises; a reader
   * that sees a number has seen all smaller ones. Resolves to null, and stores nothing, if the log has
   * another epoch, or no message with the number `known.head` or a greater one.
   */
  readonly append: (drafts: readonly StoreDraft[], known: StoreState) => Promise<readonly number[] | null>
  /** Gives the log another epoch if it still has this one. */
  readonly endEpoch: (epoch: string, next: string) => Promise<void>
  /** Erases the messages of a channel before a number. */
  readonly purge: (channel: string, before: number) => Promise<void>
  /** What is kept beside the messages. */
  readonly kept: () => Promise<readonly KeptText[]>
  /** Keeps a text, unless one with this name and the same or a greater number is kept. */
  readonly keep: (kept: KeptText & { readonly seq: number }) => Promise<void>
  readonly forget: (name: string) => Promise<void>
  /** Sends a note to all servers, in order; it may be lost. Never throws. */
  readonly post: (note: string) => void
  /** Rejects if the store does not answer. */
  readonly figures: () => Promise<LogFigures>
  /** Closes the connections. Nothing is pending. */
  readonly close: () => Promise<void>
}

export interface StoreState {
  /** Eight letters and digits, from `newEpoch`: a new log has a new one. */
  readonly epoch: string
  /** The newest number that was assigned; 0 for none. */
  readonly head: number
}

/** All of it is of one moment. */
export interface StorePage extends StoreState {
  /** Of the message with the number `after`; null if there is none, or it was erased. */
  readonly last: MessageMark | null
  /** In order. */
  readonly messages: readonly StoredText[]
}

/** Tells two messages with one number apart. */
export interface MessageMark {
  readonly key: string
  /** Ms since the epoch, perhaps with a fraction. */
  readonly acceptedAt: number
}

export interface StoredText {
  readonly seq: number
  readonly text: string
}

export interface StoreDraft extends MessageMark {
  readonly channel: string
  /** JSON. */
  readonly text: string
  /** Number of a message with the same key that counts as erased: it is erased, and this one stored. */
  readonly erased: number | null
}

export interface KeptText {
  readonly name: string
  /** JSON. */
  readonly text: string
}
