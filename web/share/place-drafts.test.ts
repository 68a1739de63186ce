// What the windows of one browser say: in order for each, answered to whom it belongs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BusyError, RefusedError } from '../transports/transport.ts'
import { openShared } from './testing.ts'

test('the server ends the old stream for the new one: drafts wait and go over the new one', async () => {
  const { stream, first, window, newest } = openShared(1)
  first.send('w1-1')
  window().join({ window: 'w2', channels: 'other' })
  stream.end({ code: 'replaced' })
  await stream.fail('w1-1', new Error('The connection ended.'))
  first.send('w1-2')
  assert.deepEqual([first.heard.answers, first.heard.closings], [[], []])
  newest().welcome()
  await newest().store('w1-1', 1)
  await newest().store('w1-2', 2)
  assert.deepEqual(newest().sent, ['w1-1', 'w1-2'])
  assert.deepEqual(first.heard.answers, ['w1-1 as 1', 'w1-2 as 2'])
})

test('drafts go up in order, and each answer to whom it belongs', async () => {
  const { stream, first, second } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  second.send('w2-1')
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1'])
  await stream.store('w1-1', 1)
  await stream.fail('w2-1', new RefusedError('too-large', 'Too large.'))
  await stream.store('w1-2', 2)
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1', 'w1-2'])
  assert.deepEqual(first.heard.answers, ['w1-1 as 1', 'w1-2 as 2'])
  assert.deepEqual(second.heard.answers, ['w2-1 refused in turn 0: Too large.'])
})

test('over a transport that sends many at once they do not wait for each other', async () => {
  const { stream, first } = openShared(1, { mode: 'websocket/1.1' })
  for (const id of ['w1-1', 'w1-2', 'w1-3']) first.send(id)
  assert.deepEqual(stream.sent, ['w1-1', 'w1-2', 'w1-3'])
})

test('busy: what was said behind waits too, and nothing overtakes what is to be said again', async () => {
  const { stream, first, second } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  await stream.fail('w1-1', new BusyError('Wait.', 500))
  // On its way before the window knew.
  first.send('w1-3')
  const behind = ['w1-1', 'w1-2', 'w1-3'].map((id) => `${id} busy in turn 0: Wait.`)
  assert.deepEqual(first.heard.answers, behind)
  assert.deepEqual(stream.sent, ['w1-1'])
  second.send('w2-1')
  first.send('w1-1', 1)
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1', 'w1-1'])
})

test('a draft that failed nobody knows how: its window is told, the others keep their stream', async () => {
  const { stream, first, second } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  await stream.fail('w1-1', new Error('500'))
  assert.deepEqual(first.heard.answers, ['w1-1 unknown in turn 0: 500', 'w1-2 unknown in turn 0: 500'])
  first.leave()
  stream.message(1)
  assert.deepEqual([second.heard.messages, second.heard.closings], [[1], []])
})

test('of a window that left nothing more goes up', async () => {
  const { stream, first, second } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  first.leave()
  await stream.store('w1-1', 1)
  second.send('w2-1')
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1'])
})

test('the stream ends while drafts are under way: all are told why, come back, and share one again', async () => {
  const { stream, streams, first, second, newest } = openShared(2)
  stream.message(1)
  first.send('w1-1')
  stream.end({ code: 'draining', retryAfterMs: 400 })
  await stream.fail('w1-1', new Error('The connection ended.'))
  for (const { heard } of [first, second])
    assert.deepEqual(
      heard.closings.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
      [['draining', 400]],
    )
  assert.deepEqual(first.heard.answers, [])
  for (const window of [first, second]) window.join({ cursor: window.cursor() })
  assert.deepEqual([streams.length, newest().window, newest().opening], [2, 's1', 2])
  newest().welcome()
  newest().message(2)
  first.send('w1-1')
  assert.deepEqual(newest().sent, ['w1-1'])
  for (const { heard } of [first, second]) assert.deepEqual(heard.messages, [1, 2])
})
