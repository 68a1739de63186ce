import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../protocol/messages.ts'
import { collectTraces } from '../../protocol/testing.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { typesByName } from '../channels/channel-type.ts'
import type { Log } from '../log/log.ts'
import { draft } from '../log/log-testing.ts'
import { Delivery, type Framing, HeldDeliveries, RecentDeliveries } from './delivery.ts'
import {
  byesOf,
  countTo,
  createFakeConnection,
  editOf,
  hubTypeOf,
  idsIn,
  jsonFraming,
  memoryLog,
  messageOf,
  openHub,
  pagedLog,
  sampleOf,
  settled,
  slowLog,
  streamsOf,
  typesIn,
} from './hub-testing.ts'
import { Subscriber } from './subscriber.ts'

const beat = () => new Delivery({ type: 'heartbeat', newest: 0, at: 0 })

function openWindow({ queueBytes = 100_000 } = {}) {
  const connection = createFakeConnection()
  const overflows: string[] = []
  const failures: unknown[] = []
  const streams = streamsOf({
    queueBytes,
    ended: ({ identity }, code) => void (code === 'overflow' && overflows.push(identity.id)),
    failed: (error) => void failures.push(error),
  })
  const window = new Subscriber(connection.joining, streams)
  /** Whether the replay has resolved so far. */
  function replay(...missed: Delivery[]): { isDone: boolean } {
    const watched = { isDone: false }
    void window.replay(missed).then(() => {
      watched.isDone = true
    })
    return watched
  }
  return { connection, window, overflows, failures, replay, ids: () => idsIn(connection.frames) }
}

test('queues everything until it begins, even if the connection is writable', () => {
  const { window, ids } = openWindow()
  window.send(editOf(1))
  window.drained()
  assert.deepEqual(ids(), [])
  assert.ok(window.backlogBytes > 0)
})

test('sends the missed messages part by part, then queued ones that are not among them, then new ones', async () => {
  const { window, ids } = openWindow()
  window.send(editOf(3))
  await window.replay([editOf(1), editOf(2)])
  window.send(editOf(4))
  await window.replay([editOf(3)])
  window.send(editOf(5))
  window.begin(4)
  window.send(editOf(6))
  assert.deepEqual(ids(), ['e1', 'e2', 'e3', 'e5', 'e6'])
  assert.equal(window.backlogBytes, 0)
})

test('a replayed part is complete when the connection has accepted all of it, not when it was handed over', async () => {
  const { connection, window, replay, ids } = openWindow()
  connection.isFull = true
  const part = replay(editOf(1), editOf(2))
  const seen = [[...ids(), part.isDone]]
  for (const _turn of [1, 2]) {
    window.drained()
    await settled()
    seen.push([...ids(), part.isDone])
  }
  assert.deepEqual(seen, [
    ['e1', false],
    ['e1', 'e2', false],
    ['e1', 'e2', true],
  ])
})

test('an empty part completes at once, and so does every part of a closed window', async () => {
  const { window, replay, ids } = openWindow()
  const empty = replay()
  await settled()
  assert.equal(empty.isDone, true)
  window.end('draining', 'Go.', 1)
  const late = replay(editOf(1))
  await settled()
  assert.deepEqual([late.isDone, ids()], [true, []])
})

test('closing the window or losing its connection during a part ends the replay and writes nothing more', async () => {
  for (const end of ['close', 'gone'] as const) {
    const { connection, window, replay, ids } = openWindow()
    connection.isFull = true
    const part = replay(editOf(1), editOf(2))
    if (end === 'close') window.end('draining', 'Go.', 1)
    else window.gone()
    await settled()
    assert.equal(part.isDone, true)
    window.drained()
    window.begin(2)
    assert.deepEqual([ids(), window.isClosed], [['e1'], true])
  }
})

test('a frame outside the log keeps its place in the queue and is not taken for a repeat', async () => {
  const { connection, window } = openWindow()
  window.send(new Delivery({ type: 'stored', id: 'w1-1', seq: 1 }))
  await window.replay([editOf(1)])
  window.begin(1)
  assert.deepEqual(typesIn(connection.frames), ['message', 'stored'])
})

