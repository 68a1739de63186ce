// READMEs and pages of installed packages: all visible words are kept, and formats round-trip.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import { readHtml, writeHtml } from './html.ts'
import { blockTags } from './line-reader.ts'
import { readMarkdown, writeMarkdown } from './markdown.ts'
import { type Line, textOf } from './rich-text.ts'

const packages = join(import.meta.dirname, '../../node_modules')

const readmes =
  'axios koa koa-static koa-websocket @koa/router ws yjs zod jose jsdom morphdom parse5 prom-client react react-dom selenium-webdriver serialport vite fast-diff medium-editor react-medium-editor puppeteer-core axe-core engine.io socket.io socketcluster-client micromark mdast-util-to-markdown mdast-util-gfm html-encoding-sniffer engine.io-client'.split(
    ' ',
  )

const pages = [
  ...['index', 'multi-editor', 'nested-editable', 'table-extension', 'clean-paste', 'textarea'].map(
    (name) => `medium-editor/demo/${name}.html`,
  ),
  'medium-editor/demo/auto-link.html',
  'bintrees/examples/client.html',
  'tdigest/example.html',
]

/** Elements whose text no browser shows, and controls. */
const unshown = new Set('HEAD SCRIPT STYLE TEXTAREA BUTTON SELECT TEMPLATE SVG IFRAME'.split(' '))

function shownWords(html: string): string[] {
  let text = ''
  const read = (node: Node): void => {
    if (node.nodeName.toUpperCase() === '#TEXT') text += node.nodeValue
    if (unshown.has(node.nodeName.toUpperCase())) return
    if ((node as Element).matches?.('[data-footnote-ref], [data-footnote-backref], #footnote-label')) return
    const isBlock = blockTags.has(node.nodeName.toLowerCase()) || node.nodeName === 'BR'
    if (isBlock) text += ' '
    for (const child of node.childNodes) read(child)
    if (isBlock) text += ' '
  }
  read(new JSDOM(html).window.document)
  return wordsIn(text)
}

/** Without the sign that separates columns, and those of footnotes. */
const wordsIn = (text: string) =>
  text
    .replaceAll(/\[\^[\w-]+\]:?/g, '')
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '|')

/** Without placeholders for images, frames and boxes. */
const wordsOf = (lines: readonly Line[]) =>
  wordsIn(textOf(lines).replaceAll(/\[(?:image|page|video|audio|file)(?:: [^\]]*)?\]|[☐☑]/g, ' '))

function sameAgain(lines: readonly Line[]): void {
  assert.deepEqual(readHtml(writeHtml(lines), { isOwn: true }).lines, lines)
  const markdown = writeMarkdown(lines)
  assert.deepEqual(readMarkdown(markdown).lines, lines, markdown)
}

for (const name of readmes)
  test(`the README of ${name}`, () => {
    const folder = join(packages, name)
    const file = readdirSync(folder).find((entry) => /^readme\.(md|markdown)$/i.test(entry))
    assert.ok(file, `${name} no longer has a README; name another package.`)
    const text = readFileSync(join(folder, file), 'utf8')
    const { lines } = readMarkdown(text)
    const options = { extensions: [gfm({ singleTilde: false })], htmlExtensions: [gfmHtml()] }
    assert.deepEqual(
      wordsOf(lines),
      shownWords(micromark(text, { ...options, allowDangerousHtml: true, allowDangerousProtocol: true })),
    )
    sameAgain(lines)
  })

for (const path of pages)
  test(`the page ${path}`, () => {
    const html = readFileSync(join(packages, path), 'utf8')
    const { lines } = readHtml(html)
    assert.ok(lines.length > 0)
    assert.deepEqual(wordsOf(lines), shownWords(html))
    sameAgain(lines)
  })
