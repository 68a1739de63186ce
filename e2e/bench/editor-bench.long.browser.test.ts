// `bench editor` in Chromium, small: both editors, and a document with a history.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSmall } from '../lab/testing.ts'
import { editor } from './editor-bench.ts'
import { opening } from './opening-bench.ts'

test('a keystroke is one message, whose size grows with the document only in the mirror', async (t) => {
  const { summary, isFailure } = await runSmall(t, editor, '--rounds 1 --keys 3 --interval 200')
  assert.ok(!isFailure)
  const bytesUp = (editor: string, document: string) =>
    summary.rows.find(({ mode }) => mode === `${editor}, ${document}`)?.upBytes.median ?? 0
  assert.ok(bytesUp('mirror', '100 KB') > 100_000)
  assert.ok(bytesUp('shared', '100 KB') < 2 * bytesUp('shared', '200 characters'))
  assert.ok(bytesUp('shared', '200 characters') > 100)
})

test('a history written to the log is shown in full', async (t) => {
  const { summary } = await runSmall(t, opening, '--edits 3000 --openings 1')
  const [row] = summary.rows
  assert.ok(row)
  assert.ok(row.characters > 1000 && (row.openMs.median ?? 0) > 0 && (row.heapBytes.median ?? 0) > 1_000_000)
})
