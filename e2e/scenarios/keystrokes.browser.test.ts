// The keystroke scenario as a user runs it: a small run from the command line to the report.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { startLab } from '../lab/testing.ts'
import { readCompressed } from '../report/render.ts'

const allStages =
  'Input → sent; Way up; Read, checked; Waits for its commit; Numbered, stored; Written to all; Way down; Applied; Painted'
const bareStages = allStages.replace('stored; Written', 'stored … Written').replace('; Painted', '')

test('a small run of both editors with their bare peer ends with nothing lost and a complete report', async (t) => {
  const out = join(temporaryFolder(t), 'report')
  const run = startLab(
    t,
    'keystrokes --sessions 1 --keys 3 --blocks 1 --windows 2 --warmup 1 --peers bare --editor shared,mirror --modes sse/2,websocket/1.1',
    '--out',
    out,
  )
  const [code] = await run.ended
  assert.equal(code, 0, run.said())

  const summary = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  assert.equal(summary.scenario, 'keystrokes')
  assert.equal(summary.sessions, 1)
  assert.match(summary.command, /^npm run lab -- keystrokes --sessions 1 --keys 3 /)
  const names = ['sse/2', 'websocket/1.1'].flatMap((mode) => [
    `${mode} shared`,
    `${mode} mirror`,
    `bare:${mode}`,
  ])
  assert.deepEqual(summary.levels.mode.toSorted(), names.sort())
  for (const { n, lost, mode } of summary.echoes) assert.deepEqual([n, lost], [3, 0], mode)
  for (const row of summary.figures) {
    assert.deepEqual(
      [row.n, row.expected, row.lost, row.duplicated, row.reordered],
      [3, 3, 0, 0, 0],
      row.mode,
    )
    assert.ok(row.mean > 0, row.mode)
  }
  for (const { mode, serverRssBytes } of summary.costs) assert.ok(serverRssBytes > 0, mode)
  for (const mode of summary.details.modes) {
    // For each message, in the order it passes them; a bare relay stores nothing.
    const stages = mode.path.map(({ stage }: { stage: string }) => stage).join('; ')
    assert.equal(stages, mode.mode.startsWith('bare') ? bareStages : allStages, mode.mode)
  }
  // A WebSocket's frame has 2 bytes, 2 of length and from a browser 4 of mask (RFC 6455, 5.2), an
  // HTTP/2 frame 9 (RFC 9113, 4.1), an event `data: ` and two line ends, a TLS record 22.
  const layers = (mode: string, way: 'up' | 'down') => {
    const { framing, tls } = summary.wire.find((one: { mode: string }) => one.mode === mode)[way]
    return [framing, tls]
  }
  const wrapped = '{"type":"message","message":}'.length
  assert.deepEqual(layers('bare:websocket/1.1', 'up'), [8, 22])
  assert.deepEqual(layers('bare:websocket/1.1', 'down'), [4, 22])
  assert.deepEqual(layers('websocket/1.1 shared', 'up'), [8 + wrapped, 22])
  assert.deepEqual(layers('websocket/1.1 mirror', 'down'), [4 + wrapped, 22])
  assert.deepEqual(layers('bare:sse/2', 'down'), [9 + 8, 22])

  const csv = await readCompressed(join(out, 'samples.csv.gz'))
  assert.equal(csv.trim().split('\n').length, 1 + 6 * 6)
  assert.match(await readFile(join(out, 'report.html'), 'utf8'), /<!doctype html>/i)
  assert.match(await readFile(join(out, 'report.md'), 'utf8'), /Table 1/)
})
