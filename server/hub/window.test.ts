import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDelivery } from './delivery.ts'
import { createFakeConnection, editOf, idsIn, readingOf } from './testing.ts'
import { createWindow } from './window.ts'

function openWindow({ queueBytes = 100_000 } = {}) {
  const connection = createFakeConnection()
  const overflows: string[] = []
  const failures: unknown[] = []
  const window = createWindow(connection.joining, queueBytes, {
    onOverflow: ({ id }) => void overflows.push(id),
    onFailure: (_window, error) => void failures.push(error),
  })
  return { connection, window, overflows, failures, ids: () => idsIn(connection.frames) }
}

test('holds everything until it begins, even when the connection could take it', () => {
  const { window, ids } = openWindow()
  window.send(editOf(1))
  window.drained()
  assert.deepEqual(ids(), [])
  assert.ok(window.backlogBytes() > 0)
})

test('begins with what it missed, then what came meanwhile and is not in there, then what comes', () => {
  const { window, ids } = openWindow()
  for (const seq of [2, 3, 4]) window.send(editOf(seq))
  window.begin([editOf(1), editOf(2), editOf(3)], 3)
  window.send(editOf(5))
  assert.deepEqual(ids(), ['e1', 'e2', 'e3', 'e4', 'e5'])
})

test('what is not in the log waits its turn and is not taken for a repeat', () => {
  const { connection, window } = openWindow()
  window.send(createDelivery({ type: 'heartbeat' }))
  window.begin([editOf(1)], 1)
  assert.deepEqual(
    connection.frames.map(({ type }) => type),
    ['message', 'heartbeat'],
  )
})

test('a full connection gets nothing more until it is drained, neither of what was missed nor of what comes', () => {
  const { connection, window, ids } = openWindow()
  connection.isFull = true
  window.begin([editOf(1), editOf(2)], 2)
  window.send(editOf(3))
  assert.deepEqual(ids(), ['e1'])
  window.drained()
  assert.deepEqual(ids(), ['e1', 'e2'])
  connection.isFull = false
  window.drained()
  window.send(editOf(4))
  assert.deepEqual(ids(), ['e1', 'e2', 'e3', 'e4'])
  assert.equal(window.backlogBytes(), 0)
})

test('while it waits, readings make room for newer ones', () => {
  const { connection, window, ids } = openWindow()
  connection.isFull = true
  window.begin([editOf(1)], 1)
  for (const delivery of [readingOf(2), editOf(3), readingOf(4)]) window.send(delivery)
  connection.isFull = false
  window.drained()
  assert.deepEqual(ids(), ['e1', 'e3', 'r4'])
})

test('what was missed may be more than the queue holds', () => {
  const { connection, window, overflows, ids } = openWindow({ queueBytes: 10 })
  connection.isFull = true
  window.begin([editOf(1), editOf(2), editOf(3)], 3)
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

test('closes once, with the reason, and writes nothing afterwards', () => {
  const { connection, window, ids } = openWindow()
  connection.isFull = true
  window.begin([editOf(1), editOf(2)], 2)
  window.close('overflow', 'Too far behind.', 5)
  window.close('draining', 'Again.', 9)
  window.send(editOf(3))
  window.drained()
  assert.deepEqual(ids(), ['e1'])
  assert.deepEqual(connection.byes, [
    { type: 'bye', code: 'overflow', message: 'Too far behind.', retryAfterMs: 5 },
  ])
})

test('a connection that throws is told of, at a write and at its end alike', () => {
  const { connection, window, failures } = openWindow()
  const broken = new Error('broken')
  connection.failure = broken
  window.begin([editOf(1)], 1)

  const worse = new Error('worse')
  const joining = {
    ...connection.joining,
    end: () => {
      throw worse
    },
  }
  createWindow(joining, 100, {
    onOverflow: () => assert.fail('it did not overflow'),
    onFailure: (_window, error) => void failures.push(error),
  }).close('draining', 'Go.', 1)
  assert.deepEqual(failures, [broken, worse])
})
