// The payload scenario as a user runs it: probes of two sizes, the larger near a megabyte.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { startLab } from '../lab/testing.ts'
import { readCompressed } from '../report/render.ts'

const folder = temporaryFolder()

test('two sizes in two modes arrive once and in order', async (t) => {
  const out = join(folder, 'report')
  const size = '--sizes 10,1000000 --sessions 1 --messages 3 --warmup 1 --windows 2'
  const run = startLab(t, `payload ${size}`, '--modes', 'sse/2,websocket/1.1', '--out', out)
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  const { figures, wire } = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  assert.deepEqual(
    figures.map(({ mode }: { mode: string }) => mode),
    ['sse/2, 10 B', 'sse/2, 1 MB', 'websocket/1.1, 10 B', 'websocket/1.1, 1 MB'],
  )
  for (const { mode, n, lost, duplicated, reordered, p50 } of figures) {
    assert.deepEqual([n, lost, duplicated, reordered], [3, 0, 0, 0], mode)
    assert.ok(p50 > 0, mode)
  }
  for (const { bytes, down } of wire) assert.ok(down.total > bytes && down.total < 1.01 * bytes + 500)
  const rows = (await readCompressed(join(out, 'samples.csv.gz'))).trim().split('\n')
  assert.equal(rows.length, 1 + 2 * 2 * 3 * 2)
  const columns = rows[0]?.split(',') ?? []
  // The message's JSON: the text and an envelope.
  for (const cells of rows.slice(1).map((row) => row.split(','))) {
    const envelope = Number(cells[columns.indexOf('sent_bytes')]) - Number(cells[columns.indexOf('bytes')])
    assert.ok(envelope > 50 && envelope < 400, String(envelope))
  }
})
