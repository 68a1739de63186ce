// `editor`: the sentences about goals.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EditorRow, goalWords } from './editor-bench.ts'

function row(
  editor: EditorRow['editor'],
  document: EditorRow['document'],
  ms: number,
  bytes: number,
): EditorRow {
  const same = (value: number) => ({ median: value, min: value, max: value })
  return {
    mode: '',
    editor,
    document,
    messages: 1,
    expected: 1,
    rounds: 1,
    senderMs: same(ms),
    receiverMs: same(ms),
    senderThreadMs: same(ms),
    receiverThreadMs: same(ms),
    upBytes: same(bytes),
    downBytes: same(bytes),
    presenceBytes: same(0),
  }
}

test('each goal is met or missed by the shared editor, bytes by the document that needs most', () => {
  const rows = [
    row('mirror', '100 KB', 14, 100_000),
    row('shared', '100 KB', 1.5, 250),
    row('shared', '100 KB in one paragraph', 9, 301),
  ]
  assert.deepEqual(
    goalWords(rows).map((words) => words.split(':')[0]),
    ['Met', 'Met', 'Missed', 'Missed'],
  )
  assert.equal(goalWords(rows.slice(1)).length, 3)
  assert.deepEqual(goalWords(rows.slice(0, 1)), [])
})
