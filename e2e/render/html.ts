// report.html: the report as one file that asks nobody for anything, with no script, for screens and paper.

import type { Run } from '../lab/samples.ts'
import type { Summary } from '../lab/stats/analysis.ts'
import { escapeHtml } from './escape.ts'
import { type Report, reportOf } from './report.ts'
import type { Column, Figure, Section, Table } from './section.ts'
import { style } from './style.ts'

/** CSS pixels. A figure is drawn once for each, as one that merely shrank would have letters too small to read. */
const wide = 980
const narrow = 330

/** A whole document. */
export function html(run: Run, summary: Summary): string {
  return htmlOf(reportOf(run, summary))
}

/** The same for any report. */
export function htmlOf({ title, subtitle, finding, sections }: Report): string {
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
${sections.map(sectionHtml).join('\n')}
</main>
</body>
</html>
`
}

function sectionHtml({ title, figure, tables, paragraphs, command }: Section): string {
  const parts = [
    `<h2>${escapeHtml(title)}</h2>`,
    command === undefined ? '' : `<pre tabindex="0"><code>${escapeHtml(command)}</code></pre>`,
    figure === undefined ? '' : figureHtml(figure),
    ...tables.map(tableHtml),
    ...paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`),
  ]
  return `<section>\n${parts.filter((part) => part !== '').join('\n')}\n</section>`
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

/** In a box of its own that scrolls, reachable by keyboard, so that a wide table never moves the page. */
function tableHtml({ caption, columns, rows }: Table): string {
  return `<div class="scroll" role="region" aria-label="${escapeHtml(caption)}" tabindex="0">
<table>
<caption><span>${escapeHtml(caption)}</span></caption>
<thead><tr>${columns.map((column) => `<th scope="col"${numeric(column)}>${escapeHtml(column.title)}</th>`).join('')}</tr></thead>
<tbody>
${rows.map((row) => `<tr>${row.map((cell, place) => cellHtml(cell, place, columns[place])).join('')}</tr>`).join('\n')}
</tbody>
</table>
</div>`
}

function cellHtml(cell: string, place: number, column: Column | undefined): string {
  const content = escapeHtml(cell)
  return place === 0 ? `<th scope="row">${content}</th>` : `<td${numeric(column)}>${content}</td>`
}

function numeric(column: Column | undefined): string {
  return column?.kind === 'number' ? ' class="number"' : ''
}
