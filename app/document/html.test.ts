// HTML from programs, pages and editors is read as lines; lines are written as HTML.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import { createSeededRandom } from '../../protocol/time.ts'
import { clipboards } from './clipboards-testing.ts'
import { copiedPages } from './copied-pages-testing.ts'
import { readCode, readHtml, readText, writeHtml, writeText } from './html.ts'
import { createDocument, documentText, type Line, linesOf } from './rich-text.ts'

const own = (html: string) => readHtml(html, { isOwn: true }).lines
const textOf = (lines: readonly Line[]) =>
  lines
    .map(({ runs }) =>
      runs
        .map(({ text }) => text)
        .join('')
        .replaceAll('\u2028', '\n'),
    )
    .join('\n')

for (const { name, html, text, kept, unkept = [] } of clipboards)
  test(name, () => {
    const reading = html ? readHtml(html) : readText(text)
    assert.equal(
      writeHtml(reading.lines).replaceAll(/(?<=>)\n(?=<)/g, ''),
      writeHtml(own(kept)).replaceAll(/(?<=>)\n(?=<)/g, ''),
    )
    assert.deepEqual(reading.lines, own(kept))
    assert.deepEqual(reading.unkept, unkept)
  })

for (const { name, page, kept, unkept = [], only } of copiedPages)
  if (only !== 'chromium')
    test(`a saved page, ${name}`, () => {
      const { lines, unkept: left } = readHtml(`<!doctype html><html><body>${page}</body></html>`)
      assert.equal(writeHtml(lines), writeHtml(own(kept)))
      assert.deepEqual(lines, own(kept))
      assert.deepEqual(left, unkept)
    })

const kept: [what: string, html: string][] = [
  ['headings and paragraphs', '<h1>One</h1>\n<p>Two <b>bold <i>both</i></b> &amp; &lt;so on&gt;</p>'],
  ['an empty paragraph', '<p>a</p>\n<p><br></p>\n<p>b</p>'],
  ['soft breaks', '<p>a<br>b</p>\n<p>a<br><br></p>'],
  ['several spaces', '<p>a  b </p>\n<p> &nbsp; c\td</p>'],
  ['nested lists', '<ul><li>a<ol><li>b</li><li>c</li></ol></li><li>d</li></ul>'],
  ['an empty item with a list in it', '<ul><li><br><ul><li>a</li></ul></li><li></li></ul>'],
  [
    'where a list starts',
    '<ol start="3"><li>a</li><li>b<ol start="0"><li>c</li></ol></li></ol>\n<pre>x</pre>\n<ol start="5"><li>d</li></ol>',
  ],
  ['two numbered lists in a row', '<ol><li>a</li></ol>\n<ol><li>b</li></ol>'],
  ['quotes and code', '<blockquote><p>a</p><p><br></p><p>b</p></blockquote>\n<pre>x\n  y\n\nz</pre>'],
  ['empty lines of code', '<pre>\n\nx\n\n</pre>'],
  ['the language of code', '<pre><code class="language-c++">x</code></pre>\n<pre>y</pre>'],
  ['links', '<p><a href="https://example.org/?a=1&amp;b=2">there</a> <a href="docs/a.md#b">b</a></p>'],
  ['marks', '<p><code>a</code> <u>b</u> <s>c</s> H<sub>2</sub>O e<sup>x</sup> <b><code>d</code></b></p>'],
  ['alignment', '<h1 style="text-align: right">a</h1>\n<ul><li style="text-align: center">b</li></ul>'],
  ['direction', '<p dir="auto">שלום</p>'],
  [
    'an image',
    '<p><img src="data:image/png;base64,iVBORw0KGgo=" alt="a dot"> <span data-image="cat">[cat]</span></p>',
  ],
]

for (const [what, html] of kept)
  test(`own HTML keeps ${what}`, () => {
    const { lines, unkept } = readHtml(html, { isOwn: true })
    assert.equal(writeHtml(lines), html)
    assert.deepEqual(unkept, [])
    assert.deepEqual(readHtml(`<div data-crosswind>${html}</div>`).lines, lines)
  })

