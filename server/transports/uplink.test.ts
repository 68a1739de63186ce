// Inbound frames of a stream (order, rate limit, backpressure), and heartbeats.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { DownFrame, Draft } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { collectTraces, createManualTime } from '../../protocol/testing.ts'
import { defaultEngine } from '../config/engine-settings.ts'
import type { Delivery } from '../hub/delivery.ts'
import type { Hub } from '../hub/hub.ts'
import {
  countTo,
  createFakeConnection,
  type HubChange,
  hubAdmission,
  openHub,
  refusalOf,
  settled,
} from '../hub/hub-testing.ts'
import { RateLimit } from '../hub/rate-limit.ts'
import { output } from '../output.ts'
import { fingerprintFor, type Grant, openGrant } from '../security/grants.ts'
import { grantWith } from '../security/testing.ts'
import { BodyReader } from './body-reader.ts'
import { Budget } from './budget.ts'
import { InboundFrames } from './inbound-frames.ts'
import type { Admission } from './transport.ts'
import { type Answer, mountUplink } from './uplink.ts'

const draftOf = (n: number, change: object = {}) => ({
  id: `w1-${n}`,
  channel: 'main',
  kind: 'edit',
  from: 'w1',
  at: 1000,
  body: { html: '' },
  ...change,
})
const publish = (n: number, change: object = {}) =>
  JSON.stringify({ type: 'publish', message: draftOf(n, change) })
const heartbeat = JSON.stringify({ type: 'heartbeat' })
const clock = JSON.stringify({ type: 'clock', at: 1000.5 })

interface Change extends HubChange {
  readonly grant?: Grant
  readonly fingerprint?: string | null
  readonly maxMessageBytes?: number
  readonly unfinishedBytes?: number
  readonly instead?: Partial<Hub>
  readonly complete?: Admission['complete']
}

async function openInbound({
  grant = openGrant,
  fingerprint = null,
  maxMessageBytes = 2000,
  unfinishedBytes = defaultEngine.limits.unfinishedBytes,
  instead,
  complete = (draft) => draft,
  ...change
}: Change = {}) {
  const opened = openHub(change)
  const { connection, window } = opened.enter({ id: 'w1' })
  await settled()
  const answers: DownFrame[] = []
  const reader = { isBehind: false, isClosed: false, send: ({ frame }: Delivery) => void answers.push(frame) }
  const flow: string[] = []
  const budget = new Budget({ ...defaultEngine.limits, unfinishedBytes }, opened.time)
  const inbound = new InboundFrames({
    admission: { ...hubAdmission, complete },
    hub: Object.assign(opened.hub, instead),
    timers: opened.time,
    grant,
    window,
    fingerprint,
    limits: { maxMessageBytes, bodySeconds: 30 },
    stream: () => reader,
    source: { pause: () => void flow.push('pause'), resume: () => void flow.push('resume') },
    budget,
    connection: {},
    onRefused: ({ code }) => void flow.push(code),
  })
  /** The answers, as `stored ID` or `CODE ID`. */
  const said = () =>
    answers.map((frame) => {
      if (frame.type === 'stored') return `stored ${frame.id}`
      return frame.type === 'refused' ? `${frame.code} ${frame.id}` : frame.type
    })
  const numbers = () =>
    connection.frames.flatMap((frame) =>
      frame.type === 'message' ? [Number(frame.message.id.slice(3))] : [],
    )
  return { ...opened, connection, inbound, answers, reader, flow, budget, said, numbers }
}

test('stores and acknowledges messages', async () => {
  const { inbound, answers, numbers } = await openInbound()
  inbound.handle(publish(1))
  await settled()
  assert.deepEqual([answers, numbers()], [[{ type: 'stored', id: 'w1-1', seq: 1 }], [1]])
})

