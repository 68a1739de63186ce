import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Log } from '../broker/log.ts'
import { draft } from '../broker/log-testing.ts'
import { parseCursor } from '../wire/cursor.ts'
import { createSeededRandom } from '../wire/random.ts'
import type { PollReply } from './polls.ts'
import {
  countTo,
  framesOf,
  idsIn,
  memoryLog,
  openHub,
  pagedLog,
  settled,
  slowLog,
  typesIn,
  watch,
} from './testing.ts'

const idsOf = (reply: PollReply) => idsIn(framesOf(reply))
const typesOf = (reply: PollReply) => typesIn(framesOf(reply))

test('an answer carries all since the question’s cursor, and the cursor to ask from next', async () => {
  const { hub, ask } = openHub()
  for (const n of countTo(4)) await hub.publish(draft(`m-${n}`, '', n === 3 ? 'other' : 'main'))
  const reply = await ask({}, { cursor: 'life1:1' })
  assert.deepEqual([idsOf(reply), reply.cursor], [['m-2', 'm-4'], 'life1:4'])
  const next = await ask({}, { cursor: reply.cursor })
  assert.deepEqual([typesOf(next), next.cursor], [[], 'life1:4'])
  const again = await ask({}, { cursor: 'life1:1' })
  assert.deepEqual(
    idsOf(again),
    ['m-2', 'm-4'],
    'what a lost answer carried is there when it is asked for again',
  )
})

test('a window that opens is welcomed at once, however long it would wait', async () => {
  const { hub, ask } = openHub()
  await hub.publish(draft('m-1'))
  const reply = await ask({}, { cursor: 'life1:1', isFirst: true, holdMs: 20_000 })
  const welcome = { type: 'welcome', window: 'w1', cursor: 'life1:1', recovered: true, http: '2' }
  assert.deepEqual(framesOf(reply), [{ ...welcome, heartbeatMs: 16_000 }])
})

test('a cursor that the log does not know is answered with a snapshot at once, and that is said', async () => {
  const { hub, ask } = openHub()
  for (const n of countTo(3)) await hub.publish(draft(`m-${n}`))
  for (const cursor of [null, 'another:2', 'life1:9']) {
    const reply = await ask({}, { cursor, holdMs: 20_000 })
    const [welcome] = framesOf(reply)
    assert.ok(welcome?.type === 'welcome' && !welcome.recovered)
    assert.deepEqual([idsOf(reply), reply.cursor], [['m-3'], 'life1:3'])
  }
})

test('a question that is held is answered by the next message on its channels', async () => {
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

test('with nothing to say it is answered empty when its time is up, with the cursor to go on from', async () => {
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

test('what came between two questions is answered at once', async () => {
  const { hub, ask } = openHub()
  const first = await ask({}, { isFirst: true })
  await hub.publish(draft('m-1'))
  assert.deepEqual(idsOf(await ask({}, { cursor: first.cursor, holdMs: 20_000 })), ['m-1'])
})

test('what comes after the log was read and before the question is held is not missed', async () => {
  const { log, answer } = slowLog('when asked')
  const { hub, ask } = openHub({ log })
  const held = watch(ask({}, { cursor: 'life1:0', holdMs: 20_000 }))
  await hub.publish(draft('m-1'))
  for (const _read of [1, 2]) await answer()
  assert.deepEqual(held.reply && idsOf(held.reply), ['m-1'])
})

test('each answer carries exactly what lies between its two cursors, however questions overlap and are taken back', async () => {
  const random = createSeededRandom(4)
  for (const looksUp of ['when asked', 'when it answers'] as const) {
    const { log, answer } = slowLog(looksUp, pagedLog(3))
    const { hub, time, ask } = openHub({ log, queueBytesPerWindow: 1200 })
    let place = 0
    let answers = 0
    let length = 0
    const open = new Set<AbortController>()
    function question(): void {
      const taken = new AbortController()
      const from = place
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
        // A fifth of the answers is lost on its way.
        if (random() > 0.2) place = Math.max(place, to)
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
    for (let round = 0; round < 400 && place < length; round += 1) {
      question()
      time.advance(200)
      await answer()
    }
    assert.ok(answers > 300)
    assert.equal(place, length)
  }
})

test('an answer ends where it has grown too large, and the next one goes on exactly there', async () => {
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

test('a snapshot is never cut: only all of it together has the cursor’s place', async () => {
  const { hub, ask } = openHub({ queueBytesPerWindow: 1000 })
  const channels = ['a', 'b', 'c', 'd']
  for (const channel of channels) await hub.publish(draft(`m-${channel}`, 'x'.repeat(900), channel))
  const reply = await ask({ channels }, {})
  assert.deepEqual([idsOf(reply).length, reply.cursor], [4, 'life1:4'])
})

test('a log that gives parts is asked on: a part with nothing for the window is no answer', async () => {
  const kept = memoryLog()
  // Ten numbers at a time, whatever their channels.
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

test('messages are put into bytes once, for streams and for all who ask', async () => {
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
