// Checks the counting on made-up deliveries: each wrong is seen, and nothing else is taken for one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountFor, auditLog } from './accounting.ts'
import type { Seen } from './record.ts'

/** `a-1@5`: message a-1 under number 5. */
function seen(words: string): Seen[] {
  return words
    .split(' ')
    .filter(Boolean)
    .map((word) => {
      const [id = '', seq = ''] = word.split('@')
      return { id, seq: Number(seq) }
    })
}

const accepted = new Map([
  ['a-1', 1],
  ['a-2', 2],
  ['b-1', 3],
  ['a-10', 4],
])
const nothing = { lost: [], duplicated: [], reordered: [] }

test('all, once and in order', () => {
  assert.deepEqual(accountFor(seen('a-1@1 a-2@2 b-1@3 a-10@4'), accepted), { n: 4, ...nothing })
})

test('what never came is lost', () => {
  assert.deepEqual(accountFor(seen('a-1@1 b-1@3'), accepted), { n: 2, ...nothing, lost: ['a-2', 'a-10'] })
})

test('what came again is a duplicate and nothing else, under its number or another', () => {
  const account = accountFor(seen('a-1@1 a-2@2 a-1@1 b-1@3 a-10@4 a-2@9'), accepted)
  assert.deepEqual(account, { n: 6, ...nothing, duplicated: ['a-1', 'a-2'] })
})

test('what came behind a later number of the log is out of order', () => {
  assert.deepEqual(accountFor(seen('a-1@1 b-1@3 a-2@2 a-10@4'), accepted).reordered, ['a-2'])
})

test('what came behind a later one of its sender is out of order, whatever the log says', () => {
  assert.deepEqual(accountFor(seen('a-2@1 a-1@2 b-1@3 a-10@4'), accepted).reordered, ['a-1'])
  // Counters are numbers, not words: 10 comes after 2.
  assert.deepEqual(accountFor(seen('a-2@1 a-10@2'), new Map()).reordered, [])
})

test('what was not acknowledged is not expected, and no delivery of an accepted message', () => {
  assert.deepEqual(accountFor(seen('a-1@1 a-2@2 b-1@3 a-10@4 c-1@5'), accepted), { n: 4, ...nothing })
})

test('the log is held to what it acknowledged', () => {
  const log = auditLog(seen('a-1@1 a-2@2 b-1@5 c-1@6'), accepted)
  assert.deepEqual(log, { messages: 4, ...nothing, lost: ['a-10'], renumbered: ['b-1'] })
})
