// The report's first lines: does the run reproduce the paper, point by point.

import type { Check } from '../../lab/windcomm/checks.ts'
import type { WindSummary } from '../../lab/windcomm/summary.ts'
import { placeName } from '../../lab/windcomm/words.ts'
import { count, figure, nothing, signed } from '../format.ts'
import { number, type Section, text } from '../section.ts'

export function checksSection(summary: WindSummary): Section {
  const { checks } = summary
  const failed = checks.filter(({ holds }) => !holds)
  return {
    title: 'Does the paper hold here?',
    tables: [
      {
        caption: `${checks.length - failed.length} of ${checks.length} points hold`,
        columns: [text('Point'), text('Holds'), number('Found'), text('Wanted')],
        rows: checks.map((check) => [
          check.site === null ? check.what : `${placeName(check.site)}: ${lower(check.what)}`,
          check.holds ? 'yes' : 'NO',
          checkFound(check),
          check.wanted,
        ]),
      },
    ],
    paragraphs: [
      ...paceParagraph(summary),
      'The experiment is that of Pimentel and Nickerson (IEEE Internet Computing 16(4), 2012): a wind sensor’s readings, timed one way from the server to windows far away, over WebSocket, long polling and polling. There the methods ran one after the other, as only one process could read the sensor; here all ran at once over the same readings and the same course of the network.',
    ],
  }
}

/** With its unit where that is not plain: `1,200`, `3.87`, `+0.51 %`, `0.31 ms`. */
export function checkFound({ found, unit }: Pick<Check, 'found' | 'unit'>): string {
  if (found === null) return nothing
  return formats[unit](found)
}

const formats: Readonly<Record<Check['unit'], (found: number) => string>> = {
  '%': (found) => `${signed(found)} %`,
  readings: count,
  times: figure,
  ms: (found) => `${figure(found)} ms`,
}

function paceParagraph({ faster, rateHz, holdMs, intervalMs }: WindSummary): readonly string[] {
  if (faster === 1) return []
  return [
    `This run was ${faster} times as fast as asked for: rate (${rateHz} Hz), hold (${holdMs} ms), interval (${intervalMs} ms) and the networks’ delays were scaled together. What machine and browser themselves take, a few milliseconds, was not, so that it weighs ${faster} times as much: a run like this tries the experiment out and does not replace one at full length.`,
  ]
}

function lower(words: string): string {
  return words.charAt(0).toLowerCase() + words.slice(1)
}
