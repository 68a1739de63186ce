// Checks which signals end the command, and which end it at once.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { createManualTime } from '../wire/manual-time.ts'
import { endBySignal } from './ending.ts'

function start() {
  const process = new EventEmitter()
  const time = createManualTime()
  const insisted: number[] = []
  const signal = endBySignal({ process, now: time.now, insist: () => void insisted.push(time.now()) })
  return { process, time, insisted, signal }
}

test('a signal that comes twice at once, as to a process group, ends it once', () => {
  for (const name of ['SIGINT', 'SIGTERM']) {
    const { process, time, insisted, signal } = start()
    assert.equal(signal.aborted, false)
    process.emit(name)
    assert.equal(signal.aborted, true)
    time.advance(400)
    assert.ok(process.emit(name), 'nobody but the command decides what it does')
    assert.deepEqual(insisted, [])
  }
})

test('one that comes later insists', () => {
  const { process, time, insisted } = start()
  process.emit('SIGTERM')
  time.advance(501)
  process.emit('SIGINT')
  assert.equal(insisted.length, 1)
})
