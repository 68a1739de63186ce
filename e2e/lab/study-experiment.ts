// Runs a study: the scenario declares and measures; summary, report, CSV and --from follow from that.

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { z } from 'zod'
import { type Section, several } from '../report/section.ts'
import { findingOfStudy, formatNextSteps } from '../report/study-finding.ts'
import { briefTables, studySections } from '../report/study-report.ts'
import { formatRows, parseCsv } from './csv.ts'
import { defineExperiment, type Experiment, type Summary } from './experiment.ts'
import { circumstances, readSummary, readText, withoutNulls } from './reread.ts'
import type { Circumstances, Network } from './run-environment.ts'
import { type Analysis, analyseStudy, type Design, type Level, type Measured, type Row } from './study.ts'
import { type WireBytes, wireSections } from './wire-bytes.ts'

/** With levels of the factors besides the mode. */
export type StudyBytes = WireBytes & { readonly [factor: string]: unknown }

/** A finished run. */
export interface StudyRun extends Circumstances, Measured {
  /** Absent if they were not counted. */
  readonly wire?: readonly StudyBytes[]
  /** Further CSV and text files of the report, by name. */
  readonly files?: Readonly<Record<string, string>>
  readonly network?: Network
  readonly networks?: readonly Network[]
  /** Sentences on what else happened or was measured; they follow the finding. */
  readonly observations?: readonly string[]
}

/** Fields of a run that its summary lacks or has in another form. */
type Apart = 'samples' | 'costs' | 'files' | 'boundMs' | Exclude<keyof Analysis, 'levels' | 'baseline'>

export type StudySummary<Run extends StudyRun = StudyRun, Own extends object = object> = Summary &
  Analysis &
  Own &
  Omit<Run, Apart> & {
    readonly scenario: string
    readonly boundMs: number | null
    readonly remarks: readonly string[]
  }

interface Study<Shape extends z.ZodRawShape, Options, Own extends object, Run extends StudyRun>
  extends Pick<
    Experiment<Shape, Options>,
    | 'name'
    | 'about'
    | 'notes'
    | 'flags'
    | 'quick'
    | 'isBench'
    | 'options'
    | 'plan'
    | 'networks'
    | 'carriesPackets'
  > {
  readonly design: Design<NoInfer<Own>>
  /** How the bytes on the wire were counted, if they were. */
  readonly wireWords?: string | ((summary: StudySummary<Run, Own>) => string)
  /** This scenario's own results: further parts of summary.json, computed again by --from. */
  readonly own?: (run: Run, found: Analysis) => Own
  /** Replaces the general finding, which is `usual`. */
  readonly finding?: (run: Run, found: Analysis & Own, usual: string) => string
  /** Further reasons to fail, besides a broken sample. */
  readonly isFailure?: (summary: StudySummary<Run, Own>) => boolean
  /** This run's clocks, versions and numbers, for the report's last section. */
  readonly method?: (summary: StudySummary<Run, Own>) => readonly string[]
  /** Sections that no study has in common, after the first. */
  readonly sections?: (summary: StudySummary<Run, Own>, run: Run) => readonly Section[]
  /** Fields that the run has besides a study's: facts, which summary.json keeps, and further rows with their files. */
  readonly facts?: readonly (Exclude<keyof Run, keyof StudyRun> & string)[]
  readonly rows?: Readonly<Record<string, string>>
  measure: (...given: Parameters<Experiment<Shape, Options>['measure']>) => Promise<Run>
}

const samplesFile = 'samples.csv.gz'

export function defineStudy<
  Shape extends z.ZodRawShape,
  Options,
  Own extends object = object,
  Run extends StudyRun = StudyRun,
