// Checks a lane with time that a test turns on: when things leave, in what order, at what rate.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../server/wire/manual-time.ts'
import { createLane, type LaneSettings } from './lane.ts'

function openLane(settings: Partial<LaneSettings> = {}) {
  const time = createManualTime(0)
  const late: number[] = []
  const left: string[] = []
  const lane = createLane({
    path: (entersAtMs) => entersAtMs + 100,
    kilobitsPerSecond: null,
    timers: time,
    graceMs: 0,
    onLeft: (lateMs) => late.push(lateMs),
    ...settings,
  })
  const enter = (name: string, bytes = 0) => lane.enter(bytes, () => left.push(`${name} ${time.now()}`))
  return { time, lane, late, left, enter }
}

test('each waits its own time, with one timer for all', () => {
  const { time, left, enter } = openLane()
  enter('a')
  time.advance(30)
  enter('b')
  assert.equal(time.pending(), 1)
  time.advance(69)
  assert.deepEqual(left, [])
  time.advance(100)
  assert.deepEqual(left, ['a 100', 'b 130'])
  assert.equal(time.pending(), 0)
})

test('a late timer lets everything out that is due, in order, and says how late it was', () => {
  const { time, late, left, enter } = openLane()
  enter('a')
  time.advance(10)
  enter('b')
  time.advance(10)
  enter('c')
  time.stall(95)
  time.advance(0)
  assert.deepEqual(left, ['a 115', 'b 115'])
  assert.deepEqual(late, [15, 5])
  time.advance(5)
  assert.deepEqual(left.at(-1), 'c 120')
})

test('within the grace it is let out early', () => {
  const { time, late, enter } = openLane({ graceMs: 0.5 })
  enter('a')
  time.advance(99.5)
  assert.deepEqual(late, [-0.5])
})

test('bytes enter at the rate, one after the other, and leave a delay later', () => {
  const { time, left, enter } = openLane({ kilobitsPerSecond: 8 })
  enter('a', 50)
  enter('b', 25)
  enter('end')
  time.advance(60)
  enter('c', 10)
  time.advance(1000)
  assert.deepEqual(left, ['a 150', 'b 175', 'end 175', 'c 185'])
})

test('an idle lane saves up no rate', () => {
  const { time, left, enter } = openLane({ kilobitsPerSecond: 8 })
  time.advance(1000)
  enter('a', 50)
  time.advance(1000)
  assert.deepEqual(left, ['a 1150'])
})

test('without a delay it leaves at once, whatever it leads to comes after it', () => {
  const { time, lane, left, enter } = openLane({ path: (entersAtMs) => entersAtMs })
  lane.enter(0, () => {
    enter('inner')
    left.push('outer')
  })
  assert.deepEqual(left, ['outer', 'inner 0'])
  assert.deepEqual([time.pending(), lane.waiting()], [0, 0])
})

test('nothing leaves a lane that was stopped, and nothing enters it', () => {
  const { time, lane, left, enter } = openLane()
  enter('a')
  assert.equal(lane.waiting(), 1)
  lane.stop()
  enter('b')
  assert.deepEqual([time.pending(), lane.waiting()], [0, 0])
  time.advance(1000)
  assert.deepEqual(left, [])
})

test('one that leaves may stop the lane', () => {
  const { time, lane, left, enter } = openLane()
  lane.enter(0, lane.stop)
  enter('b')
  time.advance(1000)
  assert.deepEqual([left, time.pending()], [[], 0])
})