test('a volatile message waits for a short while, and is dropped for a window that is behind or catches up', () => {
  const { connection, window, ids } = openWindow({ queueBytes: 20_000 })
  const volatileOf = (n: number) =>
    new Delivery({ type: 'volatile', message: { ...draft(`w9-v${n}`, 'x'.repeat(9000)), volatile: true } })
  const volatileIds = () =>
    connection.frames.flatMap((frame) => (frame.type === 'volatile' ? [frame.message.id] : []))
  window.send(volatileOf(1))
  window.begin(0)
  connection.isFull = true
  window.send(editOf(1))
  for (const n of [2, 3, 4, 5]) window.send(volatileOf(n))
  connection.isFull = false
  window.drained()
  assert.deepEqual([ids(), volatileIds(), window.isClosed], [['e1'], ['w9-v2', 'w9-v3'], false])
})

test('a full connection gets nothing more until it drains', async () => {
  const { connection, window, ids } = openWindow()
  window.begin(0)
  connection.isFull = true
  for (const seq of [1, 2, 3]) window.send(editOf(seq))
  assert.deepEqual(ids(), ['e1'])
  window.drained()
  assert.deepEqual(ids(), ['e1', 'e2'])
  connection.isFull = false
  window.drained()
  window.send(editOf(4))
  assert.deepEqual([ids(), window.backlogBytes], [['e1', 'e2', 'e3', 'e4'], 0])
})

test('a burst of 500 samples waits for a slow connection without losing any', () => {
  const { connection, window, ids } = openWindow({ queueBytes: 300_000 })
  window.begin(0)
  connection.isFull = true
  for (const seq of countTo(500)) window.send(sampleOf(seq))
  connection.isFull = false
  window.drained()
  assert.deepEqual([ids(), window.dropped], [countTo(500).map((seq) => `r${seq}`), 0])
})

test('a full queue drops the oldest samples, and reports their number before the next frame', () => {
  const size = sampleOf(10).bytes(createFakeConnection().joining.framing).length
  const { connection, window, overflows } = openWindow({ queueBytes: size * 3 })
  window.begin(0)
  connection.isFull = true
  for (const seq of countTo(8)) window.send(sampleOf(10 + seq))
  connection.isFull = false
  using traced = collectTraces('stream')
  window.drained()
  window.send(sampleOf(19))
  assert.equal(traced.lines[1], 'stream w1 is not sent 4 messages that may be missed: it was too slow')
  const told = connection.frames.map((frame) => (frame.type === 'omitted' ? frame.count : idsIn([frame])[0]))
  assert.deepEqual([told, overflows], [['r11', 4, 'r16', 'r17', 'r18', 'r19'], []])
})

test('a window is behind once responses to it are queued unread, whatever else is queued', () => {
  const { connection, window } = openWindow()
  const refused = () =>
    new Delivery({ type: 'refused', id: null, code: 'bad-frame', message: 'x'.repeat(99) })
  window.begin(0)
  connection.isFull = true
  for (const seq of countTo(200)) window.send(editOf(seq))
  const seen = [window.isBehind]
  for (const _one of countTo(200)) window.send(refused())
  seen.push(window.isBehind)
  connection.isFull = false
  window.drained()
  assert.deepEqual([...seen, window.isBehind], [false, true, false])
})

test('missed messages may exceed the queue’s size', async () => {
  const { connection, window, overflows, replay, ids } = openWindow({ queueBytes: 10 })
  connection.isFull = true
  replay(editOf(1), editOf(2), editOf(3))
  connection.isFull = false
  window.drained()
  assert.deepEqual([ids(), overflows], [['e1', 'e2', 'e3'], []])
})

test('is dismissed when its queue overflows', () => {
  const { window, overflows } = openWindow({ queueBytes: 10 })
  window.send(editOf(1))
  assert.deepEqual(overflows, [])
  window.send(editOf(2))
  assert.deepEqual(overflows, ['w1'])
})

test('a heartbeat is skipped before it begins, while bytes are unsent, and once it is closed', () => {
  const { connection, window } = openWindow()
  window.offer(beat())
  window.begin(0)
  window.offer(beat())
  connection.isFull = true
  window.send(editOf(1))
  window.offer(beat())
  connection.isFull = false
  window.drained()
  window.offer(beat())
  window.end('draining', 'Go.', 1)
  window.offer(beat())
  assert.deepEqual(typesIn(connection.frames), ['heartbeat', 'message', 'heartbeat'])
})

test('closes once, with the first reason, and writes nothing afterwards', () => {
  const { connection, window, ids } = openWindow()
  window.begin(0)
  connection.isFull = true
  for (const seq of [1, 2]) window.send(editOf(seq))
  window.end('overflow', 'Too far behind.', 5)
  window.end('draining', 'Again.', 9)
  window.send(editOf(3))
  window.drained()
  const bye = { type: 'bye', code: 'overflow', message: 'Too far behind.', retryAfterMs: 5 }
  assert.deepEqual([ids(), connection.byes], [['e1'], [bye]])
})

