// What wakes a link, what puts it to sleep, and the repair of what a stream has lost.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mode, openLink } from './testing-link.ts'

for (const by of ['online', 'visible', 'resumed', 'restored'] as const) {
  test(`"${by}" ends a wait at once`, () => {
    const { link, time, streams, newest } = openLink()
    newest().end()
    link.wake(by)
    assert.equal(streams.length, 2)
    newest().welcome()
    time.advance(10_000)
    assert.equal(streams.length, 2)
  })
}

test('a stream that was heard lately has nothing to prove; one that was not is opened anew from the cursor', () => {
  const { link, time, streams, newest } = openLink()
  newest().welcome({ heartbeatMs: 15_000 })
  newest().message(4)
  time.advance(15_000)
  link.wake('visible')
  assert.equal(streams.length, 1)
  time.stall(1)
  link.wake('visible')
  assert.deepEqual([streams.length, streams[0]?.isClosed(), newest().cursor], [2, true, 'life1:4'])
})

test('out of the back-forward cache no stream is alive', () => {
  const { link, streams, newest } = openLink()
  newest().welcome()
  link.wake('restored')
  assert.deepEqual([streams.length, streams[0]?.isClosed()], [2, true])
})

test('offline it says so and tries once a minute at most; online it tries at once', () => {
  const { link, time, streams, newest, heard } = openLink()
  newest().welcome()
  link.offline()
  assert.equal(heard.newest?.state, 'open', 'what is open may well go on')
  newest().end()
  assert.deepEqual([heard.newest?.state, heard.newest?.reason], ['waiting', 'This browser is offline.'])
  time.advance(59_999)
  assert.equal(streams.length, 1)
  link.wake('online')
  assert.equal(streams.length, 2)
})

test('offline while it waits, it stops its quick retries', () => {
  const { link, time, streams, newest, heard } = openLink()
  newest().end()
  link.offline()
  assert.equal(heard.newest?.reason, 'This browser is offline.')
  time.advance(30_000)
  assert.equal(streams.length, 1)
  time.advance(30_000)
  assert.equal(streams.length, 2)
})

test('failures offline do not lead down the ladder', () => {
  const { link, time, streams, newest } = openLink()
  link.offline()
  for (let n = 0; n < 9; n += 1) {
    newest().end()
    time.advance(60_000)
  }
  assert.deepEqual(new Set(streams.map(({ mode }) => mode.name)), new Set(['sse/2']))
})

test('a browser that says it is offline and yet hears something is not', () => {
  const { link, time, newest, streams } = openLink()
  newest().welcome()
  link.offline()
  newest().heartbeat()
  newest().end()
  time.advance(250)
  assert.equal(streams.length, 2)
})

test('a page that goes lets go of its stream, and comes back', () => {
  for (const name of ['polling/2', 'sse/2']) {
    const { link, newest, streams } = openLink({ mode: mode(name) })
    newest().welcome()
    link.hide()
    assert.equal(newest().isClosed(), true)
    link.wake('restored')
    assert.equal(streams.length, 2)
  }
})

test('answers each heartbeat with one of its own', () => {
  const { newest } = openLink()
  newest().welcome()
  for (let n = 1; n <= 3; n += 1) {
    newest().heartbeat()
    assert.equal(newest().beats(), n)
  }
})

test('a heartbeat that knows of more than came is repaired from the cursor, and counted', () => {
  const { streams, newest, heard } = openLink()
  newest().welcome()
  newest().message(3)
  newest().heartbeat(3)
  newest().heartbeat(2)
  assert.deepEqual([streams.length, heard.newest?.repairs], [1, 0])
  newest().heartbeat(5)
  assert.deepEqual([streams.length, newest().cursor, streams[0]?.isClosed()], [2, 'life1:3', true])
  newest().welcome({ cursor: 'life1:5' })
  newest().message(5)
  newest().heartbeat(5)
  assert.deepEqual([streams.length, heard.messages, heard.newest?.repairs], [2, [3, 5], 1])
})

test('a repair is no failure: however often, the mode stays', () => {
  const { newest, streams } = openLink()
  for (let n = 1; n <= 9; n += 1) {
    newest().welcome()
    newest().heartbeat(n)
  }
  assert.deepEqual(new Set(streams.map(({ mode }) => mode.name)), new Set(['sse/2']))
})

test('polls have limits of their own: an idle one is not taken for dead', () => {
  const { time, streams, newest } = openLink({ mode: mode('long-polling/2') })
  newest().welcome({ heartbeatMs: 15_000 })
  time.advance(600_000)
  assert.equal(streams.length, 1)
})
