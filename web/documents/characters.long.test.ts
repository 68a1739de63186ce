// No half surrogate pair, and no U+FFFD that the source does not have, anywhere.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import { readCode, readHtml, readText, writeFragment, writeHtml } from '../../app/document/html.ts'
import { shortened } from '../../app/document/line-reader.ts'
import { readMarkdown, writeMarkdown } from '../../app/document/markdown.ts'
import {
  createDocument,
  documentText,
  type Line,
  linesOf,
  safeImage,
  textOf,
} from '../../app/document/rich-text.ts'
import { changesBetween } from '../../app/document/text-diff.ts'
import { titleFrom } from '../../app/shared/page-messages.ts'
import { cutText, piecesOf, withoutHalves } from '../../protocol/graphemes.ts'
import { escapeHtml } from '../../protocol/html-text.ts'
import { randomTexts, replacementsIn } from '../../protocol/testing.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { inBatches } from '../editor/edits.ts'
import { cleanName, initialsOf } from '../editor/presence.ts'
import { channelFor } from './document-names.ts'

const texts = randomTexts(1000)

/** `found`: a string, or a value that contains strings. */
function assertWhole(found: unknown, source: string, what: string): void {
  const strings: string[] = []
  const collect = (value: unknown): void => {
    if (typeof value === 'string') strings.push(value)
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect)
  }
  collect(found)
  const text = strings.join('\n')
  const context = `${what} of ${JSON.stringify(source)}: ${JSON.stringify(text)}`
  assert.ok(
    strings.every((one) => one.isWellFormed()),
    `half a character in ${context}`,
  )
  assert.ok(replacementsIn(text) <= replacementsIn(source), `U+FFFD in ${context}`)
}

const paragraphs = (text: string): Line[] =>
  withoutHalves(text)
    .split('\n')
    .map((words) => ({ block: 'p', align: null, runs: words === '' ? [] : [{ text: words, marks: {} }] }))

test('readers and writers of HTML, Markdown and plain text keep characters whole', () => {
  const dot = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
  for (const text of texts) {
    const markup = escapeHtml(text)
    const sources: [what: string, source: string, lines: readonly Line[]][] = [
      ['HTML', text, readHtml(markup).lines],
      ['own HTML', text, readHtml(`<p>${markup}</p>`, { isOwn: true }).lines],
      ['damaged HTML', text, readHtml(text).lines],
      ['plain text', text, readText(text).lines],
      ['code', text, readCode(text)],
      ['Markdown', text, readMarkdown(text).lines],
      [
        'a link in Markdown',
        text,
        readMarkdown(`[a](<https://a.org/${text.replaceAll(/[<>\n\\&%]/g, '')}>)`).lines,
      ],
    ]
    for (const isOwn of [false, true]) {
      const tags = `<a href="https://a.org/${markup}">a</a><img src="${dot}" alt="${markup}"><img alt="${markup}">`
      const reading = readHtml(tags, { isOwn })
      // HTML repeats the name of an image that is not kept.
      sources.push(['attributes', text.repeat(6), reading.lines])
      assertWhole(reading.unkept, text.repeat(3), 'names')
    }
    for (const [what, source, lines] of sources) {
      assertWhole(lines, source, what)
      assertWhole(writeHtml(lines), source, `HTML from ${what}`)
      assertWhole(writeFragment(lines), source, `HTML from ${what}`)
      assertWhole(writeMarkdown(lines), source, `Markdown from ${what}`)
      assertWhole(textOf(lines), source, `text from ${what}`)
    }
  }
})

test('text is cut only between characters, at every place', () => {
  const clusters = new Intl.Segmenter('en', { granularity: 'grapheme' })
  for (const source of [
    ...texts.slice(0, 200).map(withoutHalves),
    '🇸🇪🇳🇴'.repeat(40),
    `a${'🇸🇪'.repeat(80)}`,
  ]) {
    const starts = new Set(Array.from(clusters.segment(source), ({ index }) => index).concat(source.length))
    for (let most = 2; most <= source.length; most += 1) {
      const cut = cutText(source, most)
      assertWhole(cut, source, `the first ${most}`)
      assert.ok(cut.length <= most)
      const isTooLong = ![...starts].some((start) => start > 0 && start <= most)
      assert.ok(isTooLong || starts.has(cut.length), `${most} of ${JSON.stringify(source)}`)
      if (most > 40 && most % 7 > 0) continue
      const pieces = piecesOf(source, most)
      assert.equal(pieces.join(''), source)
      for (const piece of pieces) assertWhole(piece, source, `pieces of ${most}`)
    }
  }
})

test('names of documents, people, images and files keep characters whole', () => {
  for (const text of texts) {
    const long = text.repeat(4)
    for (const [what, name, most] of [
      ['title', titleFrom(long), 80],
      ['person', cleanName(long), 40],
      ['initials', initialsOf(cleanName(long)), 100],
      ['channel', channelFor(long) ?? '', 64],
      ['image', shortened(long), 60],
      ['alternative text', safeImage({ src: '', alt: withoutHalves(long.repeat(20)) })?.alt ?? '', 1000],
    ] as const) {
      assertWhole(name, long.repeat(20), what)
      assert.ok(name.length <= most, what)
    }
  }
  const family = '👩‍👩‍👧'
  assert.equal(cleanName(`${'x'.repeat(38)}${family}`), 'x'.repeat(38))
  assert.equal(initialsOf(`${family} e\u0301a`), `${family}E\u0301`)
  assert.equal(channelFor(`${'x'.repeat(62)}ष्क`.normalize('NFC')), 'x'.repeat(62))
})

test('changes keep characters whole, also in batches, and another document receives the same text', () => {
  const random = createSeededRandom(3)
  for (const [index, text] of texts.entries()) {
    const next = texts[(index + 1) % texts.length] ?? ''
    const now = paragraphs(text)
    const then = paragraphs(random() < 0.5 ? next : mixed(text, next, random))
    const source = text + next
    const one = createDocument()
    const other = createDocument()
    one.on('update', (update: Uint8Array) => Y.applyUpdate(other, update))
    const write = (lines: readonly Line[], most: number) => {
      for (const batch of inBatches(changesBetween(linesOf(documentText(one)), lines), most)) {
        assertWhole(batch, source, 'a batch')
        documentText(one).applyDelta(batch)
      }
      assert.equal(documentText(one).toString(), `${textOf(lines)}\n`, JSON.stringify(text))
      assert.equal(documentText(other).toString(), documentText(one).toString(), JSON.stringify(text))
    }
    write(now, 20)
    write(then, 7)
    write(now, 16_000)
  }
})

test('a change in a long text keeps characters whole', () => {
  const start = 'x'.repeat(5000)
  const end = 'y'.repeat(5000)
  for (const [now, then] of [
    ['😀', '😁'],
    ['😀', '🤀'],
    ['😀😀', '😀'],
    ['🇸🇪', '🇸🇴'],
    ['a', '😀a'],
  ] as const) {
    const document = createDocument()
    const text = documentText(document)
    for (const words of [now, then, now]) {
      const changes = changesBetween(linesOf(text), paragraphs(`${start}${words}${end}`))
      assertWhole(changes, '', 'changes')
      text.applyDelta(changes)
      assert.equal(text.toString(), `${start}${words}${end}\n`)
    }
  }
})

/** The beginning of one text and the end of another, with a few characters removed. */
function mixed(one: string, other: string, random: () => number): string {
  const characters = [...one.slice(0, random() * one.length), ...other.slice(random() * other.length)]
  return characters.filter(() => random() < 0.9).join('')
}