test('a window whose connection is gone gets no `bye`', () => {
  const { connection, window } = openWindow()
  window.begin(0)
  window.gone()
  window.end('draining', 'Go.', 1)
  window.send(editOf(1))
  assert.deepEqual([connection.byes, connection.frames, window.isClosed], [[], [], true])
})

test('an exception of a connection is reported, both at a write and at its end', () => {
  const { connection, window, failures } = openWindow()
  window.begin(0)
  connection.failure = new Error('broken')
  connection.failureAtEnd = new Error('worse')
  window.send(editOf(1))
  window.end('failed', 'It broke.', 1)
  window.end('failed', 'It broke.', 1)
  assert.deepEqual(failures.map(String), ['Error: broken', 'Error: worse'])
})

test('a connection that throws during a part is not tried again', async () => {
  const { connection, failures, replay } = openWindow()
  connection.failure = new Error('broken')
  const part = replay(editOf(1), editOf(2), editOf(3))
  await settled()
  assert.deepEqual([part.isDone, failures.length, connection.byes.length], [true, 1, 1])
})

test('however the connection fills and drains, everything arrives once and in order, except dropped samples, which are counted', async () => {
  const random = createSeededRandom(11)
  for (let round = 0; round < 200; round += 1) {
    const { connection, window, overflows, ids } = openWindow()
    const log = countTo(40).map((seq) => (random() < 0.3 ? sampleOf(seq) : editOf(seq)))
    const turn = () => {
      connection.isFull = random() < 0.5
      if (random() < 0.5) window.drained()
    }
    const joinedAt = Math.floor(random() * 20)
    let told = joinedAt
    const catchUp = (async () => {
      await window.replay(log.slice(0, joinedAt))
      const head = told
      await window.replay(log.slice(joinedAt, head))
      window.begin(head)
    })()
    for (const delivery of log.slice(joinedAt)) {
      told += 1
      window.send(delivery)
      turn()
      if (random() < 0.3) await settled()
    }
    connection.isFull = false
    for (let n = 0; n < 3; n += 1) {
      window.drained()
      await settled()
    }
    await catchUp
    const places = ids().map((id) => Number(id.slice(1)))
    assert.deepEqual(
      places,
      [...new Set(places)].sort((one, other) => one - other),
    )
    const gone = log.filter(({ seq }) => !places.includes(seq ?? 0))
    assert.ok(gone.every(({ isReplaceable }) => isReplaceable))
    assert.ok(gone.length <= window.dropped)
    const newest = log.findLast(({ isReplaceable }) => isReplaceable)
    assert.ok(places.includes(newest?.seq ?? 0))
    assert.deepEqual(overflows, [])
  }
})

const sizeOf = (delivery: Delivery) => delivery.bytes(jsonFraming).length
const figureOf = (seq: number, channel = 'figures.main') => sampleOf(seq, channel, 'figure')

/** A window that has not begun, so that everything sent to it is queued. */
function openQueue(queueBytes: number) {
  const { connection, window, overflows } = openWindow({ queueBytes })
  return {
    window,
    /** False if it does not fit. */
    push(delivery: Delivery): boolean {
      const before = overflows.length
      window.send(delivery)
      return overflows.length === before
    },
    /** Returns the numbers of everything queued, in order. */
    drain(): number[] {
      connection.frames.length = 0
      window.begin(0)
      return connection.frames.flatMap((frame) => (frame.type === 'message' ? [frame.message.seq] : []))
    },
  }
}

test('the queue accepts what fits, the new frame included, and returns it in order', () => {
  const queueBytes = 3 * sizeOf(editOf(1))
  const { window, push, drain } = openQueue(queueBytes)
  for (const seq of [1, 2, 3]) assert.equal(push(editOf(seq)), true)
  assert.equal(window.backlogBytes, queueBytes)
  assert.deepEqual(drain(), [1, 2, 3])
  assert.equal(window.backlogBytes, 0)
  const full = openQueue(queueBytes)
  const pushed = [1, 2, 3, 4].map((seq) => full.push(editOf(seq)))
  assert.deepEqual(pushed, [true, true, true, false])
})