test('while a message is being completed, later frames wait and no more are read', async () => {
  const completing = new Map<string, PromiseWithResolvers<Draft>>()
  const complete = (draft: Draft) => {
    completing.set(draft.id, Promise.withResolvers<Draft>())
    return completing.get(draft.id)?.promise ?? draft
  }
  const { inbound, said, flow, numbers } = await openInbound({ complete })
  for (const n of [1, 2, 3]) inbound.handle(publish(n))
  await settled()
  assert.deepEqual([[...completing.keys()], flow], [['w1-1'], ['pause']])
  completing.get('w1-1')?.resolve(draftOf(1) as Draft)
  await settled()
  completing.get('w1-2')?.reject(new Refusal('bad-shape', 'No.', 'w1-2'))
  await settled()
  assert.deepEqual([flow, numbers()], [['pause', 'resume'], [1]])
  inbound.stop()
  completing.get('w1-3')?.resolve(draftOf(3) as Draft)
  await settled()
  assert.deepEqual(said(), ['stored w1-1', 'bad-shape w1-2', 'stored w1-3'])
  assert.deepEqual(flow, ['pause', 'resume'])
})

/** Gives large frames their turns, one at a time. */
async function takeTurns(time: ReturnType<typeof createManualTime>, count = 4): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await settled()
    await settled()
    time.advance(0)
  }
  await settled()
}

const large = (n: number) => publish(n, { body: { html: 'x'.repeat(70_000) } })

test('large frames are taken one in a turn, and those behind them wait, in order', async () => {
  const { inbound, said, time, numbers } = await openInbound({ maxMessageBytes: 100_000 })
  for (const frame of [large(1), large(2), publish(3), large(4)]) inbound.handle(frame)
  await Promise.resolve()
  assert.deepEqual(numbers(), [1])
  await takeTurns(time, 1)
  assert.deepEqual(numbers(), [1, 2, 3])
  await takeTurns(time, 1)
  assert.deepEqual(numbers(), [1, 2, 3, 4])
  assert.deepEqual(said(), ['stored w1-1', 'stored w1-2', 'stored w1-3', 'stored w1-4'])
})

test('frames that wait count in the budget: over its limit the stream ends, and none of them is stored', async () => {
  const { inbound, flow, time, numbers, budget } = await openInbound({
    maxMessageBytes: 100_000,
    unfinishedBytes: 100_000,
  })
  // A single item may exceed the limit.
  budget.open({}, () => undefined).set(1)
  for (const n of [1, 2]) inbound.handle(large(n))
  assert.deepEqual(flow, [])
  inbound.handle(large(3))
  assert.deepEqual(flow, ['too-much-begun', 'pause'])
  inbound.stop()
  await takeTurns(time)
  assert.deepEqual(numbers(), [1])
})

test('a message that was completed after its stream had ended is not stored', async () => {
  const completing = Promise.withResolvers<Draft>()
  const { inbound, reader, said, numbers } = await openInbound({ complete: () => completing.promise })
  inbound.handle(publish(1))
  reader.isClosed = true
  completing.resolve(draftOf(1) as Draft)
  await settled()
  assert.deepEqual([said(), numbers()], [[], []])
})

const misfits: [text: string, answer: string][] = [
  ['', 'not-json null'],
  ['{', 'not-json null'],
  ['null', 'bad-frame null'],
  ['7', 'bad-frame null'],
  ['[]', 'bad-frame null'],
  ['{"type":"publish"}', 'bad-frame null'],
  ['{"type":"bye"}', 'bad-frame null'],
  ['{"message":{}}', 'bad-frame null'],
  ['{"type":"publish","message":null}', 'bad-shape null'],
  [publish(1, { at: 'now' }), 'bad-shape w1-1'],
  [publish(1, { id: 'a b' }), 'bad-shape null'],
  [publish(1, { channel: 'wind' }), 'read-only-channel w1-1'],
  [publish(1, { channel: 'secret' }), 'not-invited-there w1-1'],
  [publish(1, { body: { html: 'x'.repeat(3000) } }), 'too-large w1-1'],
  [publish(1, { body: { html: '💨'.repeat(600) } }), 'too-large w1-1'],
  ['{"type":"heartbeat","windows":{"main":-1}}', 'bad-shape null'],
  ['{"type":"heartbeat","windows":[]}', 'bad-shape null'],
  ['{"type":"clock"}', 'bad-shape null'],
  ['{"type":"clock","at":"now"}', 'bad-shape null'],
  ['{"type":"clock","at":1e999}', 'bad-shape null'],
]

