// The history: full for a minute, by the second for an hour, gaps kept, and bounded.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHistory } from './history.ts'
import { sampleOf, startAt } from './testing.ts'

function recorded(count: number, everyMs: number) {
  const history = createHistory()
  for (let index = 0; index < count; index += 1)
    history.add(sampleOf(index % 10, 200, { at: startAt + index * everyMs }), 9)
  return history
}

test('the last minute is there in full', () => {
  const stretches = recorded(1000, 250).since(startAt + 999 * 250 - 60_000, true)
  assert.equal(stretches.length, 240)
  assert.ok(stretches.every(({ sums }) => sums.count === 1))
  assert.equal(stretches.at(-1)?.lastAt, startAt + 999 * 250)
})

test('the last hour is there by the second', () => {
  const history = recorded(8 * 3600, 250)
  const stretches = history.since(startAt + 3_600_000, false)
  assert.equal(stretches.length, 3600)
  assert.ok(stretches.slice(1).every(({ sums }) => sums.count === 4))
  const [, second] = stretches
  assert.deepEqual([second?.lowestMetresPerSecond, second?.highestMetresPerSecond], [4, 7])
})

test('20 readings a second for two hours take no more room than its bounds', () => {
  const history = recorded(20 * 7200, 50)
  assert.ok(history.since(0, true).length <= 1221)
  assert.ok(history.since(0, false).length <= 3602)
  assert.equal(history.oldestAt(), startAt + 7_200_000 - 3_601_000)
})

test('repeats at the same stamp are joined, not lost', () => {
  const history = createHistory()
  for (let index = 0; index < 36; index += 1) history.add(sampleOf(5, 200), null)
  const [stretch, ...others] = history.since(0, true)
  assert.equal(stretch?.sums.count, 36)
  assert.deepEqual(others, [])
})

test('a gap stays a gap, within a second too', () => {
  const history = createHistory()
  history.add(sampleOf(5, 200, { at: startAt }), null)
  history.add(sampleOf(5, 200, { at: startAt + 500, startsAnew: true }), 6)
  history.add(sampleOf(5, 200, { at: startAt + 1000 }), 7)
  assert.deepEqual(
    history.since(0, false).map(({ startsAnew, gustMetresPerSecond }) => [startsAnew, gustMetresPerSecond]),
    [
      [true, 6],
      [false, 7],
    ],
  )
})
