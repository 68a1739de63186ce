// Reports, drawn again: from the samples of the reference runs, and from made-up runs.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Experiment, readOptions, type Summary } from '../lab/experiment.ts'
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

/** By the folder's name: those of reports are read again, others made up. */
const drawn: Readonly<Record<string, (name: string) => Promise<Files> | Files>> = {
  'reference-windcomm-loss': readWindcomm,
  'reference-keystrokes': readKeystrokes,
  'reference-keystrokes-floor': readKeystrokes,
  'reference-keystrokes-loss': readKeystrokes,
  'reference-itself': readKeystrokes,
  'reference-payload': readPayload,
  'reference-pubsub': readPubsub,
  'reference-pubsub-floor': readPubsub,
  'made-windcomm': () => filesOf(windcomm, madeWindRun({ readings: 100 })),
  'made-windows': () => filesOf(windows, madeWindowsRun()),
  'made-capacity': () => filesOf(capacity, madeCapacityRun({ flags: ['--sessions', '2'] })),
  'compared-keystrokes': compareKeystrokes,
}

/** Of each, report.md; of all other files, size and hash. */
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

/** As `windcomm --from` does, but for today's commit. */
async function readWindcomm(name: string): Promise<Files> {
  const { options } = readOptions(windcomm, ['--from', join(reports, name)])
  const run = await windcomm.measure(options, null as never)
  return filesOf(windcomm, { ...run, analysedBy: 'COMMIT' })
}

async function readKeystrokes(name: string): Promise<Files> {
  const summary = await summaryOf(name)
  return filesOf(keystrokes as Drawing, {
    ...known(summary, [
      ...circumstances,
      'baseline',
      'clock',
      'until',
      'quick',
      'network',
      'networks',
      'peers',
    ]),
    ...known(summary, ['endedPeers', 'windows']),
    modes: summary.modes.map(({ mode }) => mode),
    samples: await rowsOf(name, 'samples.csv.gz'),
    serverUse: serverUseOf(summary),
  })
}

async function readPayload(name: string): Promise<Files> {
  const summary = await summaryOf(name)
  const rows = await rowsOf(name, 'samples.csv.gz')
  return filesOf(payload as Drawing, {
    ...known(summary, [...circumstances, 'baseline', 'clock', 'waitMs', 'network']),
    modes: summary.modes.map(({ mode }) => mode),
    sizes: String(summary.parameters.sizes).split(', ').map(Number),
    samples: rows.map((row) => ({ ...row, block: 1, key: row.message })),
    serverUse: serverUseOf(summary),
  })
}

async function readPubsub(name: string): Promise<Files> {
  const summary = await summaryOf(name)
  const fields = ['waitMs', 'brokerVersions', 'modes', 'users', 'brokers']
  return filesOf(pubsub as Drawing, {
    ...known(summary, [...circumstances, ...fields]),
    requeued: summary.requeued,
    iterations: await rowsOf(name, 'iterations.csv'),
  })
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

/** Whose run is put together from files, which its type cannot know. */
type Drawing = Pick<Experiment<never, unknown, object, Summary>, 'name' | 'analyse' | 'report'>

interface CommittedSummary {
  readonly [field: string]: unknown
  readonly parameters: Readonly<Record<string, unknown>>
  readonly modes: readonly {
    readonly mode: string
    readonly serverCpuMs: number
    readonly serverRssBytes: number
  }[]
}

async function summaryOf(name: string): Promise<CommittedSummary> {
  return JSON.parse(await readFile(join(reports, name, 'summary.json'), 'utf8'))
}

const circumstances = ['command', 'parameters', 'startedAt', 'finishedAt', 'environment', 'stopped']

/** Without those that are null in a summary and absent from a run. */
function known(summary: CommittedSummary, names: readonly string[]): object {
  return Object.fromEntries(names.flatMap((name) => (summary[name] == null ? [] : [[name, summary[name]]])))
}

function serverUseOf({ modes }: CommittedSummary): object {
  return Object.fromEntries(
    modes.map(({ mode, serverCpuMs: cpuMs, serverRssBytes: rssBytes }) => [mode, { cpuMs, rssBytes }]),
  )
}

/** By the keys of their columns. No cell contains commas or quotes. */
async function rowsOf(name: string, file: string): Promise<readonly Record<string, unknown>[]> {
  const path = join(reports, name, file)
  const text = file.endsWith('.gz') ? await readCompressed(path) : await readFile(path, 'utf8')
  const [columns = [], ...rows] = text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','))
  const keys = columns.map((column) => column.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase()))
  return rows.map((cells) =>
    Object.fromEntries(keys.map((key, place) => [key, readCell(cells[place] ?? '')])),
  )
}

function readCell(cell: string): unknown {
  if (cell === '') return null
  if (cell === 'true' || cell === 'false') return cell === 'true'
  return Number.isNaN(Number(cell)) ? cell : Number(cell)
}
