// A transaction around some work: all of it or nothing.

import type { DatabaseSync } from 'node:sqlite'

/** Rethrows what the work or the commit throws; nothing is stored then. */
export type Transaction = <Result>(work: () => Result) => Result

export function createTransaction(database: DatabaseSync): Transaction {
  const begin = database.prepare('BEGIN')
  const commit = database.prepare('COMMIT')

  function rollBack(): void {
    // SQLite rolls some failures back itself.
    if (database.isTransaction) database.exec('ROLLBACK')
  }

  return (work) => {
    // One that could not even be rolled back when it failed is in the way.
    rollBack()
    begin.run()
    try {
      const result = work()
      commit.run()
      return result
    } catch (error) {
      rollBack()
      throw error
    }
  }
}
