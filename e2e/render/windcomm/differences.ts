// The paper's hypothesis tests at its 99 %, and what is left of them when neighbouring readings are known to resemble each other.

import type { Doubt, TestSummary } from '../../lab/windcomm/hypotheses.ts'
import type { WindSummary } from '../../lab/windcomm/summary.ts'
import { count, figure, interval, probability, signed } from '../format.ts'
import { number, type Section, type Table, text } from '../section.ts'
import { cellLabel, inSentence } from './labels.ts'

export function differencesSection({ tests, cells }: WindSummary): Section {
  const title = 'Which differences stand'
  if (tests.length === 0) return { title, tables: [], paragraphs: ['Nothing was compared.'] }
  const worth = cells.flatMap(({ effectiveN, n }) => (effectiveN === null || n === 0 ? [] : [effectiveN / n]))
  return {
    title,
    tables: [
      tableOf(
        tests.filter(({ welch }) => welch.pCorrected === null),
        'The paper’s tests',
        'p',
      ),
      tableOf(
        tests.filter(({ welch }) => welch.pCorrected !== null),
        'What the paper could not have',
        'p, Holm',
      ),
    ].filter(({ rows }) => rows.length > 0),
    paragraphs: [
      'Welch’s t-test at 99 %, two-sided, as in the paper, which took each reading for independent of the one before. It is not: readings that follow one another wait in the same queue and are held up by the same stall. The column “Correlated” takes the differences reading by reading, so that what the network did to both cancels, and counts only as many of them as they are worth: n times their variance over their long-run variance, by a flat-top lag window whose width the data choose (Politis and White, Econometric Reviews 23, 2004). Its intervals were checked by coverage on series of known memory.',
      `By the same measure the readings of a cell are worth ${figure(100 * Math.min(...worth))} to ${figure(100 * Math.max(...worth))} % of their number.`,
      'The paper’s own tests are not corrected for their number, as there; those of the other modes are, by Holm, all of them together. A difference stands where both ways find it and where it is larger than what two windows’ clocks may differ by; clients of one site share a clock, so that its error is in both and cancels.',
    ],
  }
}

function tableOf(tests: readonly TestSummary[], caption: string, p: string): Table {
  return {
    caption: `${caption}: differences of the means in milliseconds, intervals at 99 %`,
    columns: [
      text('Site, first − second'),
      number('Difference'),
      text('Verdict'),
      ...['Welch', p, 'Correlated', 'Worth'].map(number),
    ],
    rows: tests.map(row),
  }
}

function row(test: TestSummary): readonly string[] {
  const { site, mode, against, differenceMs, welch, paired } = test
  return [
    `${cellLabel(site, mode)} − ${inSentence(against)}`,
    signed(differenceMs),
    verdictWords(test),
    interval(welch.ci99Ms),
    probability(welch.pCorrected ?? welch.p),
    interval(paired.ci99Ms),
    count(paired.effectiveReadings),
  ]
}

const doubts: Readonly<Record<Doubt, string>> = {
  chance: 'open: chance',
  neighbours: 'open: correlated',
  clock: 'open: clock',
}

function verdictWords({ verdict, doubt }: TestSummary): string {
  return doubt === null ? verdict : doubts[doubt]
}
