// In order, a few at a time, and again after a pause.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BusyError, RefusedError } from '../transports/transport.ts'
import { settled } from './testing.ts'
import { openLink } from './testing-link.ts'

const ids = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => `w1-${from + n}`)
const busy = (retryAfterMs: number) => new BusyError('Too fast.', retryAfterMs)

function openWith(published: number) {
  const opened = openLink()
  for (let n = 0; n < published; n += 1) opened.publish(`${n}`)
  opened.newest().welcome()
  return opened
}

test('at most 32 are under way; the rest follow as answers come, in order', async () => {
  const { newest, publish } = openWith(40)
  assert.deepEqual(newest().sent, ids(1, 32))
  publish()
  assert.equal(newest().sent.length, 32)
  await newest().store('w1-1', 1)
  await newest().store('w1-2', 2)
  assert.deepEqual(newest().sent, ids(1, 34))
  for (let n = 3; n <= 41; n += 1) await newest().store(`w1-${n}`, n)
  assert.deepEqual(newest().sent, ids(1, 41))
})

test('a refused one makes room as well', async () => {
  const { newest } = openWith(33)
  await newest().fail('w1-7', new RefusedError('bad-shape', 'No.'))
  assert.deepEqual(newest().sent, ids(1, 33))
})

test('busy: sends nothing for the pause, then all unacknowledged again in order, over the same stream', async () => {
  const { time, streams, newest, heard, publish } = openWith(3)
  await newest().store('w1-1', 1)
  await newest().fail('w1-2', busy(700))
  await newest().fail('w1-3', busy(900))
  publish()
  time.advance(699)
  assert.deepEqual(newest().sent, ids(1, 3))
  time.advance(1)
  assert.deepEqual(newest().sent, [...ids(1, 3), ...ids(2, 4)])
  time.advance(10_000)
  assert.deepEqual([newest().sent.length, streams.length, heard.outbox?.unstored], [6, 1, 3])
})

test('busy again after the pause waits again', async () => {
  const { time, newest } = openWith(1)
  for (let n = 0; n < 3; n += 1) {
    await newest().fail('w1-1', busy(500))
    time.advance(500)
  }
  assert.deepEqual(newest().sent, ['w1-1', 'w1-1', 'w1-1', 'w1-1'])
})

test('a stream that ends during the pause sends all again over the next one, and not twice', async () => {
  const { time, streams, newest } = openWith(2)
  await newest().fail('w1-1', busy(5000))
  newest().end()
  time.advance(250)
  newest().welcome()
  assert.deepEqual(newest().sent, ids(1, 2))
  time.advance(10_000)
  assert.deepEqual([streams[0]?.sent, newest().sent], [ids(1, 2), ids(1, 2)])
})

test('what an old stream says of being busy does not hold up the new one', async () => {
  const { time, streams, newest, publish } = openWith(1)
  newest().end()
  time.advance(250)
  newest().welcome()
  await streams[0]?.fail('w1-1', busy(60_000))
  publish()
  await settled()
  assert.deepEqual(newest().sent, ids(1, 2))
})
