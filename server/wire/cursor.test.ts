import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatCursor, parseCursor } from './cursor.ts'

test('a cursor comes back as it was', () => {
  for (const cursor of [
    { epoch: 'life1', seq: 0 },
    { epoch: 'A'.repeat(32), seq: 999_999_999_999_999 },
  ]) {
    assert.deepEqual(parseCursor(formatCursor(cursor)), cursor)
  }
})

test('what is no cursor is none', () => {
  const misfits = [
    null,
    undefined,
    '',
    ':',
    'life1',
    'life1:',
    ':1',
    'life1:-1',
    'life1:1.5',
    'life1:1e3',
    'life1: 1',
    'life1:1\n',
    'li fe:1',
    'life-1:1',
    'life1:1:1',
    `${'a'.repeat(33)}:1`,
    'life1:1234567890123456',
  ]
  for (const text of misfits) assert.equal(parseCursor(text), null, JSON.stringify(text))
})
