// Which signals end the command, and which end it at once.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { createManualTime } from '../../wire/testing.ts'
import { endBySignal } from './sensor-command.ts'

function start() {
  const process = new EventEmitter()
  const time = createManualTime()
  const exits: number[] = []
  const signal = endBySignal({ process, now: time.now, exit: () => void exits.push(time.now()) })
  return { process, time, exits, signal }
}

test('a signal that comes twice at once, as to a process group, ends it once', () => {
  for (const name of ['SIGINT', 'SIGTERM']) {
    const { process, time, exits, signal } = start()
    assert.equal(signal.aborted, false)
    process.emit(name)
    assert.equal(signal.aborted, true)
    time.advance(400)
    assert.ok(process.emit(name), 'nobody but the command decides what it does')
    assert.deepEqual(exits, [])
  }
})

test('one that comes later exits', () => {
  const { process, time, exits } = start()
  process.emit('SIGTERM')
  time.advance(501)
  process.emit('SIGINT')
  assert.equal(exits.length, 1)
})
