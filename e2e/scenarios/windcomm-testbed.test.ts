// Matching, clocks, and reading a run back from its report’s folder.

import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { fileOf, filesOf } from '../lab/testing.ts'
import { writeFolder } from '../report/render.ts'
import { madeMachineRun, madeWindRun } from './testing.ts'
import { windcomm } from './windcomm.ts'
import { analyse } from './windcomm-summary.ts'
import { matchReadings, type Reading, type Receipt, refuseWrongClocks } from './windcomm-testbed.ts'

const readings: readonly Reading[] = ['a', 'b', 'c'].map((id, place) => ({
  id,
  seq: place + 7,
  at: 1000 * place,
  acceptedAt: 1000 * place + 1,
}))

function match(...ids: readonly string[]) {
  const receipts: Receipt[] = ids.map((id, place) => ({ id, receivedAt: 5000 + place }))
  return matchReadings(readings, { site: 'lund', mode: 'sse/2' }, receipts)
}

test('a sample per reading, by id, excluding those before and after', () => {
  const samples = match('y', 'a', 'b', 'c', 'z')
  assert.deepEqual(samples[1], {
    site: 'lund',
    mode: 'sse/2',
    place: 2,
    id: 'b',
    seq: 8,
    acceptedAt: 1001,
    receivedAt: 5002,
    copies: 1,
    reordered: false,
  })
  assert.equal(samples.length, 3)
})

const clock = (name: string, errorMs: number) => ({ name, offsetMs: 0, boundMs: 1, errorMs })

test('clocks that may be off by more than the limit are rejected by name, before and after', () => {
  const clocks = [clock('clients', 0.4), clock('lund, sse/2', 2.31)]
  assert.throws(
    () => refuseWrongClocks(clocks, 2, 'before'),
    /before the run lund, sse\/2 may be off by 2\.31 ms\. Nothing was measured/,
  )
  assert.throws(
    () => refuseWrongClocks(clocks, 2, 'after'),
    /after the run lund.*What was measured does not count/,
  )
  refuseWrongClocks(clocks.slice(0, 1), 2, 'before')
})

const run = madeWindRun({
  sites: ['lund', 'nagaoka'],
  readings: 30,
  lost: 0.1,
  duplicated: 0.1,
  reordered: 0.1,
})

const files = filesOf(windcomm, run)

const reread = windcomm.reread ?? assert.fail()

async function folderWith(t: TestContext, change: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = temporaryFolder(t)
  const report = join(folder, 'report')
  await writeFolder(report, { ...files, ...change })
  return report
}

test('a run read back has the same readings, samples and figures', async (t) => {
  const again = { ...(await reread(await folderWith(t))), analysedBy: 'abc1234' }
  const { finding, cells, checks } = analyse(again)
  const before = analyse(run)
  assert.equal(finding, before.finding)
  assert.deepEqual(
    checks.map(({ what, outcome }) => [what, outcome]),
    before.checks.map(({ what, outcome }) => [what, outcome]),
  )
  for (const [place, { meanMs, n, lost, duplicated, reordered }] of cells.entries()) {
    const one = before.cells[place]
    assert.deepEqual([n, lost, duplicated, reordered], [one?.n, one?.lost, one?.duplicated, one?.reordered])
    assert.ok(Math.abs((meanMs ?? 0) - (one?.meanMs ?? 0)) < 1e-3)
  }
  assert.deepEqual([again.command, again.environment], [run.command, run.environment])
})

test('a run on real machines is read back, without the sessions that a device missed', async (t) => {
  const made = madeMachineRun({ readings: 30, sessions: 3, missed: [2] })
  const report = join(temporaryFolder(t), 'report')
  await writeFolder(report, filesOf(windcomm, made))
  const again = await reread(report)
  assert.deepEqual(again.missed, [{ site: 'device 1', session: 2, why: 'was hidden' }])
  const { cells, clock } = analyse(again)
  assert.deepEqual(clock, analyse(made).clock)
  const device = cells.filter(({ site }) => site === 'device 1')
  for (const { n, expected, sessions } of device)
    assert.deepEqual([n, expected, sessions.length], [20, 20, 2])
})

test('its report names the commits that measured and analysed it', async (t) => {
  const again = { ...(await reread(await folderWith(t))), analysedBy: 'abc1234' }
  const report = fileOf(windcomm, again)
  assert.match(
    report,
    new RegExp(`commit ${run.environment.commit}; figures worked out again by commit abc1234`),
  )
})

test('unreadable content is named, with its file and line', async (t) => {
  await assert.rejects(
    reread(join(tmpdir(), 'crosswind-no-such-report')),
    /no-such-report.* cannot be read; --from needs/,
  )
  const other = await folderWith(t, { 'summary.json': '{"scenario":"resilience"}' })
  await assert.rejects(reread(other), /summary\.json is of the scenario "resilience", not of windcomm/)
  const [header = '', first = '', ...rows] = (files['readings.csv'] ?? '').split('\n')
  const broken = await folderWith(t, {
    'readings.csv': [header, first.replace('30,', 'x,'), ...rows].join('\n'),
  })
  await assert.rejects(reread(broken), /readings\.csv, line 2: seq is "x"\./)
  const lacking = await folderWith(t, {
    'readings.csv': [header.replace('accepted_at', 'x'), first].join('\n'),
  })
  await assert.rejects(reread(lacking), /readings\.csv has no column for acceptedAt\./)
  const short = await folderWith(t, { 'readings.csv': [header, first].join('\n') })
  await assert.rejects(
    reread(short),
    /samples\.csv\.gz has 360 rows; 2 sites, 6 modes and 1 readings make 12/,
  )
})
