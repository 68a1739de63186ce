// `npm run report`: two runs side by side with intervals, or many runs of one comparison.

import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { holm, standardDeviation } from '../../client/statistics.ts'
import { readFlags } from '../lab/flags.ts'
import { isPeer, labelOf } from '../lab/mode-names.ts'
import { commandOf } from '../lab/programs.ts'
import { welch } from '../lab/statistics.ts'
import { intervals } from './charts.ts'
import { coverageFiles, coverageOf, coverageReport, readRepeatedRun } from './coverage.ts'
import { reportAddress, reportFiles, reportText, requireFree, writeFolder } from './render.ts'
import {
  capital,
  count,
  figure,
  interval,
  listed,
  moment,
  nothing,
  type Report,
  type Section,
  signed,
  table,
  text,
} from './section.ts'

const help = `${commandOf('report')} --compare A B [flags]\n\n  Sets two runs of one scenario side by side: for each row that both measured, both means and the difference, with a\n  95 % interval over the sessions of each run (Welch), corrected for their number (Holm).\n\n  --compare A B  folders of two reports, the earlier one first\n  --coverage DIR…  instead: folders of runs that repeat one comparison; how many of their intervals contain the pooled value\n  --out DIR      also writes report.html, report.md and summary.json there\n\n  Exits with 0 whatever the difference is.\n`

const runSchema = z.object({
  scenario: z.string(),
  command: z.string(),
  startedAt: z.string(),
  environment: z.looseObject({ commit: z.string() }),
  parameters: z.record(z.string(), z.unknown()),
  measures: z
    .array(
      z.object({
        name: z.string(),
        title: z.string(),
        unit: z.string(),
        /** The statistic of each session; default: the mean. */
        by: z.enum(['mean', 'median']).optional(),
      }),
    )
    .min(1),
  figures: z
    .array(
      z.object({
        /** With the other factors' levels and, except for the first measure, with the measure. */
        mode: z.string(),
        measure: z.string(),
        mean: z.number().nullable(),
        p50: z.number().nullable(),
        p95: z.number().nullable(),
        n: z.number(),
        lost: z.number(),
        sessions: z.array(z.number().nullable()),
      }),
    )
    .min(1),
})

export type ComparedRun = z.output<typeof runSchema> & { readonly folder: string }

/** Rejects with a sentence for a folder that contains no report with figures by session. */
export async function readRun(folder: string): Promise<ComparedRun> {
  const file = join(folder, 'summary.json')
  const words = await readFile(file, 'utf8').catch(async () => {
    const isFolder = await stat(folder).then(
      (found) => found.isDirectory(),
      () => false,
    )
    const why = isFolder ? 'contains no summary.json' : 'is no folder'
    throw new Error(`${folder} ${why}; name the folder of a report, such as reports/reference-keystrokes.`)
  })
  const parsed = runSchema.safeParse(JSON.parse(words))
  if (parsed.success) return { ...parsed.data, folder }
  throw new Error(`${file} has no figures by session; reports of keystrokes have them.`)
}

type ComparedRow = ReturnType<typeof compareRows>[number]

function compareRows(before: ComparedRun, after: ComparedRun) {
  const pairs = before.figures.flatMap((first) => {
    const second = after.figures.find(({ mode }) => mode === first.mode)
    return second ? [{ first, second }] : []
  })
  const tested = pairs.map(({ first, second }) => {
    const [one, other] = [first, second].map(({ sessions }) => sessions.filter((value) => value !== null))
    const isTested = (one?.length ?? 0) > 1 && (other?.length ?? 0) > 1
    const test = isTested ? welch(groupOf(other ?? []), groupOf(one ?? [])) : null
    return { mode: first.mode, measure: first.measure, first, second, test }
  })
  const corrected = [...holm(tested.flatMap(({ test }) => (test ? [test.p] : [])))]
  return tested.map(({ test, ...rest }) => {
    const p = test ? (corrected.shift() ?? 1) : null
    const sign = (test?.difference ?? 0) > 0 ? ('higher' as const) : ('lower' as const)
    return {
      ...rest,
      difference: test?.difference ?? null,
      differenceCi95: test?.interval ?? null,
      pCorrected: p,
      verdict: p === null ? ('one session' as const) : p < 0.05 ? sign : ('undecided' as const),
    }
  })
}

