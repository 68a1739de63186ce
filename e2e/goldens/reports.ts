// Reports, drawn again from the samples of the reference runs, and from made-up runs.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { again, type Experiment, experimentFiles, type Summary } from '../lab/experiment.ts'
import { filesOf } from '../lab/testing.ts'
import { compareRuns, comparisonReport, readRun } from '../report/compare-runs.ts'
import { readCompressed, reportFiles } from '../report/render.ts'
import { capacity } from '../scenarios/capacity.ts'
import { keystrokes } from '../scenarios/keystrokes.ts'
import { payload } from '../scenarios/payload.ts'
import { pubsub } from '../scenarios/pubsub.ts'
import { madeCapacityRun, madeWindowsRun, madeWindRun } from '../scenarios/testing.ts'
import { windcomm } from '../scenarios/windcomm.ts'
import { windows } from '../scenarios/windows.ts'
import type { Golden } from './golden.ts'

const reports = join(import.meta.dirname, '../../reports')

type Files = Readonly<Record<string, string>>

/** By the folder's name: those of reports are read again, the others are made up. */
const drawn: Readonly<Record<string, (name: string) => Promise<Files> | Files>> = {
  'reference-windcomm-loss': drawnAgain(windcomm),
  'reference-keystrokes': drawnAgain(keystrokes),
  'reference-keystrokes-floor': drawnAgain(keystrokes),
  'reference-keystrokes-loss': drawnAgain(keystrokes),
  'reference-itself': drawnAgain(keystrokes),
  'reference-payload': drawnAgain(payload),
  'reference-pubsub': drawnAgain(pubsub),
  'reference-pubsub-floor': drawnAgain(pubsub),
  'reference-windows': drawnAgain(windows),
  'made-windcomm': () => filesOf(windcomm, madeWindRun({ readings: 100 })),
  'made-windows': () => filesOf(windows, madeWindowsRun()),
  'made-capacity': () => filesOf(capacity, madeCapacityRun({ flags: ['--sessions', '2'] })),
  'reference-capacity-2400': drawnAgain(capacity),
  'compared-keystrokes': compareKeystrokes,
}

/** Keeps report.md of each run; of all other files, size and hash. */
export async function reportGoldens(): Promise<readonly Golden[]> {
  const goldens: Golden[] = []
  const lines: string[] = []
  for (const [name, draw] of Object.entries(drawn)) {
    const files = await draw(name)
    goldens.push({ path: `reports/${name}.md`, content: files['report.md'] ?? '' })
    for (const [file, text] of Object.entries(files).toSorted()) {
      const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
      lines.push(
        `${name}/${file} ${text.length} characters, SHA-256 ${hash}${await besideCommitted(name, file, text)}`,
      )
    }
  }
  return [...goldens, { path: 'reports/files.txt', content: `${lines.join('\n')}\n` }]
}

/** The reference reports were drawn by the code of their time. */
async function besideCommitted(name: string, file: string, text: string): Promise<string> {
  const path = join(reports, name, file)
  const committed = await (file.endsWith('.gz') ? readCompressed(path) : readFile(path, 'utf8')).catch(
    () => null,
  )
  if (committed === null) return ''
  return committed === text ? ', as committed' : ', not as committed'
}

/** As `--from` does, but for today's commit. */
function drawnAgain<Run extends object, Result extends Summary>(
  experiment: Pick<Experiment<never, never, Run, Result>, 'name' | 'analyse' | 'report' | 'reread'>,
) {
  return async (name: string): Promise<Files> => {
    const { content, summary } = await again(experiment, join(reports, name), 'COMMIT')
    return experimentFiles(experiment, content, summary)
  }
}

async function compareKeystrokes(): Promise<Files> {
  const [before, after] = await Promise.all(
    ['reference-keystrokes', 'reference-keystrokes-floor'].map((name) => readRun(join(reports, name))),
  )
  if (!before || !after) throw new Error('There are no two runs.')
  const [first, second] = [before, after].map((run) => ({
    ...run,
    folder: run.folder.slice(reports.length + 1),
  }))
  const comparison = compareRuns(first as typeof before, second as typeof after)
  return reportFiles(comparisonReport(comparison), comparison)
}
