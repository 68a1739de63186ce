// When a link retries, wakes, repairs, renews its session, falls back, returns and ends.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LinkOptions } from './link.ts'
import { mode, openLink, settled } from './testing.ts'
import { HttpError } from './transports/http.ts'
import type { Closing } from './transports/transport.ts'

test('a stream that is silent for two and a half heartbeats is closed and reopened', () => {
  const { time, streams, newest, heard } = openLink()
  newest().welcome({ heartbeatMs: 1000 })
  time.advance(2000)
  newest().heartbeat()
  time.advance(2499)
  assert.equal(newest().isClosed(), false)
  time.advance(1)
  assert.equal(newest().isClosed(), true)
  assert.equal(heard.states.at(-1), 'waiting sse/2 4750: The server has fallen silent.')
  time.advance(250)
  assert.equal(streams.length, 2)
})

test('waits longer after each failure, up to three seconds, and opens at the time it reported', () => {
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

test("after an hour of outage, reconnects within three seconds of the server's return", () => {
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

test('a mode change during the wait opens at once, and only once', () => {
  const { link, time, streams, newest } = openLink()
  newest().end()
  link.switchMode(mode('sse/1.1'))
  newest().welcome()
  time.advance(15_000)
  assert.equal(streams.length, 2)
})

test("a newly chosen mode does not inherit the previous mode's failures", () => {
  const { link, time, newest, heard } = openLink()
  for (const pauseMs of [250, 500, 1000]) {
    newest().end()
    time.advance(pauseMs)
  }
  link.switchMode(mode('sse/1.1'))
  newest().end()
  assert.equal(heard.states.at(-1), 'waiting sse/1.1 2000: Lost.')
  time.advance(250)
  newest().end()
  assert.match(heard.states.at(-1) ?? '', /^waiting long-polling/, 'after two of its own')
})

test('a retry request opens at once while waiting, and does nothing while a transport is open', () => {
  const { link, time, streams, newest } = openLink()
  link.wake('visible')
  assert.equal(streams.length, 1)
  newest().end()
  link.wake('visible')
  newest().welcome()
  time.advance(10_000)
  assert.equal(streams.length, 2)
})

test('after close, opens, sends and delivers nothing', async () => {
  const { link, time, streams, newest, heard, publish } = openLink()
  newest().welcome()
  publish()
  link.close()
  const before = structuredClone(heard)
  link.wake('visible')
  link.switchMode(mode('sse/1.1'))
  // Its last channels are left after it, as by a document that is destroyed later.
  link.read(['other'])
  link.open()
  newest().message(1)
  newest().end()
  await newest().store('w1-1', 1)
  await settled()
  time.advance(60_000)
  assert.deepEqual([streams.length, newest().isClosed(), time.pending()], [1, true, 0])
  assert.deepEqual(heard, before)
})

test('closed while waiting, it stays closed', () => {
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

test('on wake-up, keeps a stream that was heard recently and reopens any other from the cursor', () => {
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

test('after a restore from the back-forward cache, no stream counts as alive', () => {
  const { link, streams, newest } = openLink()
  newest().welcome()
  link.wake('restored')
  assert.deepEqual([streams.length, streams[0]?.isClosed()], [2, true])
})

test('offline, reports it and tries at most once a minute; online, tries at once', () => {
  const { link, time, streams, newest, heard } = openLink()
  newest().welcome()
  link.offline()
  assert.equal(heard.newest?.status, 'open', 'an open stream may still work')
  newest().end()
  assert.deepEqual([heard.newest?.status, heard.newest?.reason], ['waiting', 'This browser is offline.'])
  time.advance(59_999)
  assert.equal(streams.length, 1)
  link.wake('online')
  assert.equal(streams.length, 2)
})

test('going offline during a wait stops the quick retries', () => {
  const { link, time, streams, newest, heard } = openLink()
  newest().end()
  link.offline()
  assert.equal(heard.newest?.reason, 'This browser is offline.')
  time.advance(30_000)
  assert.equal(streams.length, 1)
  time.advance(30_000)
  assert.equal(streams.length, 2)
})

test('failures while offline cause no fallback', () => {
  const { link, time, streams, newest } = openLink()
  link.offline()
  for (let n = 0; n < 9; n += 1) {
    newest().end()
    time.advance(60_000)
  }
  assert.deepEqual(new Set(streams.map(({ mode }) => mode.name)), new Set(['sse/2']))
})

test('a browser that reports offline but still receives frames is not treated as offline', () => {
  const { link, time, newest, streams } = openLink()
  newest().welcome()
  link.offline()
  newest().heartbeat()
  newest().end()
  time.advance(250)
  assert.equal(streams.length, 2)
})

test('a page that hides closes its stream, and reopens it when restored', () => {
  for (const name of ['polling/2', 'sse/2']) {
    const { link, newest, streams } = openLink({ mode: mode(name) })
    newest().welcome()
    link.hide()
    link.read(['other'])
    assert.equal(newest().isClosed(), true)
    link.wake('restored')
    assert.equal(streams.length, 2)
  }
})

test('a page that ends sends what has no answer yet, in order, whether its stream is open or not', () => {
  for (const name of ['sse/2', 'sse/1.1', 'streaming/2', 'long-polling/2', 'polling/1.1']) {
    const { link, time, newest, publish, heard } = openLink({ mode: { ...mode(name), maxInFlight: 1 } })
    const base = `https://localhost:${mode(name).http}`
    publish()
    link.hide()
    link.wake('restored')
    newest().welcome()
    publish()
    link.hide()
    link.wake('restored')
    newest().end()
    publish()
    link.hide()
    time.advance(0)
    assert.deepEqual(heard.last, [
      [base, 'w1-1'],
      [base, 'w1-1', 'w1-2'],
      [base, 'w1-1', 'w1-2', 'w1-3'],
    ])
  }
})

test('a closing page repeats no draft that its open WebSocket has sent, unless another one waits behind it', async () => {
  const few = { ...mode('websocket/1.1'), maxInFlight: 2 }
  const { link, newest, publish, heard } = openLink({ mode: few, outlivesPage: true })
  const hide = () => {
    link.hide()
    link.wake('restored')
    newest().welcome()
    return heard.last.splice(0)
  }
  const base = 'https://localhost:1.1'
  publish()
  assert.deepEqual(hide(), [[base, 'w1-1']])
  publish()
  assert.deepEqual(hide(), [])
  publish()
  assert.deepEqual(hide(), [[base, 'w1-1', 'w1-2', 'w1-3']])
})

test('drafts that wait are sent as the page or the link closes, and a closed link has none', () => {
  for (const outlivesPage of [false, true])
    for (const ending of ['hide', 'close'] as const) {
      const { link, publish, heard } = openLink({ outlivesPage })
      publish()
      link[ending]()
      assert.deepEqual(heard.last, [['https://localhost:2', 'w1-1']])
      link.close()
      heard.last.length = 0
      link.hide()
      assert.deepEqual(heard.last, [])
    }
})

test('a link that was not opened yet is not opened by what wakes it', () => {
  const { link, streams } = openLink({ opens: false })
  link.offline()
  for (const by of ['online', 'visible', 'restored'] as const) link.wake(by)
  assert.deepEqual(streams, [])
  link.open()
  assert.equal(streams.length, 1)
})

test('sends a heartbeat once it is welcomed, and answers each of the server', () => {
  const { newest } = openLink()
  assert.equal(newest().beats(), 0)
  newest().welcome()
  for (let n = 1; n <= 3; n += 1) {
    assert.equal(newest().beats(), n)
    newest().heartbeat()
  }
})

test('a heartbeat that reveals a missing message causes a repair from the cursor, which is counted', () => {
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

test('repairs are not failures: however often they occur, the mode stays', () => {
  const { newest, streams } = openLink()
  for (let n = 1; n <= 9; n += 1) {
    newest().welcome()
    newest().heartbeat(n)
  }
  assert.deepEqual(new Set(streams.map(({ mode }) => mode.name)), new Set(['sse/2']))
})

test('polls have their own time limits: an idle one does not count as dead', () => {
  const { time, streams, newest } = openLink({ mode: mode('long-polling/2') })
  newest().welcome({ heartbeatMs: 15_000 })
  time.advance(600_000)
  assert.equal(streams.length, 1)
})

const notInvited = () =>
  Promise.reject(
    new HttpError({ status: 401, text: '{"code":"no-session","message":"Open your link again."}' }),
  )

const expired = { code: 'expired', sentence: 'The session has ended.', retryAfterMs: 0 } as const

test('an expired session is renewed, and the stream resumes from the cursor at once', async () => {
  let renewals = 0
  const renewSession = async () => {
    renewals += 1
  }
  const { time, newest, heard } = openLink({ renewSession })
  newest().welcome()
  newest().message(6)
  newest().end(expired)
  assert.deepEqual([heard.newest?.status, heard.newest?.reason], ['waiting', 'The session has ended.'])
  await settled()
  time.advance(0)
  assert.deepEqual([newest().cursor, renewals], ['life1:6', 1])
})

test('a session that keeps expiring after each renewal does not cause a loop', async () => {
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

test('a guest whose invitation has ended is told so, and asks at most once a minute', async () => {
  const { time, streams, newest, heard } = openLink({ renewSession: notInvited })
  newest().welcome()
  newest().end(expired)
  await settled()
  assert.match(heard.newest?.reason ?? '', /^Open your link again\.$/)
  time.advance(59_999)
  assert.equal(streams.length, 1)
  time.advance(1)
  assert.equal(streams.length, 2)
})

test('failing to reach the server for the session counts as an ordinary loss', async () => {
  const { time, streams, newest } = openLink({ renewSession: () => Promise.reject(new Error('no answer')) })
  newest().welcome()
  newest().end(expired)
  await settled()
  time.advance(250)
  assert.equal(streams.length, 2)
})

test('a refused stream looks lost: after the second time the session is checked', async () => {
  const asked: number[] = []
  const { time, streams, newest, heard } = openLink({
    renewSession: async () => {
      asked.push(streams.length)
      return notInvited()
    },
  })
  newest().end()
  await settled()
  time.advance(250)
  newest().end()
  await settled()
  assert.deepEqual(asked, [2])
  assert.match(heard.newest?.reason ?? '', /^Open your link again\.$/)
  assert.equal(heard.newest?.mode, 'sse/2')
  time.advance(50_000)
  assert.equal(streams.length, 2)
})

test('a server that knows the session no longer, once it is back: it is renewed, and the stream is tried at once', async () => {
  let isAway = true
  let renewals = 0
  const { time, streams, newest } = openLink({
    async renewSession() {
      if (isAway) throw new Error('no answer')
      renewals += 1
    },
  })
  newest().welcome()
  async function lose() {
    newest().end()
    await settled()
    for (const before = streams.length; streams.length === before && renewals === 0; ) time.advance(100)
  }
  for (let losses = 0; losses < 6; losses += 1) await lose()
  isAway = false
  const before = streams.length
  newest().end()
  await settled()
  time.advance(0)
  assert.deepEqual([renewals, streams.length], [1, before + 1])
  // What is refused again is not the session's fault.
  newest().end()
  await settled()
  assert.equal(streams.length, before + 1)
})

for (const code of ['refused', 'uninvited'] as const) {
  test(`after "${code}" the session is renewed and the stream tried at once; refused again, it is tried slowly in the same mode`, async () => {
    let renewals = 0
    const { time, streams, newest, heard } = openLink({
      renewSession: async () => {
        renewals += 1
      },
    })
    const refuse = async () => {
      newest().end({ code, sentence: 'Not like this.' })
      await settled()
      assert.deepEqual([heard.newest?.reason, heard.newest?.mode], ['Not like this.', 'sse/2'])
    }
    await refuse()
    time.advance(0)
    for (let n = 2; n <= 5; n += 1) {
      assert.deepEqual([streams.length, renewals], [n, n - 1])
      await refuse()
      time.advance(59_999)
      assert.equal(streams.length, n)
      time.advance(1)
    }
    newest().welcome()
    await refuse()
    time.advance(0)
    assert.equal(streams.length, 7)
  })
}

test('a session answer that arrives after close opens nothing', async () => {
  const { link, time, streams, newest } = openLink()
  newest().end(expired)
  link.close()
  await settled()
  time.advance(60_000)
  assert.deepEqual([streams.length, time.pending()], [1, 0])
})

/** A link whose WebSocket does not get through; it is connected by SSE instead. */
function fallen(preferred = 'websocket/1.1') {
  const opened = openLink({ mode: mode(preferred), random: () => 0.5 })
  const { time, newest } = opened
  for (let n = 0; n < 9 && newest().mode.name !== 'sse/2'; n += 1) {
    newest().end()
    time.advance(1000)
  }
  newest().welcome()
  newest().message(1)
  return opened
}

test('continues with the fallback, and reports the preferred mode', () => {
  const { streams, newest, heard } = fallen()
  assert.deepEqual(
    streams.map(({ mode }) => mode.name),
    ['websocket/1.1', 'websocket/1.1', 'sse/2'],
  )
  assert.equal(newest().base, 'https://localhost:2')
  const { status, mode, preferred, fallbackReason } = heard.newest ?? {}
  assert.deepEqual([status, mode, preferred, fallbackReason], ['open', 'sse/2', 'websocket/1.1', 'blocked'])
})

test('while disconnected, reports no mode as a substitute for the preferred one', () => {
  const { time, newest, heard } = fallen()
  assert.equal(heard.newest?.fallbackReason, 'blocked')
  newest().end()
  assert.deepEqual([heard.newest?.status, heard.newest?.fallbackReason], ['waiting', null])
  time.advance(3000)
  assert.deepEqual([heard.newest?.status, heard.newest?.fallbackReason], ['opening', null])
})

test('a server that returns during a descent: the mode that worked before is not called blocked until it fails again', () => {
  const { time, newest, heard } = openLink({ random: () => 0.5 })
  newest().welcome()
  time.advance(60_000)
  for (let n = 0; n < 20 && newest().mode.name === 'sse/2'; n += 1) {
    newest().end()
    time.advance(3000)
  }
  newest().welcome()
  assert.deepEqual(
    [heard.newest?.status, heard.newest?.mode, heard.newest?.fallbackReason],
    ['open', 'sse/1.1', null],
  )
  time.advance(250)
  assert.equal(newest().mode.name, 'sse/2')
  newest().end()
  assert.deepEqual([heard.newest?.mode, heard.newest?.fallbackReason], ['sse/1.1', 'blocked'])
})

test('when other windows hold all connections, uses HTTP/2 at once, reports why, and returns when there is room', () => {
  for (const [preferred, roomy] of [
    ['sse/1.1', 'sse/2'],
    ['long-polling/1.1', 'long-polling/2'],
  ] as const) {
    const { time, streams, newest, heard } = openLink({ mode: mode(preferred), random: () => 0.5 })
    newest().end({ code: 'full', sentence: 'Full.' })
    time.advance(0)
    newest().welcome()
    assert.deepEqual([streams.length, heard.newest?.mode, heard.newest?.fallbackReason], [2, roomy, 'full'])
    time.advance(30_000)
    assert.equal(newest().mode.name, preferred)
    newest().end({ code: 'full', sentence: 'Full.' })
    assert.deepEqual([heard.newest?.mode, streams.length], [roomy, 3], 'the working stream continues')
    for (let n = 0; n < 6; n += 1) {
      streams[1]?.heartbeat()
      time.advance(10_000)
    }
    assert.deepEqual([streams.length, newest().mode.name], [4, preferred])
    newest().welcome()
    assert.deepEqual([heard.newest?.mode, heard.newest?.fallbackReason], [preferred, null])
  }
})

test('a probe runs beside the working stream, which continues until the better one is welcomed', async () => {
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
  assert.deepEqual([sse.isClosed(), heard.newest?.status, heard.newest?.mode], [false, 'open', 'sse/2'])

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
  assert.deepEqual([heard.newest?.mode, heard.newest?.fallbackReason], ['websocket/1.1', null])
})

test('a failed probe changes nothing, and the next one comes after a longer pause', () => {
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

test('a loss during the pause postpones the probe', () => {
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

test('if the preferred mode still does not open, the next best is probed', () => {
  const { time, newest, heard } = fallen('websocket/2')
  time.advance(30_000)
  assert.equal(newest().mode.name, 'websocket/2')
  newest().end()
  assert.equal(newest().mode.name, 'websocket/1.1')
  newest().welcome()
  assert.deepEqual(
    [heard.newest?.mode, heard.newest?.preferred, heard.newest?.fallbackReason],
    ['websocket/1.1', 'websocket/2', 'blocked'],
  )
})

test('the server may end the old stream for the new one before it welcomes the new one', () => {
  const { time, streams, newest, heard } = fallen()
  const sse = newest()
  time.advance(30_000)
  sse.end({ code: 'replaced' })
  assert.deepEqual([heard.newest?.status, heard.newest?.mode], ['opening', 'websocket/1.1'])
  newest().welcome()
  newest().message(2)
  time.advance(15_000)
  assert.deepEqual([streams.length, heard.messages, heard.newest?.status], [4, [1, 2], 'open'])
})

test('if the better mode then fails, the working one is reopened', () => {
  const { time, newest } = fallen()
  time.advance(30_000)
  newest().welcome()
  newest().end()
  time.advance(0)
  assert.equal(newest().mode.name, 'sse/2')
})

test('choosing a mode ends the probe', () => {
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

/**
 * A link that keeps its mode; `pause` ends its stream, returns the ms until the next try, and lets
 * that happen.
 */
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

test('an unreachable server is retried within three seconds however long it is away, half of each pause random', () => {
  const pauses = (draw: number) => openRetrying({ random: () => draw }).fail(2000)
  assert.deepEqual(pauses(1).slice(0, 6), [250, 500, 1000, 2000, 3000, 3000])
  assert.equal(Math.max(...pauses(1)), 3000)
  assert.deepEqual(
    pauses(0),
    pauses(1).map((longestMs) => longestMs / 2),
  )
})

test('a server that is shutting down is retried as often as an unreachable one, whatever it answers meanwhile', () => {
  const { pause } = openRetrying()
  const pauses = Array.from({ length: 20 }, () => pause({ code: 'draining', retryAfterMs: 900 }))
  assert.deepEqual(pauses.slice(0, 4), [900, 900, 1000, 2000])
  assert.equal(Math.max(...pauses), 3000)
})

test('a busy server is retried ever less often, and at the usual rate once it is unreachable', () => {
  const { pause } = openRetrying()
  assert.deepEqual(
    Array.from({ length: 9 }, () => pause({ retryAfterMs: 700 })),
    [700, 700, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000],
  )
  assert.equal(pause(), 250)
})

test('a connection that stayed open for five seconds clears the failures; a shorter one, or none, adds one', () => {
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
  assert.equal(pause(), 1000, 'time spent closed does not count as open')
  newest().welcome()
  link.hide()
  time.advance(60_000)
  link.wake('restored')
  assert.equal(pause(), 2000, 'nor does it after a connection that was open')
})

test('connections that the window itself ends do not count as short-lived', () => {
  const { link, newest, time } = openRetrying({ mode: mode('sse/2') })
  for (let n = 0; n < 9; n += 1) {
    newest().welcome()
    time.advance(100)
    link.hide()
    link.wake('restored')
  }
  newest().end()
  time.advance(250)
  assert.equal(newest().mode.name, 'sse/2')
})

test("the server's requested pause applies after a first failure; after more it can only lengthen the pause", () => {
  const { pause } = openRetrying()
  assert.deepEqual(
    [0, 0, 4000, 0].map((retryAfterMs) => pause({ retryAfterMs })),
    [0, 500, 4000, 2000],
  )
})

test('the pause named by a server that ends an open stream is used, and the end is no failure', () => {
  const { newest, pause, fail } = openRetrying()
  fail(3)
  for (const retryAfterMs of [0, 700, 0]) {
    newest().welcome()
    assert.equal(pause({ code: 'draining', retryAfterMs }), retryAfterMs)
  }
  assert.equal(pause(), 2000, 'earlier failures still count')
})

test('a window that is not let in is told why, whether its renewal or its stream is refused; `wake` asks at once', async () => {
  const denied: unknown[] = []
  const onDenied = (error: unknown) => void denied.push((error as { readonly code: string }).code)
  const renewal = openLink({ renewSession: notInvited, onDenied })
  renewal.newest().welcome()
  renewal.newest().end(expired)
  await settled()
  assert.deepEqual(denied, ['no-session'])
  renewal.link.wake('resumed')
  assert.equal(renewal.streams.length, 2)

  const stream = openLink({ onDenied })
  for (const toldBefore of [1, 1]) {
    assert.equal(denied.length, toldBefore)
    stream.newest().end({ code: 'refused', sentence: 'Not like this.' })
    await settled()
    stream.time.advance(0)
  }
  assert.deepEqual(denied, ['no-session', 'refused'])
})

test('a server that cannot be reached does not mean that the window is not let in', async () => {
  const denied: unknown[] = []
  const { newest } = openLink({
    renewSession: () => Promise.reject(new Error('no answer')),
    onDenied: (error) => void denied.push(error),
  })
  newest().welcome()
  newest().end(expired)
  await settled()
  assert.deepEqual(denied, [])
})
