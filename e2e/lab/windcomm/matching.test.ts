import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchReadings, type Receipt } from './matching.ts'
import type { Reading } from './run.ts'

const readings: readonly Reading[] = ['a', 'b', 'c'].map((id, place) => ({
  id,
  seq: place + 7,
  at: 1000 * place,
  acceptedAt: 1000 * place + 1,
}))

function match(...ids: readonly string[]) {
  const receipts: Receipt[] = ids.map((id, place) => ({ id, receivedAt: 5000 + place }))
  return matchReadings(readings, { site: 'lund', mode: 'sse/2', receipts })
}

test('a sample for each reading, by id, with what came before and after left out', () => {
  const samples = match('y', 'a', 'b', 'c', 'z')
  assert.deepEqual(samples[1], {
    site: 'lund',
    mode: 'sse/2',
    place: 2,
    id: 'b',
    seq: 8,
    acceptedAt: 1001,
    receivedAt: 5002,
    copies: 1,
    reordered: false,
  })
  assert.equal(samples.length, 3)
})

test('what never came is a sample too', () => {
  const [, lost] = match('a', 'c')
  assert.deepEqual([lost?.copies, lost?.receivedAt, lost?.reordered], [0, null, false])
})

test('of two copies the first one is timed, and the second reorders nothing', () => {
  const samples = match('a', 'b', 'a', 'c')
  assert.deepEqual(
    samples.map(({ copies, receivedAt, reordered }) => [copies, receivedAt, reordered]),
    [
      [2, 5000, false],
      [1, 5001, false],
      [1, 5003, false],
    ],
  )
})

test('one that is overtaken counts as reordered', () => {
  assert.deepEqual(
    match('b', 'a', 'c').map(({ reordered }) => reordered),
    [true, false, false],
  )
})
