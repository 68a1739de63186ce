import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exchangePauseMs } from './schedule.ts'

function exchangesWithin(ms: number, random: () => number): number {
  let count = 0
  for (let sinceMs = 0; sinceMs <= ms; sinceMs += exchangePauseMs(sinceMs, random)) count += 1
  return count
}

test('a handful at first, then one in ten to twenty seconds', () => {
  const middle = () => 0.5
  assert.equal(exchangesWithin(2000, middle), 8)
  assert.equal(exchangesWithin(60_000, middle), 23)
  assert.equal(exchangesWithin(3_600_000, middle) - exchangesWithin(60_000, middle), 236)
  assert.deepEqual([exchangePauseMs(600_000, () => 0), exchangePauseMs(600_000, () => 1)], [10_000, 20_000])
})
