// Short runs of the whole scenario without a browser, counted and not timed.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { startLab } from '../lab/testing.ts'
import { whyNoPackets } from '../network/packet-network.ts'
import { readCompressed } from '../report/render.ts'
import { simulatedIn, type WindSummary } from './windcomm-summary.ts'

const folder = temporaryFolder()

const quick = ['--sites', 'edmonton,nagaoka', '--faster', '10', '--browsers-at', 'none', '--seed', '7']
/** Counts do not depend on clocks, which a busy machine cannot compare closely. */
const anyClock = ['--clock-error', '1e9']

test('thirty readings reach twelve windows once and in order, and the report is complete', {
  timeout: 120_000,
}, async (t) => {
  const out = join(folder, 'report')
  const run = startLab(t, 'windcomm', ...quick, ...anyClock, '--readings', '30', '--out', out)
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  const summary: WindSummary = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  assert.equal(summary.cells.length, 12)
  for (const { site, mode, n, expected, lost, duplicated, reordered } of summary.cells) {
    assert.deepEqual([n, expected, lost, duplicated, reordered], [30, 30, 0, 0, 0], `${mode} at ${site}`)
  }
  assert.equal(summary.links.length, 12)
  assert.ok(
    summary.links.every(
      ({ upBytes, downBytes, opened }) => upBytes > 0 && downBytes > 0 && (opened ?? 0) > 0,
    ),
  )
  assert.deepEqual([summary.rateHz, summary.holdMs, summary.intervalMs, summary.faster], [40, 30, 15, 10])
  assert.deepEqual(
    simulatedIn(summary.sites).map(({ seed }) => seed),
    [7, 8],
  )
  assert.match(summary.command, /^npm run lab -- windcomm --sites edmonton,nagaoka /)
  const samples = (await readCompressed(join(out, 'samples.csv.gz'))).trim().split('\n')
  assert.equal(samples.length, 1 + 12 * 30)
  const files = ['figures', 'readings.csv', 'report.html', 'report.md', 'samples.csv.gz', 'summary.json']
  assert.deepEqual((await readdir(out)).sort(), files)
})

const skip = whyNoPackets() ?? false

test('readings reach windows behind a network that loses packets, beside one that only delays', {
  skip,
}, async (t) => {
  const out = join(folder, 'lossy')
  const size = ['--faster', '10', '--browsers-at', 'none', '--readings', '30', '--seed', '7']
  const networks = ['--sites', 'edmonton,nagaoka+5%', '--modes', 'websocket/1.1,long-polling/1.1']
  const run = startLab(t, 'windcomm --sessions 2', ...networks, ...size, ...anyClock, '--out', out)
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  const summary: WindSummary = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  for (const { site, mode, n, meanMs, sessions } of summary.cells) {
    assert.deepEqual([n, sessions.length], [60, 2], `${mode} at ${site}`)
    assert.ok((meanMs ?? 0) > (site === 'edmonton' ? 3.8 : 12), `${mode} at ${site}: ${meanMs} ms`)
  }
  const linksOf = (wanted: string) => summary.links.filter(({ site }) => site === wanted)
  assert.deepEqual(
    linksOf('edmonton').map(({ packets }) => packets),
    Array(4).fill(undefined),
  )
  for (const { packets: each } of linksOf('nagaoka+5%'))
    assert.ok(each && each.up.sent > 20 && each.down.sent > 20)
  assert.match(await readFile(join(out, 'report.md'), 'utf8'), /Nagaoka\+5%, to the windows/)
})

test('a finished run is analysed again: the same samples, another report, no server', {
  timeout: 60_000,
}, async (t) => {
  const from = join(import.meta.dirname, '../../reports/reference-windcomm')
  const out = join(folder, 'again')
  const run = startLab(t, 'windcomm', '--from', from, '--out', out)
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  const samples = join(out, 'samples.csv.gz')
  const readings = join(out, 'readings.csv')
  assert.ok((await readCompressed(samples)) === (await readCompressed(join(from, 'samples.csv.gz'))))
  assert.ok((await readFile(readings)).equals(await readFile(join(from, 'readings.csv'))))
  const finding = async (of: string) => JSON.parse(await readFile(join(of, 'summary.json'), 'utf8')).finding
  assert.equal(await finding(out), await finding(from), 'the committed report was not made by this code')
})

test('Ctrl-C ends it in order and leaves nothing that looks complete', { timeout: 120_000 }, async (t) => {
  const out = join(folder, 'stopped')
  const run = startLab(t, 'windcomm', ...quick, ...anyClock, '--readings', '4000', '--out', out)
  await run.hasSaid('warming up')
  run.child.kill('SIGINT')
  const [code] = await run.ended
  assert.equal(code, 130, run.said())
  assert.match(run.said(), /Stopped; no report was written/)
  assert.equal(existsSync(out), false)
  assert.equal(existsSync(`${out}.unfinished`), false)
})

test('with clocks that may be off by more than permitted it refuses to measure, and writes nothing', async (t) => {
  const out = join(folder, 'refused')
  // No comparison is exact.
  const run = startLab(t, 'windcomm', ...quick, '--clock-error', '0', '--readings', '30', '--out', out)
  const [code] = await run.ended
  assert.equal(code, 1, run.said())
  assert.match(run.said(), /within 0 ms \(--clock-error\); before the run clients may be off by \d/)
  assert.match(run.said(), /Nothing was measured: run it again when the machine is less busy/)
  assert.equal(existsSync(out), false)
})
