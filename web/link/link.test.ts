import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RefusedError } from '../transports/transport.ts'
import { mode, openLink } from './testing-link.ts'

test('opens the mode’s transport at its listener and says who asks, without a cursor at first', () => {
  const { newest, heard } = openLink()
  const { transport, origin, query } = newest()
  assert.deepEqual([transport, origin], ['sse', 'https://localhost:2'])
  assert.equal(String(query), 'window=w1&browser=b1&channels=main%2Cwind&opening=1')
  newest().welcome()
  assert.deepEqual(heard.states, ['opening sse/2', 'open sse/2 HTTP/2'])
})

test('counts its openings, and tells the transport its mode and how to poll', () => {
  const { time, streams, newest } = openLink({ mode: mode('long-polling/2') })
  newest().end()
  time.advance(250)
  assert.deepEqual(
    streams.map(({ query }) => query.get('opening')),
    ['1', '2'],
  )
  assert.equal(newest().mode.name, 'long-polling/2')
  assert.deepEqual(newest().polling, { intervalMs: 1000, holdMs: 20_000 })
})

test('begins at the cursor of what the page brought, and takes what comes after it', () => {
  const { newest, heard } = openLink({ cursor: 'life1:40' })
  assert.equal(newest().cursor, 'life1:40')
  newest().welcome({ cursor: 'life1:41' })
  for (const seq of [39, 40, 41]) newest().message(seq)
  assert.deepEqual([heard.messages, heard.newLogs], [[41], 0])
})

test('tells when the log is another one than the page came from', () => {
  const { newest, heard } = openLink({ cursor: 'life1:40' })
  newest().welcome({ cursor: 'life2:3', recovered: false })
  newest().message(3)
  assert.deepEqual([heard.messages, heard.newLogs], [[3], 1])
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
