// Markdown in and out: the meaning is preserved.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../../protocol/time.ts'
import { readHtml, writeHtml } from './html.ts'
import { readMarkdown, writeMarkdown } from './markdown.ts'
import { formatOf, type Line, type Marks, sameMarks } from './rich-text.ts'

const own = (html: string) => readHtml(html, { isOwn: true }).lines

/** Asserts that lines are the same after writing and reading. */
function roundTrip(lines: readonly Line[]): void {
  const text = writeMarkdown(lines)
  const back = readMarkdown(text).lines
  assert.equal(writeHtml(back), writeHtml(lines), text)
  assert.deepEqual(back, lines, text)
}

const written: [what: string, html: string, markdown: string][] = [
  ['signs are text', '<p>*a* _b_ [c] &lt;d&gt; `e` \\</p>', '\\*a\\* \\_b\\_ \\[c] \\<d> \\`e\\` \\\\\n'],
  [
    'an exclamation mark before a link',
    '<p>Look!<a href="https://a.org">a</a></p>',
    'Look\\![a](https://a.org)\n',
  ],
  [
    'a bare address',
    '<p><a href="https://example.com/a_b_c">https://example.com/a_b_c</a></p>',
    '<https://example.com/a_b_c>\n',
  ],
  ['single tildes', '<p>~b~ and H~2~O</p>', '\\~b\\~ and H\\~2\\~O\n'],
  ['bold code', '<p><b><code>a</code></b></p>', '**`a`**\n'],
  ['a list that starts elsewhere', '<ol start="7"><li>a</li><li>b</li></ol>', '7. a\n8. b\n'],
  [
    'a list that code interrupts',
    '<ol><li>a</li></ol><pre><code class="language-sh">ls</code></pre><ol start="2"><li>b</li></ol>',
    '1. a\n\n```sh\nls\n```\n\n2. b\n',
  ],
  [
    'underline, subscript and superscript',
    '<p><u>a</u> H<sub>2</sub>O e<sup>x</sup></p>',
    '<u>a</u> H<sub>2</sub>O e<sup>x</sup>\n',
  ],
  ['a line break', '<p>a<br>b</p>', 'a\\\nb\n'],
  ['line breaks in headings', '<h1>a<br>b</h1><h4>c<br><b>d</b></h4>', '# a<br>b\n\n#### c<br>**d**\n'],
  ['quotes', '<blockquote><p>a</p><p>b</p></blockquote>', '> a\n>\n> b\n'],
  ['nested lists', '<ul><li>a<ol><li>b</li></ol></li><li>c</li></ul>', '- a\n  1. b\n- c\n'],
  [
    'footnotes',
    '<p>a[^1] <b>b[^2]</b></p><ul><li>c[^1]</li></ul><p>[^1]: d <i>e</i></p><p>[^2]: f</p>',
    'a[^1] **b[^2]**\n\n- c[^1]\n\n[^1]: d *e*\n\n[^2]: f\n',
  ],
  [
    'signs beside the call of a footnote',
    '<p>Look![^1](a) [^1]: b</p><h2>c[^1]</h2><p>[^1]: # d</p>',
    'Look\\![^1]\\(a) [^1]: b\n\n## c[^1]\n\n[^1]: \\# d\n',
  ],
  [
    'text like a footnote that nothing calls, or that has no note',
    '<p>a[^3]</p><p>[^4]: b</p><p><code>c[^4]</code></p><p>[^5]: d[^5]</p>',
    'a\\[^3]\n\n\\[^4]: b\n\n`c[^4]`\n\n\\[^5]: d\\[^5]\n',
  ],
]

test('the second of two notes with one number is text', () =>
  assert.equal(
    writeMarkdown(own('<p>a[^1]</p><p>[^1]: b</p><p>[^1]: c</p>')),
    'a[^1]\n\n[^1]: b\n\n\\[^1]: c\n',
  ))

for (const [what, html, markdown] of written)
  test(`writes and reads ${what}`, () => {
    assert.equal(writeMarkdown(own(html)), markdown)
    assert.deepEqual(readMarkdown(markdown).lines, own(html))
  })

