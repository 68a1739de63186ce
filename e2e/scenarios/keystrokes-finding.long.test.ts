// How often the interval of a ratio has the true one, over many made-up runs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyse } from './keystrokes-report.ts'
import { madeRun } from './testing.ts'

test('of 1,000 runs whose sessions differ by 20 %, 93 to 97 % have the true ratio in their interval', () => {
  const small = { sessions: 5, sessionSpread: 0.2, keys: 8, blocks: 1, windows: 2 }
  const behaviours = [
    { mode: 'sse/2', medianMs: 3 },
    { mode: 'sse/1.1', medianMs: 4.5 },
  ]
  const seeds = Array.from({ length: 1000 }, (_, place) => place + 1)
  const holding = seeds.filter((seed) => {
    const [comparison] = analyse(madeRun({ ...small, behaviours, seed })).comparisons
    const [low, high] = comparison?.meanRatioCi95 ?? [0, 0]
    return low <= 1.5 && 1.5 <= high
  }).length
  assert.ok(holding >= 930 && holding <= 970, `${holding} of 1,000`)
})