>({
  design,
  wireWords = '',
  own = () => ({}) as Own,
  finding = (_, __, usual) => usual,
  isFailure = () => false,
  method = () => [],
  sections = () => [],
  facts = [],
  rows = {},
  ...scenario
}: Study<Shape, Options, Own, Run>): Experiment<Shape, Options, Run, StudySummary<Run, Own>> {
  const isApart = (name: string) =>
    ['samples', 'costs', 'files', 'levels', 'baseline', ...Object.keys(rows)].includes(name)

  return defineExperiment({
    ...scenario,

    analyse(run) {
      const general = analyseStudy(design, run)
      const found = { ...general, ...own(run, general) }
      const usual = findingOfStudy(design, run, general)
      const where = run.network ? `Over the simulated network “${run.network.profile}”: ` : ''
      const sessionMs = (Date.parse(run.finishedAt) - Date.parse(run.startedAt)) / Math.max(1, found.sessions)
      return {
        scenario: scenario.name,
        ...Object.fromEntries(Object.entries(run).filter(([name]) => !isApart(name))),
        boundMs: run.boundMs ?? null,
        ...found,
        finding: `${where}${finding(run, found, usual)}`,
        remarks: [
          ...(run.observations ?? []),
          ...(design.remarks?.(found) ?? []),
          ...formatNextSteps(run, general, sessionMs),
        ],
      } as unknown as StudySummary<Run, Own>
    },

    report(run, summary) {
      const [first, ...others] = studySections(design, summary, run.samples)
      const counting = typeof wireWords === 'string' ? wireWords : wireWords(summary)
      const further = Object.entries(rows).flatMap(([name, file]) => {
        const found = run[name as keyof Run] as readonly Row[] | undefined
        return found ? [[file, formatRows(found)]] : []
      })
      return {
        title: design.question,
        sections: [
          ...(first ? [first] : []),
          ...sections(summary, run),
          ...others,
          ...wireSections(run.wire, counting, wireNaming(design)),
        ],
        tables: briefTables(design, summary),
        method: [...formatMethod(summary), ...method(summary)],
        data: { [samplesFile]: formatRows(run.samples), ...Object.fromEntries(further), ...run.files },
        isFailure: (summary.broken ?? []).length > 0 || isFailure(summary),
      }
    },

    reread: async (folder) => (await rereadStudy(folder, scenario.name, facts, rows)) as unknown as Run,
  })
}

const wireNaming = ({ factors: [, ...others] }: Design) =>
  others.map(
    ({ name, title, label = String }) => [title, (row: StudyBytes) => label(row[name] as Level)] as const,
  )

function formatMethod({ sessions, boundMs }: Pick<StudySummary, 'sessions' | 'boundMs'>): readonly string[] {
  const clock =
    boundMs === null || boundMs === 0
      ? ''
      : ` Two windows’ stamps can differ by at most ${boundMs.toFixed(2)} ms.`
  return [`${several(sessions, 'session')}, each with fresh processes.${clock}`]
}

/** Fields that every study's summary keeps; null or absent where the run has none. */
const kept = [
  ...circumstances,
  'network',
  'networks',
  'wire',
  'observations',
  'matters',
  'until',
  'quick',
  'uncompared',
] as const

async function rereadStudy(
  folder: string,
  name: string,
  facts: readonly string[],
  rows: Readonly<Record<string, string>>,
): Promise<StudyRun> {
  const summary = await readSummary<StudySummary>(folder, name)
  const there = (await readdir(folder)).toSorted()
  const textOf = (file: string) => readText(join(folder, file))
  const further = Object.entries(rows).filter(([, file]) => there.includes(file))
  const files = there.filter(
    (file) =>
      /\.(?:csv|csv\.gz|txt)$/.test(file) && file !== samplesFile && !Object.values(rows).includes(file),
  )
  const texts = await Promise.all(files.map(async (file) => [file, await textOf(file)]))
  const readings = await Promise.all(
    further.map(async ([field, file]) => [field, readRows(await textOf(file))] as const),
  )
  return {
    ...withoutNulls(summary, [...kept, ...(facts as typeof kept)]),
    ...Object.fromEntries(readings),
    ...(texts.length > 0 && { files: Object.fromEntries(texts) }),
    levels: summary.levels,
    baseline: summary.baseline,
    samples: readRows(await textOf(samplesFile)),
    ...(summary.boundMs !== null && { boundMs: summary.boundMs }),
    // The summary has the costs of all sessions together.
    costs: summary.costs.map(({ at, serverCpuMs, serverRssBytes, machineBusy, frontCpuMs }) => ({
      ...at,
      session: 1,
      cpuMs: serverCpuMs ?? Number.NaN,
      rssBytes: serverRssBytes ?? Number.NaN,
      ...(machineBusy != null && { machineBusy }),
      ...(frontCpuMs != null && { frontCpuMs }),
    })),
  }
}

const isNumber = /^-?\d+(?:\.\d+)?$/

/** Empty cells are null; numbers, `true` and `false` are read as such, an `id` never is. */
export function readRows(text: string): readonly Row[] {
  return parseCsv(text).map(
    (row) => Object.fromEntries(Object.entries(row).map(([key, cell]) => [key, cellOf(key, cell)])) as Row,
  )
}

function cellOf(key: string, cell: string): Level | boolean | null {
  if (cell === '') return null
  if (cell === 'true' || cell === 'false') return cell === 'true'
  return key !== 'id' && isNumber.test(cell) ? Number(cell) : cell
}
