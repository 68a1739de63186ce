// How the run was made, and on what: enough to make it again.

import type { ResilienceSummary } from '../../resilience/summary.ts'
import type { Section } from '../section.ts'
import { runAgainSection } from '../sections/method.ts'

export function circumstancesSection(summary: ResilienceSummary): Section {
  const { command, seed } = summary
  const again = command.includes('--seed') ? command : `${command} --seed ${seed}`
  return runAgainSection(summary, again, paragraphs)
}

const paragraphs = [
  'All modes ran at the same time on one server, a process of its own, each mode on a channel of its own. A fleet window is the web app’s own link, run in Node over the same transports; two windows of each mode write, whether they are connected or not, and all of them receive.',
  'The windows stay in their modes (without --ladder), so that every mode is tried for what it is called. Connections are cut idle, right after a message was sent so that its acknowledgement is lost, and once more while the window comes back; its reading is stalled for a moment, until it counts as silent, and until its queue overflows. A cut that finds nobody connected waits until somebody is, and a window that came back is let be until its link counts as steady.',
  'The server of the run notices silence within five seconds, and keeps a megabyte for a slow window; all else is as it is by default.',
]