for (const [text, answer] of misfits) {
  test(`refuses a malformed frame by name, and continues: ${text.slice(0, 80)}`, async () => {
    const grant = grantWith({ read: ['main'], write: ['main'] })
    const { inbound, said } = await openInbound({ grant })
    inbound.handle(text)
    inbound.handle(publish(2))
    await settled()
    assert.deepEqual(said(), [answer, 'stored w1-2'])
  })
}

test('refuses messages under a read-only invitation', async () => {
  const { inbound, said } = await openInbound({ grant: grantWith({ write: [] }) })
  inbound.handle(publish(1))
  await settled()
  assert.deepEqual(said(), ['read-only-invitation w1-1'])
})

test('stores nothing of a stream after the end of its session, or after its `bye`', async () => {
  const time = createManualTime()
  const grant = grantWith({ expiresAt: time.now() + 1000 })
  const { inbound, numbers } = await openInbound({ grant, messagesPerSecond: 2, time })
  // The fourth waits for the rate limit until after the end.
  for (const n of countTo(4)) inbound.handle(publish(n))
  time.advance(999)
  await settled()
  assert.deepEqual(numbers(), [1, 2, 3])
  time.advance(5000)
  inbound.handle(publish(5))
  await settled()
  assert.deepEqual(numbers(), [1, 2, 3])
  const closing = await openInbound()
  closing.inbound.handle(publish(1))
  closing.reader.isClosed = true
  closing.inbound.handle(publish(2))
  await settled()
  assert.deepEqual(closing.numbers(), [1])
})

test('a draft with a proven name needs the key that opened the stream; one key has many names', async () => {
  const fingerprint = fingerprintFor(new URLSearchParams({ key: 'k'.repeat(22) }))
  const another = fingerprintFor(new URLSearchParams({ key: 'l'.repeat(22) }))
  const { inbound, said } = await openInbound({ fingerprint })
  const names = [`${fingerprint}.a`, `${another}.a`, fingerprint, 'free', another]
  for (const from of names) inbound.handle(publish(1, { from, id: `${from}-1` }))
  await settled()
  assert.deepEqual(said(), [
    `stored ${fingerprint}.a-1`,
    `not-your-name ${another}.a-1`,
    `stored ${fingerprint}-1`,
    'stored free-1',
    `not-your-name ${another}-1`,
  ])
})

test('answers in order of arrival, although storing takes a while and refusing does not', async () => {
  const storing: (() => void)[] = []
  const slow: Hub['publish'] = ({ id }) =>
    new Promise((resolve) => storing.push(() => resolve({ type: 'stored', id, seq: 1 })))
  const { inbound, said } = await openInbound({ instead: { take: slow } })
  inbound.handle(publish(1))
  inbound.handle('{')
  inbound.handle(publish(2))
  inbound.handle(new Refusal('wrong-type', 'Frames must be text.'))
  storing[1]?.()
  await settled()
  assert.deepEqual(said(), [])
  storing[0]?.()
  await settled()
  assert.deepEqual(said(), ['stored w1-1', 'not-json null', 'stored w1-2', 'wrong-type null'])
})

test('names the message on which the server failed, and prints the reason in the terminal', async (t) => {
  const { mock } = t.mock.method(output, 'incident', () => undefined)
  const { inbound, answers } = await openInbound({
    instead: { take: () => Promise.reject(new Error('no disk')) },
  })
  inbound.handle(publish(1))
  await settled()
  const message = 'The server failed on that frame.'
  assert.deepEqual(answers, [{ type: 'refused', id: 'w1-1', code: 'internal', message, retryAfterMs: 1000 }])
  assert.match(String(mock.calls[0]?.arguments[2]), /no disk/)
})

