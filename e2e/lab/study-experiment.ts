// A scenario that is a study: it declares and measures; summary, report, CSV and --from are made from that.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { z } from 'zod'
import { csv } from '../report/render.ts'
import { type Section, several } from '../report/section.ts'
import { findingOfStudy, nextWords } from '../report/study-finding.ts'
import { briefTable, studySections } from '../report/study-report.ts'
import { defineExperiment, type Experiment, type Summary } from './experiment.ts'
import { circumstances, readSummary, readText, withoutNulls } from './reread.ts'
import type { Circumstances, Network } from './run-environment.ts'
import { analyseStudy, type Design, type Found, type Level, type Measured, type Row } from './study.ts'
import { type WireBytes, wireSections } from './wire-bytes.ts'

/** With levels of the factors besides the mode. */
export type StudyBytes = WireBytes & { readonly [factor: string]: unknown }

/** A finished run. */
export interface StudyRun extends Circumstances, Measured {
  /** Absent if they were not counted. */
  readonly wire?: readonly StudyBytes[]
  readonly network?: Network
  readonly networks?: readonly Network[]
}

/** What a run has that its summary has not, or in another form. */
type Apart = 'samples' | 'costs' | 'boundMs' | Exclude<keyof Found, 'levels' | 'baseline'>

export type StudySummary<Run extends StudyRun = StudyRun, Details = unknown> = Summary &
  Found &
  Omit<Run, Apart> & {
    readonly scenario: string
    readonly boundMs: number | null
    readonly remarks: readonly string[]
    readonly details: Details
  }

interface Study<Shape extends z.ZodRawShape, Options, Run extends StudyRun, Details>
  extends Pick<
    Experiment<Shape, Options>,
    'name' | 'about' | 'notes' | 'flags' | 'quick' | 'isBench' | 'options' | 'plan' | 'networks'
  > {
  readonly design: Design
  /** How the bytes on the wire were counted, if they were. */
  readonly wireWords?: string | ((summary: StudySummary<Run, Details>) => string)
  /** Figures that no other study has, from the samples: in summary.json under `details`, computed again by --from. */
  readonly details?: (run: Run, found: Found) => Details
  /** In place of the general finding, which is `usual`. */
  readonly finding?: (run: Run, found: Found, details: Details, usual: string) => string
  /** What the finding means: sentences that follow it. */
  readonly remarks?: (run: Run, found: Found, details: Details) => readonly string[]
  /** This run's clocks, versions and numbers, for the report's last section. */
  readonly method?: (summary: StudySummary<Run, Details>) => readonly string[]
  /** Sections that no study has in common, after the first. */
  readonly sections?: (summary: StudySummary<Run, Details>, run: Run) => readonly Section[]
  /** A promise of the scenario was broken. */
  readonly isFailure?: (summary: StudySummary<Run, Details>) => boolean
  /** Fields that the run has besides a study's: facts, which summary.json keeps, and further rows with their files. */
  readonly facts?: readonly (Exclude<keyof Run, keyof StudyRun> & string)[]
  readonly rows?: Readonly<Record<string, string>>
  measure: (...given: Parameters<Experiment<Shape, Options>['measure']>) => Promise<Run>
}

const samplesFile = 'samples.csv.gz'

export function defineStudy<
  Shape extends z.ZodRawShape,
  Options,
  Run extends StudyRun = StudyRun,
  Details = undefined,
