// What a version added and removed, at its place in the text.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDocument, documentText, type Line, linesOf } from '../../app/document/rich-text.ts'
import { Marks } from './marks.ts'

function linesIn(text: string): readonly Line[] {
  const doc = createDocument()
  documentText(doc).insert(0, text)
  return linesOf(documentText(doc))
}

/** Each line with `{added}` and `[removed]`. */
function marked(before: string, after: string): string[] {
  const lines = linesIn(after)
  const marks = new Marks(linesIn(before), lines)
  const pieces = marks.piecesOf(lines)
  return lines.map((line) => {
    const text = line.runs.map(({ text }) => text).join('')
    let at = 0
    const told = (pieces.get(line) ?? []).map(({ isAdded, length, removed }) => {
      const words = text.slice(at, at + length)
      at += length
      return `${removed && `[${removed}]`}${isAdded ? `{${words}}` : words}`
    })
    assert.equal(at, text.length)
    return told.join('').replaceAll('\n', '↵')
  })
}

test('marks what was added and removed within a line', () => {
  assert.deepEqual(marked('one three\n', 'one two three\n'), ['one t{wo t}hree'])
  assert.deepEqual(marked('one two three\n', 'one three\n'), ['one t[wo t]hree'])
  assert.deepEqual(marked('cat\n', 'cut\n'), ['c[a]{u}t'])
  assert.deepEqual(marked('same\n', 'same\n'), ['same'])
})

test('marks whole lines, and removed ones where they were', () => {
  assert.deepEqual(marked('one\nthree\n', 'one\ntwo\nthree\n'), ['one', '{two}', 'three'])
  assert.deepEqual(marked('one\ntwo\nthree\n', 'one\nthree\n'), ['one', '[two↵]three'])
  assert.deepEqual(marked('', 'all\nnew\n'), ['{all}', '{new}'])
})

test('marks what was removed at the end of a line, and of the text', () => {
  assert.deepEqual(marked('one two\nthree\n', 'one\nthree\n'), ['one[ two]', 'three'])
  assert.deepEqual(marked('one\ntwo\n', 'one\n'), ['one[↵two↵]'])
})

test('replaces whole words, not letters within one', () => {
  assert.deepEqual(marked('Meet at nine\n', 'Meet at ten\n'), ['Meet at [nine]{ten}'])
  assert.deepEqual(marked('lamp\n', 'torch\ntea\n'), ['[lamp]{torch}', '{tea}'])
})
