// `bench editor` in Chromium, small: both editors, and a document with a history.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { editorBench } from './editor-bench.ts'

const run = (flags: string) =>
  editorBench.run(flags.split(' '), () => undefined, new AbortController().signal)

test('a key is one message, whose size grows with the document only where it is mirrored', async () => {
  const { rows, isComplete } = await run('--rounds 1 --keys 3 --interval 200')
  assert.ok(isComplete)
  const bytesUp = (editor: string, document: string) => {
    const found = rows.find((row) => 'editor' in row && row.editor === editor && row.document === document)
    return found && 'upBytes' in found ? (found.upBytes.median ?? 0) : 0
  }
  assert.ok(bytesUp('mirror', '100 KB') > 100_000)
  assert.ok(bytesUp('shared', '100 KB') < 2 * bytesUp('shared', '200 characters'))
  assert.ok(bytesUp('shared', '200 characters') > 100)
})

test('a history that was written to the log is shown whole', async () => {
  const { rows } = await run('--edits 3000 --openings 1')
  const [row] = rows
  assert.ok(row && 'openMs' in row)
  assert.ok(row.characters > 1000 && (row.openMs.median ?? 0) > 0 && (row.heapBytes.median ?? 0) > 1_000_000)
})
