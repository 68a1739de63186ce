// A report's files (structure, escaping) and its folder (complete or absent, never overwritten).

import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { parsed } from './dom.ts'
import { readCompressed, reportFiles, reportFolder, reportText, requireFree, writeFolder } from './render.ts'

import { number, type Report, text } from './section.ts'

const evil = `<a href="x">&' a|b *c* [d](e)\n# <f> \`\`\``

const report: Report = {
  title: 'Title',
  subtitle: 'Subtitle',
  finding: 'Finding.',
  sections: [
    {
      title: 'Section',
      command: 'echo ```',
      figure: { caption: 'Caption', description: evil, draw: (width) => `<svg width="${width}"></svg>` },
      tables: [{ caption: 'Table', columns: [text('Name'), number('Value')], rows: [[evil, '1']] }],
      paragraphs: [evil],
    },
    { title: 'Empty' },
    {
      title: 'Éach site: how, & when?',
      figures: ['First', 'Second'].map((caption) => ({
        caption,
        description: evil,
        draw: (width: number) =>
          `<svg width="${width}" height="50"><path stroke="var(--ink)" fill="currentColor" d="M0 0h9"></path>&nbsp;</svg>`,
      })),
    },
    { title: 'Section', isMethod: true },
  ],
}

const data = { 'samples.csv': 'a,b\n1,"x\ny"\n2,z\n', 'errors.txt': '' }
const files = reportFiles(report, { finding: 'Finding.', figures: [1] }, data)

test('the page shows the finding, the table and the figure at both widths, and hostile text as text', () => {
  const document = parsed(files['report.html'] ?? '')
  assert.equal(document.querySelector('header .finding')?.textContent, 'Finding.')
  assert.equal(document.querySelectorAll('f, a[href=x]').length, 0)
  assert.equal(document.querySelector('tbody th')?.textContent, evil)
  assert.equal(document.querySelector('td.number')?.textContent, '1')
  assert.equal(document.querySelector('section p')?.textContent, evil)
  assert.equal(document.querySelector('pre')?.textContent, 'echo ```')
  const drawn = [...document.querySelectorAll('#section [role=img]')]
  assert.deepEqual(
    drawn.map((figure) => figure.getAttribute('aria-label')),
    [evil, evil],
  )
  assert.deepEqual(
    drawn.map((figure) => figure.querySelector('svg')?.getAttribute('width')),
    ['980', '330'],
  )
})

test('after the answer everything is folded, each section under its name, and links lead to something', () => {
  const document = parsed(files['report.html'] ?? '')
  const folded = [...document.querySelectorAll('.folded')].map((group) => [
    group.querySelector('h2')?.textContent,
    ...[...group.querySelectorAll('details')].flatMap((one) => [
      one.querySelector('summary h3')?.textContent,
      // Inside, so that a link to it opens the details.
      one.querySelector('summary + [id]')?.id,
    ]),
  ])
  assert.deepEqual(folded, [
    ['In detail', 'Empty', 'empty', 'Éach site: how, & when?', 'each-site-how-when'],
    ['Doubts and method', 'Section', 'section-2'],
  ])
  assert.equal(document.querySelectorAll('details[open]').length, 0)
  const links = [...document.querySelectorAll('a')].map((link) => link.getAttribute('href') ?? '')
  for (const link of links) assert.ok(files[link], link)
  assert.match(document.querySelector('.files')?.textContent ?? '', /samples\.csv \(2 rows, 16 B\)/)
  assert.ok(!links.includes('errors.txt'), 'an empty file has no link')
})

const draw = (width: number) => `<svg width="${width}" height="50"></svg>`
const drawn = (caption: string) => ({ caption, description: caption, draw })
const wideTable = {
  caption: 'Wide',
  columns: [text('Name'), ...['Mean ± sd', 'Median', 'p95', 'Means of the sessions'].map(number)],
  rows: [['SSE + streamed uplink, HTTP/2', '4.88 ± 1.64', '4.50', '8.08', '4.73 to 4.95']],
}

/** Headings and captions that are seen before anything is unfolded, or in the Markdown. */
function shownFirst(sections: Report['sections']) {
  const { 'report.html': page = '', 'report.md': words = '' } = reportFiles(
    { ...report, sections, remarks: ['Remark.'] },
    {},
  )
  const document = parsed(page)
  const all = [...document.querySelectorAll('.finding, h2, figcaption, caption, .meaning p')]
  const open = all.filter((element) => !element.closest('details'))
  return { document, words, texts: open.map(({ textContent }) => textContent?.replace(' SVG', '').trim()) }
}