test('after the log refused a message, refuses later ones until it is repeated', async () => {
  let refusal: Refusal | null = new Refusal('log-unavailable', 'The log is away.', 'w1-1', 1000)
  const append: Hub['publish'] = ({ id }) =>
    refusal ? Promise.reject(refusal.about(id)) : { type: 'stored', id, seq: 1 }
  const { inbound, time, said } = await openInbound({ instead: { take: append } })
  async function take(n: number) {
    inbound.handle(publish(n))
    await settled()
    return said().at(-1)
  }
  assert.equal(await take(1), 'log-unavailable w1-1')
  refusal = null
  assert.equal(await take(2), 'log-unavailable w1-2')
  for (const n of [1, 2, 3]) assert.equal(await take(n), `stored w1-${n}`)

  // A sender that gives up is not refused for ever.
  refusal = new Refusal('log-full', 'The disk is full.', null, 1000)
  assert.equal(await take(4), 'log-full w1-4')
  refusal = null
  time.advance(20_000)
  assert.equal(await take(5), 'stored w1-5')

  // A full document accepts deletions.
  refusal = new Refusal('document-full', 'Delete something.', null, 1000)
  await take(6)
  refusal = null
  assert.equal(await take(7), 'stored w1-7')
})

test('delays a sender that is too fast, and loses, refuses or reorders no message', async () => {
  const { inbound, time, flow, said, numbers } = await openInbound({ messagesPerSecond: 10 })
  for (const n of countTo(30)) inbound.handle(publish(n))
  await settled()
  assert.deepEqual([numbers(), flow], [countTo(10), ['pause']])
  time.advance(1000)
  await settled()
  assert.deepEqual([numbers(), flow], [countTo(20), ['pause']])
  // Messages that arrived before the pause are still handled, in order.
  inbound.handle(publish(31))
  time.advance(1100)
  await settled()
  assert.deepEqual(numbers(), countTo(31))
  assert.deepEqual(flow, ['pause', 'resume'])
  assert.deepEqual(
    said(),
    countTo(31).map((n) => `stored w1-${n}`),
  )
})

test('each pause is followed by one resume, however often it has to wait', async () => {
  const { inbound, time, flow, numbers } = await openInbound({ messagesPerSecond: 5 })
  let n = 0
  for (const round of countTo(40)) {
    for (const _one of countTo(round % 4)) {
      n += 1
      inbound.handle(publish(n))
    }
    time.advance(250)
  }
  time.advance(60_000)
  await settled()
  assert.deepEqual(numbers(), countTo(n))
  assert.ok(flow.length > 4)
  flow.forEach((word, index) => {
    assert.equal(word, index % 2 === 0 ? 'pause' : 'resume')
  })
  assert.equal(flow.at(-1), 'resume')
})

test('frames that are not messages count against the rate', async () => {
  const { inbound, flow, said } = await openInbound({ messagesPerSecond: 4 })
  for (const text of ['{', heartbeat, '7', clock, publish(1)]) inbound.handle(text)
  await settled()
  assert.deepEqual([said(), flow], [['not-json null', 'bad-frame null', 'clock'], ['pause']])
})

test('states that arrive too fast cost more, none is refused, and the newest is shown', async () => {
  const show = (n: number) =>
    JSON.stringify({ type: 'awareness', state: { client: n, name: '', anchor: null, head: null } })
  const { hub, inbound, time, flow, said } = await openInbound({
    messagesPerSecond: 100,
    statesPerSecond: 10,
  })
  for (const n of countTo(50)) inbound.handle(show(n))
  // 10 states, then some that count as 11 frames each.
  assert.deepEqual([flow, said()], [['pause'], []])
  const reader = createFakeConnection({ id: 'w2', owner: 'o2' })
  hub.join(reader.joining, null)
  await settled()
  time.advance(30_000)
  const shown = reader.frames.findLast((frame) => frame.type === 'awareness')
  assert.deepEqual(flow, ['pause', 'resume'])
  assert.ok(JSON.stringify(shown).includes('"client":50'))
})

