// How messages and browsers are split over turns, and how the results are summed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultConfig } from '../../app/config/schema.ts'
import { type Measured, split } from './load-process.ts'
import { figuresOf, serverDefaults, tallied } from './load-server.ts'

test('the lab knows the server’s defaults', () => {
  assert.partialDeepStrictEqual(defaultConfig, serverDefaults)
})

test('messages are split without losing any', () => {
  assert.deepEqual(split(10, 4), [3, 3, 2, 2])
  assert.deepEqual(split(2, 1), [2])
})

const measured: Measured = {
  received: 4,
  duplicated: 1,
  reordered: 0,
  latenciesMs: Float64Array.of(30, 10, 20, 40),
  cpuMs: 400,
  wallMs: 1000,
  receivedBytes: 0,
  sendingMs: 0,
  loopDelayP99Ms: 1,
  loopDelayMaxMs: 2,
  failures: 0,
  failureWords: ['Window 3: its stream ended.'],
}

test('counts and latencies of the load processes are combined, and missing messages are lost', () => {
  const { latenciesMs, ...counts } = tallied([measured, { ...measured, received: 3 }], 10)
  const failures = Array(2).fill('Window 3: its stream ended.')
  assert.deepEqual(counts, { n: 7, lost: 3, duplicated: 2, reordered: 0, failures })
  const { p50, p99, max } = figuresOf(latenciesMs)
  assert.deepEqual([p50, p99, max], [25, 40, 40])
  assert.ok(Number.isNaN(figuresOf([]).p50))
})
