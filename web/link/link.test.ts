import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../server/wire/manual-time.ts'
import { type Mode, modeNamed } from '../../server/wire/modes.ts'
import { RefusedError } from '../transports/transport.ts'
import { createLink } from './link.ts'
import { createFakeTransports, type FakeStream, settled } from './testing.ts'

function mode(name: string): Mode {
  return modeNamed(name) ?? assert.fail(`there is no mode ${name}`)
}

function openLink() {
  const time = createManualTime()
  const startAt = time.now()
  const { streams, transports } = createFakeTransports()
  const heard = {
    states: [] as string[],
    messages: [] as number[],
    windows: [] as number[],
    unstored: [] as number[],
    stored: [] as string[],
    refused: [] as string[],
  }
  const link = createLink({
    transports,
    originFor: (http) => `https://localhost:${http}`,
    window: 'w1',
    browser: 'b1',
    channels: ['main', 'wind'],
    mode: mode('sse/2'),
    timers: time,
    random: () => 1,
    onState({ state, mode, spokenHttp, reason, retryAt }) {
      const said = {
        open: `HTTP/${spokenHttp}`,
        opening: '',
        waiting: `${(retryAt ?? 0) - startAt}: ${reason}`,
      }
      heard.states.push(`${state} ${mode} ${said[state]}`.trim())
    },
    onMessage: ({ seq }) => void heard.messages.push(seq),
    onPresence: ({ windows }) => void heard.windows.push(windows),
    onOutbox: (unstored) => void heard.unstored.push(unstored),
    onStored: (id, seq) => void heard.stored.push(`${id} as ${seq}`),
    onRefused: (id, sentence) => void heard.refused.push(`${id}: ${sentence}`),
  })
  const newest = (): FakeStream => streams.at(-1) ?? assert.fail('nothing was opened')
  const publish = (html = '') => link.publish('main', 'edit', { html })
  return { link, time, streams, newest, heard, publish }
}

test('opens the mode’s transport at its listener and says who asks, without a cursor at first', () => {
  const { newest, heard } = openLink()
  const { transport, origin, query } = newest()
  assert.deepEqual([transport, origin], ['sse', 'https://localhost:2'])
  assert.equal(String(query), 'window=w1&browser=b1&channels=main%2Cwind')
  newest().welcome()
  assert.deepEqual(heard.states, ['opening sse/2', 'open sse/2 HTTP/2'])
})

test('resumes from where it stands, and before the first message from the start of what it entered', () => {
  const { time, newest, streams } = openLink()
  newest().welcome({ cursor: 'life1:7' })
  newest().end()
  time.advance(250)
  assert.equal(newest().cursor, 'life1:0')
  newest().welcome({ cursor: 'life1:9' })
  newest().message(8)
  newest().message(9)
  newest().end()
  time.advance(500)
  assert.deepEqual([streams.length, newest().cursor], [3, 'life1:9'])
})

test('drops what it had already, and takes all of another life of the log', () => {
  const { time, newest, heard } = openLink()
  newest().welcome()
  for (const seq of [1, 2, 2, 1, 3]) newest().message(seq)
  assert.deepEqual(heard.messages, [1, 2, 3])
  newest().end()
  time.advance(250)
  newest().welcome({ cursor: 'life1:4' })
  for (const seq of [2, 3, 4]) newest().message(seq)
  assert.deepEqual(heard.messages, [1, 2, 3, 4])
  newest().end()
  time.advance(500)
  newest().welcome({ cursor: 'life2:2', recovered: false })
  for (const seq of [1, 2]) newest().message(seq)
  assert.deepEqual(heard.messages, [1, 2, 3, 4, 1, 2])
})

test('passes on who is here', () => {
  const { newest, heard } = openLink()
  newest().frame({ type: 'presence', windows: 3, browserHttp1Streams: 0 }, 0)
  assert.deepEqual(heard.windows, [3])
})

test('numbers and stamps what it sends, and knows what is not stored yet', async () => {
  const { time, newest, heard, publish } = openLink()
  newest().welcome()
  time.advance(12)
  assert.deepEqual(publish('a'), {
    id: 'w1-1',
    channel: 'main',
    kind: 'edit',
    from: 'w1',
    at: time.now(),
    body: { html: 'a' },
  })
  publish('b')
  assert.deepEqual(newest().sent, ['w1-1', 'w1-2'])
  await newest().store('w1-2', 5)
  await newest().store('w1-1', 6)
  assert.deepEqual(heard.stored, ['w1-2 as 5', 'w1-1 as 6'])
  assert.deepEqual(heard.unstored, [1, 2, 1, 0])
})

