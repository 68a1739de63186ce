// A report's files: HTML, Markdown, JSON and CSV, in a folder that is never overwritten.

import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Column, Figure, Report, Section, Table } from './section.ts'

/** Dated to the second, so that each run has its own. */
export function reportFolder(scenario: string, startedAt: Date): string {
  const date = startedAt.toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '')
  return join('reports', `${date}-${scenario}`)
}

const unfinishedName = (folder: string) => `${folder}.unfinished`

/** Call before a run, which takes minutes. Rejects when the report's folder is not free. */
export async function requireFree(folder: string): Promise<void> {
  for (const path of [folder, unfinishedName(folder)]) {
    const entries = await readdir(path).catch(({ code }) => (code === 'ENOENT' ? [] : [path]))
    if (entries.length === 0) continue
    const advice = 'name another folder with --out, or move that one away'
    throw new Error(`${path} is there already, and a report is never overwritten: ${advice}.`)
  }
}

/** Renamed into place when complete. Rejects when the folder exists, and names the one that holds the files instead. */
export async function writeFolder(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  const unfinished = unfinishedName(folder)
  try {
    await mkdir(unfinished, { recursive: true })
    for (const [name, text] of Object.entries(files)) await writeFile(join(unfinished, name), text)
    await mkdir(dirname(folder), { recursive: true })
    await rename(unfinished, folder)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : cause
    const kept = `What could be written of it is in ${unfinished}.`
    throw new Error(`The report could not be written to ${folder}: ${why}. ${kept}`, { cause })
  }
}

/** Files common to all reports; summary.json is indented for comparison by line. */
export function reportFiles(report: Report, summary: object): Record<string, string> {
  return {
    'summary.json': `${JSON.stringify(summary, null, 2)}\n`,
    'report.md': markdown(report),
    'report.html': html(report),
  }
}

type CsvCell = string | number | boolean | null

/** Comma-separated (RFC 4180, but LF line ends); null is an empty cell. */
export function csv<Row>(
  columns: readonly (readonly [name: string, cell: (row: Row, place: number) => CsvCell])[],
  rows: readonly Row[],
): string {
  const lines = [
    columns.map(([name]) => name),
    ...rows.map((row, place) => columns.map(([, cell]) => escapeCsv(String(cell(row, place) ?? '')))),
  ]
  return `${lines.map((line) => line.join(',')).join('\n')}\n`
}

export function csvTime(ms: number | null): string | null {
  return ms === null ? null : ms.toFixed(3)
}

function escapeCsv(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field
}

/** CSS pixels. Figures are drawn for both widths: scaled down, their letters would be too small. */
const wide = 980
const narrow = 330

/** No script and no external resource. */
function html({ title, subtitle, finding, sections }: Report): string {
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
<p class="finding">${escapeHtml(finding)}</p>
<p class="subtitle">${escapeHtml(subtitle)}</p>
</header>
${sections.map((section) => `<section>\n${sectionHtml(section).filter(Boolean).join('\n')}\n</section>`).join('\n')}
</main>
</body>
</html>
`
}

function sectionHtml({ title, figure, tables = [], paragraphs = [], command }: Section) {
  return [
    `<h2>${escapeHtml(title)}</h2>`,
    command && `<pre tabindex="0"><code>${escapeHtml(command)}</code></pre>`,
    figure && figureHtml(figure),
    ...tables.map(tableHtml),
    ...paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`),
  ]
}

function figureHtml({ caption, description, draw }: Figure): string {
  const drawn = (kind: string, width: number) =>
    `<div class="${kind}" role="img" aria-label="${escapeHtml(description)}">${draw(width)}</div>`
  return `<figure>
${drawn('wide', wide)}
${drawn('narrow', narrow)}
<figcaption>${escapeHtml(caption)}</figcaption>
</figure>`
}

