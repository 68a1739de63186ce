// The WindComm scenario with a real browser: two windows, a few readings, counted and not timed.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { runSmall } from '../lab/testing.ts'
import { windcomm } from './windcomm.ts'

test('pages behind their own links receive every reading, and their clocks are known', {
  timeout: 120_000,
}, async (t) => {
  const size = '--sites lund --modes websocket/1.1,polling/1.1 --readings 12 --seed 3 --faster 5'
  // Any: a busy machine cannot compare them closely.
  const flags = `${size} --clock-error 1e9`
  const { summary, out } = await runSmall(t, windcomm, flags)
  assert.deepEqual(
    summary.cells.map(({ mode, windows, n, lost, duplicated, reordered }) => [
      mode,
      windows,
      n,
      lost + duplicated + reordered,
    ]),
    [
      ['websocket/1.1', 'browser', 12, 0],
      ['polling/1.1', 'browser', 12, 0],
    ],
  )
  assert.deepEqual(
    summary.clock.after.map(({ name }) => name),
    ['clients', 'lund, websocket/1.1', 'lund, polling/1.1'],
  )
  assert.match(summary.environment.browser, /chrom/i)
  assert.match(await readFile(join(out, 'report.html'), 'utf8'), /windows of a real browser/)
})
