// When the fallback moves down, when it does not, and how it moves up again.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Mode, modes } from '../protocol/modes.ts'
import { createManualTime } from '../protocol/testing.ts'
import { Fallback } from './fallback.ts'
import { mode } from './testing.ts'
import type { Closing } from './transports/transport.ts'

function start(preferred: string) {
  const time = createManualTime()
  const fallback = new Fallback(mode(preferred), { timers: time, random: () => 0.5, modes })
  /** Each call closes the mode that is tried next, before it opens; returns the mode after each. */
  const close = (...codes: Parameters<typeof fallback.closed>[0][]) =>
    codes.map((code) => {
      fallback.closed(code)
      return fallback.mode.name
    })
  const openIn = (opened: Mode) => fallback.opened(opened, opened.http)
  const open = () => openIn(fallback.mode as Mode)
  const live = (livedMs: number, code: Closing['code'] = 'lost') => {
    open()
    time.advance(livedMs)
    fallback.closed(code, livedMs)
    return fallback.mode.name
  }
  const lose = (times: number) => close(...Array<Closing['code']>(times).fill('lost'))
  return { time, fallback, close, open, openIn, live, lose }
}

test('two failures without a welcome lead down, and a mode that opens there is kept', () => {
  const { fallback, lose, open } = start('websocket/1.1')
  assert.deepEqual(lose(2), ['websocket/1.1', 'sse/2'])
  open()
  assert.deepEqual([fallback.preferred.name, fallback.fallbackReason], ['websocket/1.1', 'blocked'])
  assert.deepEqual(lose(1), ['sse/2'])
})

test('a mode that is silent for the whole first timeout leads down at once', () => {
  assert.deepEqual(start('sse/2').close('silent'), ['sse/1.1'])
})

test('a mode that this browser lacks is skipped without a pause and never tried again', () => {
  const { fallback, open } = start('streaming/2')
  assert.equal(fallback.closed('unsupported'), true)
  assert.deepEqual([fallback.mode.name, fallback.fallbackReason], ['sse/2', 'unsupported'])
  open()
  assert.equal(fallback.probePauseMs(), null)
})

test('when all connections are in use, the mode with room is next without a pause; on the way down it is one more step', () => {
  const { fallback, lose, close } = start('sse/1.1')
  assert.equal(fallback.closed('full'), true)
  assert.equal(fallback.mode.name, 'sse/2')
  // HTTP/2 does not get through either: the fallback must not go in circles.
  assert.deepEqual(lose(2), ['sse/2', 'sse/1.1'])
  assert.equal(fallback.closed('full'), false)
  assert.deepEqual([fallback.mode.name, ...close('full')], ['long-polling/1.1', 'polling/1.1'])
})

test('an unreachable server causes no fallback: each lower mode is tried once, then the first again, with more patience', () => {
  const { fallback, lose } = start('sse/2')
  assert.deepEqual(lose(5), ['sse/2', 'sse/1.1', 'long-polling/1.1', 'polling/1.1', 'sse/2'])
  assert.deepEqual(lose(4), ['sse/2', 'sse/2', 'sse/2', 'sse/1.1'])
  lose(3)
  assert.deepEqual([fallback.mode.name, fallback.fallbackReason], ['sse/2', null])
})

test('a mode that has worked is allowed more failures, since a restart takes longer than two', () => {
  const { lose, live } = start('sse/2')
  assert.equal(live(60_000), 'sse/2')
  assert.deepEqual(lose(6), ['sse/2', 'sse/2', 'sse/2', 'sse/2', 'sse/2', 'sse/1.1'])
})

test('a mode that worked before the fallback is probed soon, any other after half a minute', () => {
  const proven = start('sse/2')
  proven.live(60_000)
  proven.lose(6)
  proven.open()
  assert.equal(proven.fallback.probePauseMs(), 250)

  const unproven = start('sse/2')
  unproven.lose(2)
  unproven.open()
  assert.equal(unproven.fallback.probePauseMs(), 30_000)
})

