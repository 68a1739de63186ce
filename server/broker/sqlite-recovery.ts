// Takes up a log where its file ends: a new life, and the tail in memory.

import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../wire/time.ts'
import type { Bounds } from './bounds.ts'
import { type Life, nextLife, type Opening } from './epoch.ts'
import type { Store } from './sqlite-store.ts'
import { createTransaction } from './sqlite-transaction.ts'
import { createTail, type Tail } from './tail.ts'

/** From here on commits wait for the disk only where the durability asks for it. */
export function beginLife(database: DatabaseSync, store: Store, opening: Opening): Life {
  const life = nextLife(store.readLife(), opening)
  writeLife(database, store, life)
  if (life.durability === 'process') database.exec('PRAGMA synchronous = NORMAL')
  return life
}

export function endLife(database: DatabaseSync, store: Store, life: Life): void {
  writeLife(database, store, { ...life, isClosed: true })
}

/**
 * On the disk when it returns. Were the beginning lost with the messages after it in a power cut, the file would look as
 * it did after the last clean close, and the loss would go unseen.
 */
function writeLife(database: DatabaseSync, store: Store, life: Life): void {
  database.exec('PRAGMA synchronous = FULL')
  createTransaction(database)(() => store.writeLife(life))
}

export function recoverTail(store: Store, head: number, bounds: Bounds, now: Clock): Tail {
  const recent = store.last(bounds.messages, bounds.bytes)
  const floor = head - recent.length
  const newest = store.newest().filter(({ seq }) => seq <= floor)
  const tail = createTail(bounds, now, { floor, newest })
  for (const { message, bytes } of recent) tail.add(message, bytes)
  return tail
}
