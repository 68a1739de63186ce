// Made-up payload runs: what the scenario declares, as its summary, report and samples show it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokenBounds } from '../lab/budget.ts'
import { fileOf, testRefusals } from '../lab/testing.ts'
import { parsed } from '../report/dom.ts'
import { payload } from './payload.ts'
import { madePayloadRun } from './testing.ts'

const run = madePayloadRun()
const summary = payload.analyse(run)

test('sizes are compared by their medians, each with the baseline’s', () => {
  const small = summary.comparisons.find(({ at }) => at.bytes === 10)
  assert.ok(Math.abs((small?.ratio ?? 0) / 2 - 1) < 0.1, `${small?.ratio}`)
  assert.match(
    summary.finding,
    /^SSE \+ XHR over HTTP\/2 took [12]\.\d+ times as long as WebSocket at 10 B \(95 % interval .*\) and 1\.\d+ times at 1 MB \(.*, undecided\)\.$/,
  )
})

test('budgets bound each mode and size', () => {
  const budget = { figures: { 'sse/2, 1 MB': { p50: { least: Number.NEGATIVE_INFINITY, most: 10 } } } }
  assert.match(brokenBounds(budget, summary).join(), /^sse\/2, 1 MB: p50 is 5\d\.\d+, at most 10 allowed$/)
})

test('the figure has a line per mode and a mark per size, and the table a column per size', () => {
  const drawn = parsed(fileOf(payload, run, 'report.html')).querySelector('figure .wide svg')
  assert.equal(drawn?.querySelectorAll('[aria-label=line] path').length, 2)
  assert.equal(drawn?.querySelectorAll('[aria-label=dot] circle').length, 8)
  assert.match(drawn?.textContent ?? '', /10 B1 kB100 kB1 MB/)
  assert.match(fileOf(payload, run), /\| Mode \| 10 B \| 1 kB \| 100 kB \| 1 MB \|/)
})

test('samples.csv.gz has the size of each message', () => {
  const [header, row] = fileOf(payload, run, 'samples.csv.gz').split('\n')
  assert.match(header ?? '', /^mode,session,bytes,key,id,receiver,sent_at,received_at,transmission_ms,/)
  assert.match(row ?? '', /^sse\/2,1,10,1,/)
})

testRefusals(payload, [
  ['--sizes 3000000', /--sizes is "3000000": must be whole numbers from 1 to 2000000\./],
  ['--windows 6', /--windows is 6: sse\/1\.1 supports 5 windows per browser/],
  ['--modes ,', /--modes names no mode/],
])
