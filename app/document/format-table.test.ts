// Checks the tables in docs/documents.md against the results of HTML, Markdown and plain text.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { readHtml, readText, writeHtml, writeText } from './html.ts'
import { readMarkdown, writeMarkdown } from './markdown.ts'
import { imageCharacter, type Line } from './rich-text.ts'

const formats: readonly ((lines: readonly Line[]) => readonly Line[])[] = [
  (lines) => readHtml(writeHtml(lines), { isOwn: true }).lines,
  (lines) => readMarkdown(writeMarkdown(lines)).lines,
  (lines) => readText(writeText(lines)).lines,
]

const dot = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
const code = (language: string) => `<pre><code class="language-${language}">a</code></pre>`

/** Contents, as a document's own HTML. */
const contents: readonly (readonly [what: string, html: string])[] = [
  ['bold', '<p>a <b>b</b></p>'],
  ['italic', '<p>a <i>b</i></p>'],
  ['underlined', '<p>a <u>b</u></p>'],
  ['struck', '<p>a <s>b</s></p>'],
  ['code in a line', '<p>a <code>b</code></p>'],
  ['bold, italic, struck code', '<p><b><i><s><code>a</code></s></i></b></p>'],
  ['underlined code', '<p>a <u><code>b</code></u></p>'],
  ['subscript and superscript', '<p>a<sub>b</sub> c<sup>d</sup></p>'],
  [
    'links: http, https, ftp',
    '<p><a href="http://a.b/c?d=(e)&amp;f">a</a> <a href="https://a.b">b</a> <a href="ftp://a.b">c</a></p>',
  ],
  ['links: mailto, tel', '<p><a href="mailto:a@b.org">a</a> <a href="tel:+46">b</a></p>'],
  ['links: relative to the page', '<p><a href="a/b.md#c">a</a> <a href="/e">c</a></p>'],
  ['links: to a place in the page', '<p><a href="#a">a</a></p>'],
  ['footnotes', '<p>a[^1]</p><p>[^1]: b</p>'],
  ['small images', `<p>a <img src="${dot}" alt="b"></p>`],
  ['names of other images', '<p>a <span data-image="cat">[cat]</span></p>'],
  ['paragraphs', '<p>a</p><p>b</p>'],
  ['headings of levels 1 to 6', [1, 2, 3, 4, 5, 6].map((level) => `<h${level}>a</h${level}>`).join('')],
  ['quotes', '<blockquote><p>a</p><p>b</p></blockquote>'],
  ['code', '<pre>a\n  b\n\nc</pre>'],
  ['the language of code', code('js')],
  ['neighbouring code of two languages', `${code('js')}${code('sh')}`],
  ['bulleted lists', '<ul><li>a</li><li>b</li></ul>'],
  ['numbered lists', '<ol><li>a</li><li>b</li></ol>'],
  ['the number of the first item', '<ol start="7"><li>a</li><li>b</li></ol>'],
  ['neighbouring numbered lists', '<ol><li>a</li></ol><ol start="1"><li>b</li></ol>'],
  ['lists of six levels', `${'<ul><li>a'.repeat(6)}${'</li></ul>'.repeat(6)}`],
  ['a numbered list within a bulleted one', '<ul><li>a<ol><li>b</li></ol></li><li>c</li></ul>'],
  ['empty items', '<ul><li>a</li><li></li><li>b</li></ul>'],
  ['alignment of paragraphs', '<p style="text-align: center">a</p><p style="text-align: justify">b</p>'],
  ['alignment of headings', '<h2 style="text-align: right">a</h2>'],
  ['alignment of list items', '<ul><li style="text-align: right">a</li></ul>'],
  ['alignment of quotes', '<blockquote><p style="text-align: right">a</p></blockquote>'],
  ['alignment of code', '<pre style="text-align: right">a</pre>'],
  ['empty paragraphs', '<p>a</p><p><br></p><p>b</p>'],
  ['line breaks', '<p>a<br>b</p>'],
  ['line breaks in headings', '<h1>a<br>b</h1><h4>c<br><b>d</b></h4>'],
  ['several spaces in code in a line', '<p>a <code>b  c</code></p>'],
  ['empty lines in a paragraph', '<p>a<br><br>b</p>'],
  ['several spaces', '<p>a   b</p>'],
  ['spaces at the beginning of a line', '<p>  a</p>'],
  ['spaces at the end of a line', '<p>a  </p><p>b</p>'],
  ['tabs', '<p>a\tb</p>'],
  ['control characters', '<p>a\u0001b</p>'],
  ['hard spaces', '<p>5&nbsp;km</p>'],
  ['signs of Markdown and HTML', '<p># *a* [b](c) &lt;b&gt; &amp;amp; 1. ~~d~~</p>'],
]

