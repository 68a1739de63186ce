// The manual clock and timers on which other tests rely.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from './testing.ts'

test('due timers run in order, at their own times, including those set meanwhile', () => {
  const time = createManualTime(0)
  const ran: [name: string, at: number][] = []
  const plan = (name: string, delayMs: number) => time.later(() => ran.push([name, time.now()]), delayMs)
  plan('late', 30)
  time.later(() => plan('planned', 5), 10)
  plan('early', 20)
  const cancel = plan('taken back', 15)
  cancel()
  time.advance(29)
  assert.deepEqual(
    [ran, time.now(), time.pending()],
    [
      [
        ['planned', 15],
        ['early', 20],
      ],
      29,
      1,
    ],
  )
  time.advance(1)
  assert.deepEqual([ran.at(-1), time.pending()], [['late', 30], 0])
})

test('nothing runs while the process is busy; afterwards it is late', () => {
  const time = createManualTime(0)
  const ran: number[] = []
  time.later(() => ran.push(time.now()), 10)
  time.stall(50)
  assert.deepEqual(ran, [])
  time.advance(0)
  assert.deepEqual(ran, [50])
})

test('the clock may be set without affecting timers', () => {
  const time = createManualTime(1000)
  let isDone = false
  time.later(() => {
    isDone = true
  }, 10)
  time.setClock(-500)
  assert.equal(time.now(), 500)
  time.advance(9)
  assert.equal(isDone, false)
  time.advance(1)
  assert.equal(isDone, true)
})
