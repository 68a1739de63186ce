// A report's folder: named after its run, whole or not there, never overwritten, and asked for before the run.

import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { reportFolder, requireFree, writeFolder } from './out.ts'

test('each run has a folder of its own', () => {
  const at = new Date(Date.UTC(2026, 4, 12, 9, 30, 5))
  assert.equal(reportFolder('windcomm', at), join('reports', '2026-05-12-093005-windcomm'))
})

async function emptyParent(t: TestContext): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'crosswind-out-test-'))
  t.after(() => rm(parent, { recursive: true, force: true }))
  return parent
}

test('a report is written whole, and a second one neither takes its place nor is lost', async (t) => {
  const parent = await emptyParent(t)
  const folder = join(parent, 'reports', 'first')
  await writeFolder(folder, { 'report.md': 'one', 'samples.csv': '' })
  await assert.rejects(
    writeFolder(folder, { 'report.md': 'two' }),
    /could not be written to .*first: .* is in .*first\.unfinished\.$/,
  )
  assert.deepEqual((await readdir(folder)).sort(), ['report.md', 'samples.csv'])
  assert.equal(await readFile(join(folder, 'report.md'), 'utf8'), 'one')
  assert.equal(await readFile(join(`${folder}.unfinished`, 'report.md'), 'utf8'), 'two')
})

test('a folder that has no room for a report is refused before the run', async (t) => {
  const parent = await emptyParent(t)
  const folder = join(parent, 'run')
  await requireFree(folder)
  await mkdir(folder)
  await requireFree(folder)
  await writeFile(join(folder, 'report.md'), 'one')
  const taken = /run is there already, .* name another folder with --out/
  await assert.rejects(requireFree(folder), taken)
  await assert.rejects(requireFree(join(folder, 'report.md')), /report\.md is there already/)
  await rm(folder, { recursive: true })
  await mkdir(`${folder}.unfinished`)
  await writeFile(join(`${folder}.unfinished`, 'report.md'), 'two')
  await assert.rejects(requireFree(folder), /run\.unfinished is there already/)
})
