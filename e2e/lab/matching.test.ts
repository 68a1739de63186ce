import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReceivedStamp } from '../../web/lab/recorder.ts'
import { type Block, matchBlock } from './matching.ts'

function stamp(id: string, receivedAt: number): ReceivedStamp {
  return { id, kind: 'edit', seq: 1, acceptedAt: 105, receivedAt, appliedAt: receivedAt + 1, paintedAt: null }
}

function block(...windows: ReceivedStamp[][]): Block {
  const sent = ['a', 'b', 'c'].map((id, place) => ({
    id,
    sentAt: 100 + place * 10,
    inputAt: 99 + place * 10,
  }))
  const stamps = windows.map((received, index) => ({ receiver: index + 1, received, offsetMs: index * 1000 }))
  return { mode: 'sse/2', block: 2, firstKey: 51, sent, windows: stamps }
}

const all = [stamp('a', 103), stamp('b', 113), stamp('c', 123)]

test('a sample for each message and window, on the common clock', () => {
  const samples = matchBlock(block(all, all))
  assert.equal(samples.length, 6)
  assert.deepEqual(samples[4], {
    mode: 'sse/2',
    block: 2,
    key: 52,
    id: 'b',
    receiver: 2,
    own: false,
    inputAt: 109,
    sentAt: 110,
    acceptedAt: 105,
    receivedAt: 1113,
    appliedAt: 1114,
    paintedAt: null,
    copies: 1,
    reordered: false,
  })
  assert.equal(samples[0]?.own, true)
})

test('what never came is a sample too', () => {
  const lost = matchBlock(block([stamp('a', 103), stamp('c', 123)])).find(({ id }) => id === 'b')
  assert.deepEqual([lost?.copies, lost?.receivedAt, lost?.reordered], [0, null, false])
})

test('a second copy counts as duplicated, the first one is timed, and it is not reordered', () => {
  const [first] = matchBlock(block([...all, stamp('a', 140)]))
  assert.deepEqual([first?.copies, first?.receivedAt, first?.reordered], [2, 103, false])
})

test('one that is overtaken counts as reordered', () => {
  const samples = matchBlock(block([stamp('b', 113), stamp('a', 114), stamp('c', 123)]))
  assert.deepEqual(
    samples.map(({ reordered }) => reordered),
    [true, false, false],
  )
})

test('what others sent is left out', () => {
  assert.deepEqual(
    matchBlock(block([stamp('x', 1), ...all])).map(({ copies }) => copies),
    [1, 1, 1],
  )
})
