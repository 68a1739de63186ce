// Where this window stands in the log: what it resumes from, and what it has seen already.

import { formatCursor, parseCursor } from '../../server/wire/cursor.ts'

export interface Place {
  /** To resume from; null until a stream was open. */
  readonly cursor: () => string | null
  /** A stream begins, with the log's end as its cursor. Another life of the log than before is new to the window as a whole. */
  readonly enter: (cursor: string) => void
  /** Goes on to that message. False when the window was there before. */
  readonly advance: (seq: number) => boolean
}

export function createPlace(): Place {
  let epoch: string | null = null
  let seq = 0
  return {
    cursor: () => (epoch === null ? null : formatCursor({ epoch, seq })),
    enter(cursor) {
      const life = parseCursor(cursor)?.epoch ?? null
      if (life !== epoch) seq = 0
      epoch = life
    },
    advance(to) {
      if (to <= seq) return false
      seq = to
      return true
    },
  }
}