test('only the first sentences of a long finding are the headline', () => {
  const first = `${'Fast '.repeat(30)}is fastest.`
  const { 'report.html': page = '' } = reportFiles({ ...report, finding: `${first} ${first} Third.` }, {})
  const parts = [...parsed(page).querySelectorAll('.finding')].map(({ textContent }) => textContent)
  assert.deepEqual(parts, [first, `${first} Third.`])
})

test('the order is finding, one figure, one table, remarks; the same in the Markdown', () => {
  const { document, words, texts } = shownFirst([
    { title: 'Answer', tables: [wideTable, { ...wideTable, caption: 'More' }] },
    { title: 'Tables too', figures: [drawn('First')], tables: [{ ...wideTable, caption: 'Others' }] },
    { title: 'Every sample', isLead: true, figure: drawn('Lead'), paragraphs: ['Note.'] },
  ])
  assert.deepEqual(texts, [
    'Finding.',
    'Every sample',
    'Lead',
    'Answer',
    'Wide',
    'What it means',
    'Remark.',
    'In detail',
  ])
  assert.deepEqual(
    [...document.querySelectorAll('summary')].map(({ textContent }) => textContent),
    ['All 5 columns', 'More', 'Tables too', '2 figures as SVG'],
  )
  const places = ['Finding.', 'every-sample.svg', 'Note.', 'Wide', 'More', 'Remark.', 'tables-too.svg']
  assert.deepEqual(
    places.toSorted((one, other) => words.indexOf(one) - words.indexOf(other)),
    places,
  )
  assert.equal(words.match(/Lead/g)?.length, 1)
})

test('a figure that goes before the answer leaves the tables of its section where they are', () => {
  const { document, texts } = shownFirst([
    { title: 'Answer', tables: [wideTable] },
    { title: 'Ratios', figure: drawn('Lead'), tables: [{ ...wideTable, caption: 'In figures' }] },
  ])
  assert.deepEqual(texts.slice(1, 4), ['Ratios', 'Lead', 'Answer'])
  assert.equal(document.querySelector('#ratios-in-figures caption')?.textContent, 'In figures')
  assert.equal(document.querySelectorAll('#ratios figure').length, 1)
  assert.deepEqual(
    [...document.querySelectorAll('[id]')].map(({ id }) => id),
    ['ratios', 'answer', 'ratios-in-figures'],
  )
})

test('on a phone the table has the first columns that fit, and all of them are folded below it', () => {
  const { document } = shownFirst([{ title: 'Answer', tables: [wideTable] }])
  const [first, second, ...others] = [...document.querySelectorAll('table')].map((table) =>
    [...table.querySelectorAll('td')].map((cell) => cell.classList.contains('wide')),
  )
  assert.deepEqual([first, second, others], [[false, false, false, true], [false, false, false, false], []])
  assert.ok(document.querySelector('details.narrow table'))
  const narrow = {
    ...wideTable,
    columns: wideTable.columns.slice(0, 3),
    rows: [wideTable.rows[0]?.slice(0, 3) ?? []],
  }
  assert.equal(
    shownFirst([{ title: 'Answer', tables: [narrow] }]).document.querySelector('details table'),
    null,
  )
})

