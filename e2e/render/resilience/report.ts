// The resilience report's table of contents.

import type { ResilienceRecord } from '../../resilience/record.ts'
import type { ResilienceSummary } from '../../resilience/summary.ts'
import { moment } from '../format.ts'
import type { Report } from '../report.ts'
import { circumstancesSection } from './circumstances.ts'
import { faultsSection } from './faults.ts'
import { memorySection } from './memory.ts'
import { modesSection } from './modes.ts'
import { timelineSection } from './timeline.ts'

export function resilienceReport(record: ResilienceRecord, summary: ResilienceSummary): Report {
  return {
    title: 'Crosswind lab: resilience',
    subtitle: `${moment(summary.startedAt)}, commit ${summary.environment.commit}, seed ${summary.seed}`,
    finding: summary.finding,
    sections: [
      modesSection(summary),
      timelineSection(record, summary),
      faultsSection(record, summary),
      memorySection(record, summary),
      circumstancesSection(summary),
    ],
  }
}
