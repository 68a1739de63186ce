// Who is here, and signs of life, where one stream speaks for many windows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPlace, openShared } from './testing.ts'

test('the server is told how many windows there are on each page, once for those that come together', () => {
  const { stream, window, time, second } = openShared(2)
  assert.deepEqual(stream.said, [{ main: 2 }])
  const others = [window(), window()]
  for (const other of others) other.join({ channels: 'main,wind' })
  time.advance(20)
  second.vanish()
  time.advance(20)
  assert.deepEqual(stream.said, [{ main: 2 }, { main: 4 }, { main: 3 }])
})

test('what was said of the windows is said again with the next heartbeat, and then no more', () => {
  const { stream, time } = openShared(1)
  time.advance(20)
  stream.said.length = 0
  for (let beats = 0; beats < 2; beats += 1) stream.frame({ type: 'heartbeat', newest: 0 })
  assert.deepEqual(stream.said, [{ main: 1 }, undefined])
})

test('presence tells each member of its own page', () => {
  const opened = openPlace()
  const [here, there] = [opened.window(), opened.window()]
  here.join({ window: 'w1' })
  opened.newest().welcome()
  there.join({ window: 'w2', channels: 'other,wind' })
  opened.newest().welcome()
  opened
    .newest()
    .frame({ type: 'presence', windows: 3, channels: { main: 3, other: 5 }, browserHttp1Streams: 1 })
  assert.deepEqual([here.heard.windows, there.heard.windows], [[3], [5]])
  const late = opened.window()
  late.join({ window: 'w3' })
  assert.deepEqual(late.heard.windows, [3])
})

test('presence that knows nothing of the windows is not passed on: the server is told again', () => {
  const { stream, time, first } = openShared(1)
  time.advance(20)
  stream.said.length = 0
  stream.frame({ type: 'presence', windows: 1, browserHttp1Streams: 1 })
  time.advance(20)
  assert.deepEqual([first.heard.windows, stream.said], [[], [{ main: 1 }]])
})

test('a heartbeat never claims more than its member was told', () => {
  const opened = openShared(1)
  const other = opened.window()
  other.join({ window: 'w2', channels: 'wind' })
  opened.stream.message(1, 'wind')
  opened.stream.message(2)
  opened.stream.frame({ type: 'heartbeat', newest: 2 })
  assert.equal(opened.first.heard.frames.at(-1), 'heartbeat 2')
  assert.equal(other.heard.frames.at(-1), 'heartbeat 1')
  assert.equal(opened.streams.length, 1)
})

test('a heartbeat that is ahead: the stream has lost something, and is opened anew from its cursor', () => {
  const { stream, first, newest, streams } = openShared(1)
  stream.message(1)
  stream.frame({ type: 'heartbeat', newest: 3 })
  assert.deepEqual([streams.length, newest().cursor], [2, 'life:1'])
  newest().welcome()
  for (const seq of [2, 3]) newest().message(seq)
  assert.deepEqual([first.heard.messages, first.heard.closings], [[1, 2, 3], []])
})