test('each figure is a self-contained file: well-formed, with its colours, readable in light and dark', () => {
  assert.deepEqual(
    Object.keys(files).filter((name) => name.startsWith('figures/')),
    ['figures/section.svg', 'figures/each-site-how-when.svg', 'figures/each-site-how-when-2.svg'],
  )
  const text = files['figures/each-site-how-when.svg'] ?? ''
  const document = parsed(text, 'image/svg+xml')
  const svg = document.documentElement
  assert.equal(svg.getAttribute('viewBox'), '-16 -16 1012 82')
  assert.equal(svg.querySelector('title')?.textContent, 'Éach site: how, & when?')
  assert.equal(svg.querySelector('desc')?.textContent, evil)
  assert.ok(!text.includes('var(--'))
  assert.equal(svg.querySelector('path')?.getAttribute('stroke'), '#1d1f21')
  assert.match(
    svg.querySelector('style')?.textContent ?? '',
    /dark[\s\S]*\[stroke="#1d1f21"\] \{ stroke: #e4e3df \}/,
  )
  assert.equal(svg.querySelector('rect')?.getAttribute('fill'), '#fdfdfb')
})

test('the Markdown begins with finding, table and files, and folds the rest', () => {
  const words = files['report.md'] ?? ''
  const document = parsed(
    micromark(words, { allowDangerousHtml: true, extensions: [gfm()], htmlExtensions: [gfmHtml()] }),
  )
  assert.deepEqual(
    [...document.body.children].map(({ tagName }) => tagName).filter((name) => name !== 'P'),
    ['H1', 'PRE', 'TABLE', 'DETAILS', 'DETAILS', 'DETAILS'],
  )
  assert.deepEqual(
    [...document.querySelectorAll('summary')].map(({ textContent }) => textContent),
    ['Empty', 'Éach site: how, & when?', 'Section'],
  )
  const links = [...document.querySelectorAll('a')].map((link) => link.getAttribute('href') ?? '')
  assert.ok(links.includes('report.html') && links.includes('samples.csv'))
  assert.ok(links.every((link) => files[link]))
  assert.ok(!/<details>|report\.html/.test(reportText(report)), 'a terminal has no files to link to')
})

test('the Markdown has the same content, escaped, and a fence longer than any in the command', () => {
  const escaped = '&lt;a href="x"&gt;&amp;\' a\\|b \\*c\\* \\[d\\](e) \\# &lt;f&gt; \\`\\`\\`'
  const lines = (files['report.md'] ?? '').split('\n\n')
  assert.deepEqual(lines.slice(0, 3), ['# Title', '**Finding.**', 'Subtitle'])
  assert.ok(lines.includes('````sh\necho ```\n````'))
  assert.ok(lines.includes(`| Name | Value |\n| --- | ---: |\n| ${escaped} | 1 |`))
  assert.ok(lines.includes(escaped))
})

test('summary.json is indented and ends with a newline', () => {
  assert.equal(files['summary.json'], '{\n  "finding": "Finding.",\n  "figures": [\n    1\n  ]\n}\n')
})

test('each run has its own folder', () => {
  const at = new Date(Date.UTC(2026, 4, 12, 9, 30, 5))
  assert.equal(reportFolder('windcomm', at), join('reports', '2026-05-12-093005-windcomm'))
})

async function emptyParent(t: TestContext): Promise<string> {
  const parent = temporaryFolder(t)
  return parent
}

test('a report is written completely, and a second one neither replaces it nor is lost', async (t) => {
  const parent = await emptyParent(t)
  const folder = join(parent, 'reports', 'first')
  await writeFolder(folder, { 'report.md': 'one', 'samples.csv': '', 'figures/one.svg': '<svg/>' })
  await assert.rejects(
    writeFolder(folder, { 'report.md': 'two' }),
    /could not be written to .*first: .* is in .*first\.unfinished\.$/,
  )
  assert.deepEqual((await readdir(folder, { recursive: true })).sort(), [
    'figures',
    join('figures', 'one.svg'),
    'report.md',
    'samples.csv',
  ])
  assert.equal(await readFile(join(folder, 'report.md'), 'utf8'), 'one')
  assert.equal(await readFile(join(`${folder}.unfinished`, 'report.md'), 'utf8'), 'two')
})

test('a folder that cannot hold a report is refused before the run', async (t) => {
  const parent = await emptyParent(t)
  const folder = join(parent, 'run')
  await requireFree(folder)
  await mkdir(folder)
  await requireFree(folder)
  await writeFile(join(folder, 'report.md'), 'one')
  const taken = /run already exists, .* name another folder with --out/
  await assert.rejects(requireFree(folder), taken)
  await assert.rejects(requireFree(join(folder, 'report.md')), /report\.md already exists/)
  await rm(folder, { recursive: true })
  await mkdir(`${folder}.unfinished`)
  await writeFile(join(`${folder}.unfinished`, 'report.md'), 'two')
  await assert.rejects(requireFree(folder), /run\.unfinished already exists/)
})

test('the columns of the reference runs are documented, and their Markdown fits into a pull request', async () => {
  const reports = join(import.meta.dirname, '../../reports')
  const words = await readFile(join(reports, 'README.md'), 'utf8')
  const files = await readdir(reports, { recursive: true })
  const tables = files.filter((name) => /\.csv(\.gz)?$/.test(name))
  assert.ok(tables.length > 5)
  for (const name of tables) {
    const path = join(reports, name)
    const text = name.endsWith('.gz') ? await readCompressed(path) : await readFile(path, 'utf8')
    const [header = ''] = text.split('\n', 1)
    for (const column of header.split(',')) assert.ok(words.includes(`\`${column}\``), `${column} of ${name}`)
  }
  for (const name of files.filter((name) => name.endsWith('report.md'))) {
    // GitHub's limit.
    assert.ok((await readFile(join(reports, name), 'utf8')).length < 65_536, name)
  }
})
