// Checks a delay queue on manual time: when entries leave, in what order, at what rate.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { createManualTime } from '../../protocol/testing.ts'
import { DelayQueue, spinningTimers, wholeTimers } from './delay-link.ts'

function openQueue(settings: Partial<ConstructorParameters<typeof DelayQueue>[0]> = {}) {
  const time = createManualTime(0)
  const left: string[] = []
  const queue = new DelayQueue({
    path: (entersAtMs) => entersAtMs + 100,
    kilobitsPerSecond: null,
    timers: time,
    graceMs: 0,
    ...settings,
  })
  const enter = (name: string, bytes = 0) => queue.enter(bytes, () => left.push(`${name} ${time.now()}`))
  return { time, queue, left, enter }
}

/** A histogram keeps three digits. */
function assertNear(found: number, expected: number): void {
  assert.ok(Math.abs(found - expected) < 0.02, `${found} is not ${expected}`)
}

test('each entry waits its own time, with one timer for all', () => {
  const { time, left, enter } = openQueue()
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

test('a late timer releases everything due, in order, and records how late it was', () => {
  const { time, queue, left, enter } = openQueue()
  enter('a')
  time.advance(10)
  enter('b')
  time.advance(10)
  enter('c')
  time.stall(95)
  time.advance(0)
  assert.deepEqual(left, ['a 115', 'b 115'])
  const { n, meanMs, p99Ms, maxMs } = queue.lateness()
  assert.equal(n, 2)
  assertNear(meanMs, 10)
  assertNear(p99Ms, 15)
  assertNear(maxMs, 15)
  time.advance(5)
  assert.deepEqual(left.at(-1), 'c 120')
})

test('within the grace period entries leave early', () => {
  const { time, queue, left, enter } = openQueue({ graceMs: 0.5 })
  enter('a')
  time.advance(99.5)
  assert.deepEqual(left, ['a 99.5'])
  assertNear(queue.lateness().maxMs, -0.5)
})

test('lateness has no figures until something has left', () => {
  const { queue, enter } = openQueue()
  enter('a')
  assert.deepEqual(queue.lateness(), { n: 0, meanMs: Number.NaN, p99Ms: Number.NaN, maxMs: Number.NaN })
})

test('bytes enter at the rate, one after the other, and leave one delay later', () => {
  const { time, left, enter } = openQueue({ kilobitsPerSecond: 8 })
  enter('a', 50)
  enter('b', 25)
  enter('end')
  time.advance(60)
  enter('c', 10)
  time.advance(1000)
  assert.deepEqual(left, ['a 150', 'b 175', 'end 175', 'c 185'])
})

test('an idle queue does not accumulate rate', () => {
  const { time, left, enter } = openQueue({ kilobitsPerSecond: 8 })
  time.advance(1000)
  enter('a', 50)
  time.advance(1000)
  assert.deepEqual(left, ['a 1150'])
})

test('without a delay entries leave at once, before whatever they cause', () => {
  const { time, queue, left, enter } = openQueue({ path: (entersAtMs) => entersAtMs })
  queue.enter(0, () => {
    enter('inner')
    left.push('outer')
  })
  assert.deepEqual(left, ['outer', 'inner 0'])
  assert.equal(time.pending(), 0)
})

test('after stop nothing leaves the queue, and nothing enters it', () => {
  const { time, queue, left, enter } = openQueue()
  enter('a')
  assert.equal(time.pending(), 1)
  queue.stop()
  enter('b')
  assert.equal(time.pending(), 0)
  time.advance(1000)
  assert.deepEqual(left, [])
})

test('an entry may stop the queue as it leaves', () => {
  const { time, queue, left, enter } = openQueue()
  queue.enter(0, () => queue.stop())
  enter('b')
  time.advance(1000)
  assert.deepEqual([left, time.pending()], [[], 0])
})

/** Ms that passed on Node's timers until it ran; 0 is the next turn of the event loop. */
function ranAfter(timers: typeof wholeTimers, delayMs: number): number {
  mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] })
  try {
    let hasRun = false
    timers.later(() => {
      hasRun = true
    }, delayMs)
    let passed = 0
    for (mock.timers.tick(0); !hasRun && passed < 100; passed += 1) mock.timers.tick(1)
    return passed
  } finally {
    mock.timers.reset()
  }
}

test("a wait is rounded up, minus a timer's usual lateness", () => {
  const waits = [0.05, 1, 1.1, 1.3, 40.2, 40.5]
  assert.deepEqual(
    waits.map((delayMs) => ranAfter(wholeTimers, delayMs)),
    [1, 1, 1, 2, 40, 41],
  )
})

test('spinning timers may wait less than a millisecond', () => {
  assert.equal(ranAfter(spinningTimers, 0.3), 0)
  assert.equal(ranAfter(spinningTimers, 1.3), 2)
})

test('a planned call can be cancelled', () => {
  mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] })
  for (const delayMs of [0.3, 5]) {
    for (const timers of [wholeTimers, spinningTimers]) timers.later(() => assert.fail('it ran'), delayMs)()
  }
  mock.timers.tick(100)
  mock.timers.reset()
})