test('unread and empty frames count against the rate', async () => {
  const { inbound, flow, said } = await openInbound({ messagesPerSecond: 4 })
  const binary = new Refusal('wrong-type', 'Frames must be text.')
  for (const frame of [binary, null, null, binary, binary, null]) inbound.handle(frame)
  await settled()
  assert.deepEqual([said(), flow], [['wrong-type null', 'wrong-type null'], ['pause']])
})

test('stops reading from a sender that does not read its answers, and loses nothing', async () => {
  const { inbound, time, reader, flow, numbers } = await openInbound()
  inbound.handle(publish(1))
  reader.isBehind = true
  for (const n of [2, 3, 4]) inbound.handle(publish(n))
  time.advance(10_000)
  await settled()
  assert.deepEqual([numbers(), flow], [[1], ['pause']])
  reader.isBehind = false
  time.advance(100)
  await settled()
  assert.deepEqual(
    [numbers(), flow],
    [
      [1, 2, 3, 4],
      ['pause', 'resume'],
    ],
  )
})

test('answers a clock request at once, with the sender’s own timestamp', async () => {
  const storing: Hub['publish'] = () => new Promise(() => undefined)
  const { inbound, time, answers } = await openInbound({ instead: { take: storing } })
  inbound.handle(publish(1))
  time.advance(250)
  inbound.handle(clock)
  assert.deepEqual(answers, [{ type: 'clock', sent: 1000.5, received: time.now(), at: time.now() }])
})

test('clock requests count against the rate', async () => {
  const { inbound, time, flow, answers } = await openInbound({ messagesPerSecond: 10 })
  for (const _one of countTo(30)) inbound.handle(clock)
  assert.deepEqual([answers.length, flow], [10, ['pause']])
  time.advance(1000)
  assert.equal(answers.length, 20)
})

test('a heartbeat reports the windows that it carries, and the one that it answers', async () => {
  const heard: unknown[] = []
  const { hub, inbound, said } = await openInbound({
    instead: { heard: (...words) => void heard.push(words) },
  })
  inbound.handle('{"type":"heartbeat","at":"7"}')
  inbound.handle(heartbeat)
  inbound.handle('{"type":"heartbeat","windows":{"main":2},"at":7.5}')
  await settled()
  const window = hub.streamOf('w1')
  assert.deepEqual(heard.at(0), [window, {}])
  assert.deepEqual(heard.at(-1), [window, { windows: { main: 2 }, at: 7.5 }])
  assert.deepEqual(said(), ['bad-shape null'])
})

test('a slowed window’s frames count as signs of life', async () => {
  const { hub, inbound, time, connection } = await openInbound({ messagesPerSecond: 1, heartbeatMs: 1600 })
  inbound.handle(heartbeat)
  for (const n of countTo(20)) inbound.handle(publish(n))
  time.advance(20_000)
  assert.deepEqual([connection.byes, hub.windowCount()], [[], 1])
  time.advance(4500)
  assert.equal(connection.byes[0]?.code, 'silent')
})

test('a window that never sent a heartbeat need not start because it sends messages', async () => {
  const { inbound, time, connection } = await openInbound()
  inbound.handle(publish(1))
  time.advance(100_000)
  assert.deepEqual(connection.byes, [])
})

test('accepts nothing after stop, and leaves no timer', async () => {
  const { inbound, time, flow, numbers } = await openInbound({ messagesPerSecond: 2 })
  time.advance(500)
  const before = time.pending()
  for (const n of countTo(5)) inbound.handle(publish(n))
  assert.equal(time.pending(), before + 1)
  inbound.stop()
  assert.equal(time.pending(), before)
  time.advance(10_000)
  await settled()
  assert.deepEqual([numbers(), flow], [[1, 2], ['pause']])
})

