// The ordered log's contract: it alone numbers messages, and all delivery comes from it.

import type { Cursor } from '../wire/cursor.ts'
import type { Draft, Message } from '../wire/envelope.ts'

/** How much a log holds. The newest message of each channel and kind outlives all but `maxChannels`. */
export interface LogLimits {
  /** Messages held for windows that come back. */
  readonly logMessages: number
  /** Their bodies as JSON, in bytes; the newest message stays, however large. */
  readonly logBytes: number
  /** How long after `acceptedAt`, in ms, a message is held. */
  readonly logAgeMs: number
  /** Channels that ever had a message. */
  readonly maxChannels: number
}

export interface Snapshot {
  /** The newest of each channel and kind, in order. */
  readonly messages: readonly Message[]
  /** The log's end at that moment; what is followed from here on has a greater `seq`. */
  readonly head: Cursor
}

/** What a window needs to stand where the log stands. */
export interface CatchUp extends Snapshot {
  /** True: `messages` is what came after the cursor, up to `reached`. False: they are a snapshot. */
  readonly recovered: boolean
  /**
   * Where `messages` lead to, none of them too: before `head` where there is more than one portion to read, then read on
   * from here. A snapshot leads to `head`.
   */
  readonly reached: Cursor
}

export type OnMessage = (message: Message, cursor: string) => void

/** Told what should not happen and did not stop the log, a follower that threw, say. Must not throw. */
export type OnFailure = (error: unknown) => void

export interface Log {
  /**
   * Stores a draft and tells every follower, in order, before it resolves to the draft's number. The same `id` again,
   * while the log holds it or it is under way, is stored once and resolves to the same number. Rejects with
   * `TooManyChannels` or `LogClosed`, or with what the store said; then nothing is stored.
   */
  readonly append: (draft: Draft, acceptedAt: number) => Promise<number>
  /**
   * What happened on these channels after the cursor, a portion at a time, or a snapshot where the log does not reach
   * back that far.
   */
  readonly read: (cursor: Cursor | null, channels: ReadonlySet<string>) => Promise<CatchUp>
  readonly snapshot: (channels: ReadonlySet<string>) => Promise<Snapshot>
  /** Calls back for each message from now on; returns the way to stop. */
  readonly follow: (onMessage: OnMessage) => () => void
  /** The newest number of each channel, as followers were told: a live view. */
  readonly heads: () => ReadonlyMap<string, number>
  /** Stores and tells what is under way, then lets go of the store. Again is the same. */
  readonly close: () => Promise<void>
}

/** A draft named a new channel when the log had `maxChannels` already. */
export class TooManyChannels extends Error {
  override readonly name = 'TooManyChannels'

  constructor(channel: string, maxChannels: number) {
    super(`Channel "${channel}" would be one more than the ${maxChannels} that the log takes.`)
  }
}

/** The log was used after `close`. */
export class LogClosed extends Error {
  override readonly name = 'LogClosed'

  constructor() {
    super('The log is closed.')
  }
}
