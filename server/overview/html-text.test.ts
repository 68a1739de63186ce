// The text of HTML: what a browser would show of it, however it is written.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import { createSeededRandom } from '../wire/time.ts'
import { textOf } from './html-text.ts'

const shown = (html: string) => [...textOf(html)].join('')
const linesIn = (html: string) =>
  shown(html)
    .split('\n')
    .filter((line) => line !== '')

const lines: [html: string, lines: string[]][] = [
  ['', []],
  ['<p><br></p>', []],
  ['plain', ['plain']],
  ['<p>One</p><p>Two</p>', ['One', 'Two']],
  ['<ul><li>One</li><li>Two</li></ul><h2>Three</h2>tail', ['One', 'Two', 'Three', 'tail']],
  ['One<br>Two<BR/>Three', ['One', 'Two', 'Three']],
  ['un<b>be</b>liev<i>able</i>', ['unbelievable']],
  ['<P CLASS=x>One</P\n>Two', ['One', 'Two']],
  ['a &lt;b&gt; &amp;&nbsp;c', ['a <b> &\u00a0c']],
  ['caf&eacute; &#233; &#xe9; &#x92; &alefsym; &amp;lt;', ['café é é ’ ℵ &lt;']],
  ['AT&T a & b &; &#; &#x; &nosuchname;', ['AT&T a & b &; &#; &#x; &nosuchname;']],
  ['1 < 2 and 3<4', ['1 < 2 and 3<4']],
  ['<a title="a > b" href=\'>\'>x</a>y', ['xy']],
  ['<a title=a"b>x</a>', ['x']],
  ["<p it's>x</p>", ['x']],
  ['<img src="data:,<p>no</p>">x', ['x']],
  ['<!-- a > b <p>no</p> -->x<!-->y<!--->z', ['xyz']],
  ['<!doctype html><?php no ?>x</>y</ no>z', ['xyz']],
  ['x<style>p { a: "<p>" }</style>y<script>1 < 2 </scrip></SCRIPT >z', ['xyz']],
  ['x<textarea><b>no</b></textarea>y', ['xy']],
  ['x<p', ['x']],
  ['x<p class="no', ['x']],
  ['x<!-- no', ['x']],
  ['x<script>no', ['x']],
]

for (const [html, expected] of lines) {
  test(`reads ${JSON.stringify(html)}`, () => assert.deepEqual(linesIn(html), expected))
}

test('reads what a browser’s parser reads, of HTML damaged in any way', () => {
  const random = createSeededRandom(11)
  const { document } = new JSDOM('').window
  const bits =
    `< </ > <p <b> </b> </p> <br> <!-- --> --!> ! ? / = " ' a b1 - <a href= title &amp; &#65; &x <xmp> </xmp>
    <textarea> </textarea> <li> \u00a0 é`.split(/[ \n]+/)
  for (let round = 0; round < 5000; round += 1) {
    const html = Array.from(
      { length: 1 + random() * 12 },
      () => bits[Math.floor(random() * bits.length)],
    ).join(random() < 0.5 ? '' : ' ')
    document.body.innerHTML = html
    for (const hidden of document.body.querySelectorAll('xmp, textarea')) hidden.remove()
    assert.equal(
      shown(html).replaceAll('\n', ''),
      document.body.textContent.replaceAll('\n', ''),
      JSON.stringify(html),
    )
  }
})

test('a long text comes in parts, in which no reference is cut', () => {
  for (const html of ['caf&eacute;; word &amp; '.repeat(4000), `${' '.repeat(8189)}caf&eacute;`]) {
    const parts = [...textOf(html)]
    assert.ok(parts.length >= html.length / 10_000)
    assert.ok(parts.every((part) => part.length < 20_000))
    assert.equal(parts.join(''), html.replaceAll('&eacute;', 'é').replaceAll('&amp;', '&'))
  }
})

test('endless markup without a text comes in parts as well', () => {
  assert.ok([...textOf('<b>'.repeat(100_000))].length > 30)
})