const query = new URLSearchParams({ key: 'k'.repeat(22) })
const proven = `${fingerprintFor(query)}.w1`
query.set('window', proven)

/** Posts without a socket; resolves to the context. `hasEnded`: before the route runs. */
async function post(
  path: string,
  body: string,
  hub: Partial<Hub>,
  { type = 'application/json', grant = openGrant, hasEnded = false } = {},
) {
  const { time } = openHub()
  const routes = new Map<string, (ctx: unknown) => Promise<void>>()
  const router = { post: (path: string, run: (ctx: unknown) => Promise<void>) => routes.set(path, run) }
  const limits = { stateBytes: 4096, channelsPerWindow: 8, maxMessageBytes: 2_000_000, bodySeconds: 1 }
  const penalties = new RateLimit(100, time.now)
  const bodies = new BodyReader({
    limits,
    timers: time,
    budget: new Budget(defaultEngine.limits, time),
    penalties,
  })
  mountUplink({
    router: router as never,
    hub: hub as never,
    bodies,
    limits,
    timers: time,
    admission: hubAdmission,
  })
  const ctx = {
    querystring: String(query),
    state: { grant },
    body: undefined as unknown,
    req: Object.assign(Readable.from(body === '' ? [] : [Buffer.from(body)]), {
      headers: { 'content-type': type },
      url: `${path}?${query}`,
      httpVersion: '1.1',
    }),
    status: 0,
  }
  if (hasEnded) await text(ctx.req)
  await routes.get(path)?.(ctx)
  return ctx
}

test('a posted state has a rate of its own', async () => {
  const body = JSON.stringify({ state: null })
  const shown: unknown[] = []
  const show = (...given: unknown[]) => void shown.push(given[0])
  await post('/api/awareness', body, { stateWaitMs: () => 0, show })
  const { code, retryAfterMs, message } = await refusalOf(() =>
    post('/api/awareness', body, { stateWaitMs: () => 30, show }),
  )
  assert.deepEqual([shown, code, retryAfterMs], [[proven], 'too-fast', 30])
  assert.match(message, /limits\.statesPerSecond/)
})

test('a client that leaves may say that it will not come back', async () => {
  const left: unknown[] = []
  const hub: Partial<Hub> = { left: (...given) => void left.push(given) }
  await post('/api/leave', '', hub)
  query.set('gone', '')
  await post('/api/leave', '', hub)
  query.delete('gone')
  assert.deepEqual(left, [
    [proven, 0, false],
    [proven, 0, true],
  ])
})

/** Resolves to the heartbeat that the hub received. */
async function postHeartbeat(body: string): Promise<unknown> {
  const heard: unknown[] = []
  const { status } = await post('/api/heartbeat', body, { heard: (...words) => void heard.push(words) })
  assert.equal(status, 204)
  assert.deepEqual([heard.length, heard.flat()[0]], [1, proven])
  return heard.flat()[1]
}

test('an empty body that ended while its sender’s permit was looked up is not waited for', async () => {
  const { status } = await post('/api/heartbeat', '', { heard: () => undefined }, { hasEnded: true })
  assert.equal(status, 204)
})

test('a posted heartbeat may count the windows that it carries', async () => {
  assert.equal(await postHeartbeat(''), undefined)
  assert.deepEqual(await postHeartbeat('{"type":"heartbeat"}'), {})
  const windows = { main: 3, other: 0 }
  assert.deepEqual(await postHeartbeat(JSON.stringify({ windows, at: 8 })), { windows, at: 8 })
  const named = await postHeartbeat('{"windows":{"__proto__":2,"constructor":1}}')
  assert.deepEqual(Object.entries(Object(named).windows), [
    ['__proto__', 2],
    ['constructor', 1],
  ])
})

