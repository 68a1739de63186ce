// Checks when memory counts as flat.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeMemory } from './memory.ts'
import type { MemorySample } from './record.ts'

/** A life of `count` samples, two a second, with a heap that the collector lets rise and fall. */
function lifeOf(life: number, count: number, growth: { rss: number; heap: number }): MemorySample[] {
  return Array.from({ length: count }, (_, place) => ({
    atMs: life * 100_000 + place * 500,
    life,
    rssBytes: 150e6 + growth.rss * place,
    heapUsedBytes: 30e6 + (place % 5) * 4e6 + growth.heap * place,
    windows: 50,
  }))
}

const still = { rss: 0, heap: 0 }

test('a heap that rises and falls is flat, one that keeps more and more is not', () => {
  assert.equal(judgeMemory(lifeOf(1, 60, still)).last?.isFlat, true)
  assert.equal(judgeMemory(lifeOf(1, 60, { rss: 0, heap: 1e6 })).last?.isFlat, false)
  assert.equal(judgeMemory(lifeOf(1, 60, { rss: 4e6, heap: 0 })).last?.isFlat, false)
})

test('only the last process is judged, and its warm-up is left out', () => {
  const samples = [...lifeOf(1, 60, { rss: 9e6, heap: 9e6 }), ...lifeOf(2, 40, still)]
  const { atFirst, last } = judgeMemory(samples)
  assert.equal(atFirst?.life, 1)
  assert.equal(last?.isFlat, true)
  assert.ok(Number(last?.start.atMs) >= 204_000)
})

test('of a life too short nothing is said', () => {
  assert.equal(judgeMemory(lifeOf(1, 10, still)).last, null)
  assert.deepEqual(judgeMemory([]), { atFirst: null, last: null })
})
