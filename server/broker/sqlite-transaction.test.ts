import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { createTransaction } from './sqlite-transaction.ts'

test('what throws within a transaction leaves nothing behind, and the next one works', (context) => {
  const database = new DatabaseSync(':memory:')
  context.after(() => database.close())
  database.exec('CREATE TABLE number (value INTEGER)')
  const transaction = createTransaction(database)
  const insert = (value: number) => database.prepare('INSERT INTO number VALUES (?)').run(value)
  assert.throws(
    () =>
      transaction(() => {
        insert(1)
        throw new Error('after the first')
      }),
    /after the first/,
  )
  assert.equal(database.isTransaction, false)
  assert.equal(
    transaction(() => insert(2).changes),
    1,
  )
  assert.deepEqual(
    database
      .prepare('SELECT value FROM number')
      .all()
      .map(({ value }) => value),
    [2],
  )
})
