// Checks what an overview does over a restart, a clock that is set back, a full log and a stop.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fill } from '../broker/log-testing.ts'
import { memoryLog } from '../hub/testing.ts'
import { newestTo, open, reader, toldTo, wordsTold } from './overview-testing.ts'

test('after a restart words come from the log, and edits are counted anew', async () => {
  const log = memoryLog()
  await fill(log, 3, 'w1', 'one two')
  const { enter, write, pass } = open({ log })
  const { connection } = enter(reader)
  await pass(100)
  const { words, edits, wind } = newestTo(connection) ?? {}
  assert.deepEqual([words, edits, wind], [2, 0, null])
  await write('one two three')
  await pass(1000)
  assert.deepEqual([newestTo(connection)?.words, newestTo(connection)?.edits], [3, 1])
})

test('the clock is set back: it goes on', async () => {
  const { enter, write, pass, time } = open()
  const { connection } = enter(reader)
  await write('one')
  await pass(1100)
  time.setClock(-3_600_000)
  await write('one two')
  await pass(1000)
  assert.deepEqual([newestTo(connection)?.words, newestTo(connection)?.editsLastMinute], [2, 2])
  await pass(61_000)
  assert.equal(newestTo(connection)?.editsLastMinute, 0)
})

test('a page that nobody wrote on has one too, but such pages cannot fill the log with channels', async () => {
  const { enter, write, pass, log, failures } = open({ maxChannels: 10 })
  const names = Array.from({ length: 9 }, (_nothing, place) => `overview.none${place}`)
  enter({ channels: names })
  await pass(2000)
  assert.equal(log.heads().size, 5)
  const { connection } = enter({ id: 'w2', channels: ['none8', 'overview.none8'] })
  await write('one', 'none8')
  await pass(1100)
  assert.deepEqual([newestTo(connection)?.words, failures], [1, []])
})

test('an overview that cannot be stored is said once, and harms nothing', async () => {
  const log = memoryLog(() => 0, { maxChannels: 1 })
  const { enter, write, pass, failures } = open({ log, maxChannels: 10 })
  await write('one')
  const { connection } = enter(reader)
  await pass(5000)
  assert.equal(failures.length, 1)
  assert.match(String(failures[0]), /overview\.main/)
  assert.deepEqual(toldTo(connection), [])
})

test('the wind has no overview, nor has an overview', async () => {
  const { enter, blow, pass, log } = open()
  await blow()
  enter({ channels: ['overview.wind', 'overview.overview.main'] })
  await pass(3000)
  assert.deepEqual([...log.heads().keys()], ['wind'])
})

test('after the stop nothing is told', async () => {
  const { enter, write, pass, overview } = open()
  const { connection } = enter(reader)
  await pass(100)
  overview.stop()
  await write('one')
  await pass(5000)
  assert.deepEqual(wordsTold(connection), [0])
})
