// summary.json: the summary as it stands, for programs.

import type { Summary } from '../lab/stats/analysis.ts'

/** Indented, with a newline at the end, so that two runs can be compared line by line. */
export function json(summary: Summary): string {
  return `${JSON.stringify(summary, null, 2)}\n`
}
