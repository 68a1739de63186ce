// Checks what the timers ask of Node's.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { spinningTimers, wholeTimers } from './fine-timers.ts'

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

test('a wait is rounded up, but for what a timer is late anyway', () => {
  const waits = [0.05, 1, 1.1, 1.3, 40.2, 40.5]
  assert.deepEqual(
    waits.map((delayMs) => ranAfter(wholeTimers, delayMs)),
    [1, 1, 1, 2, 40, 41],
  )
})

test('the spinning ones are not kept below a millisecond', () => {
  assert.equal(ranAfter(spinningTimers, 0.3), 0)
  assert.equal(ranAfter(spinningTimers, 1.3), 2)
})

test('what was planned can be taken back', () => {
  mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] })
  for (const delayMs of [0.3, 5]) {
    for (const timers of [wholeTimers, spinningTimers]) timers.later(() => assert.fail('it ran'), delayMs)()
  }
  mock.timers.tick(100)
  mock.timers.reset()
})
