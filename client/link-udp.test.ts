// A link over HTTP/3, where UDP gets through, is late, or is blocked.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { windowModeNamed, windowModes } from '../protocol/modes.ts'
import { openLink, settled } from './testing.ts'

const openOverUdp = () => openLink({ mode: windowModeNamed('sse/3') ?? assert.fail(), modes: windowModes })

/** Settings of a server that is silent without being lost. */
const calm = { heartbeatMs: 10_000_000 }

test('a stream that is welcomed in time has no second one opened beside it', () => {
  const { time, streams, newest, heard } = openOverUdp()
  time.advance(699)
  newest().welcome(calm)
  time.advance(60_000)
  assert.equal(streams.length, 1)
  assert.equal(heard.states.at(-1), 'open sse/3 HTTP/3')
})

test('a welcome that is late for 700 ms opens the next mode beside it, and the first to answer is used', () => {
  const { time, streams, newest, heard } = openOverUdp()
  time.advance(700)
  assert.deepEqual(
    streams.map(({ mode, base, isClosed }) => [mode.name, base, isClosed()]),
    [
      ['sse/3', 'https://localhost:3', false],
      ['sse/2', 'https://localhost:2', false],
    ],
  )
  newest().welcome()
  assert.equal(streams[0]?.isClosed(), true)
  assert.equal(heard.states.at(-1), 'open sse/2 HTTP/2')
})

test('a slow network keeps HTTP/3', () => {
  const { time, streams, heard } = openOverUdp()
  time.advance(900)
  streams[0]?.welcome()
  assert.deepEqual(
    streams.map(({ isClosed }) => isClosed()),
    [false, true],
  )
  assert.equal(heard.states.at(-1), 'open sse/3 HTTP/3')
})

test('when HTTP/3 fails while the other opens, the other is not given up', () => {
  const { time, streams, newest, heard } = openOverUdp()
  time.advance(700)
  streams[0]?.end()
  newest().welcome()
  assert.deepEqual([streams.length, heard.states.at(-1)], [2, 'open sse/2 HTTP/2'])
})

test('HTTP/3 is tried again soon at first, then less and less often', () => {
  const { time, streams, newest, heard } = openOverUdp()
  time.advance(700)
  newest().welcome(calm)
  const attempts: number[] = []
  for (let waitedMs = 0; waitedMs < 240_000; waitedMs += 100) {
    const before = streams.length
    time.advance(100)
    if (streams.length === before) continue
    attempts.push(waitedMs)
    assert.equal(newest().mode.name, 'sse/3')
    newest().end()
  }
  assert.equal(heard.states.at(-1), 'open sse/2 HTTP/2')
  assert.deepEqual(attempts, [300, 37_800, 112_800])
  time.advance(30_000)
  newest().welcome()
  assert.equal(heard.states.at(-1), 'open sse/3 HTTP/3')
})

test('a message without an answer for 700 ms is sent over the next mode, once that is open, and is stored once', async () => {
  const { link, time, streams, newest, heard } = openOverUdp()
  newest().welcome()
  link.publish('main', 'edit', { html: 'a' })
  time.advance(700)
  assert.equal(streams.length, 2)
  assert.equal(heard.states.at(-1), 'open sse/3 HTTP/3')
  newest().welcome()
  assert.deepEqual(
    streams.map(({ sent }) => sent),
    [['w1-1'], ['w1-1']],
  )
  await newest().store('w1-1', 1)
  await streams[0]?.store('w1-1', 1)
  assert.deepEqual(heard.stored, ['w1-1 as 1'])
  assert.equal(heard.states.at(-1), 'open sse/2 HTTP/2')
})

test('an answer that is only late keeps HTTP/3, and closes what was opened beside it', async () => {
  const { link, time, streams, newest, heard } = openOverUdp()
  newest().welcome()
  link.publish('main', 'edit', { html: 'a' })
  time.advance(800)
  await streams[0]?.store('w1-1', 1)
  assert.deepEqual(
    streams.map(({ isClosed }) => isClosed()),
    [false, true],
  )
  await settled()
  assert.equal(heard.states.at(-1), 'open sse/3 HTTP/3')
})

test('where the browser uses HTTP/2 instead, the link says so, and tries again', () => {
  const { time, streams, newest, heard } = openOverUdp()
  newest().welcome({ ...calm, http: '2' })
  assert.equal(heard.states.at(-1), 'open sse/2 HTTP/2')
  time.advance(313)
  assert.deepEqual([streams.length, newest().mode.name], [2, 'sse/3'])
  newest().welcome({ ...calm, http: '2' })
  assert.deepEqual(
    streams.map(({ isClosed }) => isClosed()),
    [true, false],
  )
  assert.equal(heard.states.at(-1), 'open sse/2 HTTP/2')
  time.advance(37_500)
  newest().welcome({ http: '3' })
  assert.equal(heard.states.at(-1), 'open sse/3 HTTP/3')
})
