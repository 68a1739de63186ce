// A report's files: HTML, Markdown, JSON, CSV and SVG, in a folder that is never overwritten.

import { existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { countCsvRows } from '../lab/csv.ts'
import { figureFile, paletteDeclarations } from './figure-file.ts'
import {
  type Column,
  count,
  type Figure,
  fitted,
  type Report,
  type Section,
  sizeOf,
  type Table,
} from './section.ts'

/** Dated to the second, so that each run has its own. */
export function reportFolder(scenario: string, startedAt: Date): string {
  const date = startedAt.toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '')
  return join('reports', `${date}-${scenario}`)
}

/** `file:///…/report.html`, which terminals and browsers open. */
export const reportAddress = (folder: string) => pathToFileURL(resolve(folder, 'report.html')).href

/** Holds a run's files until it is complete. */
export const unfinishedName = (folder: string) => `${folder}.unfinished`

/**
 * Call before a run, which takes minutes. Rejects if the report's folder is not free, or cannot be
 * made.
 */
export async function requireFree(folder: string): Promise<void> {
  for (const path of [folder, unfinishedName(folder)]) {
    const entries = await readdir(path).catch(() => (existsSync(path) ? [path] : []))
    if (entries.length === 0) continue
    const advice = 'name another folder with --out, or move that one away'
    throw new Error(`${path} already exists, and a report is never overwritten: ${advice}.`)
  }
  const unfinished = unfinishedName(folder)
  try {
    await mkdir(unfinished, { recursive: true })
    await rmdir(unfinished)
  } catch (cause) {
    throw new Error(`A report cannot be written to ${folder}: ${reasonOf(cause)}. Name another with --out.`, {
      cause,
    })
  }
}

/** Call before a run. Makes the file's folder. Rejects if the file cannot be written. */
export async function requireWritable(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true })
    // Keeps the file's content until the run has ended.
    const file = await open(path, 'a')
    const { size } = await file.stat()
    await file.close()
    if (size === 0) await rm(path)
  } catch (cause) {
    throw new Error(`${path} cannot be written: ${reasonOf(cause)}.`, { cause })
  }
}

const reasonOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))

/**
 * Names may contain folders. Renamed into place when complete. Rejects if the folder exists, and
 * names the one that holds the files instead.
 */
export async function writeFolder(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  const unfinished = unfinishedName(folder)
  try {
    await mkdir(unfinished, { recursive: true })
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(unfinished, name)), { recursive: true })
      await writeFile(join(unfinished, name), bytesOf(name, text))
    }
    await mkdir(dirname(folder), { recursive: true })
    await rename(unfinished, folder)
  } catch (cause) {
    const kept = `What could be written is in ${unfinished}.`
    throw new Error(`The report could not be written to ${folder}: ${reasonOf(cause)}. ${kept}`, { cause })
  }
}

/** Raw samples, `NAME.csv.gz`, are compressed; pandas and R read them directly. */
const bytesOf = (name: string, text: string) =>
  name.endsWith('.gz') ? gzipSync(text, { level: 9 }) : Buffer.from(text)

/** The text of a compressed file. */
export const readCompressed = async (path: string) => String(gunzipSync(await readFile(path)))

/**
 * Every file of a report, by its path in the folder. `data`: further files, which the report links
 * to. summary.json is indented so that versions can be compared line by line.
 */
export function reportFiles(
  report: Report,
  summary: object,
  data: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const sections = placed(report)
  const figures = sections.flatMap(({ drawn }) =>
    drawn.map(
      ({ file, figure, wide }) => [file, figureFile(wide, figure.title, figure.description)] as const,
    ),
  )
  const files = {
    ...data,
    'summary.json': `${JSON.stringify(summary, null, 2)}\n`,
    ...Object.fromEntries(figures),
  }
  const links = linksTo(files)
  const outline = outlineOf(sections)
  const words = { 'report.md': markdown(report, outline, links) }
  return { ...files, ...words, 'report.html': html(report, outline, [...links, ...linksTo(words)]) }
}

