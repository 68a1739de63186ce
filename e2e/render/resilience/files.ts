// The files of a resilience report, from the run's record and its summary.

import type { ResilienceRecord } from '../../resilience/record.ts'
import type { ResilienceSummary } from '../../resilience/summary.ts'
import { htmlOf } from '../html.ts'
import { markdownOf } from '../markdown.ts'
import { faultsCsv, memoryCsv, outagesCsv, windowsCsv } from './csv.ts'
import { resilienceReport } from './report.ts'

export function resilienceFiles(
  record: ResilienceRecord,
  summary: ResilienceSummary,
): Readonly<Record<string, string>> {
  const report = resilienceReport(record, summary)
  return {
    'summary.json': `${JSON.stringify(summary, null, 2)}\n`,
    'report.md': markdownOf(report),
    'report.html': htmlOf(report),
    'windows.csv': windowsCsv(record),
    'faults.csv': faultsCsv(record),
    'outages.csv': outagesCsv(record),
    'memory.csv': memoryCsv(record),
  }
}