test('own HTML: bold around a heading is ignored, bold inside it is kept', () => {
  assert.deepEqual(own('<b>a<h2><i>b</i></h2>c</b><h1>d<b>e</b></h1>'), [
    ...own('<p><b>a</b></p><h2><i>b</i></h2>'),
    ...own('<p><b>c</b></p><h1>d<b>e</b></h1>'),
  ])
  const weights = ['bold', '700', 'bolder', '900'].map(
    (weight) => `<span style="font-weight: ${weight}">x</span>`,
  )
  assert.deepEqual(own(`<h1>${weights.join('')}</h1>`), own('<h1>xx<b>xx</b></h1>'))
})

test('own HTML: a left-aligned block within a centred item is left-aligned, and the items below stay centred', () => {
  assert.deepEqual(
    own(
      '<ul><li align="center"><div style="text-align: left">a</div><ul><li align="center">b</li></ul></li></ul>',
    ),
    own('<ul><li>a<ul><li align="center">b</li></ul></li></ul>'),
  )
})

const foreign: [what: string, html: string, same: string][] = [
  ['scripts and styles go', '<p onclick="a()">x<script>alert(1)</script><style>p{}</style></p>', '<p>x</p>'],
  ['an unsafe link goes', '<p><a href="javascript:alert(1)">x</a></p>', '<p>x</p>'],
  ['an element with the name of an object’s member', '<constructor>a</constructor><tostring>b', '<p>ab</p>'],
  ['frames go', '<iframe src="x"><p>in</p></iframe><p>out</p>', '<p>[page: x]</p><p>out</p>'],
  ['unclosed marks', 'bare <b>text', '<p>bare <b>text</b></p>'],
  ['boxes in boxes', '<div>a<div>b</div></div>c', '<p>a</p><p>b</p><p>c</p>'],
  ['a table', '<table><tr><td>a<td>b<tr><td>c</table>', '<p>a | b</p><p>c</p>'],
  ['a table in a table', '<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>', '<p>a b | c | d</p>'],
  ['paragraphs in items', '<ul>\n  <li><p>a</p></li>\n</ul>', '<ul><li>a</li></ul>'],
  ['end tags of nothing', '</p></b><p>a</p></li>', '<p>a</p>'],
  ['a title', '<title><b>x</title><p>&lt;script&gt;</p>', '<p>&lt;script&gt;</p>'],
  ['marks that cross', '<p>a<b>b<i>c</b>d</i>e</p>', '<p>a<b>b<i>c</i></b><i>d</i>e</p>'],
  ['a mark that goes on in the next paragraph', '<p>a<b>b<p>c', '<p>a<b>b</b></p><p><b>c</b></p>'],
  [
    'items without ends',
    '<ul><li>a<li>b<ul><li>c</ul><li>d</ul>',
    '<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>',
  ],
  [
    'numbers of items',
    '<ol start=4><li>a<li value=7>b</ol>',
    '<ol start="4"><li>a</li></ol><ol start="7"><li>b</li></ol>',
  ],
  [
    'code in an item',
    '<ol><li>a<pre>x</pre></li><li>b</li></ol>',
    '<ol><li>a</li></ol><pre>x</pre><ol start="2"><li>b</li></ol>',
  ],
  [
    'a highlighted language',
    '<div class="highlight highlight-source-js"><pre lang="js">let <b>a</b></pre></div>',
    '<pre><code class="language-js">let a</code></pre>',
  ],
  [
    'a language that a box around the code names',
    '<div class="highlight highlight-source-js"><pre>let <b>a</b></pre></div>',
    '<pre><code class="language-js">let a</code></pre>',
  ],
  [
    'text after code in an item',
    '<ul><li>a<pre>x</pre>b<li>c</ul>',
    '<ul><li>a</li></ul><pre>x</pre><p>b</p><ul><li>c</li></ul>',
  ],
  ['the end of a paragraph that has no beginning', '<p>a<p>b</p>c</p>d', '<p>a</p><p>b</p><p>c</p><p>d</p>'],
  [
    'a block on the left within centred text',
    '<center>a<p align=left>b</p><div style="text-align: start"><h2>c</h2></div>d</center>',
    '<p align=center>a</p><p>b</p><h2>c</h2><p align=center>d</p>',
  ],
  ['a rule', '<p>a</p><hr><p>b</p>', '<p>a</p><p>b</p>'],
  [
    'an image within a link',
    '<a href="https://a.org"><img src="https://b.org/c.png" alt="C"></a>',
    '<p><a href="https://a.org">[image: C]</a></p>',
  ],
]