const channels = (count: number) => Object.fromEntries(countTo(count).map((n) => [`c${n}`, 1]))

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

test('data nested over 100 levels deep is refused by name, however it is sent; the next message is stored', async () => {
  for (const levels of [101, 10_000, 500_000]) {
    const { inbound, answers, said, time } = await openInbound({ maxMessageBytes: 2_000_000 })
    const data = `{"data":${nested(levels)}}`
    const deep = publish(1, { body: 'deep' }).replace('"deep"', data)
    inbound.handle(deep)
    inbound.handle(`{"type":"heartbeat","windows":${nested(levels + 2)}}`)
    inbound.handle(`{"type":"awareness","state":${nested(levels + 2)}}`)
    inbound.handle(publish(2))
    await takeTurns(time)
    assert.deepEqual(said(), ['bad-shape w1-1', 'bad-shape null', 'bad-shape null', 'stored w1-2'])
    const [refused] = answers
    assert.ok(refused?.type === 'refused')
    assert.equal(
      refused.message,
      `The data is nested ${levels} levels deep; it may be 100. Send it in a flatter form.`,
    )
    const text = JSON.stringify(draftOf(1, { body: 'deep' })).replace('"deep"', data)
    const posted = await refusalOf(() => post('/api/messages', text, {}))
    assert.deepEqual([posted.code, posted.id, posted.message], ['bad-shape', 'w1-1', refused.message])
  }
  assert.equal((await refusalOf(() => postHeartbeat(`{"windows":${nested(101)}}`))).code, 'bad-shape')
})

test('a malformed heartbeat is refused', async () => {
  assert.ok(await postHeartbeat(JSON.stringify({ windows: channels(1000) })))
  const misfits = [
    null,
    'text',
    { windows: 3 },
    { windows: null },
    { windows: { main: '3' } },
    { windows: { main: 1.5 } },
    { windows: { main: -1 } },
    { windows: { main: 100_001 } },
    { windows: { ['x'.repeat(65)]: 1 } },
    { windows: channels(1001) },
  ]
  for (const given of misfits) {
    const { status, code } = await refusalOf(() => postHeartbeat(JSON.stringify(given)))
    assert.deepEqual([status, code], [400, 'bad-shape'])
  }
})

/**
 * Posts several drafts; resolves to those that were published, and to the answers as `stored ID` or
 * `CODE ID`.
 */
async function postLines(lines: readonly (string | object)[], hub: Partial<Hub> = {}, grant?: Grant) {
  const published: string[] = []
  const body = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  const answered = await post(
    '/api/messages',
    body,
    {
      waitMs: () => 0,
      refused: () => undefined,
      async take({ id }) {
        await settled()
        published.push(id)
        return { type: 'stored', id, seq: published.length }
      },
      ...hub,
    },
    { type: 'application/x-ndjson', ...(grant && { grant }) },
  )
  const answers = (answered.body as Answer[]).map((answer) =>
    answer.type === 'stored' ? `stored ${answer.id}` : `${answer.code} ${answer.id}`,
  )
  return { published, answers }
}

test('several drafts in one request are stored in their order, each with an answer', async () => {
  const { published, answers } = await postLines([draftOf(1), '', draftOf(2), draftOf(3), ''])
  assert.deepEqual(published, ['w1-1', 'w1-2', 'w1-3'])
  assert.deepEqual(answers, ['stored w1-1', 'stored w1-2', 'stored w1-3'])
  assert.deepEqual(await postLines([]), { published: [], answers: [] })
})

test('several drafts: a final refusal keeps no other from being stored', async () => {
  const grant = grantWith({ read: ['main'], write: ['main'] })
  const stranger = `${'p'.repeat(22)}.w1`
  const { answers } = await postLines(
    [
      '{',
      draftOf(1, { at: 'now' }),
      draftOf(2, { channel: 'secret' }),
      draftOf(3, { from: stranger, id: `${stranger}-3` }),
      draftOf(4),
    ],
    {},
    grant,
  )
  assert.deepEqual(answers, [
    'not-json null',
    'bad-shape w1-1',
    'not-invited-there w1-2',
    `not-your-name ${stranger}-3`,
    'stored w1-4',
  ])
})