test('the queue counts bytes, not characters', () => {
  const wide = editOf(1, '💨'.repeat(50))
  const { push } = openQueue(sizeOf(wide) + sizeOf(editOf(2)) - 1)
  assert.equal(push(wide), true)
  assert.equal(push(editOf(2)), false)
})

test('the queue accepts one frame, however large', () => {
  const { push, drain } = openQueue(10)
  assert.equal(push(editOf(1, 'x'.repeat(1000))), true)
  assert.deepEqual(drain(), [1])
  const full = openQueue(10)
  assert.deepEqual([full.push(editOf(1)), full.push(editOf(2))], [true, false])
})

test('samples queue up while they fit; in a full queue the oldest make room for any other frame', () => {
  const { window, push, drain } = openQueue(3 * sizeOf(sampleOf(1)))
  for (const seq of [1, 2, 3]) push(sampleOf(seq))
  assert.equal(window.dropped, 0)
  push(sampleOf(4))
  push(editOf(5))
  assert.equal(window.dropped, 2)
  assert.deepEqual(drain(), [3, 4, 5])
})

test('a newer figure replaces the queued one of its channel, at its own place in the log', () => {
  const { window, push, drain } = openQueue(100_000)
  const others = [figureOf(2, 'figures.notes'), sampleOf(3), sampleOf(4, 'figures.main', 'edit')]
  for (const delivery of [figureOf(1), ...others, figureOf(5)]) push(delivery)
  assert.equal(
    window.backlogBytes,
    [...others, figureOf(5)].reduce((sum, one) => sum + sizeOf(one), 0),
  )
  assert.equal(window.dropped, 0)
  assert.deepEqual(drain(), [2, 3, 4, 5])
})

const seriesTypes = typesByName([
  ['series', { name: 'series', kinds: { figure: { drop: 'superseded', by: 'of.id' } } }],
])

/** A message of the series `id`; of none without it. */
function ofSeries(seq: number, id?: string | number): Delivery {
  const body = { value: seq, ...(id !== undefined && { of: { id } }) }
  const message = messageOf({ seq, channel: 'series', kind: 'figure', body })
  return new RecentDeliveries(seriesTypes).add(message, `life1:${seq}`)
}

test('the newest of each series stays in the queue, and every message of none', () => {
  const { push, drain } = openQueue(100_000)
  const ids: (string | number | undefined)[] = ['a', 1, '1', undefined, 'a', undefined, 1, 'a']
  for (const [index, id] of ids.entries()) push(ofSeries(index + 1, id))
  assert.deepEqual(drain(), [3, 4, 6, 7, 8])
})

test('every series gets through to a client that reads half of what is sent, and none is old', () => {
  const { connection, window } = openWindow()
  window.begin(0)
  connection.isFull = true
  const newest = new Map<number, number>()
  let seq = 0
  for (let turn = 0; turn < 40; turn += 1) {
    for (let id = 0; id < 50; id += 1) {
      seq += 1
      window.send(ofSeries(seq, id))
    }
    for (let read = 0; read < 25; read += 1) window.drained()
    for (const frame of connection.frames.splice(0))
      if (frame.type === 'message') newest.set(frame.message.seq % 50, frame.message.seq)
  }
  assert.equal(newest.size, 50)
  const oldest = Math.min(...newest.values())
  assert.ok(oldest > seq - 5 * 50, `the newest of one series is ${oldest} of ${seq}`)
})

test('a series that is the newest is never dropped from a full queue: the window resumes', () => {
  const { push } = openQueue(sizeOf(ofSeries(1, 'a')))
  assert.deepEqual(
    [push(ofSeries(1, 'a')), push(ofSeries(2, 'a')), push(ofSeries(3, 'b'))],
    [true, true, false],
  )
})

test('a window that resumes is sent the newest of each series', () => {
  const recent = new RecentDeliveries(seriesTypes)
  const messages = ['a', 'b', undefined, 'a', undefined].map((id, index) => {
    const { frame } = ofSeries(index + 1, id)
    assert.ok(frame.type === 'message')
    return frame.message
  })
  const head = { epoch: 'life1', seq: 5 }
  assert.deepEqual(
    recent.deliveriesOf({ messages, head }).map(({ seq }) => seq),
    [2, 3, 4, 5],
  )
})

