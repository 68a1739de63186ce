// Streams that end, begin anew or fall silent under the windows that share them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPlace, openShared, type RealStream } from './testing.ts'

test('the log has another life: all begin anew, and the stream is ready for them', async () => {
  const { stream, first, second, window, newest, streams, questions } = openShared(2)
  stream.message(1)
  window().join({ window: 'w3', channels: 'other' })
  newest().welcome({ cursor: 'new:4', recovered: false })
  for (const { heard } of [first, second])
    assert.deepEqual(
      heard.closings.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
      [['overflow', 0]],
    )
  first.join({ cursor: 'life:1' })
  assert.deepEqual([streams.length, questions.length], [2, 2])
})

test('a poll that has to begin anew in the middle sends its windows to begin anew', () => {
  const { stream, first, streams } = openShared(1, { mode: 'polling/1.1' })
  stream.welcome({ cursor: 'new:4', recovered: false })
  assert.equal(first.heard.closings.length, 1)
  assert.equal(stream.isClosed(), true)
  first.join({ cursor: 'life:0' })
  assert.equal(streams.length, 2)
})

test('silence: the stream ends for all', () => {
  const { first, time, stream } = openShared(1)
  time.advance(40_000)
  assert.deepEqual(
    first.heard.closings.map(({ code }) => code),
    ['silent'],
  )
  assert.equal(stream.isClosed(), true)
})

test('who joins a stream of which nothing was heard for a heartbeat waits for a new one', () => {
  const { stream, time, window, newest, streams } = openShared(1)
  time.advance(16_000)
  const woken = window()
  woken.join({ window: 'w2' })
  assert.deepEqual([streams.length, woken.heard.frames], [2, []])
  newest().welcome()
  assert.deepEqual(woken.heard.frames, ['welcome w2 life:0 recovered'])
  assert.equal(stream.isClosed(), true)
})

test('the last one to leave closes the stream', () => {
  const { stream, first, second, time } = openShared(2)
  first.leave()
  assert.equal(stream.isClosed(), false)
  second.vanish()
  assert.equal(stream.isClosed(), true)
  assert.equal(time.pending(), 0)
})

test('modes stand side by side, each with its stream', () => {
  const opened = openPlace()
  const [one, other] = [opened.window(), opened.window()]
  one.join({ window: 'w1', mode: 'sse/1.1' })
  other.join({ window: 'w2', mode: 'websocket/1.1' })
  const [sse, socket] = opened.streams as [RealStream, RealStream]
  assert.deepEqual([sse.mode, socket.mode, sse.window === socket.window], ['sse/1.1', 'websocket/1.1', false])
  for (const stream of opened.streams) stream.welcome()
  sse.end()
  socket.message(1)
  assert.deepEqual([one.heard.closings.length, other.heard.closings.length], [1, 0])
  assert.deepEqual(other.heard.messages, [1])
})

test('a window that goes to another mode is a member there, and no more here', () => {
  const { stream, first, second, newest } = openShared(2)
  first.leave()
  first.join({ mode: 'websocket/2', cursor: 'life:0' })
  newest().welcome()
  stream.message(1)
  newest().message(1)
  assert.deepEqual([first.heard.messages, second.heard.messages], [[1], [1]])
})