/** Scrolls in its own focusable box, so that a wide table never widens the page. */
function tableHtml({ caption, columns, rows }: Table): string {
  const numeric = (column: Column | undefined) => (column?.kind === 'number' ? ' class="number"' : '')
  const head = columns.map((column) => `<th scope="col"${numeric(column)}>${escapeHtml(column.title)}</th>`)
  const cellOf = (cell: string, place: number) =>
    place === 0
      ? `<th scope="row">${escapeHtml(cell)}</th>`
      : `<td${numeric(columns[place])}>${escapeHtml(cell)}</td>`
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

function markdown({ title, subtitle, finding, sections }: Report): string {
  const parts = [
    `# ${escapeMarkdown(title)}`,
    `**${escapeMarkdown(finding)}**`,
    escapeMarkdown(subtitle),
    ...sections.flatMap(({ title, figure, tables = [], paragraphs = [], command }) => [
      `## ${escapeMarkdown(title)}`,
      command && codeMarkdown(command),
      figure && 'Drawn in report.html.',
      ...tables.flatMap((table) => [escapeMarkdown(table.caption), tableMarkdown(table)]),
      ...paragraphs.map(escapeMarkdown),
    ]),
  ]
  return `${parts.filter(Boolean).join('\n\n')}\n`
}

function tableMarkdown({ columns, rows }: Table): string {
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
  --paper: #fdfdfb; --ink: #1d1f21; --soft: #5d6165; --line: #d9d9d3; --fill: #f4f4f0;
  --accent: #1f66a6; --peer: #85693a; --shade: #e6e7e3;
  color-scheme: light dark;
}
@media screen and (prefers-color-scheme: dark) { :root {
  --paper: #16181b; --ink: #e4e3df; --soft: #a3a5a8; --line: #34373b; --fill: #1e2124;
  --accent: #7fb2e5; --peer: #b9a27a; --shade: #2a2e33;
} }
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  -webkit-text-size-adjust: 100%; text-size-adjust: 100%;
}
main { max-width: 66rem; margin: 0 auto; padding: 3.5rem 1.25rem 4rem; }
h1 { margin: 0; font-size: 0.95rem; font-weight: 600; color: var(--soft); }
h2 { margin: 0 0 0.75rem; font-size: 1.15rem; font-weight: 650; line-height: 1.3; }
.finding { margin: 0.75rem 0 0.9rem; max-width: 34em; font-size: clamp(1.25rem, 1rem + 1.6vw, 1.75rem); line-height: 1.32; letter-spacing: -0.01em; text-wrap: pretty; }
.subtitle { margin: 0; color: var(--soft); font-size: 0.9rem; }
section { margin-top: 3.25rem; }
p { max-width: 42em; margin: 0.75rem 0 0; text-wrap: pretty; overflow-wrap: anywhere; }
section > p { color: var(--soft); font-size: 0.925rem; }
figure { margin: 0 0 1.75rem; }
figure svg { display: block; width: 100%; height: auto; max-width: 100%; overflow: visible; }
figcaption { max-width: 46em; margin-top: 0.6rem; color: var(--soft); font-size: 0.875rem; line-height: 1.5; }
.narrow { display: none; }
.scroll {
  overflow-x: auto; margin: 0 0 1.75rem;
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
thead th { color: var(--soft); font-weight: 500; border-bottom-color: var(--soft); }
tbody th { font-weight: 500; }
.number { text-align: right; }
pre { overflow-x: auto; margin: 0 0 1.5rem; padding: 0.8rem 1rem; background: var(--fill); border: 1px solid var(--line); border-radius: 4px; font: 0.85rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
@media screen and (max-width: 44rem) {
  main { padding: 2rem 1rem 3rem; }
  .wide { display: none; }
  .narrow { display: block; max-width: 30rem; }
  tbody th { position: sticky; left: 0; min-width: 6.5rem; max-width: 8rem; white-space: normal; background: var(--paper); }
  section { margin-top: 2.5rem; }
}
@media print {
  :root { font-size: 10pt; --paper: white; }
  main { max-width: none; padding: 0; }
  section { margin-top: 1.6rem; }
  h2 { break-after: avoid; }
  figure, table, tr { break-inside: avoid; }
  .scroll { overflow: visible; background: none; }
  th, td { padding-left: 0.7rem; }
  table { font-size: 8pt; }
  pre { white-space: pre-wrap; }
}
`
