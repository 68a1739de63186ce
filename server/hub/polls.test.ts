import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCursor } from '../../protocol/messages.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import type { Log } from '../log/log.ts'
import { draft } from '../log/log-testing.ts'
import {
  countTo,
  framesOf,
  idsIn,
  memoryLog,
  openHub,
  pagedLog,
  refusalOf,
  settled,
  slowLog,
  typesIn,
  watch,
} from './hub-testing.ts'
import type { PollReply } from './polls.ts'

const idsOf = (reply: PollReply) => idsIn(framesOf(reply))
const typesOf = (reply: PollReply) => typesIn(framesOf(reply))

test('a response contains everything after the request’s cursor, and the cursor for the next request', async () => {
  const { hub, ask } = openHub()
  for (const n of countTo(4)) await hub.publish(draft(`m-${n}`, '', n === 3 ? 'other' : 'main'))
  const reply = await ask({}, { cursor: 'life1:1' })
  assert.deepEqual([idsOf(reply), reply.cursor], [['m-2', 'm-4'], 'life1:4'])
  const next = await ask({}, { cursor: reply.cursor })
  assert.deepEqual([typesOf(next), next.cursor], [[], 'life1:4'])
  const again = await ask({}, { cursor: 'life1:1' })
  assert.deepEqual(idsOf(again), ['m-2', 'm-4'], 'a lost response’s messages are sent again on request')
})

test('a heartbeat ends a response with messages after which none are left', async () => {
  const { hub, time, ask } = openHub({ queueBytesPerWindow: 4000 })
  for (const n of countTo(3)) await hub.publish(draft(`m-${n}`, 'x'.repeat(1900)))
  const part = await ask({}, { cursor: 'life1:0' })
  assert.deepEqual([typesOf(part), part.cursor], [['message', 'message'], 'life1:2'])
  const rest = await ask({}, { cursor: part.cursor })
  assert.deepEqual(framesOf(rest).at(-1), { type: 'heartbeat', newest: 3, at: time.now() })
})

test('a client that polls is sent the newest of what supersedes older messages, as far as a response goes', async () => {
  const { hub, ask } = openHub()
  const figure = (n: number) =>
    ({ ...draft(`m-${n}`, '', 'figures.main'), kind: 'figure', body: { value: n } }) as const
  for (const n of countTo(4)) await hub.publish(n === 2 ? draft('m-2') : figure(n))
  const reply = await ask({ channels: ['main', 'figures.main'] }, { cursor: 'life1:0' })
  assert.deepEqual([idsOf(reply), reply.cursor], [['m-2', 'm-4'], 'life1:4'])
})

test('what supersedes older messages comes from several portions of the log at once', async () => {
  const { hub, ask, enter } = openHub({ log: pagedLog(3) })
  const channels = ['figures.main']
  for (const n of countTo(10))
    await hub.publish({ ...draft(`m-${n}`, '', 'figures.main'), kind: 'figure', body: { value: n } })
  const reply = await ask({ channels }, { cursor: 'life1:0' })
  assert.deepEqual([idsOf(reply), reply.cursor], [['m-10'], 'life1:10'])
  const { connection } = enter({ channels }, 'life1:0')
  while (idsIn(connection.frames).length === 0) await settled()
  assert.deepEqual(idsIn(connection.frames), ['m-10'])
})

const volatileIds = (reply: PollReply) =>
  framesOf(reply).flatMap((frame) => (frame.type === 'volatile' ? [frame.message.id] : []))

const volatileOf = (n: number, from = 'w9') => ({ ...draft(`${from}-v${n}`), from, volatile: true }) as const

test('a held poll is answered by a volatile message, and the next one by those that came meanwhile, in order', async () => {
  const { hub, ask } = openHub()
  const place = { channels: ['main', 'other'] }
  hub.sendVolatile(volatileOf(1))
  const { cursor } = await ask(place, { isFirst: true })
  const held = ask(place, { cursor, holdMs: 10_000 })
  await settled()
  hub.sendVolatile(volatileOf(2))
  for (const [n, channel] of [
    [3, 'other'],
    [4, 'main'],
    [5, 'elsewhere'],
  ] as const)
    hub.sendVolatile({ ...volatileOf(n), channel })
  hub.sendVolatile(volatileOf(6, 'w1'))
  assert.deepEqual(volatileIds(await held), ['w9-v2', 'w9-v3', 'w9-v4'])
  hub.sendVolatile(volatileOf(7))
  assert.deepEqual(volatileIds(await ask(place, { cursor, holdMs: 10_000 })), ['w9-v7'])
  assert.deepEqual(volatileIds(await ask(place, { cursor })), [])
})