for (const [what, html, same] of foreign)
  test(`foreign HTML: ${what}`, () => assert.deepEqual(readHtml(html).lines, own(same)))

const formulas: [what: string, mathml: string, text: string][] = [
  [
    'a sum with limits',
    '<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><msub><mi>a</mi><mi>i</mi></msub>',
    '∑_(i=1)^na_i',
  ],
  ['a fraction of sums', '<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>10</mn></mfrac>', '(a+b)/10'],
  ['a cube root', '<mroot><mi>x</mi><mn>3</mn></mroot>', 'root_3(x)'],
  ['a function and its argument', '<mi>sin</mi><mo>&#x2061;</mo><mi>x</mi>', 'sin x'],
  ['a product that is not drawn', '<mn>2</mn><mo>&#x2062;</mo><mi>x</mi>', '2x'],
  ['words', '<mi>v</mi><mtext> in m/s</mtext>', 'v in m/s'],
  [
    'a matrix',
    '<mfenced><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>0</mn></mtd><mtd><mn>1</mn></mtd></mtr></mtable></mfenced>',
    '(1, 0; 0, 1)',
  ],
  ['space that is only the layout of the source', '\n  <mi> x </mi>\n  <mo>=</mo>\n  <mn>1</mn>\n', 'x=1'],
  [
    'sources in several languages',
    '<semantics><mi>x</mi><annotation encoding="StarMath 5.0">x</annotation><annotation encoding="application/x-tex">x_{0}</annotation></semantics>',
    'x_{0}',
  ],
  ['what does not end', '<mrow><mi>x', 'x'],
]

for (const [what, mathml, text] of formulas)
  test(`a formula: ${what}`, () =>
    assert.deepEqual(readHtml(`<p>a <math>${mathml}</math></p>`).lines, own(`<p>a ${text}</p>`)))

test('content that a document cannot hold is reported once', () => {
  const html = '<hr><hr><table><tr><td>a<td>b</table><a href="data:x">y</a><img src="https://a.org/cat.png">'
  assert.deepEqual(readHtml(html).unkept, [
    'a horizontal rule',
    'the columns of a table',
    'the address data:x',
    'cat.png',
  ])
})

test('numbers from Word are kept, even if a list does not start at 1', () => {
  const item = (marker: string, words: string) =>
    `<p class=MsoListParagraph style='mso-list:l0 level1 lfo1'><span style='mso-list:Ignore'>${marker}<span>&nbsp; </span></span>${words}</p>`
  assert.deepEqual(
    readHtml(`${item('3.', 'a')}${item('4.', 'b')}<p>c</p>${item('5.', 'd')}`).lines,
    own('<ol start="3"><li>a</li><li>b</li></ol><p>c</p><ol start="5"><li>d</li></ol>'),
  )
})

test('plain text keeps paragraphs and line breaks; items and lines of code have no blank lines between them', () => {
  const lines = own('<h1>a</h1><p>b<br>c</p><p>d</p><ul><li>e</li><li>f</li></ul><pre>g\n  h</pre>')
  assert.equal(writeText(lines), 'a\n\nb\nc\n\nd\n\ne\nf\n\ng\n  h')
  assert.deepEqual(readText(writeText(own('<p>a<br>b</p><p>c</p>'))).lines, own('<p>a<br>b</p><p>c</p>'))
})

test('code keeps the text unchanged', () => {
  assert.deepEqual(readCode('if (a)\r\n\r\n    b()\n'), own('<pre>if (a)\n\n    b()\n\n</pre>'))
})

test('an image that cannot be kept leaves its name', () => {
  const text = documentText(createDocument())
  text.insert(0, '\uFFFC', { image: { src: 'https://a/cat.png', alt: 'cat' } })
  assert.equal(writeHtml(linesOf(text)), '<p><span data-image="cat">[cat]</span></p>')
})

