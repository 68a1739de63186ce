// Timers that can be put forward.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { movableTimers } from './movable-timers.ts'

function open() {
  const time = createManualTime(0)
  const timers = movableTimers(time)
  const heard: string[] = []
  const say = (word: string, delayMs: number) =>
    timers.later(() => heard.push(`${word} at ${timers.now()}`), delayMs)
  return { time, timers, heard, say }
}

test('the clock runs by itself, and runs on from where it was put', () => {
  const { time, timers, heard, say } = open()
  say('one', 100)
  time.advance(100)
  timers.advance(1000)
  say('two', 100)
  time.advance(100)
  assert.deepEqual(heard, ['one at 100', 'two at 1200'])
})

test('what is due runs once, in order, each at its time, with what it plans', () => {
  const { time, timers, heard, say } = open()
  say('second', 200)
  say('first', 100)
  timers.later(() => say('planned', 50), 120)
  say('later', 5000)
  timers.advance(1000)
  assert.deepEqual(heard, ['first at 100', 'planned at 170', 'second at 200'])
  assert.equal(timers.now(), 1000)
  time.advance(1000)
  assert.equal(heard.length, 3)
})

test('what was cancelled does not run', () => {
  const { timers, heard, say } = open()
  const cancel = say('never', 100)
  timers.later(cancel, 50)
  timers.advance(1000)
  assert.deepEqual(heard, [])
})
