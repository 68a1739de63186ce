// The ordered log's contract: it alone numbers messages, and all delivery comes from it.

import type { Cursor } from '../wire/cursor.ts'
import type { Draft, Message } from '../wire/envelope.ts'

/** What a window needs to stand where the log stands. */
export interface CatchUp {
  /** True: `messages` is everything after the cursor. False: they are a snapshot, the newest of each channel and kind. */
  readonly recovered: boolean
  readonly messages: readonly Message[]
  /** The log's end at that moment; what is followed from here on has a greater `seq`. */
  readonly head: Cursor
}

export interface Log {
  /**
   * Stores a draft and tells every follower, in order, before it resolves to the draft's number.
   * The same `id` again is stored once and resolves to the same number.
   */
  readonly append: (draft: Draft, acceptedAt: number) => Promise<number>
  /** What happened on these channels after the cursor, or a snapshot where the log does not reach back that far. */
  readonly read: (cursor: Cursor | null, channels: ReadonlySet<string>) => Promise<CatchUp>
  /** Calls back for each message from now on; returns the way to stop. */
  readonly follow: (onMessage: (message: Message, cursor: string) => void) => () => void
}
