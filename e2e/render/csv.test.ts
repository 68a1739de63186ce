// samples.csv: a row for each sample, times with three decimals, empty for never, quoted where it must be.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { madeRun, threeModes } from '../lab/stats/made-run.ts'
import { csv } from './csv.ts'

const header =
  'mode,block,key,id,receiver,own,sent_at,received_at,transmission_ms,input_at,accepted_at,applied_at,painted_at,copies,reordered'

const [sample] = madeRun({ keys: 1, blocks: 1, windows: 1 }).samples
assert.ok(sample)

test('a header and a row for each message and window', () => {
  const run = madeRun({ keys: 6, blocks: 2, windows: 3 })
  const lines = csv(run).split('\n')
  assert.equal(lines[0], header)
  assert.equal(lines.length, 1 + run.samples.length + 1)
  assert.equal(lines.at(-1), '')
  assert.ok(lines.slice(1, -1).every((line) => line.split(',').length === 15))
})

test('a sample is written in full', () => {
  const times = {
    inputAt: 999.9,
    sentAt: 1000,
    acceptedAt: null,
    receivedAt: 1002.5,
    appliedAt: 1003,
    paintedAt: 1016.12345,
  }
  const row = csv({ samples: [{ ...sample, ...times, id: 'window1:1' }] }).split('\n')[1]
  assert.equal(row, 'sse/2,1,1,window1:1,1,true,1000.000,1002.500,2.500,999.900,,1003.000,1016.123,1,false')
})

test('a lost sample is a row without a time', () => {
  const { samples } = madeRun({
    behaviours: threeModes.map((mode) => ({ ...mode, lost: 1 })),
    keys: 2,
    blocks: 1,
  })
  for (const row of csv({ samples }).trimEnd().split('\n').slice(1)) {
    assert.deepEqual(row.split(',').slice(7, 9), ['', ''])
    assert.equal(row.split(',')[13], '0')
  }
})

test('quotes, commas and line ends stay inside their field', () => {
  const text = csv({ samples: [{ ...sample, mode: 'a,b', id: 'x"y\nz' }] })
  assert.ok(text.includes('"a,b",1,1,"x""y\nz",1,'))
})

test('a run without samples is a header', () => {
  assert.equal(csv({ samples: [] }), `${header}\n`)
})