test('once a window answers heartbeats, what it has not read waits where it can be superseded', () => {
  let now = 0
  const connection = createFakeConnection()
  const window = new Subscriber(connection.joining, { ...streamsOf(), now: () => now })
  window.begin(0)
  const figures = (from: number, to: number) => {
    for (const seq of countTo(to).slice(from - 1)) window.send(figureOf(seq))
    return connection.frames.splice(0)
  }
  const beat = { type: 'heartbeat', newest: 1, at: 0 }
  assert.deepEqual(
    figures(1, 2000).filter(({ type }) => type === 'heartbeat'),
    [beat],
  )
  assert.equal(window.backlogBytes, 0, 'nobody has answered yet')
  now = 20
  window.answered(beat.at)
  assert.deepEqual(connection.frames.splice(0), [{ type: 'heartbeat', newest: 2000, at: 20 }])
  assert.deepEqual([figures(2001, 2003), window.backlogBytes], [[], sizeOf(figureOf(2003))])
  window.answered(7)
  assert.deepEqual(connection.frames, [], 'no heartbeat was of that time')
  now = 40
  window.answered(20)
  assert.deepEqual(idsIn(connection.frames), ['r2003'])
})

test('any number of samples fits into the room for one', () => {
  const { push, drain } = openQueue(sizeOf(editOf(1)) + sizeOf(sampleOf(10)))
  push(editOf(1))
  for (let seq = 10; seq < 99; seq += 1) assert.equal(push(sampleOf(seq)), true)
  assert.deepEqual(drain(), [1, 98])
})

test('the queue never drops an accepted edit, never reorders the log, never exceeds its limit', () => {
  const random = createSeededRandom(5)
  const queueBytes = 2000
  let overflowed = 0
  for (let round = 0; round < 50; round += 1) {
    const { connection, window, overflows, ids } = openWindow({ queueBytes })
    window.begin(0)
    connection.isFull = true
    const taken: string[] = []
    for (let seq = 1; seq <= 100 && overflows.length === 0; seq += 1) {
      // A full connection accepts one frame, and is full again.
      if (random() < round / 50) window.drained()
      const isEdit = random() < 0.5
      window.send(isEdit ? editOf(seq) : sampleOf(seq))
      if (isEdit && overflows.length === 0) taken.push(`e${seq}`)
      assert.ok(window.backlogBytes <= queueBytes)
    }
    overflowed += overflows.length
    connection.isFull = false
    window.drained()
    const seqs = ids().map((id) => Number(id.slice(1)))
    assert.deepEqual(
      seqs,
      seqs.toSorted((one, other) => one - other),
    )
    if (overflows.length === 0) assert.ok(taken.every((id) => ids().includes(id)))
  }
  assert.ok(overflowed > 5 && overflowed < 45, `${overflowed} of 50 overflowed`)
})

const welcomeTo = (frames: readonly object[]) => frames[0]

test('a window is welcomed, then gets the messages that it missed, then new ones, including its own', async () => {
  const { hub, time, enter } = openHub()
  for (const n of [1, 2, 3]) await hub.publish(draft(`w1-${n}`))
  const { connection } = enter({}, 'life1:1')
  await settled()
  await hub.publish(draft('w1-4'))
  assert.deepEqual(welcomeTo(connection.frames), {
    type: 'welcome',
    window: 'w1',
    cursor: 'life1:3',
    recovered: true,
    http: '2',
    heartbeatMs: 16_000,
    at: time.now(),
    stateBytes: 4096,
  })
  assert.deepEqual(idsIn(connection.frames), ['w1-2', 'w1-3', 'w1-4'])
})

test('without a cursor known to the log, a window gets a snapshot, marked as not recovered', async () => {
  for (const cursor of [null, 'another:1', 'life1:9']) {
    const { hub, enter } = openHub()
    for (const n of [1, 2]) await hub.publish(draft(`w1-${n}`))
    const { connection } = enter({}, cursor)
    await settled()
    const [welcome] = connection.frames
    assert.ok(welcome?.type === 'welcome' && !welcome.recovered)
    assert.deepEqual(idsIn(connection.frames), ['w1-2'])
  }
})

for (const looksUp of ['when asked', 'when it answers'] as const) {
  test(`a message appended while the log is read is neither lost nor repeated: the log looks it up ${looksUp}`, async () => {
    const { log, answer } = slowLog(looksUp)
    const { hub, enter } = openHub({ log })
    await hub.publish(draft('w9-1'))
    const { connection } = enter({}, 'life1:0')
    await hub.publish(draft('w9-2'))
    await hub.publish(draft('w9-3'))
    assert.deepEqual(connection.frames, [])
    await answer()
    await hub.publish(draft('w9-4'))
    assert.deepEqual(typesIn(connection.frames), ['welcome', 'message', 'message', 'message', 'message'])
    assert.deepEqual(idsIn(connection.frames), ['w9-1', 'w9-2', 'w9-3', 'w9-4'])
  })
}

