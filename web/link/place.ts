// Where this window stands in the log: what it resumes from, and what it has seen already.

import { formatCursor, parseCursor } from '../../server/wire/cursor.ts'

export interface Place {
  /** To resume from; null until a stream was open. */
  readonly cursor: () => string | null
  /**
   * A stream begins, with the log's end as its cursor. True when it is another life of the log than before: then all
   * of it is new to the window.
   */
  readonly enter: (cursor: string) => boolean
  /** Goes on to that message. False when the window was there before. */
  readonly advance: (seq: number) => boolean
  /** Whether that message is still to come. */
  readonly isBefore: (seq: number) => boolean
  /** Whether the log had that message already when the stream began: it comes late. */
  readonly isCatchUp: (seq: number) => boolean
}

/** `start` is the cursor of what the page brought with it. */
export function createPlace(start: string | null = null): Place {
  const begun = parseCursor(start)
  let epoch = begun?.epoch ?? null
  let seq = begun?.seq ?? 0
  let end = 0
  return {
    cursor: () => (epoch === null ? null : formatCursor({ epoch, seq })),
    enter(cursor) {
      const entered = parseCursor(cursor)
      const life = entered?.epoch ?? null
      const isAnother = life !== epoch
      const wasSomewhere = epoch !== null
      if (isAnother) seq = 0
      epoch = life
      end = entered?.seq ?? 0
      return isAnother && wasSomewhere
    },
    advance(to) {
      if (to <= seq) return false
      seq = to
      return true
    },
    isBefore: (other) => seq < other,
    isCatchUp: (other) => other <= end,
  }
}