/** For a terminal: without links to files. */
export function reportText(report: Report): string {
  return markdown(report, outlineOf(placed(report)), [])
}

interface Drawn {
  readonly figure: Figure & { readonly title: string }
  /** Path in the report's folder. */
  readonly file: string
  readonly wide: string
}

interface PlacedSection extends Section {
  /** Its anchor, unique in the report. */
  readonly id: string
  readonly drawn: readonly Drawn[]
}

/** Gives sections their anchors and figures their files, both named after the section. */
function placed({ sections }: Report): readonly PlacedSection[] {
  const taken = new Map<string, number>()
  return sections.map((section) => {
    const { title, figure, figures = [] } = section
    const name = slug(title)
    const times = (taken.get(name) ?? 0) + 1
    taken.set(name, times)
    const id = times === 1 ? name : `${name}-${times}`
    const drawn = [...(figure ? [figure] : []), ...figures].map((one, index) => ({
      figure: { ...one, title },
      file: `figures/${index === 0 ? id : `${id}-${index + 1}`}.svg`,
      wide: one.draw(wide),
    }))
    return { ...section, id, drawn }
  })
}

/** The order in which a report is read. */
interface Outline {
  /** Follows the finding: one figure, with the title of its section. */
  readonly lead: PlacedSection | null
  /** The first section; its first table is the only one that is not folded. */
  readonly answer: PlacedSection | null
  readonly details: readonly PlacedSection[]
  readonly method: readonly PlacedSection[]
}

function outlineOf(sections: readonly PlacedSection[]): Outline {
  const drawn = sections.filter((section) => section.drawn.length > 0)
  const source = drawn.find(({ isLead }) => isLead) ?? drawn[0]
  const split = source && splitLead(source, source === sections[0])
  const [answer = null, ...others] = sections.flatMap((section) =>
    section === source ? (split?.rest ?? []) : [section],
  )
  return {
    lead: split?.lead ?? null,
    answer,
    details: others.filter(({ isMethod }) => !isMethod),
    method: others.filter(({ isMethod }) => isMethod),
  }
}

/** The first figure, and the rest of its section: with the figure, unless it has tables or is the answer. */
function splitLead({ id, title, drawn, ...others }: PlacedSection, isAnswer: boolean) {
  const lead: PlacedSection = { id, title, drawn: drawn.slice(0, 1) }
  if (!isAnswer && drawn.length === 1 && !others.tables?.length) return { lead: { ...others, ...lead } }
  const name = isAnswer ? { id, title } : { id: `${id}-in-figures`, title: `${title}, in figures` }
  const rest: PlacedSection = { ...others, ...name, drawn: drawn.slice(1) }
  return { lead, rest }
}

/** Such as `edmonton-how-the-times-spread`: valid as an anchor and a file name. */
function slug(title: string): string {
  const plain = title.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return (
    plain
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '')
      .slice(0, 60) || 'section'
  )
}

interface FileLink {
  readonly file: string
  /** Such as `30,000 rows, 5.1 MB`. */
  readonly size: string
}

/** Empty files get no link. */
function linksTo(files: Readonly<Record<string, string>>): readonly FileLink[] {
  return Object.entries(files)
    .filter(([, content]) => content !== '')
    .map(([file, content]) => {
      const size = sizeOf(bytesOf(file, content).length)
      return {
        file,
        size: /\.csv(\.gz)?$/.test(file) ? `${count(countCsvRows(content))} rows, ${size}` : size,
      }
    })
}

const isFigure = (file: string) => file.startsWith('figures/')

/** CSS pixels. Figures are drawn for both widths: scaled down, their text would be too small. */
const wide = 980
const narrow = 330

/** Characters that are read at a glance. */
const headlineLength = 240

