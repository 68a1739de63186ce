// `editor`: the sentences about goals, of made-up turns.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyseStudy, type Row } from '../lab/study.ts'
import { editorDesign } from './editor-bench.ts'

const row = (editor: string, document: string, ms: number, bytes: number): Row => ({
  editor,
  document,
  session: 1,
  senderMs: ms,
  receiverMs: ms,
  upBytes: bytes,
  downBytes: bytes,
})

function goalsOf(samples: readonly Row[]): readonly string[] | undefined {
  const levels = { editor: ['mirror', 'shared'], document: ['100 KB', '100 KB in one paragraph'] }
  return editorDesign.remarks?.(analyseStudy(editorDesign, { levels, baseline: 'mirror', samples }))
}

test('each goal is met or missed by the shared editor, bytes by the document that needs most', () => {
  const rows = [
    row('mirror', '100 KB', 14, 100_000),
    row('shared', '100 KB', 1.5, 250),
    row('shared', '100 KB in one paragraph', 9, 301),
  ]
  assert.deepEqual(
    goalsOf(rows)?.map((words) => words.split(':')[0]),
    ['Met', 'Met', 'Missed', 'Missed'],
  )
  assert.equal(goalsOf(rows.slice(1))?.length, 3)
  assert.deepEqual(goalsOf(rows.slice(0, 1)), [])
})
