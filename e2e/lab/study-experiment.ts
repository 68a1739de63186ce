// A scenario that is a study: it declares and measures; summary, report, CSV and --from are made from that.

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { z } from 'zod'
import { csv } from '../report/render.ts'
import { type Section, several } from '../report/section.ts'
import { findingOfStudy } from '../report/study-finding.ts'
import { briefTables, studySections } from '../report/study-report.ts'
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
  /** Further CSV and text files of the report, by name. */
  readonly files?: Readonly<Record<string, string>>
  readonly network?: Network
  readonly networks?: readonly Network[]
  /** Sentences on what else happened or was measured; they follow the finding. */
  readonly observations?: readonly string[]
}

export type StudySummary = Summary & Found & { readonly scenario: string; readonly boundMs: number | null }

interface Study<Shape extends z.ZodRawShape, Options, Own extends object>
  extends Pick<
    Experiment<Shape, Options>,
    'name' | 'about' | 'notes' | 'flags' | 'quick' | 'isBench' | 'options' | 'plan' | 'networks'
  > {
  readonly design: Design<Own>
  /** How the bytes on the wire were counted, if they were. */
  readonly wireWords?: string
  /** What only this scenario finds in its samples: further parts of summary.json. */
  readonly own?: (samples: readonly Row[], levels: Measured['levels']) => Own
  /** In place of a sentence for each comparison. */
  readonly finding?: (found: Found & Own) => readonly string[]
  /** Besides a broken sample. */
  readonly isFailure?: (summary: StudySummary & Own) => boolean
  /** This run's clocks, versions and numbers, for the report's last section. */
  readonly method?: (summary: StudySummary & Own) => readonly string[]
  /** Sections that no study has in common, after the first. */
  readonly sections?: (summary: StudySummary & Own, run: StudyRun) => readonly Section[]
  measure: (...given: Parameters<Experiment<Shape, Options>['measure']>) => Promise<StudyRun>
}

const samplesFile = 'samples.csv.gz'

export function defineStudy<Shape extends z.ZodRawShape, Options, Own extends object = object>({
  design,
  wireWords = '',
  own = () => ({}) as Own,
  finding,
  isFailure = () => false,
  method = () => [],
  sections = () => [],
  ...scenario
}: Study<Shape, Options, Own>): Experiment<Shape, Options, StudyRun, StudySummary & Own> {
  return defineExperiment({
    ...scenario,

    analyse(run) {
      const { samples, costs: _, levels: __, baseline: ___, files: ____, boundMs = null, ...others } = run
      const found = { ...analyseStudy(design, run), ...own(samples, run.levels) }
      const remarks = [...(run.observations ?? []), ...(design.remarks?.(found) ?? [])]
      const where = run.network ? `Over the simulated network “${run.network.profile}”: ` : ''
      return {
        scenario: scenario.name,
        ...others,
        boundMs,
        ...found,
        finding: `${where}${findingOfStudy(design, run, found, finding?.(found))}`,
        ...(remarks.length > 0 && { remarks }),
      }
    },

    report(run, summary) {
      const [first, ...others] = studySections(design, summary, run.samples)
      return {
        title: design.question,
        sections: [
          ...(first ? [first] : []),
          ...sections(summary, run),
          ...others,
          ...wireSections(run.wire, wireWords, wireNaming(design)),
        ],
        tables: briefTables(design, summary),
        method: [...methodWords(summary), ...method(summary)],
        data: { [samplesFile]: samplesCsv(run.samples), ...run.files },
        isFailure: (summary.broken ?? []).length > 0 || isFailure(summary),
      }
    },

    reread: (folder) => rereadStudy(folder, scenario.name),
  })
}

const wireNaming = ({ factors: [, ...others] }: Design) =>
  others.map(
    ({ name, title, label = String }) => [title, (row: StudyBytes) => label(row[name] as Level)] as const,
  )

function methodWords({ sessions, boundMs }: StudySummary): readonly string[] {
  const clock =
    boundMs === null || boundMs === 0
      ? ''
      : ` Two windows’ stamps can differ by at most ${boundMs.toFixed(2)} ms.`
  return [`${several(sessions, 'session')}, each with fresh processes.${clock}`]
}

/** Every column that a sample has. */
function samplesCsv(samples: readonly Row[]): string {
  const columns = Object.keys(samples[0] ?? {})
  return csv<Row>(columns, samples)
}

const kept = ['network', 'networks', 'wire', 'observations'] as const

async function rereadStudy(folder: string, name: string): Promise<StudyRun> {
  type Kept = (typeof kept)[number]
  type Known = Omit<StudySummary, Kept> & Pick<StudyRun, Kept>
  const summary = await readSummary<Known>(folder, name)
  const samples = readRows(await readText(join(folder, samplesFile)))
  const files = (await readdir(folder))
    .filter((file) => /\.(?:csv|csv\.gz|txt)$/.test(file) && file !== samplesFile)
    .toSorted()
  const texts = files.map(async (file) => [file, await readText(join(folder, file))])
  return {
    ...withoutNulls(summary, [...circumstances, ...kept]),
    ...(files.length > 0 && { files: Object.fromEntries(await Promise.all(texts)) }),
    levels: summary.levels,
    baseline: summary.baseline,
    samples,
    ...(summary.boundMs !== null && { boundMs: summary.boundMs }),
    // Of all sessions together, as the summary has them.
    costs: summary.costs.map(({ at, serverCpuMs, serverRssBytes, machineBusy }) => ({
      ...at,
      session: 1,
      cpuMs: serverCpuMs ?? Number.NaN,
      rssBytes: serverRssBytes ?? Number.NaN,
      ...(machineBusy != null && { machineBusy }),
    })),
  }
}

const isNumber = /^-?\d+(?:\.\d+)?$/

/** Empty cells are null; numbers, `true` and `false` are read as such, an `id` never is. */
export function readRows(text: string): readonly Row[] {
  const [header = '', ...lines] = text.trimEnd().split('\n')
  const keys = header
    .split(',')
    .map((column) => column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()))
  return lines.map((line) => {
    const cells = cellsIn(line)
    return Object.fromEntries(keys.map((key, place) => [key, cellOf(key, cells[place] ?? '')])) as Row
  })
}

/** A cell with a comma is in quotes, and a quote in it doubled (RFC 4180). */
function cellsIn(line: string): readonly string[] {
  if (!line.includes('"')) return line.split(',')
  return Array.from(line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g), ([, quoted, plain = '']) =>
    quoted === undefined ? plain : quoted.replaceAll('""', '"'),
  )
}

function cellOf(key: string, cell: string): Level | boolean | null {
  if (cell === '') return null
  if (cell === 'true' || cell === 'false') return cell === 'true'
  return key !== 'id' && isNumber.test(cell) ? Number(cell) : cell
}
