// The selection while another window changes the text, and which content is shown.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { JSDOM } from 'jsdom'

const { window } = new JSDOM('<div id="root"></div>', { pretendToBeVisual: true })
const names = [
  'document',
  'getSelection',
  'requestAnimationFrame',
  'AbortController',
  'HTMLElement',
  'MutationObserver',
  'Node',
  'NodeFilter',
]
let bindContent: typeof import('./content.ts').bindContent
before(async () => {
  Object.assign(globalThis, { window, cancelAnimationFrame: () => undefined })
  for (const name of names) Object.assign(globalThis, { [name]: Reflect.get(window, name) })
  ;({ bindContent } = await import('./content.ts'))
})
after(() => window.close())

/** Shows `next` in place of `html`; the selection collapses at `offset` of the first text. */
function shown(html: string, next: string, offset: number) {
  const root = window.document.querySelector('div') as HTMLElement
  root.innerHTML = html
  const selection = window.getSelection()
  const edits = [] as string[]
  selection?.collapse(root.querySelector('p')?.firstChild ?? root, offset)
  const content = bindContent(root, (edit) => edits.push(edit))
  content.show(next)
  content.stop()
  assert.deepEqual(edits, [])
  return { html: root.innerHTML, node: selection?.anchorNode, offset: selection?.anchorOffset }
}

const cases: [before: string, after: string, offset: number, expected: number, why: string][] = [
  ['hello', 'hello world', 2, 2, 'a change after it leaves it'],
  ['world', 'hello world', 2, 8, 'a change before moves it'],
  ['hello', 'hello!', 5, 5, 'an insert exactly there stays to its right'],
  ['abcdef', 'af', 3, 1, "a deletion around it moves it to the deletion's start"],
  ['aaa', 'aaaa', 2, 2, 'repeated letters do not confuse it'],
  ['', 'x', 0, 0, 'an empty text'],
  ['abc', '', 3, 1, 'if all is deleted, it moves to the end of the content'],
]

for (const [before, after, offset, expected, why] of cases)
  test(why, () => assert.equal(shown(`<p>${before}</p>`, `<p>${after}</p>`, offset).offset, expected))

test('if its node is gone, it moves to the same offset in the whole text', () => {
  const { node, offset } = shown('<p>hello</p>', '<h2>well</h2><p><b>hello</b></p>', 3)
  assert.deepEqual([node?.nodeValue, offset], ['hello', 3])
})

test('no style, script or other trace of a foreign page gets in', () => {
  const foreign =
    '<p style="color: red" onclick="a()" id="x">a<script>b()</script><a target="_blank" href="/c">c</a></p>'
  const clean = '<p>a<a href="/c" target="_blank" rel="noopener noreferrer">c</a></p>'
  const { html } = shown('', foreign, 0)
  assert.equal(html.replace('target="_blank" href="/c"', 'href="/c" target="_blank"'), clean)
})
