// A short run of the whole scenario, without browsers: two modes, a restart, a kill and some cuts.

import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { modes } from '../../server/wire/modes.ts'
import { resilienceRun } from './resilience.ts'
import { readResilienceOptions } from './resilience-options.ts'

test('six windows in two modes come through a restart, a kill and cuts with everything', {
  timeout: 120_000,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-resilience-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const out = join(folder, 'report')
  const flags = ['--modes', 'sse/2,websocket/1.1', '--windows', '6', '--seconds', '5', '--browsers', '0']
  const options = readResilienceOptions([...flags, '--seed', '5', '--out', out])
  const { summary } = await resilienceRun(options, 'test', new AbortController().signal)
  for (const { mode, accepted, expected, n, lost, duplicated, reordered } of summary.modes) {
    assert.ok(accepted > 5, `${mode} accepted only ${accepted}`)
    assert.deepEqual(
      { n, lost, duplicated, reordered },
      { n: expected, lost: 0, duplicated: 0, reordered: 0 },
    )
  }
  const { cuts, restarts, kills } = summary.faults
  assert.ok(cuts >= 3 && restarts === 1 && kills === 1, JSON.stringify(summary.faults))
  // How many cuts find room in so short a time, and how soon windows are back, is the machine's affair.
  assert.deepEqual(
    summary.failures.filter((sentence) => !/promised cuts came about|windows were back in/.test(sentence)),
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

test('a flag that does not fit is named, with its value', () => {
  assert.throws(() => readResilienceOptions(['--windows', 'many']), /--windows is "many"/)
  assert.throws(() => readResilienceOptions(['--modes', 'sse/3']), /--modes names "sse\/3"/)
  assert.throws(
    () => readResilienceOptions(['--windows', '4']),
    new RegExp(`${modes.length} modes need one each`),
  )
  assert.equal(readResilienceOptions([]).modes.length, modes.length)
})