test('a window that joins while messages are appended, on any connection, gets every message exactly once', async () => {
  const random = createSeededRandom(8)
  for (const looksUp of ['when asked', 'when it answers'] as const) {
    const { log, answer } = slowLog(looksUp, pagedLog(4))
    const { hub, enter } = openHub({ log })
    const joined: { after: number; entered: ReturnType<typeof enter> }[] = []
    for (let n = 1; n <= 300; n += 1) {
      // Appends without waiting, as a crowd would.
      void hub.publish(draft(`m-${n}`))
      if (random() < 0.1) {
        const after = Math.floor(random() * n)
        joined.push({ after, entered: enter({ id: `w${n}` }, `life1:${after}`) })
      }
      for (const { entered } of joined) {
        entered.connection.isFull = random() < 0.3
        if (random() < 0.5) entered.window.drained()
      }
      if (random() < 0.4) await answer(1)
    }
    for (let round = 0; round < 100; round += 1) {
      for (const { entered } of joined) {
        entered.connection.isFull = false
        entered.window.drained()
      }
      await answer()
    }
    assert.ok(joined.length > 20)
    for (const { after, entered } of joined) {
      const expected = countTo(300 - after).map((n) => `m-${after + n}`)
      assert.deepEqual(idsIn(entered.connection.frames), expected)
      assert.deepEqual(entered.connection.byes, [])
    }
  }
})

test('each part of the missed messages is read when the one before has been sent', async () => {
  const { log, answer, waiting } = slowLog('when asked', pagedLog(2))
  const { hub, enter } = openHub({ log })
  for (const n of countTo(5)) await hub.publish(draft(`m-${n}`))
  const { connection, window } = enter({}, 'life1:0')
  connection.isFull = true
  await answer()
  assert.deepEqual(typesIn(connection.frames), ['welcome'])
  for (const _frame of [1, 2]) window.drained()
  await settled()
  assert.deepEqual([idsIn(connection.frames), waiting()], [['m-1', 'm-2'], 0])
  window.drained()
  await settled()
  assert.equal(waiting(), 1)
  connection.isFull = false
  for (const _part of [1, 2]) await answer()
  assert.deepEqual(
    idsIn(connection.frames),
    countTo(5).map((n) => `m-${n}`),
  )
  assert.equal(typesIn(connection.frames).filter((type) => type === 'welcome').length, 1)
})

test('a window that reads more slowly than the log advances is dismissed to restart', async () => {
  const kept = memoryLog(() => 0, { messages: 4 })
  const { log, answer } = slowLog('when it answers', pagedLog(2, kept))
  const { hub, enter } = openHub({ log })
  for (const n of countTo(4)) await hub.publish(draft(`m-${n}`))
  const { connection } = enter({}, 'life1:0')
  await answer()
  for (const n of countTo(9)) await hub.publish(draft(`n-${n}`))
  await answer()
  assert.deepEqual([idsIn(connection.frames), byesOf(connection)], [['m-1', 'm-2'], [['overflow', 0]]])
  assert.equal(hub.windowCount(), 0)
})

test('a window that leaves or is dismissed while the log is read gets nothing more, and the reading stops', async () => {
  const { log, answer, waiting } = slowLog('when asked', pagedLog(1))
  const { hub, enter } = openHub({ log })
  for (const n of countTo(5)) await hub.publish(draft(`m-${n}`))
  const left = enter({ id: 'w1' }, 'life1:0')
  const replaced = enter({ id: 'w2' }, 'life1:0')
  const newer = enter({ id: 'w2', opening: 1 }, 'life1:5')
  hub.leave(left.window)
  await answer()
  assert.deepEqual([left.connection.frames, replaced.connection.frames, waiting()], [[], [], 0])
  assert.deepEqual(typesIn(newer.connection.frames), ['welcome'])
  assert.deepEqual(left.connection.byes, [], 'its connection is gone: no `bye` is possible')
})

test('a window that leaves between two parts is not read for again', async () => {
  const { log, answer, waiting } = slowLog('when asked', pagedLog(1))
  const { hub, enter } = openHub({ log })
  for (const n of countTo(5)) await hub.publish(draft(`m-${n}`))
  const { connection, window } = enter({ id: 'w1' }, 'life1:0')
  await answer()
  assert.equal(waiting(), 1)
  hub.leave(window)
  await answer()
  assert.deepEqual([idsIn(connection.frames), waiting()], [['m-1'], 0])
})