test('keeps what is said before it is open, and sends it before what comes later', () => {
  const { newest, publish } = openLink()
  publish()
  publish()
  assert.deepEqual(newest().sent, [])
  newest().welcome()
  publish()
  assert.deepEqual(newest().sent, ['w1-1', 'w1-2', 'w1-3'])
})

test('after a loss it sends again what was not acknowledged, in order, under the same ids', async () => {
  const { time, newest, publish } = openLink()
  newest().welcome()
  for (let n = 0; n < 4; n += 1) publish()
  await newest().store('w1-2', 1)
  newest().end()
  publish()
  time.advance(250)
  newest().welcome()
  assert.deepEqual(newest().sent, ['w1-1', 'w1-3', 'w1-4', 'w1-5'])
})

test('what was refused is told and not sent again', async () => {
  const { time, streams, newest, heard, publish } = openLink()
  newest().welcome()
  publish()
  publish()
  await newest().fail('w1-1', new RefusedError('bad-shape', 'It does not fit.'))
  assert.deepEqual([heard.refused, streams.length], [['w1-1: It does not fit.'], 1])
  newest().end()
  time.advance(250)
  newest().welcome()
  assert.deepEqual([newest().sent, heard.unstored.at(-1)], [['w1-2'], 1])
})

test('an uplink that breaks while the stream seems fine starts over once, and all goes again in order', async () => {
  const { time, streams, newest, heard, publish } = openLink()
  newest().welcome()
  publish()
  publish()
  const first = newest()
  await first.fail('w1-1', new Error('no answer'))
  await first.fail('w1-2', new Error('no answer'))
  assert.equal(first.isClosed(), true)
  assert.equal(heard.states.at(-1), 'waiting sse/2 250: A message could not be sent; connecting anew.')
  time.advance(250)
  newest().welcome()
  assert.deepEqual([streams.length, newest().sent], [2, ['w1-1', 'w1-2']])
})

test('a stream that says nothing for two and a half beats is closed and opened anew', () => {
  const { time, streams, newest, heard } = openLink()
  newest().welcome({ heartbeatMs: 1000 })
  time.advance(2000)
  newest().frame({ type: 'heartbeat' }, 0)
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
    'waiting sse/2 750: Lost.',
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

test('switches live: keeps cursor and outbox, closes the old transport and does not act on what it still says', async () => {
  const { link, time, streams, newest, heard, publish } = openLink()
  newest().welcome()
  newest().message(3)
  publish()
  publish()
  const old = newest()
  link.switchMode(mode('websocket/1.1'))
  assert.equal(old.isClosed(), true)
  assert.deepEqual(
    [newest().transport, newest().origin, newest().cursor],
    ['websocket', 'https://localhost:1.1', 'life1:3'],
  )

  old.message(4)
  old.welcome({ cursor: 'life9:0' })
  old.frame({ type: 'presence', windows: 9, browserHttp1Streams: 0 }, 0)
  old.end()
  await old.fail('w1-1', new Error('aborted'))
  await old.store('w1-2', 8)
  newest().welcome({ http: '1.1' })
  newest().message(4)
  assert.deepEqual(newest().sent, ['w1-1'])
  await newest().store('w1-1', 9)
  time.advance(15_000)
  assert.deepEqual([streams.length, heard.messages, heard.windows], [2, [3, 4], []])
  assert.deepEqual(heard.stored, ['w1-2 as 8', 'w1-1 as 9'])
  assert.deepEqual(heard.states, [
    'opening sse/2',
    'open sse/2 HTTP/2',
    'opening websocket/1.1',
    'open websocket/1.1 HTTP/1.1',
  ])
})

test('a message that two transports answer is settled once', async () => {
  const { link, newest, heard, publish } = openLink()
  newest().welcome()
  publish()
  const old = newest()
  link.switchMode(mode('websocket/1.1'))
  newest().welcome()
  await newest().store('w1-1', 1)
  await old.store('w1-1', 1)
  assert.deepEqual([heard.stored, heard.unstored], [['w1-1 as 1'], [1, 0]])
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
