// Writes a group of drafts in one transaction, and erases a portion of what the log no longer holds.

import type { Retention } from './retention.ts'
import type { Entry, SequencerParts } from './sequencer.ts'
import type { Checkpoints } from './sqlite-checkpoints.ts'
import type { Store } from './sqlite-store.ts'
import type { Transaction } from './sqlite-transaction.ts'
import type { Tail } from './tail.ts'

export interface WriterParts {
  readonly store: Store
  readonly tail: Tail
  readonly retention: Retention
  readonly transaction: Transaction
  readonly checkpoints: Checkpoints
}

export function createWriter(parts: WriterParts): SequencerParts['store'] {
  const { store, tail, retention, transaction, checkpoints } = parts

  function insertAll(group: readonly Entry[]): number[] {
    let next = tail.head() + 1
    return group.map((entry) => {
      const seq = store.insert(entry, next)
      if (seq === next) next += 1
      return seq
    })
  }

  function eraseTo(upTo: number): void {
    const after = retention.erasedTo()
    if (upTo > after) store.erase(after, upTo, tail.newest.has)
  }

  return (group) => {
    retention.forget()
    const upTo = retention.erasable()
    const seqs = transaction(() => {
      eraseTo(upTo)
      return insertAll(group)
    })
    // Only now: what was rolled back is still there.
    retention.erased(upTo)
    const isNew = (_entry: Entry, place: number) => (seqs[place] ?? 0) > tail.head()
    retention.add(group.filter(isNew).map(({ bytes }) => bytes))
    checkpoints.wrote(group)
    return seqs
  }
}
