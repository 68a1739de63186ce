// The payload scenario as a user runs it: probes of two sizes, the larger near a megabyte.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../server/folder-testing.ts'
import { startLab } from '../lab/testing.ts'
import { readCompressed } from '../report/render.ts'

const folder = temporaryFolder()

test('two sizes in two modes arrive once and in order', async (t) => {
  const out = join(folder, 'report')
  const size = '--sizes 10,1000000 --sessions 1 --messages 3 --warmup 1 --windows 2'
  const run = startLab(t, `payload ${size}`, '--modes', 'sse/2,websocket/1.1', '--out', out)
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  const { sizes, modes } = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  const p50Ms: Record<string, number> = {}
  for (const { mode, subject, bytes, n, lost, duplicated, reordered, ...figures } of sizes) {
    assert.deepEqual([n, lost, duplicated, reordered], [3, 0, 0, 0], mode)
    assert.ok(figures.p50Ms > 0, mode)
    p50Ms[`${subject} ${bytes}`] = figures.p50Ms
  }
  for (const { mode, smallestP50Ms, largestP50Ms } of modes)
    assert.deepEqual([smallestP50Ms, largestP50Ms], [p50Ms[`${mode} 10`], p50Ms[`${mode} 1000000`]], mode)
  const rows = (await readCompressed(join(out, 'samples.csv.gz'))).trim().split('\n')
  assert.equal(rows.length, 1 + 2 * 2 * 3 * 2)
  const sent = rows.slice(1).map((row) => row.split(','))
  // The message's JSON: the text and an envelope.
  for (const row of sent)
    assert.ok(Number(row[10]) - Number(row[2]) > 50 && Number(row[10]) - Number(row[2]) < 400)
})
