import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOfHtml } from './html-lines.ts'
import { toHtml, toMarkdown } from './rich-text.ts'

const kept: [what: string, html: string][] = [
  ['headings and paragraphs', '<h1>One</h1>\n<p>Two <b>bold <i>both</i></b> &amp; &lt;so on&gt;</p>'],
  ['an empty paragraph', '<p>a</p>\n<p><br></p>\n<p>b</p>'],
  ['soft breaks', '<p>a<br>b</p>'],
  ['nested lists', '<ul><li>a<ol><li>b</li><li>c</li></ol></li><li>d</li></ul>'],
  ['quotes and code', '<blockquote><p>a</p><p>b</p></blockquote>\n<pre>x\n  y\n\nz</pre>'],
  ['links', '<p><a href="https://example.org/?a=1&amp;b=2">there</a></p>'],
  ['marks', '<p><code>a</code> <u>b</u> <s>c</s> H<sub>2</sub>O e<sup>x</sup></p>'],
  ['an image', '<p><img src="data:image/png;base64,iVBORw0KGgo=" alt="a dot"></p>'],
]

for (const [what, html] of kept) {
  test(`keeps ${what}`, async () => {
    assert.equal(toHtml(await linesOfHtml(html)), html)
  })
}

const cleaned: [html: string, clean: string][] = [
  ['<p onclick="a()">x<script>alert(1)</script><style>p{}</style></p>', '<p>x</p>'],
  ['<p><a href="javascript:alert(1)">x</a></p>', '<p>x</p>'],
  ['<p>a<img src="https://example.org/cat.png" alt="cat" onerror="b()"></p>', '<p>a[cat]</p>'],
  ['<iframe src="x"><p>in</p></iframe><p>out</p>', '<p>out</p>'],
  ['bare <b>text', '<p>bare <b>text</b></p>'],
  ['<div>a<div>b</div></div>c', '<p>a</p>\n<p>b</p>\n<p>c</p>'],
  ['<table><tr><td>a</td><td>b</td></tr></table>', '<p>a | b</p>'],
  ['<ul>\n  <li><p>a</p></li>\n</ul>', '<ul><li>a</li></ul>'],
  ['</p></b><p>a</p></li>', '<p>a</p>'],
  ['<title><b>x</title><p>&lt;script&gt;</p>', '<p>&lt;script&gt;</p>'],
]

for (const [html, clean] of cleaned) {
  test(`cleans ${html}`, async () => {
    assert.equal(toHtml(await linesOfHtml(html)), clean)
  })
}

test('a megabyte of unclosed elements takes time in proportion', async () => {
  const start = performance.now()
  await linesOfHtml('<div><b>x'.repeat(110_000))
  assert.ok(performance.now() - start < 20_000)
})

test('becomes Markdown', async () => {
  const html = '<h2>A</h2><p>b <b>c</b></p><ul><li>d<ul><li>e</li></ul></li></ul><blockquote>f</blockquote>'
  assert.equal(toMarkdown(await linesOfHtml(html)), '## A\n\nb **c**\n\n- d\n  - e\n\n> f\n')
})