test('volatile messages are kept for polls for a few seconds, and of each channel the newest', async () => {
  const { hub, time, ask } = openHub()
  const { cursor } = await ask({}, { isFirst: true })
  hub.sendVolatile(volatileOf(1))
  time.advance(12_000)
  for (const n of countTo(150)) hub.sendVolatile(volatileOf(n + 1))
  const got = volatileIds(await ask({}, { cursor }))
  assert.deepEqual([got.length, got.at(-1)], [100, 'w9-v151'])
})

test('a window that opens is welcomed at once, however long it is willing to wait', async () => {
  const { hub, time, ask } = openHub()
  await hub.publish(draft('m-1'))
  const reply = await ask({}, { cursor: 'life1:1', isFirst: true, holdMs: 20_000 })
  const welcome = { type: 'welcome', window: 'w1', cursor: 'life1:1', recovered: true, http: '2' }
  assert.deepEqual(framesOf(reply), [{ ...welcome, heartbeatMs: 16_000, at: time.now(), stateBytes: 4096 }])
})

test('a cursor unknown to the log gets a snapshot at once, marked as not recovered', async () => {
  const { hub, ask } = openHub()
  for (const n of countTo(3)) await hub.publish(draft(`m-${n}`))
  for (const cursor of [null, 'another:2', 'life1:9']) {
    const reply = await ask({}, { cursor, holdMs: 20_000 })
    const [welcome] = framesOf(reply)
    assert.ok(welcome?.type === 'welcome' && !welcome.recovered)
    assert.deepEqual([idsOf(reply), reply.cursor], [['m-3'], 'life1:3'])
  }
})

test('a cursor of an earlier epoch gets a welcome, even if no message is missing', async () => {
  const kept = memoryLog()
  const read: Log['read'] = (cursor, channels) =>
    kept.read(cursor?.epoch === 'life0' ? { ...cursor, epoch: 'life1' } : cursor, channels)
  const { hub, ask } = openHub({ log: { ...kept, read } })
  await hub.publish(draft('m-1'))
  const reply = await ask({}, { cursor: 'life0:0' })
  const [welcome] = framesOf(reply)
  assert.ok(welcome?.type === 'welcome' && welcome.recovered)
  assert.deepEqual([idsOf(reply), reply.cursor], [['m-1'], 'life1:1'])
})

test('a held request ends with the next message on its channels', async () => {
  const { hub, ask } = openHub()
  const held = watch(ask({ channels: ['main', 'wind'] }, { cursor: 'life1:0', holdMs: 20_000 }))
  await settled()
  await hub.publish(draft('m-1', '', 'other'))
  await settled()
  assert.equal('reply' in held, false)
  await hub.publish(draft('m-2'))
  await settled()
  assert.ok(held.reply)
  assert.deepEqual([idsOf(held.reply), held.reply.cursor], [['m-2'], 'life1:2'])
})

test('a held request ends empty when its time is up, with a cursor to continue from', async () => {
  const { hub, time, ask } = openHub()
  const held = watch(ask({}, { cursor: 'life1:0', holdMs: 300 }))
  await settled()
  await hub.publish(draft('m-1', '', 'other'))
  time.advance(299)
  await settled()
  assert.equal('reply' in held, false)
  time.advance(1)
  await settled()
  assert.equal(held.reply && idsOf(held.reply).length, 0)
  assert.equal(held.reply?.cursor, 'life1:1')
})

test('messages that arrived between two requests are returned at once', async () => {
  const { hub, ask } = openHub()
  const first = await ask({}, { isFirst: true })
  await hub.publish(draft('m-1'))
  assert.deepEqual(idsOf(await ask({}, { cursor: first.cursor, holdMs: 20_000 })), ['m-1'])
})

test('a message that arrives after reading the log and before holding the request is not missed', async () => {
  const { log, answer } = slowLog('when asked')
  const { hub, ask } = openHub({ log })
  const held = watch(ask({}, { cursor: 'life1:0', holdMs: 20_000 }))
  await hub.publish(draft('m-1'))
  for (const _read of [1, 2]) await answer()
  assert.deepEqual(held.reply && idsOf(held.reply), ['m-1'])
})

