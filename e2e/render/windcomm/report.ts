// The WindComm report's table of contents.

import type { WindRun } from '../../lab/windcomm/run.ts'
import type { WindSummary } from '../../lab/windcomm/summary.ts'
import { moment } from '../format.ts'
import type { Report } from '../report.ts'
import type { Section } from '../section.ts'
import { runAgainSection } from '../sections/method.ts'
import { cellsSection } from './cells.ts'
import { checksSection } from './checks.ts'
import { differencesSection } from './differences.ts'
import { methodSection } from './method.ts'
import { networksSection } from './networks.ts'
import { predictionsSection } from './predictions.ts'
import { siteSections } from './sites.ts'
import { tableOneSection } from './table-one.ts'

export function windcommReport(run: WindRun, summary: WindSummary): Report {
  const sections = [
    checksSection(summary),
    tableOneSection(summary),
    remarksSection(summary),
    predictionsSection(summary),
    ...siteSections(run),
    cellsSection(summary),
    differencesSection(summary),
    networksSection(summary),
    methodSection(summary),
    runAgainSection(summary, summary.command, []),
  ]
  return {
    title: 'Crosswind lab: windcomm',
    subtitle: subtitleOf(summary),
    finding: summary.finding,
    sections: sections.filter((section) => section !== undefined),
  }
}

function subtitleOf({ startedAt, environment, faster, rateHz, holdMs, intervalMs }: WindSummary): string {
  const when = `${moment(startedAt)}, commit ${environment.commit}`
  if (faster === 1) return when
  return `${when}; ${faster} times as fast: ${rateHz} Hz, hold ${holdMs} ms, interval ${intervalMs} ms, delays by ${faster}`
}

function remarksSection({ remarks }: WindSummary): Section | undefined {
  return remarks.length === 0
    ? undefined
    : { title: 'Where this run and the paper part, and why', tables: [], paragraphs: remarks }
}
