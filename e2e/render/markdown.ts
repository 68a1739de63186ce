// report.md: the report as text, for a repository or a terminal; the figures are in report.html.

import type { Run } from '../lab/samples.ts'
import type { Summary } from '../lab/stats/analysis.ts'
import { escapeMarkdown, markdownCode } from './escape.ts'
import { type Report, reportOf } from './report.ts'
import type { Section, Table } from './section.ts'

/** GitHub-flavoured Markdown. */
export function markdown(run: Run, summary: Summary): string {
  return markdownOf(reportOf(run, summary))
}

/** The same for any report. */
export function markdownOf({ title, subtitle, finding, sections }: Report): string {
  const parts = [
    `# ${escapeMarkdown(title)}`,
    `**${escapeMarkdown(finding)}**`,
    escapeMarkdown(subtitle),
    ...sections.flatMap(sectionParts),
  ]
  return `${parts.join('\n\n')}\n`
}

function sectionParts({ title, figure, tables, paragraphs, command }: Section): readonly string[] {
  return [
    `## ${escapeMarkdown(title)}`,
    ...(command === undefined ? [] : [markdownCode(command)]),
    ...(figure === undefined ? [] : ['Drawn in report.html.']),
    ...tables.flatMap((table) => [escapeMarkdown(table.caption), tableText(table)]),
    ...paragraphs.map(escapeMarkdown),
  ]
}

function tableText({ columns, rows }: Table): string {
  const titles = columns.map(({ title }) => title)
  const rule = columns.map(({ kind }) => (kind === 'number' ? '---:' : '---'))
  const lines = [titles.map(escapeMarkdown), rule, ...rows.map((row) => row.map(escapeMarkdown))]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