const texts: [html: string, lines: string[]][] = [
  ['', []],
  ['plain', ['plain']],
  ['One<br>Two<BR/>Three', ['One', 'Two', 'Three']],
  ['un<b>be</b>liev<i>able</i>', ['unbelievable']],
  ['<P CLASS=x>One</P\n>Two', ['One', 'Two']],
  ['a &lt;b&gt; &amp;&nbsp;c', ['a <b> &\u00a0c']],
  ['caf&eacute; &#233; &#xe9; &#x92; &alefsym; &amp;lt;', ['café é é ’ ℵ &lt;']],
  ['AT&T a & b &; &#; &#x; &nosuchname;', ['AT&T a & b &; &#; &#x; &nosuchname;']],
  ['1 < 2 and 3<4', ['1 < 2 and 3<4']],
  ['<a title="a > b" href=\'>\'>x</a>y', ['xy']],
  ['<!-- a > b <p>no</p> -->x<!-->y<!--->z', ['xyz']],
  ['<!doctype html><?php no ?>x</>y</ no>z', ['xyz']],
  ['x<style>p { a: "<p>" }</style>y<script>1 < 2 </scrip></SCRIPT >z', ['xyz']],
  ['x<textarea><b>no</b></textarea>y', ['xy']],
  ['x<p class="no', ['x']],
  ['x<!-- no', ['x']],
]

for (const [html, expected] of texts)
  test(`reads ${JSON.stringify(html)}`, () => {
    const lines = textOf(own(html)).split('\n')
    assert.deepEqual(html === '' ? [] : lines, expected)
  })

test('reads the same text as a browser’s parser from HTML damaged in any way', () => {
  const random = createSeededRandom(11)
  const { document } = new JSDOM('').window
  const bits =
    `< </ > <p <b> </b> </p> <br> <!-- --> --!> ! ? / = " ' a b1 - <a href= title &amp; &#65; &x <xmp> </xmp>
    <textarea> </textarea> <li> <i> </i> <td> <h1> </h1> \u00a0 é`.split(/[ \n]+/)
  for (let round = 0; round < 2000; round += 1) {
    const html = Array.from(
      { length: 1 + random() * 12 },
      () => bits[Math.floor(random() * bits.length)],
    ).join(random() < 0.5 ? '' : ' ')
    document.body.innerHTML = html
    for (const hidden of document.body.querySelectorAll('xmp, textarea')) hidden.remove()
    const shown = (text: string) => text.replaceAll(/[\n |]/g, '')
    assert.equal(shown(textOf(own(html))), shown(document.body.textContent), JSON.stringify(html))
  }
})

test('reads no half of a surrogate pair, and cuts no name within a character', () => {
  assert.equal(textOf(own('<p>a\ud83d<b>\ude00</b>b😀</p>')), 'ab😀')
  const alt = `${'x'.repeat(57)}👩‍👩‍👧`
  assert.deepEqual(readHtml(`<img src="https://a.org/b" alt="${alt}">`).unkept, [`${'x'.repeat(57)}…`])
})

test('hostile HTML is read in linear time', () => {
  for (const part of [
    "<a b='",
    '<a b="',
    '<!--',
    '<style>',
    '<',
    '<b ',
    '&',
    '</',
    '<div><b>x',
    '<b></i>',
    '<p><b><i><u>',
    '<table><tr><td>',
    '<ul><li>',
    '<ol start=9><li value=3>x',
    ' ',
    '<b style="a:b;c:d">',
    'x<br><br>',
    '<pre><div><code>x',
    '<pre>x<code>',
    '<a href="#fn1"> <b>1</b>',
    '<a href="#fnref1">1</a> ',
    '<li id=fn1>x',
    '<math><mrow><mfrac>',
    '<math>',
    '<span class=katex-html aria-hidden=true>x',
    '<a href="#cmnt_ref1">[a]</a>',
    '<table><tr><td class=gutter>1<td><pre>x',
  ])
    for (const isOwn of [false, true])
      assert.ok(readHtml(part.repeat(100_000 / part.length), { isOwn }).lines)
})
