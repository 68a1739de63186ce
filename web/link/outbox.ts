// What this window said and the server has not acknowledged yet, in order.

import type { Draft } from '../../server/wire/envelope.ts'

export interface Outbox {
  readonly add: (draft: Draft) => void
  /** False when it was not there any more. */
  readonly remove: (id: string) => boolean
  /** In the order in which they were added. */
  readonly all: () => readonly Draft[]
  readonly size: () => number
}

export function createOutbox(): Outbox {
  const drafts = new Map<string, Draft>()
  return {
    add: (draft) => void drafts.set(draft.id, draft),
    remove: (id) => drafts.delete(id),
    all: () => [...drafts.values()],
    size: () => drafts.size,
  }
}