const groupOf = (means: readonly number[]) => ({
  n: means.length,
  mean: means.reduce((sum, ms) => sum + ms, 0) / means.length,
  sd: standardDeviation(means),
})

export function compareRuns(before: ComparedRun, after: ComparedRun) {
  if (before.scenario !== after.scenario)
    throw new Error(
      `${before.folder} is a run of ${before.scenario}, ${after.folder} of ${after.scenario}; compare two of one scenario.`,
    )
  const figures = compareRows(before, after)
  if (figures.length === 0) throw new Error('The two runs have no mode in common.')
  const onlyIn = (one: ComparedRun, other: ComparedRun) =>
    one.figures
      .filter(({ mode }) => !other.figures.some((found) => found.mode === mode))
      .map(({ mode }) => mode)
  const { measures } = before
  return {
    scenario: before.scenario,
    before: identityOf(before),
    after: identityOf(after),
    measures,
    figures,
    onlyBefore: onlyIn(before, after),
    onlyAfter: onlyIn(after, before),
    circumstances: [
      ...changed(before.environment, after.environment),
      ...changed(before.parameters, after.parameters),
    ],
    finding: `${formatMachines(before, after)}${formatDifferences(measures, figures)}`,
  }
}

/** Fields of `environment` that identify a machine. */
const machineFields = ['machine', 'cpu', 'cores', 'memoryBytes', 'os'] as const

/** Empty for the same machine. */
function formatMachines(before: ComparedRun, after: ComparedRun): string {
  const different = machineFields.filter((name) => before.environment[name] !== after.environment[name])
  if (different.length === 0) return ''
  const [first, second] = [before, after].map(({ environment }) =>
    different.map((name) => String(environment[name] ?? 'unknown')).join(', '),
  )
  return `Two machines: the first run is of ${first}, the second of ${second}. Their figures cannot be compared; what follows is of the machines as much as of the software. `
}

export type Comparison = ReturnType<typeof compareRuns>

const identityOf = ({ folder, command, startedAt, environment: { commit } }: ComparedRun) => ({
  folder,
  command,
  startedAt,
  commit,
})

/** The load differs in every pair of runs, and has its own rows in both reports. */
const neverTheSame = new Set(['loadBefore', 'loadAfter', 'commit', 'seed'])

