// Short runs of the whole scenario without a browser, counted and not timed.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startLab } from './testing.ts'
import type { WindSummary } from './windcomm-analysis.ts'

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crosswind-windcomm-test-'))
})
after(() => rm(folder, { recursive: true, force: true }))

const quick = ['--sites', 'edmonton,nagaoka', '--faster', '10', '--browsers-at', 'none', '--seed', '7']

test('thirty readings reach twelve windows once and in order, and the report is whole', {
  timeout: 120_000,
}, async (t) => {
  const out = join(folder, 'report')
  const run = startLab(t, 'windcomm', ...quick, '--readings', '30', '--out', out)
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  const summary: WindSummary = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  assert.equal(summary.cells.length, 12)
  for (const { site, mode, n, expected, lost, duplicated, reordered } of summary.cells) {
    assert.deepEqual([n, expected, lost, duplicated, reordered], [30, 30, 0, 0, 0], `${mode} at ${site}`)
  }
  assert.equal(summary.links.length, 12)
  assert.ok(
    summary.links.every(({ upBytes, downBytes, opened }) => upBytes > 0 && downBytes > 0 && opened > 0),
  )
  assert.deepEqual([summary.rateHz, summary.holdMs, summary.intervalMs, summary.faster], [40, 30, 15, 10])
  assert.deepEqual(
    summary.sites.map(({ seed }) => seed),
    [7, 8],
  )
  assert.match(summary.command, /^npm run lab -- windcomm --sites edmonton,nagaoka /)
  const samples = (await readFile(join(out, 'samples.csv'), 'utf8')).trim().split('\n')
  assert.equal(samples.length, 1 + 12 * 30)
  const files = ['figures', 'readings.csv', 'report.html', 'report.md', 'samples.csv', 'summary.json']
  assert.deepEqual((await readdir(out)).sort(), files)
})

test('a finished run is worked out again: the same samples, another report, no server', {
  timeout: 60_000,
}, async (t) => {
  const from = join(import.meta.dirname, '../../reports/reference-windcomm')
  const out = join(folder, 'again')
  const run = startLab(t, 'windcomm', '--from', from, '--out', out)
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  for (const name of ['samples.csv', 'readings.csv'])
    assert.ok((await readFile(join(out, name))).equals(await readFile(join(from, name))), name)
  const finding = async (of: string) => JSON.parse(await readFile(join(of, 'summary.json'), 'utf8')).finding
  assert.equal(await finding(out), await finding(from), 'the committed report is not by this code')
})

test('Ctrl-C ends it in order and leaves nothing that looks whole', { timeout: 120_000 }, async (t) => {
  const out = join(folder, 'stopped')
  const run = startLab(t, 'windcomm', ...quick, '--readings', '4000', '--out', out)
  await run.hasSaid('warming up')
  run.child.kill('SIGINT')
  const [code] = await run.ended
  assert.equal(code, 130, run.said())
  assert.match(run.said(), /Stopped; no report was written/)
  assert.equal(existsSync(out), false)
  assert.equal(existsSync(`${out}.unfinished`), false)
})
