// Checks that early and late come out as they went in.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLatenessRecord } from './lateness.ts'

test('early ones count below 0', () => {
  const record = createLatenessRecord()
  for (const lateMs of [-0.5, 0, 0.5, 4]) record.add(lateMs)
  const { n, meanMs, p99Ms, maxMs } = record.figures()
  assert.equal(n, 4)
  assert.ok(Math.abs(meanMs - 1) < 0.01, `${meanMs}`)
  assert.ok(Math.abs(p99Ms - 4) < 0.01 && Math.abs(maxMs - 4) < 0.01, `${p99Ms} ${maxMs}`)
})

test('nothing has no figures', () => {
  const { n, meanMs, p99Ms, maxMs } = createLatenessRecord().figures()
  assert.deepEqual([n, meanMs, p99Ms, maxMs], [0, Number.NaN, Number.NaN, Number.NaN])
})