>({
  design,
  wireWords = '',
  details: detailsOf,
  finding: findingOf,
  remarks = () => [],
  method = () => [],
  sections = () => [],
  isFailure = () => false,
  facts = [],
  rows = {},
  ...scenario
}: Study<Shape, Options, Run, Details>): Experiment<Shape, Options, Run, StudySummary<Run, Details>> {
  const isApart = (name: string) =>
    ['samples', 'costs', 'levels', 'baseline', ...Object.keys(rows)].includes(name)

  return defineExperiment({
    ...scenario,

    analyse(run) {
      const found = analyseStudy(design, run)
      const details = detailsOf?.(run, found) as Details
      const usual = findingOfStudy(design, run, found)
      const where = run.network ? `Over the simulated network “${run.network.profile}”: ` : ''
      const sessionMs = (Date.parse(run.finishedAt) - Date.parse(run.startedAt)) / Math.max(1, found.sessions)
      return {
        scenario: scenario.name,
        ...Object.fromEntries(Object.entries(run).filter(([name]) => !isApart(name))),
        boundMs: run.boundMs ?? null,
        ...found,
        details,
        finding: `${where}${findingOf?.(run, found, details, usual) ?? usual}`,
        remarks: [...remarks(run, found, details), ...nextWords(run, found, sessionMs)],
      } as unknown as StudySummary<Run, Details>
    },

    report(run, summary) {
      const [first, ...others] = studySections(design, summary, run.samples)
      const counting = typeof wireWords === 'string' ? wireWords : wireWords(summary)
      const further = Object.entries(rows).flatMap(([name, file]) => {
        const found = run[name as keyof Run] as readonly Row[] | undefined
        return found ? [[file, rowsCsv(found)]] : []
      })
      return {
        title: design.question,
        sections: [
          ...(first ? [first] : []),
          ...sections(summary, run),
          ...others,
          ...wireSections(run.wire, counting, wireNaming(design)),
        ],
        tables: [briefTable(design, summary)],
        method: [...methodWords(summary), ...method(summary)],
        data: { [samplesFile]: rowsCsv(run.samples), ...Object.fromEntries(further) },
        isFailure: isFailure(summary),
      }
    },

    reread: async (folder) =>
      ({
        ...(await rereadStudy(folder, scenario.name, facts)),
        ...(await rereadRows(folder, rows)),
      }) as unknown as Run,
  })
}

const wireNaming = ({ factors: [, ...others] }: Design) =>
  others.map(
    ({ name, title, label = String }) => [title, (row: StudyBytes) => label(row[name] as Level)] as const,
  )

function methodWords({ sessions, boundMs }: Pick<StudySummary, 'sessions' | 'boundMs'>): readonly string[] {
  const clock =
    boundMs === null || boundMs === 0
      ? ''
      : ` Two windows’ stamps can differ by at most ${boundMs.toFixed(2)} ms.`
  return [`${several(sessions, 'session')}, each with fresh processes.${clock}`]
}

/** Every column that a row has. */
const rowsCsv = (all: readonly Row[]) => csv<Row>(Object.keys(all[0] ?? {}), all)

/** Of every study; a summary has null, or nothing, where its run has no such field. */
const known = [
  ...circumstances,
  'network',
  'networks',
  'wire',
  'matters',
  'until',
  'quick',
  'uncompared',
] as const

async function rereadStudy(folder: string, name: string, facts: readonly string[]): Promise<StudyRun> {
  const summary = await readSummary<StudySummary>(folder, name)
  const samples = readRows(await readText(join(folder, samplesFile)))
  return {
    ...withoutNulls(summary, [...known, ...(facts as typeof known)]),
    levels: summary.levels,
    baseline: summary.baseline,
    samples,
    ...(summary.boundMs !== null && { boundMs: summary.boundMs }),
    // Of all sessions together, as the summary has them.
    costs: summary.costs.map(({ at, serverCpuMs, serverRssBytes }) => ({
      ...at,
      session: 1,
      cpuMs: serverCpuMs ?? Number.NaN,
      rssBytes: serverRssBytes ?? Number.NaN,
    })),
  }
}

async function rereadRows(folder: string, files: Readonly<Record<string, string>>) {
  const there = Object.entries(files)
    .map(([name, file]) => [name, join(folder, file)] as const)
    .filter(([, path]) => existsSync(path))
  return Object.fromEntries(
    await Promise.all(there.map(async ([name, path]) => [name, readRows(await readText(path))] as const)),
  )
}

const isNumber = /^-?\d+(?:\.\d+)?$/

/** Empty cells are null; numbers, `true` and `false` are read as such, an `id` never is. */
export function readRows(text: string): readonly Row[] {
  const [header = '', ...lines] = text.trimEnd().split('\n')
  const keys = header
    .split(',')
    .map((column) => column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()))
  return lines.map((line) => {
    const cells = line.split(',')
    return Object.fromEntries(keys.map((key, place) => [key, cellOf(key, cells[place] ?? '')])) as Row
  })
}

function cellOf(key: string, cell: string): Level | boolean | null {
  if (cell === '') return null
  if (cell === 'true' || cell === 'false') return cell === 'true'
  return key !== 'id' && isNumber.test(cell) ? Number(cell) : cell
}