test('several drafts: none overtakes one that is to be sent again', async () => {
  const busy = new Refusal('log-full', 'The disk is full.', null, 1000)
  const take: Hub['take'] = ({ id }) =>
    id === 'w1-2' ? Promise.reject(busy.about(id)) : { type: 'stored', id, seq: 1 }
  const { answers } = await postLines(
    [1, 2, 3].map((n) => draftOf(n)),
    { take },
  )
  assert.deepEqual(answers, ['stored w1-1', 'log-full w1-2'])
})

test('several drafts in one request are no faster than one by one, refused ones included', async () => {
  for (const line of ['{', draftOf(1)]) {
    let left = 5
    const waitMs = () => {
      left -= 1
      return left < 0 ? 40 : 0
    }
    const { answers } = await postLines(Array(1000).fill(line), { waitMs })
    assert.ok(answers.length <= 6, `${answers.length} answers`)
    assert.match(answers.at(-1) ?? '', /^too-fast /)
  }
})

test('a refused draft is charged by its size in UTF-8, posted or in a frame', async () => {
  const body = { html: 'ü'.repeat(100) }
  const line = JSON.stringify(draftOf(1, { at: 'now', body }))
  const frame = publish(1, { at: 'now', body })
  const charged: number[] = []
  const refused: Hub['refused'] = (_connection, bytes) => void charged.push(bytes)
  await postLines([line], { refused })
  const { inbound, said } = await openInbound({ instead: { refused } })
  inbound.handle(frame)
  assert.deepEqual(said(), ['bad-shape w1-1'])
  assert.deepEqual(charged, [line.length + 100, frame.length + 100])
})

test('several drafts: none is stored after the end of the session', async () => {
  const { time } = openHub()
  const grant = grantWith({ expiresAt: time.now() - 1 })
  await assert.rejects(postLines([draftOf(1)], {}, grant), { code: 'session-expired' })
})

test('traces report a posted message as received, admitted and answered, without its key and content', async () => {
  using traced = collectTraces('*')
  const message = { ...draftOf(1), id: `${proven}-1`, from: proven, body: { html: 'private' } }
  const text = JSON.stringify(message)
  await post('/api/messages', text, {
    waitMs: () => 0,
    take: ({ id }) => ({ type: 'stored', id, seq: 7 }),
  })
  assert.deepEqual(traced.lines, [
    `uplink ${proven}-1 received: ${text.length} bytes by POST over HTTP/1.1, from ${proven}`,
    `uplink ${proven}-1 admitted to main`,
    `uplink ${proven}-1 answered: stored as 7`,
  ])
})

test('traces report a message in a frame from its arrival to its answer', async () => {
  const { inbound } = await openInbound()
  using traced = collectTraces('*')
  const text = publish(1, { body: { html: 'private' } })
  inbound.handle(text)
  await settled()
  assert.deepEqual(traced.lines, [
    `uplink w1-1 received: ${text.length} bytes by sse/2 of w1, from w1`,
    'uplink w1-1 admitted to main',
    'log w1-1 stored as 1: edit on main',
    'hub w1-1 goes to main: streams 1, held polls 0',
    'stream w1-1 written to w1 by sse/2',
    'uplink w1-1 answered: stored as 1',
  ])
})

test('traces report a refusal by its code alone: sentences may repeat the content', async () => {
  const { inbound } = await openInbound()
  using traced = collectTraces('uplink')
  for (const text of ['private', publish(1, { channel: 'wind', body: { html: 'private' } })])
    inbound.handle(text)
  await settled()
  assert.deepEqual(traced.lines, [
    'uplink a request or stream refused: not-json',
    'uplink w1-1 refused: read-only-channel',
  ])
})
