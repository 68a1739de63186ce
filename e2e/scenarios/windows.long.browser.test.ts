// The windows scenario as a user runs it: HTTP/1.1 on the bare page fails at six windows.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { startLab } from '../lab/testing.ts'

const folder = temporaryFolder()

test('with seven windows of one browser', async (t) => {
  const out = join(folder, 'report')
  const budget = join(folder, 'budget.json')
  const none = { lost: 0 }
  const bounds = { 'sse/1.1, 7 windows, 1 browser': none, 'bare:sse/1.1, 7 windows, 1 browser': none }
  await writeFile(budget, JSON.stringify({ figures: bounds }))
  const size = '--counts 1,7 --sessions 1 --keys 2 --warmup 1 --patience 6 --wait 2'
  const run = startLab(t, `windows ${size}`, '--modes', 'sse/1.1', '--budget', budget, '--out', out)
  const [code] = await run.ended
  assert.equal(code, 2, run.said())
  assert.match(run.said(), /Over budget: bare:sse\/1\.1, 7 windows, 1 browser: lost is 12, at most 0 allowed/)
  assert.doesNotMatch(run.said(), /Over budget: sse\/1\.1/)
  const { figures, openings } = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  const cells = openings.map(({ mode, opened, inMode }: Record<string, unknown>) => [
    mode,
    opened,
    inMode,
    figures.find((row: Record<string, unknown>) => row.mode === mode)?.n,
  ])
  assert.deepEqual(cells, [
    ['sse/1.1, 1 window, 1 browser', 1, 1, 0],
    ['sse/1.1, 7 windows, 1 browser', 7, 5, 12],
    ['bare:sse/1.1, 1 window, 1 browser', 1, 1, 0],
    ['bare:sse/1.1, 7 windows, 1 browser', 6, 6, 0],
  ])
  assert.deepEqual(openings[1].falls, [{ mode: 'sse/2', why: 'full', windows: 2 }])
  assert.match(
    await readFile(join(out, 'report.md'), 'utf8'),
    /lost nothing up to 1 window and lost all 14 samples with 7 windows/,
  )
  const samples = String(gunzipSync(await readFile(join(out, 'samples.csv.gz'))))
  assert.match(samples, /^bare:sse\/1\.1,1,7,1,false,false,,,false,2,[^,]*,7,.*,0,false$/m)
})
