// Flags of `conditions`, and what its report says of a made-up run.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileOf, optionsOf, testRefusals } from '../lab/testing.ts'
import { conditions } from './conditions.ts'
import { madeConditionsRun } from './testing.ts'

testRefusals(conditions, [
  ['--conditions hosts+cold', /--conditions names "hosts\+cold"; there are usual, hosts, nagle, /],
  ['--conditions ,', /--conditions names no condition/],
  ['--windows 6', /--windows is 6: sse\/1\.1 supports 5 windows per browser/],
])

test('conditions with a second host need a network that carries packets', () => {
  const options = optionsOf(conditions, '--conditions', 'usual,hosts+nagle')
  assert.deepEqual(conditions.networks?.(options), ['lan+0%'])
})

test('the report names the conditions that give a ratio of the paper', () => {
  const run = madeConditionsRun({
    conditions: ['usual', 'hosts+no-keep-alive'],
    medianOf: (mode, condition) => (mode === 'sse/1.1' && condition !== 'usual' ? 22.5 : 10),
  })
  assert.match(
    fileOf(conditions, run),
    /SSE \+ XHR over HTTP\/1\.1 took 2\.25 times as long as WebSocket\. The interval contains that ratio with the server on another host and without keep-alive \(/,
  )
  assert.match(
    fileOf(conditions, run),
    /HTTP\/2 took 0\.40 times as long as SSE \+ XHR over HTTP\/1\.1\. No condition gives/,
  )
})
