import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepsUp, longPollingExpectation, pollingExpectation } from './formulas.ts'

const paper = { betweenReadingsMs: 250, intervalMs: 150 }

test('the paper’s own example: 155 ms of polling where ν is 40', () => {
  const { expectedMs, worstMs } = pollingExpectation({ ...paper, oneWayMs: 40 })
  assert.deepEqual([expectedMs, worstMs], [155, 270])
})

test('long polling is WebSocket below M/2, and 3ν/2 to 2ν from there on', () => {
  assert.deepEqual(longPollingExpectation({ ...paper, oneWayMs: 124 }), { expectedMs: 124, worstMs: null })
  assert.deepEqual(longPollingExpectation({ ...paper, oneWayMs: 160 }), { expectedMs: 240, worstMs: 320 })
  assert.equal(keepsUp({ ...paper, oneWayMs: 125 }), false)
})