const read: [what: string, markdown: string, html: string, unkept?: string[]][] = [
  [
    'front matter',
    '---\ntitle: a\n---\n# b\n',
    '<pre><code class="language-yaml">title: a</code></pre><h1>b</h1>',
    ['front matter, which is code now'],
  ],
  ['a rule', 'a\n\n---\n\nb\n', '<p>a</p><p>b</p>', ['a horizontal rule']],
  [
    'a table',
    '| a | b |\n|---|---|\n| c | d |\n',
    '<p><b>a</b> | <b>b</b></p><p>c | d</p>',
    ['the columns of a table'],
  ],
  ['tasks', '- [x] a\n- [ ] b\n', '<ul><li>☑ a</li><li>☐ b</li></ul>'],
  [
    'other schemes',
    '[a](tel:123) [b](ftp://c.org) [d](e.md#f) [g](h/i.md)\n',
    '<p><a href="tel:123">a</a> <a href="ftp://c.org">b</a> <a href="e.md#f">d</a> <a href="h/i.md">g</a></p>',
  ],
  [
    'links to its own headings, which have no address in a document',
    '- [Wind](#wind)\n\n## Wind\n',
    '<ul><li>Wind</li></ul><h2>Wind</h2>',
    ['links to places within the text'],
  ],
  [
    'footnotes with names, in the order of their calls, after the text',
    'a[^Note] b[^2].\n\n[^2]: c\n[^note]: d\n\n    e\n\nf\n',
    '<p>a[^note] b[^2].</p><p>f</p><p>[^note]: d</p><p>e</p><p>[^2]: c</p>',
  ],
  ['a footnote of code', 'a[^1]\n\n[^1]:\n    ```\n    b\n    ```\n', '<p>a[^1]</p><p>[^1]:</p><pre>b</pre>'],
  ['a NUL', 'a\0b `c\0d`\n', '<p>ab <code>cd</code></p>'],
  [
    'text after code in an item',
    '1. a\n\n   ```\n   b\n   ```\n\n   c\n2. d\n',
    '<ol><li>a</li></ol><pre>b</pre><p>c</p><ol start="2"><li>d</li></ol>',
  ],
  [
    'HTML in it',
    '<p align="center">a<br>b</p>\n\n<kbd>c</kbd>\n',
    '<p style="text-align: center">a<br>b</p><p><code>c</code></p>',
  ],
]

for (const [what, markdown, html, unkept = []] of read)
  test(`reads ${what}`, () => {
    const reading = readMarkdown(markdown)
    assert.deepEqual(reading.lines, own(html))
    assert.deepEqual(reading.unkept, unkept)
  })

const emphasized: string[] = [
  '<p>see<b>Note:</b>text</p>',
  '<p>「<b>重要</b>」を<b>「読む」</b>こと</p>',
  '<p>a<i>b</i>c <i>d</i><b>e</b> <b>f<i>g</i></b><i>h</i></p>',
  '<p>x<b> a </b>b<i>. </i>c</p>',
  '<h1 style="text-align: center">a <b>b</b><br>c</h1><p style="text-align: right">d</p>',
  '<p><s>a</s>~<s>b</s></p>',
  '<p>*<b>a</b>* _<i>_</i></p>',
  '<h2># a #</h2>',
  '<p>1. a</p><p>- b</p><p>+ c</p><p>&gt; d</p><p># e</p><p>===</p><p>~~~</p><p>```</p>',
  '<p>a<br># b<br>1. c<br>---</p>',
  '<p>&amp;amp; &lt;b&gt; https://example.com/a_b a@b.org www.a.org</p>',
  '<p>a  b   c</p>',
  '<ul><li></li><li>b</li></ul>',
]

const gone: [what: string, html: string, same: string][] = [
  ['a break at the end of bold words', '<p>x<b>a<br></b>b</p>', '<p>x<b>a</b><br>b</p>'],
  [
    'a break at either end of bold linked words',
    '<p><a href="a"><b><br>b<br></b></a>c</p>',
    '<p><a href="a"><b>b</b></a><br>c</p>',
  ],
  ['bold that is a break alone', '<p>a<b><br></b>b</p>', '<p>a<br>b</p>'],
  ['a break in code', '<p><code>a<br>b</code></p>', '<p><code>a</code><br><code>b</code></p>'],
  [
    'an image in code',
    '<p><code>a<img src="data:image/gif;base64,R0lG" alt="c">b</code></p>',
    '<p><code>a</code><img src="data:image/gif;base64,R0lG" alt="c"><code>b</code></p>',
  ],
  ['control characters', '<p>\u0001<b>.\u0002</b>\u0085a\uffff</p>', '<p><b>.</b>a</p>'],
]

for (const [what, html, same] of gone)
  test(`${what}: the words and their marks stay`, () =>
    assert.deepEqual(readMarkdown(writeMarkdown(own(html))).lines, own(same)))

for (const html of emphasized) test(`keeps ${html}`, () => roundTrip(own(html)))

const textIn = (markdown: string) =>
  readMarkdown(markdown).lines.map(({ runs }) => runs.map(({ text }) => text).join(''))
const half = 10_000

/** Each took half a minute or more. */
const deep: readonly (readonly [what: string, markdown: string, text: string])[] = [
  ['quotes', '>'.repeat(half), '>'.repeat(half - 100)],
  ['lists', `${'- '.repeat(half)}a`, `${'- '.repeat(half - 50)}a`],
  ['numbered lists', `${'1. '.repeat(half)}a`, `${'1. '.repeat(half - 34)}a`],
  ['brackets', '['.repeat(half) + ']'.repeat(half), '['.repeat(half) + ']'.repeat(half)],
  ['images', `${'!['.repeat(half)}a${']'.repeat(half)}`, `${'!['.repeat(half)}a${']'.repeat(half)}`],
]

for (const [what, markdown, text] of deep)
  test(`${what} in each other: beyond a hundred columns or levels they are text`, () => {
    assert.deepEqual(textIn(markdown), [text])
  })