test('each response contains exactly the messages between its two cursors, however requests overlap and are aborted', async () => {
  const random = createSeededRandom(4)
  for (const looksUp of ['when asked', 'when it answers'] as const) {
    const { log, answer } = slowLog(looksUp, pagedLog(3))
    const { hub, time, ask } = openHub({ log, queueBytesPerWindow: 1200 })
    let index = 0
    let answers = 0
    let length = 0
    const open = new Set<AbortController>()
    function question(): void {
      const taken = new AbortController()
      const from = index
      open.add(taken)
      const holdMs = random() < 0.7 ? 200 : 0
      const asked = ask({}, { cursor: `life1:${from}`, holdMs, signal: taken.signal })
      void asked.then((reply) => {
        open.delete(taken)
        answers += 1
        const to = parseCursor(reply.cursor)?.seq ?? 0
        assert.deepEqual(
          idsOf(reply),
          countTo(to - from).map((n) => `m-${from + n}`),
        )
        // A fifth of the responses are lost.
        if (random() > 0.2) index = Math.max(index, to)
      })
    }
    for (let turn = 0; turn < 1500; turn += 1) {
      const chance = random()
      if (chance < 0.3) question()
      else if (chance < 0.5) {
        length += 1
        void hub.publish(draft(`m-${length}`, 'x'.repeat(400)))
      } else if (chance < 0.6) for (const taken of open) if (random() < 0.3) taken.abort()
      if (chance > 0.7) time.advance(50)
      if (chance > 0.5) await answer()
    }
    for (let round = 0; round < 400 && index < length; round += 1) {
      question()
      time.advance(200)
      await answer()
    }
    assert.ok(answers > 300)
    assert.equal(index, length)
  }
})

test('a response ends when it is too large, and the next one continues exactly there', async () => {
  const { hub, ask } = openHub({ queueBytesPerWindow: 1000 })
  for (const n of countTo(7)) await hub.publish(draft(`m-${n}`, 'x'.repeat(n === 4 ? 5000 : 400)))
  const answers: string[][] = []
  for (let cursor = 'life1:0'; cursor !== 'life1:7'; ) {
    const reply = await ask({}, { cursor, holdMs: 20_000 })
    answers.push(idsOf(reply))
    cursor = reply.cursor
  }
  assert.deepEqual(answers, [['m-1', 'm-2'], ['m-3'], ['m-4'], ['m-5', 'm-6'], ['m-7']])
})

test('a snapshot is never cut: only the whole matches its cursor', async () => {
  const { hub, ask } = openHub({ queueBytesPerWindow: 1000 })
  const channels = ['a', 'b', 'c', 'd']
  for (const channel of channels) await hub.publish(draft(`m-${channel}`, 'x'.repeat(900), channel))
  const reply = await ask({ channels }, {})
  assert.deepEqual([idsOf(reply).length, reply.cursor], [4, 'life1:4'])
})

test('a portion of the log with nothing for the window produces no response: the next one is read', async () => {
  const kept = memoryLog()
  // Reads ten numbers at a time, whatever their channels.
  const log: Log = {
    ...kept,
    async read(cursor, channels) {
      const whole = await kept.read(cursor, channels)
      const upTo = Math.min((cursor?.seq ?? 0) + 10, whole.head.seq)
      const messages = whole.messages.filter(({ seq }) => seq <= upTo)
      return whole.recovered ? { ...whole, messages, reached: { ...whole.head, seq: upTo } } : whole
    },
  }
  const { hub, ask } = openHub({ log })
  for (const n of countTo(35)) await hub.publish(draft(`m-${n}`, '', n === 34 ? 'main' : 'other'))
  const reply = await ask({}, { cursor: 'life1:0', holdMs: 20_000 })
  assert.deepEqual(idsOf(reply), ['m-34'])
  const none = await ask({ channels: ['empty'] }, { cursor: 'life1:0' })
  assert.equal(none.cursor, 'life1:35')
})

test('messages are encoded once, for streams and for polls', async () => {
  const { hub, ask, enter } = openHub()
  let encoded = 0
  const framing = {
    encode() {
      encoded += 1
      return Buffer.from('{"type":"heartbeat","newest":0}')
    },
  }
  enter({ id: 'w0', framing })
  await settled()
  const before = encoded
  await hub.publish(draft('m-1'))
  for (const n of countTo(10)) {
    const { deliveries } = await ask({ id: `w${n}` }, { cursor: 'life1:0' })
    for (const delivery of deliveries) if (delivery.seq !== null) delivery.bytes(framing)
  }
  assert.equal(encoded - before, 1)
})