const isKept = (lines: readonly Line[], back: readonly Line[]) => isDeepStrictEqual(back, lines)
const letters = (lines: readonly Line[]) =>
  lines
    .flatMap(({ runs }) => runs.map(({ text }) => text))
    .join('')
    .replaceAll(imageCharacter, '')
    .replaceAll(/\s/g, '')

/** An image's placeholder makes the text longer. */
function cell(lines: readonly Line[], back: readonly Line[]): string {
  if (isKept(lines, back)) return 'kept'
  return letters(back).length > letters(lines).length ? 'as text' : 'lost'
}

/**
 * Contents that a document cannot hold, in HTML and in Markdown; null if a format cannot express it
 * either.
 */
const foreign: readonly (readonly [what: string, html: string | null, markdown: string | null])[] = [
  ['tables', '<table><tr><td>a<td>b</table>', '| a | b |\n|---|---|\n'],
  ['task boxes', '<ul><li><input type="checkbox" checked>a</ul>', '- [x] a\n'],
  ['remote images', '<img src="https://a.b/c.png" alt="c">', '![c](https://a.b/c.png)\n'],
  ['films, sounds, frames', '<video src="a.mp4"></video>', '<video src="a.mp4"></video>\n'],
  ['horizontal rules', '<hr>', '---\n'],
  ['links to its own places', '<a href="#b">a</a>', '[a](#b)\n'],
  ['formulas', '<math><mi>a</mi></math>', null],
  ['links of other schemes', '<a href="javascript:a()">a</a>', '[a](javascript:b)\n'],
  [
    'scripts, styles, forms',
    '<script>a()</script><style>b{}</style><select><option>c</select>',
    '<script>a()</script>\n',
  ],
  ['front matter', null, '---\ntitle: a\n---\n'],
]

function foreignCell(what: string, lines: readonly Line[] | undefined): string {
  if (!lines) return '–'
  if (lines.some(({ block }) => block === 'pre')) return 'as code'
  const isLink = what.startsWith('links')
  if (isLink)
    return lines.some(({ runs }) => runs.some(({ marks }) => marks.link)) ? 'kept' : 'the words alone'
  return letters(lines) === '' ? 'lost' : 'as text'
}

/** Generates the tables of docs/documents.md. */
function formatTable(): string {
  const rows = contents.map(([what, html]) => {
    const { lines } = readHtml(html, { isOwn: true })
    return [what, ...formats.map((there) => cell(lines, there(lines)))]
  })
  const others = foreign.map(([what, html, markdown]) => [
    what,
    foreignCell(what, html === null ? undefined : readHtml(html).lines),
    foreignCell(what, markdown === null ? undefined : readMarkdown(markdown).lines),
  ])
  // A row for everything that is kept alike.
  const table = (head: readonly string[], body: readonly (readonly string[])[]) => {
    const alike = Map.groupBy(body, ([, ...cells]) => cells.join(' | '))
    const rows = Array.from(alike, ([cells, rows]) => [rows.map(([what]) => what).join('; '), cells])
    return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |\n`).join('')
  }
  return `${table(['of a document', 'HTML', 'Markdown', 'plain text'], rows)}\n${table(['of other files', 'HTML', 'Markdown'], others)}`
}

test('docs/documents.md has the current tables', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/documents.md'), 'utf8')
  assert.ok(page.includes(formatTable().trim()), `paste it again:\n\n${formatTable()}`)
})

test('HTML keeps everything', () => {
  const [, , ...rows] = formatTable().split('\n\n')[0]?.trim().split('\n') ?? []
  assert.ok(rows.length > 0)
  for (const row of rows) assert.equal(row.split(' | ')[1], 'kept', row)
})
