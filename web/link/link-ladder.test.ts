// The ladder in a link's life: going on with a lower mode, and climbing back beside it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mode, openLink } from './testing-link.ts'

/** A link whose WebSocket does not get through, connected by SSE instead. */
function fallen(wished = 'websocket/1.1') {
  const opened = openLink({ mode: mode(wished), random: () => 0.5 })
  const { time, newest } = opened
  for (let n = 0; n < 9 && newest().mode.name !== 'sse/2'; n += 1) {
    newest().end()
    time.advance(1000)
  }
  newest().welcome()
  newest().message(1)
  return opened
}

test('goes on with the fallback, and says what was wished', () => {
  const { streams, newest, heard } = fallen()
  assert.deepEqual(
    streams.map(({ mode }) => mode.name),
    ['websocket/1.1', 'websocket/1.1', 'sse/2'],
  )
  assert.equal(newest().origin, 'https://localhost:2')
  const { state, mode, wished, fall } = heard.newest ?? {}
  assert.deepEqual([state, mode, wished, fall], ['open', 'sse/2', 'websocket/1.1', 'blocked'])
})

test('what this browser cannot do is replaced at once', () => {
  const { time, newest, heard } = openLink({ mode: mode('streaming/2') })
  newest().end({ code: 'unsupported', sentence: 'Cannot.' })
  time.advance(0)
  newest().welcome()
  assert.deepEqual([heard.newest?.mode, heard.newest?.fall], ['sse/2', 'unsupported'])
})

test('a climb is tried beside: what works goes on, until the better one is welcomed', async () => {
  const { time, streams, newest, heard, publish } = fallen()
  const sse = newest()
  time.advance(29_999)
  sse.heartbeat(1)
  assert.equal(streams.length, 3)
  time.advance(1)
  const probe = newest()
  assert.deepEqual(
    [probe.mode.name, probe.cursor, probe.query.get('opening')],
    ['websocket/1.1', 'life1:1', '4'],
  )
  assert.deepEqual([sse.isClosed(), heard.newest?.state, heard.newest?.mode], [false, 'open', 'sse/2'])

  sse.message(2)
  publish('a')
  publish('b')
  assert.deepEqual([sse.sent, probe.sent], [['w1-1', 'w1-2'], []])
  probe.welcome({ cursor: 'life1:2', http: '1.1' })
  assert.equal(sse.isClosed(), true)
  sse.message(3)
  probe.message(2)
  probe.message(3)
  assert.deepEqual(probe.sent, ['w1-1', 'w1-2'])
  await sse.store('w1-1', 4)
  await probe.store('w1-1', 4)
  assert.deepEqual([heard.messages, heard.stored], [[1, 2, 3], ['w1-1 as 4']])
  assert.deepEqual([heard.newest?.mode, heard.newest?.fall], ['websocket/1.1', null])
})

test('a climb that fails changes nothing, and the next comes after a longer pause', () => {
  const { time, streams, newest, heard } = fallen()
  const sse = newest()
  const told = heard.states.length
  time.advance(30_000)
  newest().end()
  assert.deepEqual([heard.states.length, sse.isClosed()], [told, false])
  for (let n = 0; n < 6; n += 1) {
    sse.heartbeat(1)
    assert.equal(streams.length, 4)
    time.advance(10_000)
  }
  assert.equal(streams.length, 5)
})

test('a loss in between puts the climb off', () => {
  const { time, streams, newest } = fallen()
  time.advance(29_000)
  newest().end()
  time.advance(250)
  newest().welcome()
  time.advance(29_000)
  assert.equal(streams.length, 4)
  time.advance(1000)
  assert.equal(newest().mode.name, 'websocket/1.1')
})

test('where the wished one still does not open, the next best is tried', () => {
  const { time, newest, heard } = fallen('websocket/2')
  time.advance(30_000)
  assert.equal(newest().mode.name, 'websocket/2')
  newest().end()
  assert.equal(newest().mode.name, 'websocket/1.1')
  newest().welcome()
  assert.deepEqual(
    [heard.newest?.mode, heard.newest?.wished, heard.newest?.fall],
    ['websocket/1.1', 'websocket/2', 'blocked'],
  )
})

test('the server may end the old stream for the new one before the new one is welcomed', () => {
  const { time, streams, newest, heard } = fallen()
  const sse = newest()
  time.advance(30_000)
  sse.end({ code: 'replaced' })
  assert.deepEqual([heard.newest?.state, heard.newest?.mode], ['opening', 'websocket/1.1'])
  newest().welcome()
  newest().message(2)
  time.advance(15_000)
  assert.deepEqual([streams.length, heard.messages, heard.newest?.state], [4, [1, 2], 'open'])
})

test('when the better one fails after all, what worked is opened again', () => {
  const { time, newest } = fallen()
  time.advance(30_000)
  newest().welcome()
  newest().end()
  time.advance(0)
  assert.equal(newest().mode.name, 'sse/2')
})

test('a person’s choice ends the climb', () => {
  const { link, time, streams, newest } = fallen()
  time.advance(30_000)
  const probe = newest()
  link.switchMode(mode('sse/2'))
  newest().welcome()
  assert.equal(probe.isClosed(), true)
  probe.welcome()
  probe.message(9)
  for (let n = 0; n < 30; n += 1) {
    newest().heartbeat()
    time.advance(15_000)
  }
  assert.equal(streams.length, 5)
})

test('a server that is down is waited for in the mode that worked', () => {
  const { time, newest, heard } = openLink()
  newest().welcome()
  time.advance(30_000)
  for (let n = 0; n < 5; n += 1) {
    newest().end()
    assert.equal(heard.newest?.mode, 'sse/2')
    time.advance(15_000)
  }
})