const presenceIn = (reply: PollReply) =>
  framesOf(reply).flatMap((frame) => (frame.type === 'presence' ? [frame.windows] : []))

test('an aborted request leaves no timer behind', async () => {
  const { time, ask } = openHub()
  const before = time.pending()
  const taken = new AbortController()
  const held = watch(ask({}, { cursor: 'life1:0', holdMs: 20_000, signal: taken.signal }))
  await settled()
  time.advance(100)
  assert.equal(time.pending(), before + 1)
  taken.abort()
  await settled()
  assert.ok(held.reply)
  assert.equal(time.pending(), before)
})

test('a request that is answered at once, refused, or fails to read the log leaves no timer behind', async () => {
  const { log, answer } = slowLog('when asked')
  let isBroken = false
  const read: Log['read'] = (...asked) =>
    isBroken ? Promise.reject(new Error('no disk')) : log.read(...asked)
  const { hub, time, ask } = openHub({ log: { ...log, read }, maxWindows: 1 })
  const before = time.pending()
  await hub.publish(draft('m-1'))
  const answered = watch(ask({}, { cursor: 'life1:0', holdMs: 20_000 }))
  await answer()
  assert.ok(answered.reply)
  await refusalOf(() => ask({ id: 'w2' }, { holdMs: 20_000 }))
  isBroken = true
  await assert.rejects(ask({}, { cursor: 'life1:1', holdMs: 20_000 }), /no disk/)
  time.advance(100)
  assert.equal(time.pending(), before)
})

test('a polling window receives presence only when it has changed', async () => {
  const { time, enter, ask } = openHub()
  const first = await ask({ id: 'w1' }, { isFirst: true })
  enter({ id: 'w2' })
  await settled()
  time.advance(100)
  const second = await ask({ id: 'w1' })
  const third = await ask({ id: 'w1' })
  await ask({ id: 'w3' })
  time.advance(100)
  const fourth = await ask({ id: 'w1' })
  assert.deepEqual(
    [first, second, third, fourth].map((reply) => presenceIn(reply)),
    [[], [2], [], [3]],
  )
})

test('a window that opens again receives presence again: it may be another one', async () => {
  const { time, ask } = openHub()
  await ask({ id: 'w1' }, { isFirst: true })
  time.advance(100)
  const told = await ask({ id: 'w1' })
  const anew = await ask({ id: 'w1' }, { isFirst: true })
  assert.deepEqual([presenceIn(told), presenceIn(anew)], [[1], [1]])
})

test('a response to an aborted request does not count as delivered', async () => {
  const { time, ask } = openHub()
  const taken = new AbortController()
  const held = watch(ask({ id: 'w1' }, { cursor: 'life1:0', holdMs: 20_000, signal: taken.signal }))
  await settled()
  time.advance(100)
  taken.abort()
  await settled()
  assert.ok(held.reply)
  assert.deepEqual(presenceIn(await ask({ id: 'w1' }, { cursor: 'life1:0' })), [1])
})

test('a window with a held request is present, however long the hold', async () => {
  const { hub, time, ask } = openHub({ heartbeatMs: 1600 })
  void ask({ id: 'w1' }, { cursor: 'life1:0', holdMs: 25_000 })
  await settled()
  time.advance(24_000)
  assert.equal(hub.windowCount(), 1)
  time.advance(1000)
  await settled()
  time.advance(3900)
  assert.equal(hub.windowCount(), 1, 'its next request may be on its way')
  time.advance(300)
  assert.equal(hub.windowCount(), 0)
})

test('a window that aborted its request is forgotten like any silent one', async () => {
  const { hub, time, ask } = openHub({ heartbeatMs: 1600 })
  const taken = new AbortController()
  void ask({ id: 'w1' }, { cursor: 'life1:0', holdMs: 25_000, signal: taken.signal })
  await settled()
  time.advance(3000)
  taken.abort()
  await settled()
  assert.equal(hub.windowCount(), 1)
  time.advance(1200)
  assert.equal(hub.windowCount(), 0)
})

