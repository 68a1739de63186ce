// When a link gives up, waits, tries again, changes over and ends.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settled } from './testing.ts'
import { mode, openLink } from './testing-link.ts'

test('a stream that says nothing for two and a half beats is closed and opened anew', () => {
  const { time, streams, newest, heard } = openLink()
  newest().welcome({ heartbeatMs: 1000 })
  time.advance(2000)
  newest().heartbeat()
  time.advance(2499)
  assert.equal(newest().isClosed(), false)
  time.advance(1)
  assert.equal(newest().isClosed(), true)
  assert.equal(heard.states.at(-1), 'waiting sse/2 4750: Nothing was heard from the server for too long.')
  time.advance(250)
  assert.equal(streams.length, 2)
})

test('a stream that never says a word is given up as well', () => {
  const { time, streams } = openLink()
  time.advance(20_000)
  assert.equal(streams[0]?.isClosed(), true)
  time.advance(250)
  assert.equal(streams.length, 2)
})

test('waits longer after each failure and opens when it said it would', () => {
  const { time, streams, newest, heard } = openLink()
  for (const pauseMs of [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]) {
    const before = streams.length
    newest().end()
    time.advance(pauseMs - 1)
    assert.equal(streams.length, before)
    time.advance(1)
    assert.equal(streams.length, before + 1)
  }
  assert.deepEqual(heard.states.slice(0, 4), [
    'opening sse/2',
    'waiting sse/2 250: Lost.',
    'opening sse/2',
    'waiting sse/1.1 750: Lost.',
  ])
})

test('a link that opens and dies at once waits longer each time; one that stayed open starts small again', () => {
  const { time, streams, newest } = openLink()
  const pauseAfterLivingMs = (livedMs: number) => {
    newest().welcome()
    time.advance(livedMs)
    newest().end()
    const before = streams.length
    let pauseMs = 0
    for (; streams.length === before; pauseMs += 50) time.advance(50)
    return pauseMs
  }
  assert.deepEqual([0, 10, 4999, 0].map(pauseAfterLivingMs), [250, 500, 1000, 2000])
  assert.deepEqual([5000, 0].map(pauseAfterLivingMs), [250, 500])
})

test('comes back when the server wished it, but no sooner than its own pause after repeated failures', () => {
  const { time, streams, newest } = openLink()
  const retryAfter = (retryAfterMs: number, pauseMs: number) => {
    const before = streams.length
    newest().end({ code: 'draining', retryAfterMs })
    time.advance(pauseMs - 1)
    assert.equal(streams.length, before)
    time.advance(1)
    assert.equal(streams.length, before + 1)
  }
  retryAfter(900, 900)
  retryAfter(900, 900)
  retryAfter(0, 1000)
})

test('switched while it waits, it opens at once and only once', () => {
  const { link, time, streams, newest } = openLink()
  newest().end()
  link.switchMode(mode('sse/1.1'))
  newest().welcome()
  time.advance(15_000)
  assert.equal(streams.length, 2)
})

test('a mode that was chosen does not pay for the failures of the one before', () => {
  const { link, time, newest, heard } = openLink()
  for (const pauseMs of [250, 500, 1000]) {
    newest().end()
    time.advance(pauseMs)
  }
  link.switchMode(mode('sse/1.1'))
  newest().end()
  assert.equal(heard.states.at(-1), 'waiting sse/1.1 2000: Lost.')
})

test('tries at once when asked to while it waits, and not besides a transport that it has', () => {
  const { link, time, streams, newest } = openLink()
  link.retryNow()
  assert.equal(streams.length, 1)
  newest().end()
  link.retryNow()
  newest().welcome()
  time.advance(10_000)
  assert.equal(streams.length, 2)
})

test('closed, it opens, sends and takes nothing any more', async () => {
  const { link, time, streams, newest, heard, publish } = openLink()
  newest().welcome()
  publish()
  link.close()
  const before = structuredClone(heard)
  link.retryNow()
  link.switchMode(mode('sse/1.1'))
  newest().message(1)
  newest().end()
  await newest().store('w1-1', 1)
  await settled()
  time.advance(60_000)
  assert.deepEqual([streams.length, newest().isClosed(), time.pending()], [1, true, 0])
  assert.deepEqual(heard, before)
})

test('closed while it waits, it stays closed', () => {
  const { link, time, streams, newest } = openLink()
  newest().end()
  link.close()
  time.advance(60_000)
  assert.deepEqual([streams.length, time.pending()], [1, 0])
})