/** Its first sentences large; those that do not fit into a headline follow in the size of the text. */
function findingHtml(finding: string): string {
  const sentences = Array.from(new Intl.Segmenter('en', { granularity: 'sentence' }).segment(finding))
  const ends = sentences.map(({ index, segment }) => index + segment.length)
  const end = ends.findLast((index) => index <= headlineLength) ?? ends[0] ?? 0
  return [finding.slice(0, end), finding.slice(end)]
    .filter((part) => part.trim() !== '')
    .map((part) => `<p class="finding">${escapeHtml(part.trim())}</p>`)
    .join('\n')
}

/** No script and no external resource. Closed details open in print and for a link to their content. */
function html(
  { title, subtitle, finding, remarks = [] }: Report,
  { lead, answer, details, method }: Outline,
  links: readonly FileLink[],
): string {
  const meaning = remarks.map((remark) => `<p>${escapeHtml(remark)}</p>`).join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<header>
<h1>${escapeHtml(title)}</h1>
${findingHtml(finding)}
<p class="subtitle">${escapeHtml(subtitle)}</p>
</header>
<div class="pair">
${lead ? `<section id="${lead.id}">\n<h2>${escapeHtml(lead.title)}</h2>\n${partsHtml(lead)}\n</section>` : ''}
<div>
${answer ? answerHtml(answer, answer.id === lead?.id) : ''}
${meaning === '' ? '' : `<section class="meaning">\n<h2>What it means</h2>\n${meaning}\n</section>`}
</div>
</div>
<div class="pair">
${foldedHtml('In detail', details)}
<div>
${foldedHtml('Doubts and method', method)}
${linksHtml(links)}
</div>
</div>
</main>
</body>
</html>
`
}

function foldedHtml(title: string, sections: readonly PlacedSection[]): string {
  if (sections.length === 0) return ''
  // The anchor is inside: browsers open the details around a link's target, not the target itself.
  const folded = sections.map(
    (section) => `<details>
<summary><h3>${escapeHtml(section.title)}</h3></summary>
<div id="${section.id}">
${partsHtml(section)}
</div>
</details>`,
  )
  return `<section class="folded">\n<h2>${title}</h2>\n${folded.join('\n')}\n</section>`
}

/** `isUnderLead`: its heading and its figure come before it. */
function answerHtml({ id, title, tables = [], ...others }: PlacedSection, isUnderLead: boolean): string {
  const [table, ...more] = tables
  const parts = [
    isUnderLead ? '' : `<h2>${escapeHtml(title)}</h2>`,
    table ? answerTableHtml(table) : '',
    ...more.map(
      (one) =>
        `<details class="more">\n<summary>${escapeHtml(one.caption)}</summary>\n${tableHtml(one)}\n</details>`,
    ),
    partsHtml({ id, title, ...others }),
  ]
  return `<section${isUnderLead ? '' : ` id="${id}"`}>\n${parts.filter(Boolean).join('\n')}\n</section>`
}

function linksHtml(links: readonly FileLink[]): string {
  const link = ({ file }: FileLink, words: string) => `<a href="${escapeHtml(file)}">${escapeHtml(words)}</a>`
  const data = links
    .filter(({ file }) => !isFigure(file))
    .map((one) => `${link(one, one.file)} (${one.size})`)
  const figures = links
    .filter(({ file }) => isFigure(file))
    .map((one) => link(one, one.file.replace(/^figures\/|\.svg$/g, '')))
  const drawn = `<details><summary>${figures.length === 1 ? '1 figure' : `${figures.length} figures`} as SVG</summary>
<p>${figures.join(', ')}</p></details>`
  return `<aside class="files" aria-label="Files">
<p>Beside this page: ${data.join(', ')}.</p>
${figures.length === 0 ? '' : drawn}
</aside>`
}

function partsHtml({ drawn, tables = [], paragraphs = [], command }: PlacedSection): string {
  const parts = [
    command && `<pre tabindex="0"><code>${escapeHtml(command)}</code></pre>`,
    ...drawn.map(figureHtml),
    ...tables.map((table) => tableHtml(table)),
    ...paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`),
  ]
  return parts.filter(Boolean).join('\n')
}

