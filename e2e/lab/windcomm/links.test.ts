import assert from 'node:assert/strict'
import { test } from 'node:test'
import { largestLatenessMs, lateBetween } from './links.ts'

function figures(up: readonly [n: number, meanMs: number], down: readonly [n: number, meanMs: number]) {
  const way = ([n, meanMs]: readonly [number, number]) => ({ n, meanMs, p99Ms: 9, maxMs: 9 })
  return { connections: 1, opened: 1, upBytes: 0, downBytes: 0, up: way(up), down: way(down) }
}

test('what was late before the count began does not count', () => {
  const before = figures([10, 50], [20, 80])
  // 10 more by 1 ms and 30 more by 3 ms.
  const after = figures([20, (500 + 10) / 20], [50, (1600 + 90) / 50])
  assert.ok(Math.abs(lateBetween(before, after) - 2.5) < 1e-9)
})

test('a way that nothing has left yet has no mean, and is left out', () => {
  const before = figures([0, Number.NaN], [0, Number.NaN])
  assert.equal(lateBetween(before, figures([0, Number.NaN], [4, 0.5])), 0.5)
  assert.equal(lateBetween(before, before), 0)
})

test('the link that was late most decides', () => {
  const link = { site: 'lund', mode: 'sse/2', ...figures([1, 1], [1, 1]) }
  assert.equal(
    largestLatenessMs([
      { ...link, lateMs: 0.2 },
      { ...link, lateMs: 0.7 },
    ]),
    0.7,
  )
  assert.equal(largestLatenessMs([]), 0)
})
