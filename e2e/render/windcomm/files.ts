// The files of a WindComm report, from the run and its summary.

import type { WindRun } from '../../lab/windcomm/run.ts'
import type { WindSummary } from '../../lab/windcomm/summary.ts'
import { htmlOf } from '../html.ts'
import { markdownOf } from '../markdown.ts'
import { readingsCsv, samplesCsv } from './csv.ts'
import { windcommReport } from './report.ts'

export function windcommFiles(run: WindRun, summary: WindSummary): Readonly<Record<string, string>> {
  const report = windcommReport(run, summary)
  return {
    'summary.json': `${JSON.stringify(summary, null, 2)}\n`,
    'report.md': markdownOf(report),
    'report.html': htmlOf(report),
    'samples.csv': samplesCsv(run),
    'readings.csv': readingsCsv(run),
  }
}
