import assert from 'node:assert/strict'
import { test } from 'node:test'
import type * as Y from 'yjs'
import { createSeededRandom } from '../../protocol/time.ts'
import { changeLines, createDocument, documentText, type Line, linesOf, rebase } from './rich-text.ts'
import { changesBetween } from './text-diff.ts'

test('the changes between two versions make them equal, including formatting', () => {
  const random = createSeededRandom(5)
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item
  const looks = [{}, { bold: true }, { italic: true, link: 'https://example.org' }]
  const blocks = [
    { block: 'h1' },
    { block: 'ul1', align: 'center' },
    { block: 'ol2', start: 7 },
    { block: 'pre', language: 'js' },
  ]
  const write = (text: Y.Text, times: number) => {
    for (let time = 0; time < times; time += 1) {
      const at = Math.floor(random() * (text.length + 1))
      if (random() < 0.6) text.insert(at, pick(['word ', 'a', 'é', 'line']), pick(looks))
      else if (random() < 0.5) text.insert(at, '\n', pick(blocks))
      else if (at < text.length) text.delete(at, Math.min(5, text.length - at))
      else if (text.length > 0) text.format(0, text.length, pick(looks))
    }
  }
  for (let round = 0; round < 100; round += 1) {
    const doc = createDocument()
    const text = documentText(doc)
    write(text, 20)
    const past = linesOf(text)
    write(text, 20)
    const now = linesOf(text)
    const changes = changesBetween(now, past)
    text.applyDelta(changes)
    assert.deepEqual(shape(linesOf(text)), shape(past))
    assert.deepEqual(shape(changeLines(now, changes)), shape(past))
    assert.deepEqual(changesBetween(linesOf(text), past), [])
  }
})

const shape = (lines: readonly Line[]) =>
  lines.map(({ runs, block, align, start, language }) => ({ runs, block, align, start, language }))

const lines = (...texts: string[]): Line[] =>
  texts.map((text) => ({ runs: [{ text, marks: {} }], block: 'p', align: null }))

/** Lines as in a document. */
const written = (...texts: string[]) =>
  changeLines([], [{ insert: texts.map((text) => `${text}\n`).join('') }])

test('text in both versions is retained', () => {
  assert.deepEqual(changesBetween(written('a👩b'), lines('a👨b')), [
    { retain: 1 },
    { insert: '👨', attributes: {} },
    { delete: 2 },
  ])
  assert.deepEqual(changesBetween(written('one', 'two', 'three'), lines('one', 'two and a half', 'three')), [
    { retain: 7 },
    { insert: ' and a half', attributes: {} },
  ])
})

test('text that replaces other text stays behind the character to its left, before what others insert there', () => {
  const changes = changesBetween(written('abc'), lines('aXc'))
  assert.deepEqual(rebase(changes, [{ retain: 1 }, { insert: 'Y' }], true), [
    { retain: 1 },
    { insert: 'X', attributes: {} },
    { retain: 1 },
    { delete: 1 },
  ])
})

test('the selection decides which of several equal characters was inserted', () => {
  const caretAt = (index: number) => ({ from: index, to: index })
  const changes = changesBetween(written('aaa'), lines('aaaa'), { before: caretAt(1), after: caretAt(2) })
  assert.deepEqual(changes, [{ retain: 1 }, { insert: 'a', attributes: {} }])
})

test('a change in a long line retains the rest of it', () => {
  const start = 'x'.repeat(9000)
  const end = 'y'.repeat(9000)
  assert.deepEqual(changesBetween(written(`${start}😀${end}`), lines(`${start}😁${end}`)), [
    { retain: 9000 },
    { insert: '😁', attributes: {} },
    { delete: 2 },
  ])
})
