// Who reads a channel, and that it is told when somebody comes to read.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openHub } from './testing.ts'

function open() {
  const joined: string[] = []
  return { joined, ...openHub({ onJoined: (channels) => void joined.push([...channels].join(' ')) }) }
}

test('a channel is read while a stream or a poll of it is here', async () => {
  const { hub, time, enter, ask } = open()
  const reads = () => ['main', 'wind', 'notes'].map(hub.isRead)
  assert.deepEqual(reads(), [false, false, false])
  const { window } = enter({ channels: ['main', 'wind'] })
  await ask({ id: 'w2', channels: ['notes', 'wind'] }, { isFirst: true })
  assert.deepEqual(reads(), [true, true, true])
  hub.leave(window)
  assert.deepEqual(reads(), [false, true, true])
  // It does not ask any more.
  time.advance(60_000)
  assert.deepEqual(reads(), [false, false, false])
})

test('each stream that opens is told of, and each window that begins to poll, not each of its questions', async () => {
  const { joined, enter, ask } = open()
  enter({ id: 'w1' })
  enter({ id: 'w1', opening: 1, channels: ['main', 'wind'] })
  const { cursor } = await ask({ id: 'w2', channels: ['notes'] }, { isFirst: true })
  await ask({ id: 'w2', channels: ['notes'] }, { cursor })
  await ask({ id: 'w2', channels: ['notes', 'wind'] }, { cursor, isFirst: true })
  assert.deepEqual(joined, ['main', 'main wind', 'notes', 'notes wind'])
})

test('a stream that gives way to a newer one of its name is not told of', () => {
  const { joined, enter } = open()
  enter({ id: 'w1', opening: 2 })
  enter({ id: 'w1', opening: 1, channels: ['late'] })
  assert.deepEqual(joined, ['main'])
})
