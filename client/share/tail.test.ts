// The tail: its messages, and the gaps that it reports.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf } from '../testing.ts'
import { Tail } from './tail.ts'

const main = new Set(['main'])
const at = (seq: number, epoch = 'life') => ({ epoch, seq })
const bounds = { messages: 3, length: 1000 }
const seqs = (messages: Iterable<{ readonly seq: number }>) => Array.from(messages, ({ seq }) => seq)

test('a repeated message is not added again', () => {
  const tail = new Tail(at(5), main, bounds)
  assert.deepEqual(
    [5, 6, 6, 7].map((seq) => tail.add(messageOf(seq))),
    [false, true, false, true],
  )
  assert.deepEqual([seqs(tail.after(6)), tail.cursor], [[7], at(7)])
})

test('covers messages after its start, in the same log, on its channels', () => {
  const tail = new Tail(at(5), main, bounds)
  assert.deepEqual(
    [at(5), at(4), at(5, 'other'), null].map((cursor) => tail.covers(cursor, main)),
    [true, false, false, false],
  )
  assert.equal(tail.covers(at(5), new Set(['main', 'wind'])), false)
})

test('beyond its bounds it drops the oldest, and no longer covers them', () => {
  const tail = new Tail(at(0), main, bounds)
  for (const seq of [1, 2, 3, 4]) tail.add(messageOf(seq))
  assert.deepEqual(seqs(tail.after(0)), [2, 3, 4])
  assert.deepEqual([tail.covers(at(0), main), tail.covers(at(1), main)], [false, true])
  const short = new Tail(at(0), main, { messages: 9, length: 3 })
  for (const seq of [1, 2, 10, 11]) short.add(messageOf(seq))
  assert.deepEqual(seqs(short.after(0)), [11])
})

test('a channel that joins later is complete from there on; one that left and returns is not', () => {
  const tail = new Tail(at(0), main, bounds)
  tail.add(messageOf(1))
  tail.carry(new Set(['main', 'wind']))
  const wind = new Set(['wind'])
  assert.deepEqual(
    [tail.covers(at(0), wind), tail.covers(at(1), wind), tail.covers(at(0), main)],
    [false, true, true],
  )
  tail.add(messageOf(2))
  tail.carry(main)
  tail.carry(new Set(['main', 'wind']))
  assert.equal(tail.covers(at(1), wind), false)
})
