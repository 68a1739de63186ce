// Clipboards as programs write them, cleaned.

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { JSDOM } from 'jsdom'
import { clipboards, smallImage } from './testing.ts'

const { window } = new JSDOM()
let foreign: typeof import('./foreign-content.ts')
before(async () => {
  for (const name of ['document', 'DOMParser', 'FileReader', 'Node'])
    Object.assign(globalThis, { [name]: Reflect.get(window, name) })
  foreign = await import('./foreign-content.ts')
})

function htmlOf(content: DocumentFragment): string {
  const box = window.document.createElement('div')
  box.append(content)
  return box.innerHTML
}

for (const { name, kept, unkept = [], ...clipboard } of clipboards)
  test(name, () => {
    const clean = foreign.cleanText(clipboard)
    assert.equal(htmlOf(clean.content), kept)
    assert.deepEqual(clean.unkept, unkept)
  })

test('a code block takes the text as it is', () => {
  const clipboard = { html: '<b>if</b>', text: 'if (a)\r\n\r\n    b()\n' }
  assert.equal(htmlOf(foreign.cleanText(clipboard, 'pre').content), '<pre>if (a)\n\n    b()\n</pre>')
})

test('dropped files: a small image is kept, everything else named', async () => {
  const bytes = Buffer.from(smallImage.split(',')[1] ?? '', 'base64')
  const files = [
    new window.File([bytes], 'dot.gif', { type: 'image/gif' }),
    new window.File(['x'.repeat(100_001)], 'cat.png', { type: 'image/png' }),
    new window.File(['%PDF'], 'report.pdf', { type: 'application/pdf' }),
  ]
  const { content, unkept } = await foreign.cleanFiles(files)
  assert.equal(htmlOf(content), `<img src="${smallImage}" alt="dot.gif">[image: cat.png] [file: report.pdf]`)
  assert.deepEqual(unkept, ['cat.png', 'report.pdf'])
})

test('hostile HTML of a megabyte is read in time that grows with its length only', () => {
  for (const part of ["<a b='", '<a b="', '<!--', '<style>', '<', '<b ', '&', '</'])
    assert.ok(foreign.cleanText({ html: part.repeat(30_000), text: 'x' }).content)
})