test('emphasis in each other: all words are read, and the outer ones are marked', () => {
  const [line] = readMarkdown(`${'**a '.repeat(half)}b${' a**'.repeat(half)}`).lines
  const text = line?.runs.map((run) => run.text).join('') ?? ''
  assert.equal(text.match(/a/g)?.length, 2 * half)
  assert.equal(text.match(/\*\*/g)?.length, 2 * (half - 50))
})

test('quotes, lists and marks that are not deep are read anywhere in a long text', () => {
  const part = '> - *a* [b](https://a.org) ![c](d)\n>   - **e [f](g)**\n\n'
  const { length } = readMarkdown(part).lines
  const { lines } = readMarkdown(part.repeat(300))
  assert.equal(lines.length, 300 * length)
  assert.deepEqual(lines.slice(-length), lines.slice(0, length))
  const inLabel = '*a [b* c](https://a.org) d*'
  assert.equal(
    writeHtml(readMarkdown(inLabel).lines),
    '<p><i>a </i><a href="https://a.org"><i>b* c</i></a><i> d</i></p>',
  )
  const flat = '**a** [b](https://a.org) '
  assert.equal(readMarkdown(flat.repeat(500)).lines[0]?.runs.length, 1999)
})

test('a short row of a wide table gets some empty cells, not thousands', () => {
  const columns = 3000
  const rows = [...'ab'].map((name) => `|${name}|${name}`)
  const table = ['|x'.repeat(columns), '|-'.repeat(columns), ...rows].join('\n')
  const [head, ...read] = textIn(table)
  assert.equal(head?.match(/x/g)?.length, columns)
  assert.deepEqual(
    read.map((text) => text.replaceAll(' |', '')),
    ['a a', 'b b'],
  )
  assert.ok(read.every((text) => text.length < 100))
  assert.deepEqual(textIn('|a|b|c|\n|-|-|-|\n|d|'), ['a | b | c', 'd | |'])
})

test('generated documents are the same after Markdown, and after HTML', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const lines = generated(seed, true)
    roundTrip(lines)
    const all = generated(seed, false)
    assert.deepEqual(readHtml(writeHtml(all), { isOwn: true }).lines, all, writeHtml(all))
  }
})

/**
 * If `isForMarkdown`, leaves out what Markdown cannot keep: alignment, empty paragraphs, spaces at
 * the ends of lines …
 */
function generated(seed: number, isForMarkdown: boolean): Line[] {
  const random = createSeededRandom(seed)
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item
  const words = [
    'word',
    '[^1]',
    'a',
    '*',
    '_',
    '`',
    '~',
    '!',
    '[',
    ']',
    '(',
    ')',
    '<b>',
    '&amp;',
    '#',
    '-',
    '1.',
    '>',
    '|',
    '\\',
    '。',
    '「',
    '」',
    'é',
    '👩‍👩‍👧',
    'שלום',
    'https://a.org/b_c',
    'www.a.org',
    ':',
    '.',
    '~~',
    '**',
    '$',
    '=',
    '+',
  ]
  const marks = (): Marks =>
    pick<Marks>([
      {},
      {},
      {},
      { bold: true },
      { italic: true },
      { bold: true, italic: true },
      { strike: true },
      { underline: true },
      { script: 'sub' },
      { code: true },
      { bold: true, code: true },
      { link: 'https://a.org/b_c?d=(e)&f' },
      { link: 'docs/a b.md'.replace(' ', '%20'), italic: true },
    ])
  const runsOf = (isCode: boolean) => {
    const runs: { text: string; marks: Marks }[] = []
    const count = Math.floor(random() * 5) + (isForMarkdown ? 1 : 0)
    for (let index = 0; index < count; index += 1) {
      let text = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(words)).join(
        pick(['', ' ', '  ']),
      )
      if (!isForMarkdown && random() < 0.1) text += pick([isCode ? 'x' : '\u2028', ' ', '\u00a0', '\t'])
      const mark = isCode ? {} : marks()
      const last = runs.at(-1)
      if (last && sameMarks(last.marks, mark)) last.text += text
      else runs.push({ text, marks: mark })
    }
    if (!isForMarkdown) return runs
    return runs.map(({ text, marks }) => ({
      // Spaces at either end of code are read as part of the text beside it.
      text: marks.code ? text.trim() || 'x' : text,
      marks,
    }))
  }
  const lines: Line[] = []
  let level = 0
  const length = 1 + Math.floor(random() * 8)
  for (let index = 0; index < length; index += 1) {
    const block = pick(['p', 'p', 'h1', 'h3', 'blockquote', 'pre', 'ul', 'ol', 'ul'])
    const isItem = block === 'ul' || block === 'ol'
    level = isItem ? Math.min(6, 1 + Math.floor(random() * (level + 1))) : 0
    const start = block === 'ol' && random() < 0.2 ? { start: 50 + Math.floor(random() * 50) } : {}
    const align = isForMarkdown || random() < 0.8 ? null : 'center'
    const language = block === 'pre' ? { language: 'js' } : {}
    const format = formatOf({ block: isItem ? `${block}${level}` : block, align, ...start, ...language })
    lines.push({ ...format, runs: runsOf(block === 'pre') })
  }
  return lines
}
