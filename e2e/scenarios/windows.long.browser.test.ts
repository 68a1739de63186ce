// The windows scenario as a user runs it: HTTP/1.1 on the bare page fails at six windows.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../server/folder-testing.ts'
import { startLab } from '../lab/testing.ts'

const folder = temporaryFolder()

test('with seven windows of one browser', async (t) => {
  const out = join(folder, 'report')
  const budget = join(folder, 'budget.json')
  await writeFile(budget, '{"modes":{"sse/1.1":{"lost":0},"bare:sse/1.1":{"lost":0}}}')
  const size = '--counts 1,7 --sessions 1 --keys 2 --warmup 1 --patience 6 --wait 2'
  const run = startLab(t, `windows ${size}`, '--modes', 'sse/1.1', '--budget', budget, '--out', out)
  const [code] = await run.ended
  assert.equal(code, 2, run.said())
  assert.match(run.said(), /Over budget: bare:sse\/1\.1: lost is 14, at most 0 allowed/)
  assert.doesNotMatch(run.said(), /Over budget: sse\/1\.1/)
  const { cells } = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  const figures = cells.map((cell: Record<string, unknown>) => [
    cell.mode,
    cell.opened,
    cell.inMode,
    cell.received,
  ])
  assert.deepEqual(figures, [
    ['sse/1.1, 1 window, 1 browser', 1, 1, 2],
    ['sse/1.1, 7 windows, 1 browser', 7, 5, 14],
    ['bare:sse/1.1, 1 window, 1 browser', 1, 1, 2],
    ['bare:sse/1.1, 7 windows, 1 browser', 6, 6, 0],
  ])
  const [, fallen] = cells
  assert.deepEqual(fallen.falls, [{ mode: 'sse/2', why: 'full', windows: 2 }])
  assert.match(await readFile(join(out, 'report.md'), 'utf8'), /failed at 7: 6 opened and no key arrived/)
  assert.match(await readFile(join(out, 'windows.csv'), 'utf8'), /^bare:sse\/1\.1,1,7,1,7,false,false,,$/m)
})