test('a window that falls too far behind is dismissed to resume at once, and delays no other', async () => {
  const { hub, enter } = openHub({ queueBytesPerWindow: 500 })
  const slow = enter({ id: 'w1' })
  const quick = enter({ id: 'w2' })
  await settled()
  slow.connection.isFull = true
  for (const n of [1, 2, 3, 4]) await hub.publish(draft(`w9-${n}`, 'x'.repeat(200)))
  assert.deepEqual(byesOf(slow.connection), [['overflow', 0]])
  assert.deepEqual(idsIn(quick.connection.frames), ['w9-1', 'w9-2', 'w9-3', 'w9-4'])
  assert.equal(hub.windowCount(), 1)
})

test('a connection that throws costs only its own window the stream, and nobody a message', async () => {
  const { hub, failures, enter } = openHub()
  const broken = enter({ id: 'w1' })
  const sound = enter({ id: 'w2' })
  await settled()
  broken.connection.failure = new Error('broken')
  broken.connection.failureAtEnd = new Error('worse')
  const { seq } = await hub.publish(draft('w9-1'))
  assert.equal(seq, 1)
  assert.deepEqual(idsIn(sound.connection.frames), ['w9-1'])
  assert.deepEqual(byesOf(broken.connection), [['failed', 900]])
  assert.deepEqual([failures.map(String), hub.windowCount()], [['Error: broken', 'Error: worse'], 1])
})

test('a log that cannot be read dismisses the window to retry, and is reported', async () => {
  const log: Log = { ...memoryLog(), read: async () => Promise.reject(new Error('no disk')) }
  const { hub, failures, enter } = openHub({ log })
  const { connection } = enter()
  await settled()
  assert.deepEqual(byesOf(connection), [['failed', 900]])
  assert.deepEqual([failures.map(String), hub.windowCount()], [['Error: no disk'], 0])
})

function countingFraming(): Framing & { readonly cursors: (string | null)[] } {
  const cursors: (string | null)[] = []
  return {
    cursors,
    encode(frame, cursor) {
      cursors.push(cursor)
      return Buffer.from(`${cursors.length} ${frame.type}`)
    },
  }
}

test('a delivery is encoded once per framing, for any number of windows', () => {
  const one = countingFraming()
  const other = countingFraming()
  const delivery = new Delivery({ type: 'heartbeat', newest: 0, at: 0 })
  for (const framing of [one, other]) {
    const buffers = [1, 2, 3].map(() => delivery.bytes(framing))
    assert.ok(buffers.every((bytes) => bytes === buffers[0]))
  }
  delivery.bytes(one)
  assert.deepEqual([one.cursors.length, other.cursors.length], [1, 1])
})

test('the framing gets the cursor of a message, and none for other frames', () => {
  const framing = countingFraming()
  editOf(7).bytes(framing)
  new Delivery({ type: 'heartbeat', newest: 0, at: 0 }).bytes(framing)
  assert.deepEqual(framing.cursors, ['life1:7', null])
})

test('samples make room in a full queue; figures, edits and frames outside the log do not', () => {
  const figure = sampleOf(3, 'figures.main', 'figure')
  const deliveries = [editOf(1), sampleOf(2), figure, new Delivery({ type: 'heartbeat', newest: 0, at: 0 })]
  assert.deepEqual(
    deliveries.map(({ isReplaceable, seq, channel }) => [isReplaceable, seq, channel]),
    [
      [false, 1, 'main'],
      [true, 2, 'wind'],
      [false, 3, 'figures.main'],
      [false, null, null],
    ],
  )
})

const large = (seq: number, characters: number) => messageOf({ seq, body: { html: 'x'.repeat(characters) } })

/** As `deliveriesOf` returns it, with the epoch `life1` by default. */
function deliveryOf(recent: RecentDeliveries, message: Message, epoch = 'life1'): Delivery {
  const [delivery] = recent.deliveriesOf({ messages: [message], head: { epoch, seq: message.seq } })
  assert.ok(delivery)
  return delivery
}

test('a recent message is encoded once, and carries its cursor', () => {
  const recent = new RecentDeliveries(hubTypeOf)
  const delivery = deliveryOf(recent, messageOf({ seq: 7 }))
  assert.equal(deliveryOf(recent, messageOf({ seq: 7 })), delivery)
  const cursors: (string | null)[] = []
  delivery.bytes({
    encode(frame, cursor) {
      cursors.push(cursor)
      return jsonFraming.encode(frame, cursor)
    },
  })
  assert.deepEqual(cursors, ['life1:7'])
})

