import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../wire/random.ts'
import { createDelivery, type Delivery } from './delivery.ts'
import { countTo, createFakeConnection, editOf, idsIn, readingOf, settled, typesIn } from './testing.ts'
import { createWindow } from './window.ts'

const beat = () => createDelivery({ type: 'heartbeat', newest: 0 })

function openWindow({ queueBytes = 100_000, closesOnFailure = false } = {}) {
  const connection = createFakeConnection()
  const overflows: string[] = []
  const failures: unknown[] = []
  const window = createWindow(connection.joining, queueBytes, {
    onOverflow: ({ id }) => void overflows.push(id),
    onFailure: (failed, error) => {
      failures.push(error)
      if (closesOnFailure) failed.close('failed', 'It broke.', 1)
    },
  })
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

test('holds everything until it begins, even when the connection could take it', () => {
  const { window, ids } = openWindow()
  window.send(editOf(1))
  window.drained()
  assert.deepEqual(ids(), [])
  assert.ok(window.backlogBytes() > 0)
})

test('begins with what it missed, part by part, then what came meanwhile and is not in there, then what comes', async () => {
  const { window, ids } = openWindow()
  window.send(editOf(3))
  await window.replay([editOf(1), editOf(2)])
  window.send(editOf(4))
  await window.replay([editOf(3)])
  window.send(editOf(5))
  window.begin(4)
  window.send(editOf(6))
  assert.deepEqual(ids(), ['e1', 'e2', 'e3', 'e5', 'e6'])
  assert.equal(window.backlogBytes(), 0)
})

test('a part is done when the connection has taken all of it, not when it was handed over', async () => {
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

test('a part of nothing is done at once, and so is every part of a closed window', async () => {
  const { window, replay, ids } = openWindow()
  const empty = replay()
  await settled()
  assert.equal(empty.isDone, true)
  window.close('draining', 'Go.', 1)
  const late = replay(editOf(1))
  await settled()
  assert.deepEqual([late.isDone, ids()], [true, []])
})

test('closed in the midst of a part, or gone, it lets go of who waits for it and writes no more', async () => {
  for (const end of ['close', 'gone'] as const) {
    const { connection, window, replay, ids } = openWindow()
    connection.isFull = true
    const part = replay(editOf(1), editOf(2))
    if (end === 'close') window.close('draining', 'Go.', 1)
    else window.gone()
    await settled()
    assert.equal(part.isDone, true)
    window.drained()
    window.begin(2)
    assert.deepEqual([ids(), window.isClosed()], [['e1'], true])
  }
})

test('what is not in the log waits its turn and is not taken for a repeat', async () => {
  const { connection, window } = openWindow()
  window.send(createDelivery({ type: 'stored', id: 'w1-1', seq: 1 }))
  await window.replay([editOf(1)])
  window.begin(1)
  assert.deepEqual(typesIn(connection.frames), ['message', 'stored'])
})

test('a full connection gets nothing more until it is drained', async () => {
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
  assert.deepEqual([ids(), window.backlogBytes()], [['e1', 'e2', 'e3', 'e4'], 0])
})

test('while it waits, readings make room for newer ones, and are counted', () => {
  const { connection, window, ids } = openWindow()
  window.begin(0)
  connection.isFull = true
  for (const delivery of [editOf(1), readingOf(2), editOf(3), readingOf(4)]) window.send(delivery)
  connection.isFull = false
  window.drained()
  assert.deepEqual([ids(), window.dropped()], [['e1', 'e3', 'r4'], 1])
})

test('what was missed may be more than the queue holds', async () => {
  const { connection, window, overflows, replay, ids } = openWindow({ queueBytes: 10 })
  connection.isFull = true
  replay(editOf(1), editOf(2), editOf(3))
  connection.isFull = false
  window.drained()
  assert.deepEqual([ids(), overflows], [['e1', 'e2', 'e3'], []])
})

test('tells when its queue overflows', () => {
  const { window, overflows } = openWindow({ queueBytes: 10 })
  window.send(editOf(1))
  assert.deepEqual(overflows, [])
  window.send(editOf(2))
  assert.deepEqual(overflows, ['w1'])
})

test('a sign of life is left out before it begins, while bytes wait and once it is closed', () => {
  const { connection, window } = openWindow()
  window.beat(beat())
  window.begin(0)
  window.beat(beat())
  connection.isFull = true
  window.send(editOf(1))
  window.beat(beat())
  connection.isFull = false
  window.drained()
  window.beat(beat())
  window.close('draining', 'Go.', 1)
  window.beat(beat())
  assert.deepEqual(typesIn(connection.frames), ['heartbeat', 'message', 'heartbeat'])
})

test('closes once, with the first reason, and writes nothing afterwards', () => {
  const { connection, window, ids } = openWindow()
  window.begin(0)
  connection.isFull = true
  for (const seq of [1, 2]) window.send(editOf(seq))
  window.close('overflow', 'Too far behind.', 5)
  window.close('draining', 'Again.', 9)
  window.send(editOf(3))
  window.drained()
  const bye = { type: 'bye', code: 'overflow', message: 'Too far behind.', retryAfterMs: 5 }
  assert.deepEqual([ids(), connection.byes], [['e1'], [bye]])
})

test('whose connection is gone is not said goodbye to', () => {
  const { connection, window } = openWindow()
  window.begin(0)
  window.gone()
  window.close('draining', 'Go.', 1)
  window.send(editOf(1))
  assert.deepEqual([connection.byes, connection.frames, window.isClosed()], [[], [], true])
})

test('a connection that throws is told of, at a write and at its end alike', () => {
  const { connection, window, failures } = openWindow()
  window.begin(0)
  connection.failure = new Error('broken')
  connection.failureAtEnd = new Error('worse')
  window.send(editOf(1))
  window.close('failed', 'It broke.', 1)
  window.close('failed', 'It broke.', 1)
  assert.deepEqual(failures.map(String), ['Error: broken', 'Error: worse'])
})

test('a connection that throws in the midst of a part is tried once', async () => {
  const { connection, failures, replay } = openWindow({ closesOnFailure: true })
  connection.failure = new Error('broken')
  const part = replay(editOf(1), editOf(2), editOf(3))
  await settled()
  assert.deepEqual([part.isDone, failures.length, connection.byes.length], [true, 1, 1])
})

test('however it fills up and drains: every edit once, in the log’s order, and the newest reading', async () => {
  const random = createSeededRandom(11)
  for (let round = 0; round < 200; round += 1) {
    const { connection, window, overflows, ids } = openWindow()
    const log = countTo(40).map((seq) => (random() < 0.3 ? readingOf(seq) : editOf(seq)))
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
    assert.ok(gone.length <= window.dropped())
    const newest = log.findLast(({ isReplaceable }) => isReplaceable)
    assert.ok(places.includes(newest?.seq ?? 0))
    assert.deepEqual(overflows, [])
  }
})
