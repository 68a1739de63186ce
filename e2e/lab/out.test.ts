// A report's folder: named after its run, whole or not there, and never overwritten.

import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { reportFolder, writeFolder } from './out.ts'

test('each run has a folder of its own', () => {
  const at = new Date(Date.UTC(2026, 4, 12, 9, 30, 5))
  assert.equal(reportFolder('windcomm', at), join('reports', '2026-05-12-093005-windcomm'))
})

test('a report is written whole, and a second one does not take its place', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'crosswind-out-test-'))
  t.after(() => rm(parent, { recursive: true, force: true }))
  const folder = join(parent, 'reports', 'first')
  await writeFolder(folder, { 'report.md': 'one', 'samples.csv': '' })
  await assert.rejects(writeFolder(folder, { 'report.md': 'two' }), /could not be written to .*first/)
  assert.deepEqual(await readdir(join(parent, 'reports')), ['first'])
  assert.deepEqual((await readdir(folder)).sort(), ['report.md', 'samples.csv'])
  assert.equal(await readFile(join(folder, 'report.md'), 'utf8'), 'one')
})
