// The updates of a Yjs document, as a client or an application reads them.

/** A portion of a document's history. */
export interface HistoryPortion {
  /**
   * In the first portion: everything before the first update; null if the log has that too, or has
   * nothing.
   */
  readonly base: HistoryUpdate | null
  readonly updates: readonly HistoryUpdate[]
  /** Cursor for the next portion; null at the end. */
  readonly next: string | null
}

export interface HistoryUpdate {
  readonly seq: number
  readonly from: string
  /** The sender's user, as the application's `authorize` names it; absent if it names none. */
  readonly user?: string | undefined
  /** Server's clock, ms since the epoch. */
  readonly acceptedAt: number
  /** A Yjs update in base64. */
  readonly update: string
}
