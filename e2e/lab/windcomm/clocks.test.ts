import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockBetweenMs, largestErrorMs, refuseWrongClocks } from './clocks.ts'
import { madeWindRun } from './made-run.ts'

const clock = (name: string, errorMs: number) => ({ name, offsetMs: 0, boundMs: 1, errorMs })

test('clocks that may be off by more than 2 ms are refused by name, before and after', () => {
  const clocks = [clock('clients', 0.4), clock('lund, sse/2', 2.31)]
  assert.throws(
    () => refuseWrongClocks(clocks, 'before'),
    /before the run lund, sse\/2 may be off by 2\.31 ms\. Nothing was measured/,
  )
  assert.throws(() => refuseWrongClocks(clocks, 'after'), /after the run lund.*Nothing was written/)
  refuseWrongClocks(clocks.slice(0, 1), 'before')
})

test('pages of a site may be apart by both errors, clients not at all', () => {
  const before = [clock('clients', 1.9), clock('lund, sse/2', 0.2), clock('lund, websocket/2', 0.5)]
  const after = [clock('clients', 0.1), clock('lund, sse/2', 0.1), clock('lund, websocket/2', 0.3)]
  const run = { clock: { before, after } }
  const [lund, nagaoka] = madeWindRun({ sites: ['lund', 'nagaoka'], readings: 2 }).sites
  assert.ok(lund && nagaoka)
  assert.equal(clockBetweenMs(run, lund), 0.7)
  assert.equal(clockBetweenMs(run, nagaoka), 0)
  assert.equal(largestErrorMs(run), 1.9)
})