function figureHtml({ figure: { caption, description, draw }, file, wide: drawnWide }: Drawn): string {
  const drawn = (kind: string, svg: string) =>
    `<div class="${kind}" role="img" aria-label="${escapeHtml(description)}">${svg}</div>`
  return `<figure>
${drawn('wide', drawnWide)}
${drawn('narrow', draw(narrow))}
<figcaption>${escapeHtml(caption)} <a href="${file}">SVG</a></figcaption>
</figure>`
}

/** Characters in the width of a phone, and of names, which are wrapped there. */
const phone = { table: 42, name: 15 }

/** On a phone without the columns that do not fit; all of them are folded below it. */
function answerTableHtml(table: Table): string {
  const { columns, rows } = table
  const names = rows.map(([name = '', ...cells]) => [name.slice(0, phone.name), ...cells])
  const shown = fitted({ ...table, rows: names }, phone.table).columns.length
  if (shown === columns.length) return tableHtml(table)
  const whole = `<summary>All ${columns.length} columns</summary>\n${tableHtml(table)}`
  return `${tableHtml(table, shown)}\n<details class="more narrow">\n${whole}\n</details>`
}

/** A text that is longer than this, in characters, is wrapped. */
const longText = 32

/**
 * Scrolls in its own focusable box, so that a wide table never widens the page. A phone shows the
 * first columns only, `shown` of them.
 */
function tableHtml({ caption, columns, rows }: Table, shown = columns.length): string {
  const classOf = (column: Column | undefined, index: number) => {
    const isLong = column?.kind === 'text' && rows.some((row) => (row[index]?.length ?? 0) > longText)
    const classes = [column?.kind === 'number' && 'number', isLong && 'long', index >= shown && 'wide']
    const names = classes.filter(Boolean).join(' ')
    return names === '' ? '' : ` class="${names}"`
  }
  const classes = columns.map(classOf)
  const head = columns.map(({ title }, index) => `<th scope="col"${classes[index]}>${escapeHtml(title)}</th>`)
  const cellOf = (cell: string, index: number) =>
    index === 0
      ? `<th scope="row"${classes[index]}>${escapeHtml(cell)}</th>`
      : `<td${classes[index]}>${escapeHtml(cell)}</td>`
  return `<div class="scroll" role="region" aria-label="${escapeHtml(caption)}" tabindex="0">
<table>
<caption><span>${escapeHtml(caption)}</span></caption>
<thead><tr>${head.join('')}</tr></thead>
<tbody>
${rows.map((row) => `<tr>${row.map(cellOf).join('')}</tr>`).join('\n')}
</tbody>
</table>
</div>`
}

/**
 * The finding, the main figure, the answer and the files; the other sections are folded. Without
 * `links` nothing is folded.
 */
function markdown(
  { title, subtitle, finding, remarks = [] }: Report,
  { lead, answer, details, method }: Outline,
  links: readonly FileLink[],
): string {
  const hasFiles = links.length > 0
  const data = links
    .filter(({ file }) => !isFigure(file))
    .map(({ file, size }) => `[${escapeMarkdown(file)}](${file}) (${size})`)
  const parts = [
    `# ${escapeMarkdown(title)}`,
    `**${escapeMarkdown(finding)}**`,
    escapeMarkdown(subtitle),
    ...[lead, answer].flatMap((section) => (section ? sectionMarkdown(section, hasFiles) : [])),
    ...remarks.map(escapeMarkdown),
    hasFiles && `With the figures: [report.html](report.html). Data: ${data.join(', ')}.`,
    ...[...details, ...method].flatMap((section) => {
      const words = sectionMarkdown(section, hasFiles)
      if (!hasFiles) return [`## ${escapeMarkdown(section.title)}`, ...words]
      return [`<details>\n<summary>${escapeHtml(section.title)}</summary>`, ...words, '</details>']
    }),
  ]
  return `${parts.filter(Boolean).join('\n\n')}\n`
}