test('never returns another message with the same number', () => {
  const recent = new RecentDeliveries(hubTypeOf)
  deliveryOf(recent, messageOf({ seq: 1, id: 'a' }))
  const { frame } = deliveryOf(recent, messageOf({ seq: 1, id: 'b' }), 'life2')
  assert.equal(frame.type === 'message' && frame.message.id, 'b')
  const probe = messageOf({ seq: 1, id: 'b', channel: 'probes', kind: 'probe', body: { text: 'x' } })
  const { frame: other } = deliveryOf(recent, probe, 'life3')
  assert.equal(other.type === 'message' && other.message, probe)
})

test('never returns what a message was before its change, nor its earlier changes', () => {
  const recent = new RecentDeliveries(hubTypeOf)
  const said = (seq: number, data: string) => messageOf({ seq, kind: 'json', body: { data } })
  const change = (seq: number, data?: string) => messageOf({ seq, kind: 'change', body: { seq: 1, data } })
  for (const message of [said(1, 'secret'), change(2, 'secret'), change(3)]) recent.add(message, 'life1:1')
  for (const message of [said(1, ''), change(2)]) {
    const { frame } = deliveryOf(recent, message)
    assert.equal(frame.type === 'message' && frame.message, message)
  }
})

test('never returns an update for the base that ends with it, or the base for the update', () => {
  const recent = new RecentDeliveries(hubTypeOf)
  const updateOf = (update: string) => messageOf({ seq: 1, kind: 'update', body: { update } })
  for (const update of ['AAA=', 'AAAAAA==', 'AAA=']) {
    const { frame } = deliveryOf(recent, updateOf(update))
    assert.deepEqual(frame.type === 'message' && frame.message.body, { update })
  }
  assert.equal(deliveryOf(recent, updateOf('AAA=')), deliveryOf(recent, updateOf('AAA=')))
})

/** How many of the messages 1 to `count` are still cached. */
function keptOf(count: number, characters: number): number {
  const recent = new RecentDeliveries(hubTypeOf)
  const given = countTo(count).map((seq) => deliveryOf(recent, large(seq, characters)))
  // Newest first: looking up an evicted one caches it again, and evicts another.
  const isKnown = given.toReversed().map((delivery, back) => {
    return deliveryOf(recent, large(count - back, characters)) === delivery
  })
  return isKnown.indexOf(false)
}

test('keeps the newest five hundred', () => {
  assert.equal(keptOf(1200, 10), 500)
})

test('keeps at most four million characters, even for a few large messages', () => {
  assert.equal(keptOf(100, 50_000), 80)
})

test('clients that hold a large message evicted from the cache share it', () => {
  const recent = new RecentDeliveries(hubTypeOf)
  const given = countTo(12).map((seq) => deliveryOf(recent, large(seq, 1_000_000)))
  for (const [index, delivery] of given.entries())
    assert.equal(deliveryOf(recent, large(index + 1, 1_000_000)), delivery)
})

test('clients share a message that is larger than the cache, and it evicts none', () => {
  const recent = new RecentDeliveries(hubTypeOf)
  const small = deliveryOf(recent, large(1, 10))
  const { frame } = deliveryOf(recent, large(2, 5_000_000))
  assert.equal(frame.type === 'message' && frame.message.seq, 2)
  const given = Array.from({ length: 3 }, () => deliveryOf(recent, large(2, 5_000_000)))
  assert.equal(new Set(given).size, 1)
  assert.equal(deliveryOf(recent, large(1, 10)), small)
})

test('when clients hold the same large message, the first is charged, and then the next', () => {
  const shared = deliveryOf(new RecentDeliveries(hubTypeOf), large(1, 100_000))
  const own = deliveryOf(new RecentDeliveries(hubTypeOf), large(2, 1))
  const charged = [0, 0, 0]
  const holders = charged.map((_, index) => new HeldDeliveries((bytes) => (charged[index] = bytes)))
  for (const one of holders) one.set([shared, own])
  assert.deepEqual(charged, [200_002, 2, 2])
  holders[1]?.set([])
  assert.deepEqual(charged, [200_002, 0, 2])
  holders[0]?.set([])
  assert.deepEqual(charged, [0, 0, 200_002])
  holders[2]?.set([])
  assert.deepEqual(charged, [0, 0, 0])
})
