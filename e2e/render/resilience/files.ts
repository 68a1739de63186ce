// The files of a resilience report, from the run's record and its summary.

import type { ResilienceRecord } from '../../resilience/record.ts'
import type { ResilienceSummary } from '../../resilience/summary.ts'
import { faultsCsv, memoryCsv, outagesCsv, windowsCsv } from './csv.ts'

export function resilienceFiles(
  record: ResilienceRecord,
  summary: ResilienceSummary,
): Readonly<Record<string, string>> {
  return {
    'summary.json': `${JSON.stringify(summary, null, 2)}\n`,
    'windows.csv': windowsCsv(record),
    'faults.csv': faultsCsv(record),
    'outages.csv': outagesCsv(record),
    'memory.csv': memoryCsv(record),
  }
}