test('an aborted request does not bring back a window that left', async () => {
  const { hub, ask } = openHub()
  const taken = new AbortController()
  void ask({ id: 'w1' }, { cursor: 'life1:0', holdMs: 25_000, signal: taken.signal })
  await settled()
  hub.left('w1', 0)
  taken.abort()
  await settled()
  assert.equal(hub.windowCount(), 0)
})

test('a late request of a window that has a stream by now is answered, and the stream stays', async () => {
  const { hub, enter, ask } = openHub()
  await ask({ id: 'w1' }, { isFirst: true })
  const { connection } = enter({ id: 'w1', opening: 1 })
  await settled()
  await hub.publish(draft('m-1'))
  assert.deepEqual(idsOf(await ask({ id: 'w1' }, { cursor: 'life1:0' })), ['m-1'])
  hub.left('w1', 0)
  await hub.publish(draft('m-2'))
  assert.deepEqual([idsIn(connection.frames), hub.windowCount()], [['m-1', 'm-2'], 1])
})

test('a window that leaves is removed once', async () => {
  const { hub, ask } = openHub()
  await ask({ id: 'w1' })
  for (const _time of [1, 2]) hub.left('w1', 0)
  assert.equal(hub.windowCount(), 0)
})

/** Holds requests by name; `answered` lists those answered since its last call. */
function openHeld() {
  const opened = openHub()
  let answered: string[] = []
  return {
    ...opened,
    hold(
      id: string,
      channels: readonly string[],
      { holdMs = 1000, signal = new AbortController().signal } = {},
    ) {
      void opened.ask({ id, channels }, { cursor: 'life1:0', holdMs, signal }).then(() => answered.push(id))
      return settled()
    },
    async answered(): Promise<string[]> {
      await settled()
      const ids = answered
      answered = []
      return ids
    },
  }
}

test('a message ends all held requests for its channel, once, and cancels their timers', async () => {
  const { hub, time, hold, answered } = openHeld()
  const before = time.pending()
  await hold('w1', ['main', 'wind'])
  await hold('w2', ['wind'])
  await hold('w3', ['other'])
  await hub.publish(draft('m-2', '', 'nowhere'))
  assert.deepEqual(await answered(), [])
  await hub.publish(draft('m-3', '', 'wind'))
  assert.deepEqual(await answered(), ['w1', 'w2'])
  await hub.publish(draft('m-4', '', 'wind'))
  await hub.publish(draft('m-5', '', 'main'))
  assert.deepEqual(await answered(), [])
  assert.equal(time.pending(), before + 2, 'the readings of w3, and the presence timer')
})

test('each held request ends when its own time is up', async () => {
  const { time, hold, answered } = openHeld()
  await hold('long', ['main'], { holdMs: 300 })
  await hold('short', ['main'], { holdMs: 100 })
  time.advance(99)
  assert.deepEqual(await answered(), [])
  time.advance(1)
  assert.deepEqual(await answered(), ['short'])
  time.advance(200)
  assert.deepEqual(await answered(), ['long'])
})

test('nothing is kept for a channel without held requests', async (t) => {
  // Nothing else shows that a map has been emptied.
  const { mock } = t.mock.method(Map.prototype, 'set')
  const { hub, time, hold, answered } = openHeld()
  await hold('w1', ['only here'])
  await hold('w2', ['only here'])
  await hub.publish(draft('m-1', '', 'only here'))
  assert.deepEqual(await answered(), ['w1', 'w2'])
  await hold('w3', ['waited'], { holdMs: 10 })
  time.advance(10)
  await hold('w4', ['taken back'], { signal: AbortSignal.abort() })
  assert.deepEqual(await answered(), ['w3', 'w4'])
  const kept = mock.calls.filter(({ arguments: [, value] }) => value instanceof Set)
  assert.deepEqual(
    kept.map(({ arguments: [channel] }) => channel),
    ['only here', 'waited', 'taken back'],
  )
  for (const {
    this: held,
    arguments: [channel],
  } of kept)
    assert.equal(Map.prototype.has.call(held, channel), false)
})

test('draining ends all held requests at once, including those for several channels', async () => {
  const { hub, ask } = openHub()
  const held = [['main', 'wind'], ['other']].map((channels, n) =>
    refusalOf(() => ask({ id: `w${n}`, channels }, { cursor: 'life1:0', holdMs: 20_000 })),
  )
  await settled()
  void hub.drain(1000)
  assert.deepEqual(
    (await Promise.all(held)).map(({ code }) => code),
    ['draining', 'draining'],
  )
})
