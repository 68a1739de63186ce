// When a link retries, wakes, repairs, renews its session, falls back, returns and ends.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LinkOptions } from './link.ts'
import { mode, openLink, settled } from './testing.ts'
import type { Closing } from './transports/transport.ts'

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

test('waits longer after each failure, up to three seconds, and opens when it said it would', () => {
  const { time, streams, newest, heard } = openLink()
  for (const pauseMs of [250, 500, 1000, 2000, 3000, 3000, 3000, 3000]) {
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

test('after an hour without a server it is asked within three seconds of its return', () => {
  const { time, streams, newest } = openLink()
  newest().welcome()
  time.advance(60_000)
  newest().end()
  let most = 0
  const awayUntil = time.now() + 3_600_000
  while (time.now() < awayUntil) {
    const before = streams.length
    let waitedMs = 0
    for (; streams.length === before; waitedMs += 50) time.advance(50)
    most = Math.max(most, waitedMs)
    newest().end()
  }
  assert.equal(most, 3000)
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

test('failures offline do not lead down the fallback', () => {
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

const expired = { code: 'expired', sentence: 'The session has ended.', retryAfterMs: 0 } as const

test('a session that ended is renewed, and the stream goes on from the cursor at once', async () => {
  let renewals = 0
  const renewSession = async () => {
    renewals += 1
    return true
  }
  const { time, newest, heard } = openLink({ renewSession })
  newest().welcome()
  newest().message(6)
  newest().end(expired)
  assert.deepEqual([heard.newest?.state, heard.newest?.reason], ['waiting', 'The session has ended.'])
  await settled()
  time.advance(0)
  assert.deepEqual([newest().cursor, renewals], ['life1:6', 1])
})

test('one that is renewed and ends again and again does not turn in circles', async () => {
  const { time, streams, newest } = openLink()
  for (let n = 0; n < 4; n += 1) {
    newest().end(expired)
    await settled()
    time.advance(n === 0 ? 0 : 250 * 2 ** n)
  }
  assert.equal(streams.length, 5)
  newest().end(expired)
  await settled()
  time.advance(2000)
  assert.equal(streams.length, 5)
})

test('a guest who is not invited any more is told, and asks once a minute at most', async () => {
  const { time, streams, newest, heard } = openLink({ renewSession: async () => false })
  newest().welcome()
  newest().end(expired)
  await settled()
  assert.match(heard.newest?.reason ?? '', /not invited any more; open your link once more/)
  time.advance(59_999)
  assert.equal(streams.length, 1)
  time.advance(1)
  assert.equal(streams.length, 2)
})

test('a server that cannot be asked for the session is a loss like others', async () => {
  const { time, streams, newest } = openLink({ renewSession: () => Promise.reject(new Error('no answer')) })
  newest().welcome()
  newest().end(expired)
  await settled()
  time.advance(250)
  assert.equal(streams.length, 2)
})

test('a stream that is refused looks lost: after the second time the session is asked for', async () => {
  const asked: number[] = []
  const { time, streams, newest, heard } = openLink({
    renewSession: async () => {
      asked.push(streams.length)
      return false
    },
  })
  newest().end()
  await settled()
  time.advance(250)
  newest().end()
  await settled()
  assert.deepEqual(asked, [2])
  assert.match(heard.newest?.reason ?? '', /not invited any more/)
  assert.equal(heard.newest?.mode, 'sse/2')
  time.advance(50_000)
  assert.equal(streams.length, 2)
})

for (const code of ['refused', 'uninvited'] as const) {
  test(`"${code}" is told with its sentence, tried slowly and in the same mode`, () => {
    const { time, streams, newest, heard } = openLink()
    for (let n = 1; n <= 5; n += 1) {
      newest().end({ code, sentence: 'Not like this.' })
      assert.deepEqual([heard.newest?.reason, heard.newest?.mode], ['Not like this.', 'sse/2'])
      time.advance(59_999)
      assert.equal(streams.length, n)
      time.advance(1)
    }
  })
}

test('what was answered about the session after all was closed opens nothing', async () => {
  const { link, time, streams, newest } = openLink()
  newest().end(expired)
  link.close()
  await settled()
  time.advance(60_000)
  assert.deepEqual([streams.length, time.pending()], [1, 0])
})

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

test('while nothing is connected no mode is said to stand in for the wished one', () => {
  const { time, newest, heard } = fallen()
  assert.equal(heard.newest?.fall, 'blocked')
  newest().end()
  assert.deepEqual([heard.newest?.state, heard.newest?.fall], ['waiting', null])
  time.advance(3000)
  assert.deepEqual([heard.newest?.state, heard.newest?.fall], ['opening', null])
})

test('a server that comes back while a lower mode is tried: nothing is said of the one that worked before until it fails again', () => {
  const { time, newest, heard } = openLink({ random: () => 0.5 })
  newest().welcome()
  time.advance(60_000)
  for (let n = 0; n < 20 && newest().mode.name === 'sse/2'; n += 1) {
    newest().end()
    time.advance(3000)
  }
  newest().welcome()
  assert.deepEqual([heard.newest?.state, heard.newest?.mode, heard.newest?.fall], ['open', 'sse/1.1', null])
  time.advance(250)
  assert.equal(newest().mode.name, 'sse/2')
  newest().end()
  assert.deepEqual([heard.newest?.mode, heard.newest?.fall], ['sse/1.1', 'blocked'])
})

test('where other windows hold all connections it takes HTTP/2 at once, says why, and returns when there is room', () => {
  for (const [wished, roomy] of [
    ['sse/1.1', 'sse/2'],
    ['long-polling/1.1', 'long-polling/2'],
  ] as const) {
    const { time, streams, newest, heard } = openLink({ mode: mode(wished), random: () => 0.5 })
    newest().end({ code: 'full', sentence: 'Full.' })
    time.advance(0)
    newest().welcome()
    assert.deepEqual([streams.length, heard.newest?.mode, heard.newest?.fall], [2, roomy, 'full'])
    time.advance(30_000)
    assert.equal(newest().mode.name, wished)
    newest().end({ code: 'full', sentence: 'Full.' })
    assert.deepEqual([heard.newest?.mode, streams.length], [roomy, 3], 'what works goes on')
    for (let n = 0; n < 6; n += 1) {
      streams[1]?.heartbeat()
      time.advance(10_000)
    }
    assert.deepEqual([streams.length, newest().mode.name], [4, wished])
    newest().welcome()
    assert.deepEqual([heard.newest?.mode, heard.newest?.fall], [wished, null])
  }
})

test('a probe is tried beside: what works goes on, until the better one is welcomed', async () => {
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
  assert.deepEqual([sse.sent, probe.sent], [['w1-1'], []])
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

test('a probe that fails changes nothing, and the next comes after a longer pause', () => {
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

test('a loss in between puts the probe off', () => {
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

test('a person’s choice ends the probe', () => {
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

/** A link that keeps its mode; `pause` ends its stream, gives the ms until the next try, and lets that follow. */
function openRetrying(circumstances: Partial<LinkOptions> = {}) {
  const opened = openLink({ mode: { ...mode('sse/2'), fallback: null }, ...circumstances })
  const { time, streams, newest, heard } = opened

  function pause(closing: Partial<Closing> = {}): number {
    const before = streams.length
    newest().end(closing)
    const pauseMs = (heard.newest?.retryAt ?? Number.NaN) - time.now()
    if (pauseMs > 0) time.advance(pauseMs - 1)
    assert.equal(streams.length, before)
    time.advance(pauseMs > 0 ? 1 : 0)
    assert.equal(streams.length, before + 1)
    return pauseMs
  }

  return { ...opened, pause, fail: (times: number) => Array.from({ length: times }, () => pause()) }
}

test('an absent server is asked again within three seconds however long it is away, half of each left to chance', () => {
  const pauses = (draw: number) => openRetrying({ random: () => draw }).fail(2000)
  assert.deepEqual(pauses(1).slice(0, 6), [250, 500, 1000, 2000, 3000, 3000])
  assert.equal(Math.max(...pauses(1)), 3000)
  assert.deepEqual(
    pauses(0),
    pauses(1).map((longestMs) => longestMs / 2),
  )
})

test('so is one that shuts down, whatever it answers in the meantime', () => {
  const { pause } = openRetrying()
  const pauses = Array.from({ length: 20 }, () => pause({ code: 'draining', retryAfterMs: 900 }))
  assert.deepEqual(pauses.slice(0, 4), [900, 900, 1000, 2000])
  assert.equal(Math.max(...pauses), 3000)
})

test('a server that is there and busy is asked ever less often, and as ever once it is away', () => {
  const { pause } = openRetrying()
  assert.deepEqual(
    Array.from({ length: 9 }, () => pause({ retryAfterMs: 700 })),
    [700, 700, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000],
  )
  assert.equal(pause(), 250)
})

test('five seconds open count as a good link; less, or not opened at all, as one more failure', () => {
  const { link, time, newest, pause } = openRetrying()
  const pauseAfterLivingMs = (livedMs: number) => {
    newest().welcome()
    time.advance(livedMs)
    return pause()
  }
  assert.deepEqual([0, 10, 4999, 0].map(pauseAfterLivingMs), [250, 500, 1000, 2000])
  assert.deepEqual([5000, 0].map(pauseAfterLivingMs), [250, 500])
  link.hide()
  time.advance(60_000)
  link.wake('restored')
  assert.equal(pause(), 1000, 'time spent closed is not time spent open')
})

test('the server’s wish counts after a first failure; after more it can only make the pause longer', () => {
  const { pause } = openRetrying()
  assert.deepEqual(
    [0, 0, 4000, 0].map((retryAfterMs) => pause({ retryAfterMs })),
    [0, 500, 4000, 2000],
  )
})

test('a server that had let it in and sent it away says when to come back, and that is no failure', () => {
  const { newest, pause, fail } = openRetrying()
  fail(3)
  for (const retryAfterMs of [0, 700, 0]) {
    newest().welcome()
    assert.equal(pause({ code: 'draining', retryAfterMs }), retryAfterMs)
  }
  assert.equal(pause(), 2000, 'earlier failures still count')
})