function changed(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .filter((name) => !neverTheSame.has(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => ({ name, before: String(before[name] ?? '–'), after: String(after[name] ?? '–') }))
}

/** `SSE + XHR, HTTP/2; 10 kB` of `sse/2, 10 kB`. */
function labelIn({ mode, measure }: Pick<ComparedRow, 'mode' | 'measure'>): string {
  const [first = '', ...others] = mode.replace(`: ${measure}`, '').split(', ')
  return [labelOf(first), ...others].join('; ')
}

type Measures = ComparedRun['measures']

/** `slower` for more time. */
const verdictIn = (unit: string, verdict: ComparedRow['verdict']) =>
  unit !== 'ms' ? verdict : verdict === 'higher' ? 'slower' : verdict === 'lower' ? 'faster' : verdict

/** Describes the differences of the first measure. */
function formatDifferences([measure]: Measures, figures: readonly ComparedRow[]): string {
  const rows = figures.filter((row) => row.measure === measure?.name)
  const unit = measure?.unit ?? ''
  const of = (verdict: ComparedRow['verdict']) => rows.filter((row) => row.verdict === verdict)
  const sized = (verdict: ComparedRow['verdict']) => {
    const words = of(verdict).map(({ difference, differenceCi95, ...row }) => {
      const size = `${figure(Math.abs(difference ?? 0))} ${unit}`
      return `${labelIn(row)} by ${size}${differenceCi95 ? ` (${interval(sizesOf(differenceCi95))})` : ''}`
    })
    const speed = capital(verdictIn(unit, verdict))
    return words.length === 0 ? [] : [`${speed} in the second run: ${listed(words)}.`]
  }
  const [first] = rows
  const isAlike = rows.length > 2 && rows.every(({ verdict }) => verdict === first?.verdict)
  if (isAlike && (first?.verdict === 'higher' || first?.verdict === 'lower')) {
    const sizes = rows.map(({ difference }) => Math.abs(difference ?? 0))
    const by = `${figure(Math.min(...sizes))} to ${figure(Math.max(...sizes))} ${unit}`
    const peers = rows.some(({ mode }) => isPeer(mode))
      ? ' None of the peers is Crosswind’s code, so the machine or its other load differs.'
      : ''
    return `All ${rows.length} were ${verdictIn(unit, first.verdict)} in the second run, by ${by}.${peers}`
  }
  if (of('one session').length === rows.length) return 'A run of one session decides nothing.'
  const open = of('undecided')
  const undecided =
    open.length === rows.length
      ? ['No mode differs between the two runs by more than their sessions do.']
      : open.length > 0
        ? [`Undecided: ${listed(open.map(labelIn))}.`]
        : []
  return [...sized('higher'), ...sized('lower'), ...undecided].join(' ')
}

/** The size of a difference, the smaller end first. */
function sizesOf([low, high]: readonly [number, number]): readonly [number, number] {
  return high <= 0 ? [-high, -low] : [low, high]
}

export function comparisonReport(comparison: Comparison): Report {
  const { scenario, before, after, measures, finding } = comparison
  const [first, ...others] = measures.map((measure) => figuresSection(comparison, measure))
  return {
    title: `Crosswind lab: ${scenario}, two runs`,
    subtitle: `${moment(before.startedAt)} and ${moment(after.startedAt)}`,
    finding,
    sections: [
      ...(first ? [{ ...first, paragraphs: formatDoubts(comparison) }] : []),
      ...others,
      ...measures.flatMap((measure) => differencesSection(comparison, measure)),
      runsSection(comparison),
    ],
  }
}

type ComparedMeasure = Comparison['measures'][number]

function figuresSection(
  { figures }: Comparison,
  { name, title, unit, by = 'mean' }: ComparedMeasure,
): Section {
  const rows = figures.filter((row) => row.measure === name)
  const value = by === 'median' ? 'p50' : 'mean'
  return {
    title,
    tables: [
      table(
        `${by === 'median' ? 'Medians' : 'Means'} of both runs, in ${unit}`,
        ['Mode', 'First run', 'Second run', 'Second − first', '95 % interval', text('Verdict')],
        rows.map(({ first, second, difference, differenceCi95, verdict, ...row }) => [
          labelIn(row),
          first[value],
          second[value],
          difference === null ? nothing : signed(difference),
          differenceCi95 ? interval(differenceCi95) : nothing,
          verdictIn(unit, verdict),
        ]),
      ),
      table(
        `Quantiles in ${unit}, and samples lost; the first run before the second`,
        ['Mode', 'Medians', 'p95', 'Lost'],
        rows.map(({ first, second, ...row }) => [
          labelIn(row),
          `${figure(first.p50)}, ${figure(second.p50)}`,
          `${figure(first.p95)}, ${figure(second.p95)}`,
          `${count(first.lost)}, ${count(second.lost)}`,
        ]),
      ),
    ],
  }
}

function formatDoubts({ onlyBefore, onlyAfter }: Comparison): readonly string[] {
  const names = (modes: readonly string[]) => modes.map((mode) => labelIn({ mode, measure: '' })).join(', ')
  return [
    'The interval says how far the sessions of each run differ. Sessions of one run are close together in time: anything else that changed between the two runs, including the machine’s other work, counts as their difference.',
    ...(onlyBefore.length > 0 ? [`Only in the first run: ${names(onlyBefore)}.`] : []),
    ...(onlyAfter.length > 0 ? [`Only in the second run: ${names(onlyAfter)}.`] : []),
  ]
}

/** Empty without intervals. */
function differencesSection(
  { figures, measures }: Comparison,
  { name, title, unit }: ComparedMeasure,
): readonly Section[] {
  const tested = figures.flatMap(({ difference: point, differenceCi95, verdict, ...row }) =>
    row.measure !== name || point === null || differenceCi95 === null
      ? []
      : [
          {
            label: labelIn(row),
            point,
            interval: differenceCi95,
            isDecided: verdict !== 'undecided',
            sessions: [],
          },
        ],
  )
  if (tested.length === 0) return []
  const better = unit === 'ms' ? '; left of 0 the second run is faster' : ''
  const axis = `Second − first, ${unit}`
  return [
    {
      title: measures.length === 1 ? 'Differences' : `Differences: ${title}`,
      figure: {
        caption: `Second run minus first, ${unit}, with 95 % intervals${better}`,
        description: tested
          .map(({ label, point, interval: ends }) => `${label}: ${signed(point)} ${unit}, ${interval(ends)}`)
          .join('; '),
        draw: (width: number) => intervals(tested, { width, axis, references: [0] }),
      },
    },
  ]
}

function runsSection({ before, after, circumstances }: Comparison): Section {
  const texts = (...titles: string[]) => titles.map(text)
  return {
    title: 'The two runs',
    tables: [
      table('Where the figures are from', texts('Run', 'Folder', 'Started', 'Commit', 'Command'), [
        ['first', before.folder, moment(before.startedAt), before.commit, before.command],
        ['second', after.folder, moment(after.startedAt), after.commit, after.command],
      ]),
      table(
        'What else differs',
        texts('What', 'First run', 'Second run'),
        circumstances.map(({ name, before: one, after: other }) => [name, one, other]),
      ),
    ].filter(({ rows }) => rows.length > 0),
  }
}

const schema = z.object({ compare: z.string('names the first folder'), out: z.string().min(1).optional() })

/** Resolves to the exit status. */
export async function report(argv: readonly string[]): Promise<number> {
  const isAsked = argv.some((flag) => flag === '--help' || flag === '-h')
  if (isAsked || argv.length === 0) {
    process.stdout.write(help)
    return isAsked ? 0 : 1
  }
  // The second folder follows the first without its own flag.
  if (argv[0] === '--coverage') return reportCoverage(argv.slice(1))
  const index = argv.indexOf('--compare') + 2
  const second = index > 1 ? argv[index] : undefined
  if (second === undefined || second.startsWith('--'))
    throw new Error(`Two folders are needed: ${commandOf('report')} --compare A B`)
  const { compare, out } = readFlags(schema, argv.toSpliced(index, 1))
  if (out !== undefined) await requireFree(out)
  const comparison = compareRuns(await readRun(compare), await readRun(second))
  return give(comparisonReport(comparison), comparison, {}, out)
}

/** `DIR… [--out DIR]` */
async function reportCoverage(argv: readonly string[]): Promise<number> {
  const index = argv.indexOf('--out')
  const out = index < 0 ? undefined : argv[index + 1]
  if (index >= 0 && out === undefined) throw new Error('--out needs a folder.')
  const folders = index < 0 ? argv : argv.toSpliced(index, 2)
  if (out !== undefined) await requireFree(out)
  const coverage = coverageOf(await Promise.all(folders.map(readRepeatedRun)))
  return give(coverageReport(coverage), coverage, coverageFiles(coverage), out)
}

async function give(
  report: Report,
  summary: object,
  more: Readonly<Record<string, string>>,
  out: string | undefined,
): Promise<number> {
  if (out === undefined) process.stdout.write(`\n${reportText(report)}\n`)
  else {
    await writeFolder(out, reportFiles(report, summary, more))
    console.log(`\n  ${report.finding}\n\n  ${reportAddress(out)}\n`)
  }
  return 0
}
