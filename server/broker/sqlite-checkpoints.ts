// Moves what is written from the write-ahead log into the file itself, in small portions, when nobody waits for it.

import type { DatabaseSync } from 'node:sqlite'
import type { OnFailure } from './log.ts'
import type { Defer, Entry } from './sequencer.ts'

/**
 * SQLite's own way, 1000 pages within the commit that reaches them, makes that append wait for all of it and for two
 * flushes of the disk: 6 to 10 ms on a virtual disk. This does half of it (4 to 5 ms) in a turn of its own, after the
 * group was answered. Fewer pages wait less and flush more: 250 cost a quarter more for each append.
 */
const portionPages = 500
const pageBytes = 4096

export interface Checkpoints {
  /** Counts what a group wrote; plans a checkpoint when it is time. */
  readonly wrote: (group: readonly Entry[]) => void
}

export function createCheckpoints(database: DatabaseSync, defer: Defer, onFailure: OnFailure): Checkpoints {
  const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  let pages = 0
  let isPlanned = false

  function run(): void {
    isPlanned = false
    pages = 0
    if (!database.isOpen) return
    try {
      checkpoint.get()
    } catch (error) {
      // Nothing is lost: it stays in the write-ahead log, and the next one takes it along.
      onFailure(error)
    }
  }

  return {
    wrote(group) {
      // About: the last page of the table once, and for each message a page of the index and its body.
      pages += 1
      for (const { bytes } of group) pages += 1 + bytes / pageBytes
      if (pages < portionPages || isPlanned) return
      isPlanned = true
      defer(run)
    },
  }
}
