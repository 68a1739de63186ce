// `bench editor` in Chromium, small: both editors, and a document with a history.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSmall } from '../lab/testing.ts'
import { editor } from './editor-bench.ts'
import { opening } from './opening-bench.ts'

test('a keystroke is one message, whose size grows with the document only in the mirror', async (t) => {
  const { summary, isFailure } = await runSmall(t, editor, '--sessions 1 --keys 3 --interval 200')
  assert.ok(!isFailure)
  const bytesUp = (editor: string, document: string) =>
    summary.figures.find(({ mode }) => mode === `${editor}, ${document}: upBytes`)?.mean ?? 0
  assert.ok(bytesUp('mirror', '100 KB') > 100_000)
  assert.ok(bytesUp('shared', '100 KB') < 2 * bytesUp('shared', '200 characters'))
  assert.ok(bytesUp('shared', '200 characters') > 100)
})

test('a history written to the log is shown in full', async (t) => {
  const { summary } = await runSmall(t, opening, '--edits 3000 --openings 1')
  const meanOf = (document: string, measure: string) =>
    summary.figures.find((row) => row.at.document === document && row.measure === measure)?.mean ?? 0
  assert.match(summary.remarks?.[0] ?? '', /^Its 3,000 edits leave 1,\d+ characters/)
  assert.ok(meanOf('long', 'openMs') > 0 && meanOf('long', 'heapMegabytes') > 1)
  assert.ok(meanOf('empty', 'heapMegabytes') > 1)
})
