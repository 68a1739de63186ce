// A short run of the whole scenario without browsers: two modes, a restart, a kill and some cuts.

import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { modes } from '../../client/wire.ts'
import { optionsOf, runSmall, testRefusals } from '../lab/testing.ts'
import { resilience } from './resilience.ts'

test('six windows in two modes lose nothing through a restart, a kill and cuts', {
  timeout: 120_000,
}, async (t) => {
  const flags = '--modes sse/2,websocket/1.1 --windows 6 --seconds 5 --browsers 0 --seed 5'
  const { summary, out } = await runSmall(t, resilience, flags)
  for (const { mode, accepted, expected, n, lost, duplicated, reordered } of summary.modes) {
    assert.ok(accepted > 5, `${mode} accepted only ${accepted}`)
    assert.deepEqual(
      { n, lost, duplicated, reordered },
      { n: expected, lost: 0, duplicated: 0, reordered: 0 },
    )
  }
  const { cuts, restarts, kills } = summary.faults
  assert.ok(cuts >= 3 && restarts === 1 && kills === 1, JSON.stringify(summary.faults))
  // The number of cuts that fit into so short a time, and how soon windows are back, depends on the
  // machine.
  assert.deepEqual(
    summary.failures.filter((sentence) => !/promised cuts occurred|windows were back in/.test(sentence)),
    [],
  )
  assert.ok(summary.returns.all.n > 0, 'no return of the server was counted')
  assert.deepEqual(summary, JSON.parse(await readFile(join(out, 'summary.json'), 'utf8')))
  const files = [
    'faults.csv',
    'figures',
    'memory.csv',
    'outages.csv',
    'report.html',
    'report.md',
    'returns.csv',
    'server-errors.txt',
  ]
  assert.deepEqual((await readdir(out)).sort(), [...files, 'summary.json', 'windows.csv'])
})

test('all modes without a flag', () => {
  assert.equal(optionsOf(resilience).modes.length, modes.length)
})

testRefusals(resilience, [
  ['--windows many', /--windows is "many"/],
  ['--modes sse/3', /--modes names "sse\/3"/],
  ['--windows 4', new RegExp(`${modes.length} modes need at least one each`)],
])
