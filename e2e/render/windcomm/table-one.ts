// The paper's Table 1 beside the same methods here: means, deviations, ratios.

import type { CellSummary } from '../../lab/windcomm/cells.ts'
import { baseline, methods, methodWords, modeOf } from '../../lab/windcomm/methods.ts'
import { paperTests } from '../../lab/windcomm/paper.ts'
import type { WindSummary } from '../../lab/windcomm/summary.ts'
import { placeName, span } from '../../lab/windcomm/words.ts'
import type { Method } from '../../network/predict.ts'
import { figure, nothing, spread } from '../format.ts'
import { number, type Section, type Table, text } from '../section.ts'
import { type BesideRow, besideThePaper } from './figures/beside-the-paper.ts'
import { paceNote } from './labels.ts'

/** Undefined where no site is the paper's. */
export function tableOneSection(summary: WindSummary): Section | undefined {
  const rows = rowsOf(summary)
  if (rows.length === 0) return undefined
  return {
    title: 'Table 1, side by side',
    figure: {
      caption: `Means in milliseconds (logarithmic). Filled: this run; hollow: the paper’s three tests. Behind the name: how many times WebSocket’s mean, here and in the paper${paceNote(summary.faster)}.`,
      description: rows.map(({ label, note }) => `${label}: ${note}`).join('; '),
      draw: (width) => besideThePaper(rows, width),
    },
    tables: [table(summary, rows)],
    paragraphs: [
      'The paper’s columns are its tests in the order of its table, n = 1,200 each. The profiles of the networks were set so that WebSocket’s mean comes out at the mean of the paper’s three; the other two methods’ means were not set, they follow.',
    ],
  }
}

interface Row extends BesideRow {
  readonly cell: CellSummary
  readonly site: string
  readonly method: Method
}

function rowsOf({ cells, faster }: WindSummary): readonly Row[] {
  return [...new Set(cells.map(({ site }) => site))].flatMap((site) =>
    methods.flatMap((method) => {
      const cell = cells.find((one) => one.site === site && one.mode === modeOf[method])
      const tests = paperTests(site, method)
      if (!cell || tests.length === 0) return []
      return [
        {
          cell,
          site,
          method,
          label: `${placeName(site)}, ${methodWords[method]}`,
          note: noteOf(
            cell,
            tests.map(({ ratio }) => ratio),
          ),
          here: cell.meanMs === null ? null : cell.meanMs * faster,
          paper: tests.map(({ meanMs }) => meanMs),
        },
      ]
    }),
  )
}

/** `3.87 times (3.72 to 3.77)`. */
function noteOf({ ratioToWebsocket, ratioToWebsocketCi95 }: CellSummary, papers: readonly number[]): string {
  if (ratioToWebsocket === null || ratioToWebsocketCi95 === null) return ''
  return `${ratioToWebsocket.toFixed(2)} × (${span(papers).replace(' to ', '–')})`
}

function table(summary: WindSummary, rows: readonly Row[]): Table {
  return {
    caption: `Mean ± standard deviation in milliseconds, and the ratio to WebSocket’s mean${paceNote(summary.faster)}`,
    columns: [text('Site, method'), ...['Here', 'Ratio', 'Paper, 1st', '2nd', '3rd', 'Ratios'].map(number)],
    rows: rows.map(({ cell, site, method }) => {
      const tests = paperTests(site, method)
      return [
        `${placeName(site)}, ${methodWords[method]}`,
        spread(cell.meanMs, cell.sdMs),
        figure(cell.ratioToWebsocket),
        ...[0, 1, 2].map((place) => printed(tests[place])),
        modeOf[method] === baseline ? nothing : tests.map(({ ratio }) => ratio.toFixed(2)).join(', '),
      ]
    }),
  }
}

/** As the paper has it, digit by digit. */
function printed(test: { readonly meanMs: number; readonly sdMs: number } | undefined): string {
  return test ? `${digits(test.meanMs)} ± ${digits(test.sdMs)}` : nothing
}

/** One decimal at least. */
function digits(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value)
}
