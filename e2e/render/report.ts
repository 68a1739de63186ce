// The report's table of contents: what is said, in which order, whatever it is written in.

import type { Run } from '../lab/samples.ts'
import type { Summary } from '../lab/stats/analysis.ts'
import { moment } from './format.ts'
import type { Section } from './section.ts'
import { comparisonsSection } from './sections/comparisons.ts'
import { costSection } from './sections/cost.ts'
import { distributionSection } from './sections/distribution.ts'
import { faultsSection, slowestSection } from './sections/faults.ts'
import { circumstancesSection, methodSection } from './sections/method.ts'
import { modesSection } from './sections/modes.ts'
import { peersSection } from './sections/peers.ts'
import { stagesSection } from './sections/stages.ts'
import { timelineSection } from './sections/timeline.ts'

export interface Report {
  readonly title: string
  /** When and what, in one line. */
  readonly subtitle: string
  /** The finding in one sentence. */
  readonly finding: string
  readonly sections: readonly Section[]
}

/** Sections that have nothing to say (peers that were not run) are left out. */
export function reportOf(run: Run, summary: Summary): Report {
  const sections = [
    modesSection(summary),
    distributionSection(run),
    comparisonsSection(summary),
    peersSection(summary),
    faultsSection(summary),
    stagesSection(summary),
    timelineSection(run),
    slowestSection(run),
    costSection(summary),
    methodSection(summary),
    circumstancesSection(summary),
  ]
  return {
    title: `Crosswind lab: ${summary.scenario}`,
    subtitle: `${moment(summary.startedAt)}, commit ${summary.environment.commit}`,
    finding: summary.finding,
    sections: sections.filter((section) => section !== undefined),
  }
}