for (const code of [
  'draining',
  'refused',
  'uninvited',
  'expired',
  'replaced',
  'overflow',
  'offline',
] as const) {
  test(`"${code}" causes no fallback`, () => {
    const { close } = start('sse/2')
    assert.deepEqual(new Set(close(...Array<typeof code>(20).fill(code))), new Set(['sse/2']))
  })
}

test('"uninvited" on the way down leads back, since it explains failures that a stream could not', () => {
  assert.deepEqual(start('sse/2').close('lost', 'lost', 'lost', 'uninvited').at(-1), 'sse/2')
})

test('three short-lived connections within a minute lead down', () => {
  const { fallback, live, open } = start('sse/2')
  assert.deepEqual(
    [1000, 19_999, 0].map((livedMs) => live(livedMs)),
    ['sse/2', 'sse/2', 'sse/1.1'],
  )
  open()
  assert.deepEqual([fallback.fallbackReason, fallback.probePauseMs()], ['flapping', 30_000])
})

test('long-lived connections, and short ones far apart, do not lead down', () => {
  const { time, live } = start('sse/2')
  for (let n = 0; n < 9; n += 1) assert.equal(live(20_000), 'sse/2')
  for (let n = 0; n < 9; n += 1) {
    assert.equal(live(100), 'sse/2')
    time.advance(30_000)
  }
})

test('connections that the server asks to leave do not count as short-lived', () => {
  const { live } = start('sse/2')
  for (let n = 0; n < 9; n += 1) assert.equal(live(100, 'draining'), 'sse/2')
})

test('pauses between probes grow to five minutes', () => {
  const { fallback, lose, open } = start('sse/2')
  lose(2)
  open()
  const pauses = Array.from({ length: 5 }, () => {
    const pauseMs = fallback.probePauseMs()
    fallback.probeFailed()
    return pauseMs
  })
  assert.deepEqual(pauses, [30_000, 60_000, 120_000, 300_000, 300_000])
})

test('a probe tries the preferred mode, then every other mode better than the one in use', () => {
  const { fallback, lose, open } = start('websocket/2')
  lose(4)
  assert.equal(fallback.mode.name, 'sse/1.1')
  open()
  const tried = []
  for (
    let next: ReturnType<typeof fallback.betterAfter> = fallback.preferred;
    next;
    next = fallback.betterAfter(next)
  )
    tried.push(next.name)
  assert.deepEqual(tried, ['websocket/2', 'websocket/1.1', 'sse/2'])
})

test('a probe that soon ends leads straight back to the working mode, and the next one comes later', () => {
  const { time, fallback, lose, open, openIn } = start('websocket/1.1')
  lose(2)
  open()
  time.advance(30_000)
  openIn(mode('websocket/1.1'))
  assert.deepEqual([fallback.mode.name, fallback.fallbackReason], ['websocket/1.1', null])
  time.advance(500)
  assert.equal(fallback.closed('lost', 500), true)
  assert.equal(fallback.mode.name, 'sse/2')
  open()
  assert.deepEqual([fallback.fallbackReason, fallback.probePauseMs()], ['flapping', 60_000])
})

test('a probe that lasts becomes the mode in use', () => {
  const { fallback, lose, open, openIn } = start('websocket/1.1')
  lose(2)
  open()
  openIn(mode('websocket/1.1'))
  fallback.closed('lost', 60_000)
  assert.equal(fallback.mode.name, 'websocket/1.1')
  assert.equal(fallback.probePauseMs(), null)
})

test('a long outage leads back to the lower mode that worked', () => {
  const { lose, live } = start('websocket/1.1')
  lose(2)
  live(60_000)
  const after = lose(6 + 3)
  assert.deepEqual(after.slice(5), ['sse/1.1', 'long-polling/1.1', 'polling/1.1', 'sse/2'])
})

test('a better mode that became the only connection and did not open leads back, and the next probe comes later', () => {
  const { fallback, lose, open } = start('websocket/1.1')
  lose(2)
  open()
  fallback.adopt(mode('websocket/1.1'))
  assert.equal(fallback.mode.name, 'websocket/1.1')
  assert.deepEqual(lose(1), ['sse/2'])
  assert.equal(fallback.probePauseMs(), 60_000)
})
