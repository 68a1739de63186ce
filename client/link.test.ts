// A link delivers in order and once, resends unstored drafts, changes channels, dates messages.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../protocol/messages.ts'
import type { Link } from './link.ts'
import { whenDue } from './link-clock.ts'
import { mode, openLink, settled } from './testing.ts'
import { RefusedError } from './transports/transport.ts'

test('opens the mode’s transport at its address and identifies itself, at first without a cursor', () => {
  const { newest, heard } = openLink()
  const { transport, base, query } = newest()
  assert.deepEqual([transport, base], ['sse', 'https://localhost:2'])
  assert.equal(String(query), 'window=w1&key=k1&channels=main%2Cwind&opening=1&answers=')
  newest().welcome()
  assert.deepEqual(heard.states, ['opening sse/2', 'open sse/2 HTTP/2'])
})

test('numbers its openings, and gives the transport its mode and poll settings', () => {
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

test("starts at the page's embedded cursor and delivers what follows", () => {
  const { newest, heard } = openLink({ cursor: 'life1:40' })
  assert.equal(newest().cursor, 'life1:40')
  newest().welcome({ cursor: 'life1:41' })
  for (const seq of [39, 40, 41]) newest().message(seq)
  assert.deepEqual([heard.messages, heard.newLogs], [[41], 0])
})

test('reports that the log is not the one the page came from', () => {
  const { newest, heard } = openLink({ cursor: 'life1:40' })
  newest().welcome({ cursor: 'life2:3', recovered: false })
  newest().message(3)
  assert.deepEqual([heard.messages, heard.newLogs], [[3], 1])
})

test('continues in a new epoch of the same log', () => {
  const { time, newest, heard } = openLink({ cursor: 'life1:40' })
  newest().welcome({ cursor: 'life2:41', recovered: true })
  for (const seq of [40, 41]) newest().message(seq)
  newest().end()
  time.advance(250)
  assert.deepEqual([newest().cursor, heard.messages, heard.newLogs], ['life2:41', [41], 0])
})

test('resumes from its position; before the first message, from the start of the log', () => {
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

test('drops repeated messages, and accepts all messages of a new log', () => {
  const { time, newest, heard } = openLink()
  newest().welcome()
  // The gaps are messages of other channels.
  for (const seq of [1, 1, 2, 5, 3, 5, 6]) newest().message(seq)
  assert.deepEqual(heard.messages, [1, 2, 5, 6])
  newest().end()
  time.advance(250)
  newest().welcome({ cursor: 'life1:7' })
  for (const seq of [2, 6, 7]) newest().message(seq)
  assert.deepEqual(heard.messages, [1, 2, 5, 6, 7])
  newest().end()
  time.advance(500)
  newest().welcome({ cursor: 'life2:2', recovered: false })
  for (const seq of [1, 2]) newest().message(seq)
  assert.deepEqual(heard.messages, [1, 2, 5, 6, 7, 1, 2])
})

test('passes presence on', () => {
  const { newest, heard } = openLink()
  newest().frame({ type: 'presence', windows: 3, browserHttp1Streams: 0 }, 0)
  assert.deepEqual(heard.windows, [3])
})

test('numbers and stamps what it sends, and tracks what is not yet stored', async () => {
  const { time, newest, heard, publish } = openLink()
  newest().welcome()
  time.advance(12)
  assert.deepEqual(publish('a'), {
    id: 'w1-1',
    channel: 'main',
    kind: 'update',
    from: 'w1',
    at: time.now(),
    body: { update: 'a' },
  })
  publish('b')
  assert.deepEqual(newest().sent, ['w1-1', 'w1-2'])
  await newest().store('w1-2', 5)
  await newest().store('w1-1', 6)
  assert.deepEqual(heard.stored, ['w1-2 as 5', 'w1-1 as 6'])
  assert.deepEqual(heard.unstored, [0, 1, 2, 1, 0])
})

test('keeps messages published before it is open, and sends them before later ones', () => {
  const { newest, publish } = openLink()
  publish()
  publish()
  assert.deepEqual(newest().sent, [])
  newest().welcome()
  publish()
  assert.deepEqual(newest().sent, ['w1-1', 'w1-2', 'w1-3'])
})

test('after a loss, resends unacknowledged drafts in order, under the same ids', async () => {
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

test('reports a refused draft and does not resend it', async () => {
  const { time, streams, newest, heard, publish } = openLink()
  newest().welcome()
  publish()
  publish()
  await newest().fail('w1-1', new RefusedError('bad-shape', 'Invalid message.'))
  assert.deepEqual([heard.refused, streams.length], [['w1-1: Invalid message.'], 1])
  newest().end()
  time.advance(250)
  newest().welcome()
  assert.deepEqual([newest().sent, heard.unstored.at(-1)], [['w1-2'], 1])
})

test('an uplink that breaks while the stream seems fine restarts both once, and all drafts are resent in order', async () => {
  const { time, streams, newest, heard, publish } = openLink()
  newest().welcome()
  publish()
  publish()
  const first = newest()
  await first.fail('w1-1', new Error('no answer'))
  await first.fail('w1-2', new Error('no answer'))
  assert.equal(first.isClosed(), true)
  assert.equal(heard.states.at(-1), 'waiting sse/2 250: A message could not be sent.')
  time.advance(250)
  newest().welcome()
  assert.deepEqual([streams.length, newest().sent], [2, ['w1-1', 'w1-2']])
})

test('changes mode live: keeps cursor and outbox, closes the old transport and ignores its later frames', async () => {
  const { link, time, streams, newest, heard, publish } = openLink()
  newest().welcome()
  newest().message(3)
  publish()
  publish()
  const old = newest()
  link.switchMode(mode('websocket/1.1'))
  assert.equal(old.isClosed(), true)
  assert.deepEqual(
    [newest().transport, newest().base, newest().cursor],
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

test('a draft that two transports acknowledge is settled once', async () => {
  const { link, newest, heard, publish } = openLink()
  newest().welcome()
  publish()
  const old = newest()
  link.switchMode(mode('websocket/1.1'))
  newest().welcome()
  await newest().store('w1-1', 1)
  await old.store('w1-1', 1)
  assert.deepEqual([heard.stored, heard.unstored], [['w1-1 as 1'], [0, 1, 0]])
})

test('on a change of channels, reopens from the cursor and resends unstored drafts', () => {
  const { link, streams, newest, heard, publish } = openLink()
  newest().welcome({ cursor: 'life1:4' })
  newest().message(5)
  publish()
  link.read(['main', 'wind', 'notes'])
  assert.deepEqual([streams.length, streams[0]?.isClosed()], [2, true])
  const { query, cursor } = newest()
  assert.deepEqual([query.get('channels'), query.get('opening'), cursor], ['main,wind,notes', '2', 'life1:5'])
  newest().welcome({ cursor: 'life1:6' })
  newest().message(6)
  assert.deepEqual([heard.messages, newest().sent], [[5, 6], ['w1-1']])
  assert.equal(heard.newest?.repairs, 0)
})

test('channels that change while a stream opens share one reopening, from the same cursor, once it is welcomed', () => {
  const { link, streams, newest, heard } = openLink({ channels: ['main'], cursor: 'life1:4' })
  link.read(['main', 'wind'])
  link.read(['main', 'wind', 'notes'])
  assert.deepEqual([streams.length, streams[0]?.isClosed()], [1, false])
  newest().welcome({ cursor: 'life1:6' })
  streams[0]?.message(5)
  assert.deepEqual([streams.length, streams[0]?.isClosed()], [2, true])
  assert.deepEqual([newest().query.get('channels'), newest().cursor], ['main,wind,notes', 'life1:4'])
  newest().welcome({ cursor: 'life1:6' })
  newest().message(5)
  assert.deepEqual([heard.messages, streams.length, heard.newest?.status], [[5], 2, 'open'])
})

test('channels that change back while a stream opens do not reopen it', () => {
  const { link, streams, newest, heard } = openLink()
  link.read(['main'])
  link.read(['main', 'wind'])
  newest().welcome()
  assert.deepEqual([streams.length, heard.newest?.status], [1, 'open'])
})

test('setting the same channels changes nothing', () => {
  const { link, streams, newest } = openLink()
  newest().welcome()
  link.read(['main', 'wind'])
  assert.equal(streams.length, 1)
})

test('channels changed while disconnected apply to the next connection', () => {
  const { link, time, streams, newest } = openLink()
  newest().end()
  link.read(['main'])
  assert.equal(streams.length, 1)
  time.advance(250)
  assert.equal(newest().query.get('channels'), 'main')
  link.close()
  link.read(['main', 'wind'])
  assert.equal(streams.length, 2)
})

const hourMs = 3_600_000

function openTold(change: Parameters<typeof openLink>[0] = {}) {
  const told: { readonly seq: number; readonly receivedAt: number; readonly dueAt: number }[] = []
  const opened = openLink({
    onMessage: ({ seq }, receivedAt, dueAt) => void told.push({ seq, receivedAt, dueAt }),
    ...change,
  })
  const { time, newest } = opened

  /** The message arrives now; the log accepted it at `acceptedAt`. */
  function take(seq: number, acceptedAt: number): void {
    const sent = { id: `sensor-${seq}`, channel: 'wind', from: 'sensor', at: acceptedAt }
    const message: Message = { ...sent, kind: 'edit', body: { html: '' }, seq, acceptedAt }
    newest().frame({ type: 'message', message }, time.now())
  }

  /** One exchange with a server whose clock is `aheadMs` ahead of this window's. */
  function compareClocks(aheadMs: number): void {
    time.advance(250)
    const sent = time.now()
    const at = time.now() + aheadMs
    newest().frame({ type: 'clock', sent, received: at, at }, sent)
  }

  function comeBack(cursor: string, recovered = true): void {
    newest().end()
    time.advance(1000)
    newest().welcome({ cursor, recovered })
  }

  /** How late each message was, by number. Also checks that all were delivered on arrival. */
  function late(): [number, number][] {
    return told.map(({ seq, receivedAt, dueAt }) => [seq, receivedAt - dueAt])
  }

  return { ...opened, take, compareClocks, comeBack, late, told }
}

test('the state says how far an open window is behind its server, by their clocks and by silence', () => {
  const { time, newest, heard, take, compareClocks } = openTold()
  const behind: unknown[] = []
  const note = () => behind.push(heard.newest?.behindMs)
  note()
  newest().welcome({ cursor: 'life1:0', heartbeatMs: 5000 })
  note()
  compareClocks(0)
  note()
  time.advance(8000)
  note()
  take(1, time.now() - 7500)
  time.advance(1000)
  note()
  newest().frame({ type: 'heartbeat', newest: 1, at: time.now() }, time.now())
  time.advance(1000)
  note()
  newest().end()
  note()
  assert.deepEqual(behind, [null, null, 0, 3000, 8000, 0, null])
})

test('polls get no heartbeats, so their silence is no lag', () => {
  const { time, newest, heard, compareClocks } = openTold({ mode: mode('long-polling/2') })
  newest().welcome({ heartbeatMs: 5000 })
  compareClocks(0)
  time.advance(60_000)
  assert.equal(heard.newest?.behindMs, 0)
})

test('messages up to the welcome’s cursor are dated by the log, later ones by their arrival', () => {
  const { time, newest, take, late, told } = openTold()
  newest().welcome({ cursor: 'life1:7' })
  take(6, time.now() - 6 * hourMs)
  take(7, time.now() - 20)
  take(8, time.now() - 300)
  assert.deepEqual(late(), [
    [6, 6 * hourMs],
    [7, 20],
    [8, 0],
  ])
  assert.deepEqual(new Set(told.map(({ receivedAt }) => receivedAt)), new Set([time.now()]))
})

test('a resumed stream, or one of a new log, also dates messages up to its welcome by the log', () => {
  const { time, newest, take, comeBack, late } = openTold()
  newest().welcome({ cursor: 'life1:0' })
  take(1, time.now() - 40)
  comeBack('life1:3')
  take(3, time.now() - hourMs)
  comeBack('life2:1', false)
  take(1, time.now() - 2 * hourMs)
  take(2, time.now() - 30)
  assert.deepEqual(late(), [
    [1, 0],
    [3, hourMs],
    [1, 2 * hourMs],
    [2, 0],
  ])
})

for (const aheadMs of [hourMs, -hourMs]) {
  test(`the previous stream's clock reading converts log times to this window’s clock, the server ${aheadMs} ms ahead`, () => {
    const { time, newest, take, compareClocks, comeBack, late } = openTold()
    newest().welcome()
    compareClocks(aheadMs)
    comeBack('life1:3')
    take(3, time.now() + aheadMs - 20_000)
    const [[, lateMs] = assert.fail('nothing was told')] = late()
    // A stamp is a float, and the reading is for a drifting clock.
    assert.equal(Math.round(lateMs), 20_000)
  })
}

test('a late message is dated by the log in this window’s clock, and never in the future', () => {
  const acceptedAt = 1_700_000_000_000
  for (const offsetMs of [0, hourMs, -hourMs]) {
    const acceptedHereAt = acceptedAt - offsetMs
    assert.equal(whenDue({ acceptedAt }, acceptedHereAt + 20_000, offsetMs), acceptedHereAt)
    assert.equal(whenDue({ acceptedAt }, acceptedHereAt - 1, offsetMs), acceptedHereAt - 1)
  }
})

test('the messages that a stream missed are reported once, with the end of the log', () => {
  const { time, newest, heard } = openLink({ cursor: 'life1:5' })
  newest().welcome()
  assert.deepEqual(heard.missed, [])
  newest().end()
  time.advance(1000)
  newest().welcome({ cursor: 'life1:90', recovered: false })
  newest().end()
  time.advance(2000)
  newest().welcome({ cursor: 'life2:3', recovered: false })
  assert.deepEqual(heard.missed, ['life1:5 to life1:90', 'life1:5 to life2:3'])
  assert.equal(heard.newLogs, 1)
})

const shownAt = (anchor: string) => ({ client: 7, name: '', anchor, head: anchor })

test('awareness is sent once connected, on change, and after each reconnect', () => {
  const { link, time, streams, newest } = openLink()
  link.setAwareness({ state: shownAt('AA') })
  assert.deepEqual(newest().reports, [])
  newest().welcome()
  assert.deepEqual(newest().reports, [{ state: shownAt('AA') }])
  newest().end()
  time.advance(1000)
  link.setAwareness({ state: shownAt('AB') })
  newest().welcome()
  assert.equal(streams.length, 2)
  assert.deepEqual(newest().reports, [{ state: shownAt('AB') }])
  time.advance(10_000)
  assert.equal(newest().reports.length, 1)
  link.setAwareness({ state: null })
  assert.deepEqual(newest().reports.at(-1), { state: null })
})

test('at most ten changes a second are sent, including the newest', () => {
  const { link, time, newest } = openLink()
  newest().welcome()
  for (let change = 0; change < 200; change += 1) {
    link.setAwareness({ state: shownAt(`A${change}`) })
    time.advance(5)
  }
  time.advance(100)
  assert.ok(newest().reports.length <= 11)
  assert.deepEqual(newest().reports.at(-1), { state: shownAt('A199') })
})

test('a window that becomes visible again repeats its awareness', () => {
  const { link, time, newest } = openLink()
  newest().welcome()
  link.setAwareness({ state: shownAt('AA') })
  time.advance(1000)
  link.wake('visible')
  assert.deepEqual(newest().reports, [{ state: shownAt('AA') }, { state: shownAt('AA') }])
})

test("passes on other windows' awareness, and clears it a while after the connection is lost", () => {
  const { time, newest, heard } = openLink()
  newest().welcome()
  const windows = [{ window: 'w2', state: shownAt('AA') }]
  newest().frame({ type: 'awareness', channel: 'main', windows })
  newest().end()
  time.advance(3900)
  assert.deepEqual(heard.awareness, [{ type: 'awareness', channel: 'main', windows }])
  time.advance(200)
  assert.deepEqual(heard.awareness.slice(1), [
    { type: 'awareness', channel: 'main', windows: [], whole: true },
    { type: 'awareness', channel: 'wind', windows: [], whole: true },
  ])
})

for (const [how, reopen] of [
  ['another channel is read', ({ link }: ReturnType<typeof openLink>) => link.read(['main', 'wind', 'more'])],
  ['the session has expired', ({ newest }) => newest().end({ code: 'expired', retryAfterMs: 0 })],
  ['the stream was lost', ({ newest }) => newest().end()],
] as const satisfies readonly (readonly [string, (opened: ReturnType<typeof openLink>) => void])[])
  test(`nobody seems to leave while ${how} and the stream is reopened`, async () => {
    const opened = openLink()
    const { time, streams, newest, heard } = opened
    newest().welcome()
    const windows = [{ window: 'w2', state: shownAt('AA') }]
    newest().frame({ type: 'awareness', channel: 'main', windows })
    reopen(opened)
    await settled()
    time.advance(1500)
    assert.equal(streams.length, 2)
    newest().welcome()
    newest().frame({ type: 'awareness', channel: 'main', windows, whole: true })
    time.advance(10_000)
    const ofMain = heard.awareness.filter(({ channel }) => channel === 'main')
    assert.deepEqual(ofMain.slice(1), [{ type: 'awareness', channel: 'main', windows, whole: true }])
  })

test('a link that is closed or hidden leaves for good; one that reopens does not', () => {
  const ends: readonly (readonly [isForGood: boolean, end: (link: Link) => void])[] = [
    [true, (link) => link.close()],
    [true, (link) => link.hide()],
    [false, (link) => link.wake('restored')],
    [false, (link) => link.read(['main'])],
  ]
  for (const [isForGood, end] of ends) {
    const { link, streams, newest } = openLink()
    newest().welcome()
    end(link)
    assert.deepEqual([streams[0]?.isClosed(), streams[0]?.isGone()], [true, isForGood])
  }
})

test('a link that is closed shows nobody any more', () => {
  const { link, newest, heard } = openLink()
  newest().welcome()
  newest().frame({ type: 'awareness', channel: 'main', windows: [{ window: 'w2', state: shownAt('AA') }] })
  link.close()
  const whole = (channel: string) => ({ type: 'awareness', channel, windows: [], whole: true })
  assert.deepEqual(heard.awareness.slice(1), [whole('main'), whole('wind')])
})

test('a state that the server does not take is refused once, and the one before stays', () => {
  const { link, time, streams, newest, heard } = openLink()
  const small = { state: 'x'.repeat(4094), channel: 'main' }
  const large = { state: 'x'.repeat(4095), channel: 'main' }
  link.setAwareness(large)
  assert.deepEqual(heard.statesRefused, [])
  newest().welcome()
  assert.deepEqual([heard.statesRefused, newest().reports], [['main too-large 4097'], []])
  link.setAwareness(small)
  for (let move = 0; move < 254; move += 1) link.setAwareness(large)
  time.advance(1000)
  assert.deepEqual(newest().reports, [small])
  assert.equal(heard.statesRefused.length, 2)
  newest().end()
  time.advance(1000)
  newest().welcome({ stateBytes: 8000 })
  assert.deepEqual([streams.length, newest().reports], [2, [small]])
  link.setAwareness(large)
  time.advance(1000)
  assert.deepEqual(newest().reports.at(-1), large)
})

test('awareness of several channels is sent on each, and each again after a reconnect', () => {
  const { link, time, newest } = openLink()
  newest().welcome()
  link.setAwareness({ state: { name: 'Ada' }, channel: 'room.1' })
  link.setAwareness({ state: 7, channel: 'room.2' })
  time.advance(1000)
  const both = [
    { state: { name: 'Ada' }, channel: 'room.1' },
    { state: 7, channel: 'room.2' },
  ]
  assert.deepEqual(newest().reports, both)
  newest().end()
  time.advance(1000)
  newest().welcome()
  assert.deepEqual(newest().reports, both)
})
