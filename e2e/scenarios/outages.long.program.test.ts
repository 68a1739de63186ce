// A short `outages` run with real servers, whose connections are cut, and which are killed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSmall, testRefusals } from '../lab/testing.ts'
import { outages } from './outages.ts'

test('what a cut and a kill lose without a broker, Crosswind’s link and log keep', async (t) => {
  const flags = '--brokers none,embedded --faults cut,kill --users 10 --sessions 1 --seconds 4 --seed 1'
  const { summary } = await runSmall(t, outages, flags)
  const of = (mode: string) => summary.figures.find((row) => row.mode === mode)?.mean ?? Number.NaN
  for (const fault of ['Every connection is cut', 'The server is killed']) {
    assert.ok(of(`none, ${fault}`) > 0, fault)
    assert.equal(of(`embedded, ${fault}`), 0, fault)
    assert.equal(of(`embedded, ${fault}: twicePercent`), 0, fault)
  }
})

testRefusals(outages, [
  ['--brokers kafka', /--brokers is "kafka"/],
  ['--faults ,', /--faults names no fault/],
])
