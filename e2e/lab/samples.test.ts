// Windows' stamps become samples, one per message and window, whether or not it arrived.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReceivedStamp } from '../../web/lab.ts'
import { type Block, matchBlock } from './samples.ts'

function stamp(id: string, receivedAt: number): ReceivedStamp {
  return {
    id,
    kind: 'edit',
    seq: 1,
    acceptedAt: 105,
    receivedAt,
    appliedAt: receivedAt + 1,
    paintedAt: null,
    bytes: 190,
    bodyBytes: 40,
  }
}

function block(...windows: ReceivedStamp[][]): Block {
  const sent = ['a', 'b', 'c'].map((id, index) => ({
    id,
    sentAt: 100 + index * 10,
    inputAt: 99 + index * 10,
    bytes: 150,
    bodyBytes: 40,
  }))
  const offsetsMs = windows.map((_, index) => index * 1000)
  return { mode: 'sse/2', session: 3, block: 2, firstKey: 51, sent, received: windows, offsetsMs }
}

const all = [stamp('a', 103), stamp('b', 113), stamp('c', 123)]

test('one sample per message and window, on the common clock', () => {
  const stamps = { b: { arrivedAt: 111, committingAt: 113, storedAt: 114, writtenAt: null } }
  const samples = matchBlock({ ...block(all, all), stamps })
  assert.equal(samples.length, 6)
  assert.deepEqual(samples[4], {
    mode: 'sse/2',
    session: 3,
    block: 2,
    key: 52,
    id: 'b',
    receiver: 2,
    inputAt: 109,
    sentAt: 110,
    arrivedAt: 111,
    acceptedAt: 105,
    committingAt: 113,
    storedAt: 114,
    writtenAt: null,
    receivedAt: 1113,
    appliedAt: 1114,
    paintedAt: null,
    sentBytes: 150,
    receivedBytes: 190,
    copies: 1,
    reordered: false,
  })
})

test('a message that never arrived is a sample too', () => {
  const lost = matchBlock(block([stamp('a', 103), stamp('c', 123)])).find(({ id }) => id === 'b')
  assert.deepEqual([lost?.copies, lost?.receivedAt, lost?.reordered], [0, null, false])
})

test('a second copy counts as duplicated, not reordered; the first is timed', () => {
  const [first] = matchBlock(block([...all, stamp('a', 140)]))
  assert.deepEqual([first?.copies, first?.receivedAt, first?.reordered], [2, 103, false])
})

test('an overtaken message counts as reordered', () => {
  const samples = matchBlock(block([stamp('b', 113), stamp('a', 114), stamp('c', 123)]))
  assert.deepEqual(
    samples.map(({ reordered }) => reordered),
    [true, false, false],
  )
})

test('ignores messages from other senders', () => {
  assert.deepEqual(
    matchBlock(block([stamp('x', 1), ...all])).map(({ copies }) => copies),
    [1, 1, 1],
  )
})