/** Omits its title. */
function sectionMarkdown(
  { drawn, tables = [], paragraphs = [], command }: PlacedSection,
  hasFiles: boolean,
): readonly string[] {
  return [
    command ? codeMarkdown(command) : '',
    ...drawn.map(({ figure: { caption }, file }) =>
      hasFiles ? `[Figure](${file}): ${escapeMarkdown(caption)}` : '',
    ),
    ...tables.flatMap((table) => [escapeMarkdown(table.caption), tableMarkdown(table)]),
    ...paragraphs.map(escapeMarkdown),
  ].filter(Boolean)
}

export function tableMarkdown({ columns, rows }: Table): string {
  const rule = columns.map(({ kind }) => (kind === 'number' ? '---:' : '---'))
  const lines = [columns.map(({ title }) => title), ...rows].map((row) => row.map(escapeMarkdown))
  return lines
    .toSpliced(1, 0, rule)
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

/** The fence is longer than any run of backticks in the command. */
function codeMarkdown(plain: string): string {
  const longest = Math.max(2, ...plain.matchAll(/`+/g).map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}sh\n${plain}\n${fence}`
}

/** For running text and table cells. */
function escapeMarkdown(plain: string): string {
  return plain
    .replace(/[\\`*_[\]|#~]/g, '\\$&')
    .replace(/[&<>]/g, (character) => entities[character] ?? character)
    .replace(/\s+/g, ' ')
}

/** For content and quoted attributes. */
function escapeHtml(plain: string): string {
  return plain.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const style = `
:root {
  ${paletteDeclarations('light')}
  color-scheme: light dark;
}
@media screen and (prefers-color-scheme: dark) { :root {
  ${paletteDeclarations('dark')}
} }
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  -webkit-text-size-adjust: 100%; text-size-adjust: 100%;
}
main { max-width: 66rem; margin: 0 auto; padding: 1.75rem 1.25rem 4rem; }
h1 { margin: 0; font-size: 0.95rem; font-weight: 600; color: var(--soft); }
h2 { margin: 0 0 0.75rem; font-size: 1.15rem; font-weight: 650; line-height: 1.3; }
.finding { margin: 0.5rem 0 0; max-width: 46em; font-size: clamp(1.1rem, 1rem + 0.5vw, 1.35rem); line-height: 1.4; text-wrap: pretty; }
.finding + .finding { font-size: 1rem; }
header .subtitle { max-width: none; margin: 0.6rem 0 0; color: var(--soft); font-size: 0.875rem; }
section { margin-top: 2.5rem; scroll-margin-top: 1rem; }
header + .pair > section:first-child { margin-top: 1.5rem; }
p { max-width: 42em; margin: 0.75rem 0 0; text-wrap: pretty; overflow-wrap: anywhere; }
section p { color: var(--soft); font-size: 0.925rem; }
.meaning p { color: inherit; font-size: 1rem; }
figure { margin: 0 0 1.75rem; max-width: 61.25rem; }
figure svg { display: block; width: 100%; height: auto; max-width: 100%; overflow: visible; }
figcaption { max-width: 46em; margin-top: 0.6rem; color: var(--soft); font-size: 0.875rem; line-height: 1.5; }
a { color: var(--accent); text-underline-offset: 0.15em; text-decoration-thickness: 0.06em; }
summary { cursor: pointer; }
summary::marker { color: var(--soft); }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
.folded > details { border-top: 1px solid var(--line); }
.folded > details:last-child { border-bottom: 1px solid var(--line); }
.folded > details > summary { padding: 0.55rem 0; }
.folded > details > div { padding: 0.75rem 0 1.5rem; scroll-margin-top: 3.5rem; }
.folded > h2 { margin-bottom: 0.6rem; }
h3 { display: inline; margin: 0; font-size: 0.95rem; font-weight: 500; }
summary:hover, summary:hover h3 { color: var(--accent); }
details[open] > summary > h3 { font-weight: 650; }
.more { margin: 0 0 0.4rem; font-size: 0.875rem; }
.more summary { width: max-content; max-width: 100%; padding: 0.2rem 0; color: var(--soft); }
.more[open] summary { margin-bottom: 0.6rem; }
.more caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.files { margin-top: 2.5rem; }
.files p, .files details { max-width: 60em; margin-top: 0.5rem; color: var(--soft); font-size: 0.875rem; }
.files summary { width: max-content; }
.narrow { display: none; }
.scroll {
  overflow-x: auto; margin: 0 0 1.25rem;
  background:
    linear-gradient(to right, var(--paper) 30%, transparent) left / 2rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 30%, transparent) right / 2rem 100% no-repeat local,
    linear-gradient(to right, var(--line), transparent) left / 0.7rem 100% no-repeat scroll,
    linear-gradient(to left, var(--line), transparent) right / 0.7rem 100% no-repeat scroll;
}
.scroll:focus-visible, pre:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
table { border-collapse: collapse; font-size: 0.875rem; line-height: 1.35; font-variant-numeric: tabular-nums; }
caption { padding-bottom: 0.5rem; text-align: left; font-size: 0.875rem; font-weight: 600; }
caption span { display: inline-block; position: sticky; left: 0; max-width: min(100%, calc(100vw - 2rem)); }
th, td { padding: 0.42rem 0 0.42rem 1.1rem; text-align: left; vertical-align: baseline; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { padding-left: 0; }
thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; white-space: normal; border-bottom-color: var(--soft); }
tbody th { font-weight: 500; }
tbody .long { min-width: 12rem; white-space: normal; }
.number { text-align: right; }
pre { overflow-x: auto; margin: 0 0 1.5rem; padding: 0.8rem 1rem; background: var(--fill); border: 1px solid var(--line); border-radius: 4px; font: 0.85rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
/* A wide table has the margin beside the column too. */
@media screen and (min-width: 68rem) and (max-width: 129.99rem) {
  .scroll { margin-right: calc(33rem - 50vw + 2rem); }
}
@media screen and (min-width: 130rem) {
  main { max-width: 124rem; }
  .pair { display: grid; grid-template-columns: minmax(0, 61.25rem) minmax(0, 1fr); column-gap: 3.5rem; }
  .pair > :only-child { grid-column: 1 / -1; }
  header + .pair > section:first-child, header + .pair > div > section:first-child { margin-top: 1.75rem; }
  .finding { max-width: 70em; }
}
@media screen and (max-width: 44rem) {
  main { padding: 1.25rem 1rem 3rem; }
  .wide { display: none; }
  .narrow { display: block; max-width: 30rem; }
  th, td { padding-left: 0.8rem; }
  tbody th, tbody th.long { position: sticky; left: 0; min-width: 6.5rem; max-width: 8rem; white-space: normal; background: var(--paper); }
  section { margin-top: 2rem; }
  .folded > details > summary { padding: 0.7rem 0; }
}
@media print {
  :root { font-size: 10pt; --paper: white; }
  main { max-width: none; padding: 0; }
  section { margin-top: 1.6rem; }
  h2, summary { break-after: avoid; }
  figure, table, tr { break-inside: avoid; }
  details::details-content { content-visibility: visible; }
  .folded summary { list-style: none; }
  .scroll { overflow: visible; background: none; }
  th, td { padding-left: 0.7rem; }
  table { font-size: 8pt; }
  pre { white-space: pre-wrap; }
  .files details, figcaption a, .narrow { display: none; }
  .files a { color: inherit; text-decoration: none; }
}
`
