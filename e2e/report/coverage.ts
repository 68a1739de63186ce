// `npm run report -- --coverage DIR…`: whether intervals of repeated runs contain the pooled value.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { mean } from '../../client/statistics.ts'
import { formatCsv } from '../lab/csv.ts'
import { labelOf, spokenName } from '../lab/mode-names.ts'
import { intervals } from './charts.ts'
import { count, figure, interval, moment, nothing, type Report, signed, table, text } from './section.ts'

const range = z.tuple([z.number(), z.number()])

const runSchema = z.object({
  command: z.string(),
  startedAt: z.string(),
  environment: z.looseObject({ commit: z.string(), loadBefore: z.number() }),
  figures: z.array(z.object({ mode: z.string(), mean: z.number().nullable() })),
  comparisons: z
    .array(
      z.object({
        mode: z.string(),
        baseline: z.string(),
        difference: z.number(),
        differenceCi95: range,
        ratio: z.number(),
        ratioCi95: range,
        medianRatio: z.number(),
        medianRatioCi95: range,
        sessions: z.array(z.object({ difference: z.number(), ratio: z.number(), medianRatio: z.number() })),
      }),
    )
    .min(1),
})

export type RepeatedRun = z.output<typeof runSchema> & { readonly folder: string }

/** Rejects with a sentence for a folder without a run of two modes in several sessions. */
export async function readRepeatedRun(folder: string): Promise<RepeatedRun> {
  const file = join(folder, 'summary.json')
  const words = await readFile(file, 'utf8').catch(() => {
    throw new Error(`${folder} contains no summary.json; name the folders of keystrokes reports.`)
  })
  const parsed = runSchema.safeParse(JSON.parse(words))
  if (parsed.success) return { ...parsed.data, folder }
  throw new Error(`${file} has no comparison over sessions; reports of keystrokes with two modes have one.`)
}

type Coverage = ReturnType<typeof coverageOf>

/**
 * For the first comparison of each run: the ratio of the means, that of the medians, and the
 * difference of the means. The pooled value is the mean over all sessions of all runs, for ratios
 * the geometric one; it stands in for the unknown true value. Throws for different comparisons, or
 * fewer than two runs.
 */
export function coverageOf(given: readonly RepeatedRun[]) {
  if (given.length < 2) throw new Error('At least two runs are needed: one cannot be compared with anything.')
  const runs = given
    .toSorted((one, other) => one.startedAt.localeCompare(other.startedAt))
    .map(
      ({
        folder,
        command,
        startedAt,
        environment: { commit, loadBefore },
        figures,
        comparisons: [comparison],
      }) => {
        if (!comparison) throw new Error(`${folder} compares nothing.`)
        const other = figures.find(({ mode }) => mode === comparison.baseline)
        const baselineMs = other?.mean ?? null
        return { folder, command, startedAt, commit, loadBefore, baselineMs, ...comparison }
      },
    )
  const [first] = runs
  const other = runs.find(({ mode, baseline }) => mode !== first?.mode || baseline !== first.baseline)
  if (!first || other)
    throw new Error(`${other?.folder} compares different modes from ${first?.folder}; repeat one comparison.`)
  const geometric = (values: readonly number[]) => Math.exp(mean(values.map(Math.log)))
  const means = covered(runs, 'ratio', 'ratioCi95', geometric)
  const medians = covered(runs, 'medianRatio', 'medianRatioCi95', geometric)
  const difference = covered(runs, 'difference', 'differenceCi95', mean)
  const { mode, baseline, startedAt } = first
  const share = ({ holding }: Covered) => `${holding} (${Math.round((100 * holding) / runs.length)} %)`
  return {
    scenario: 'coverage',
    startedAt,
    mode,
    baseline,
    means,
    medians,
    difference,
    sessions: runs.reduce((sum, one) => sum + one.sessions.length, 0),
    /** Excludes fields that always differ. */
    commands: [...new Set(runs.map(({ command }) => command.replaceAll(/ --(?:seed|out) \S+/g, '')))],
    runs: runs.map(({ folder, startedAt, commit, loadBefore, baselineMs, sessions }) => ({
      folder,
      startedAt,
      commit,
      loadBefore,
      baselineMs,
      sessions,
    })),
    finding: `Of ${runs.length} runs of one comparison, ${spokenName(mode)} against ${spokenName(baseline)}, ${share(means)} have the pooled ratio of the means, ${figure(means.pooled)}, in their 95 % interval, ${share(medians)} that of the medians, ${figure(medians.pooled)}, and ${share(difference)} the difference of the means, ${figure(Math.abs(difference.pooled))} ms.`,
  }
}

type Covered = ReturnType<typeof covered>

function covered(
  runs: readonly RepeatedRun['comparisons'][number][],
  name: 'ratio' | 'medianRatio' | 'difference',
  intervalName: 'ratioCi95' | 'medianRatioCi95' | 'differenceCi95',
  pool: (values: readonly number[]) => number,
) {
  const pooled = pool(runs.flatMap(({ sessions }) => sessions.map((session) => session[name])))
  const taken = runs.map(({ [name]: value, [intervalName]: ci95 }) => ({
    value,
    ci95,
    holds: ci95[0] <= pooled && pooled <= ci95[1],
  }))
  return { pooled, holding: taken.filter(({ holds }) => holds).length, runs: taken }
}

export function coverageReport(coverage: Coverage): Report {
  const { mode, baseline, runs, means, medians, difference, sessions, finding } = coverage
  const last = runs.at(-1) ?? runs[0]
  const speeds = runs.flatMap(({ baselineMs }) => baselineMs ?? [])
  const against = `${labelOf(mode)} and ${labelOf(baseline)}`
  const drawn = (title: string, words: string, axis: string, of: Covered) => ({
    title,
    figure: {
      caption: `${words}, with its 95 % interval over the sessions of the run, in chronological order from top to bottom. Vertical line: the pooled value, ${figure(of.pooled)}. Hollow: the interval does not contain it.`,
      description: finding,
      draw: (width: number) => forest(of, axis, width),
    },
  })
  const ratios = (what: string, of: Covered) =>
    drawn(`Ratios of the ${what}`, `${against}: each run’s ratio of the ${what}`, `ratio of the ${what}`, of)
  const every = table(
    'Runs in chronological order; times in milliseconds',
    [
      'Run',
      'Started',
      'Load before',
      `Mean, ${labelOf(baseline)}`,
      ...['Ratio of means', 'Ratio of medians', 'Difference'].flatMap((what) => [
        what,
        '95 % interval',
        text('Holds'),
      ]),
    ],
    runs.map((run, index) => [
      String(index + 1),
      moment(run.startedAt),
      run.loadBefore,
      run.baselineMs,
      ...[means, medians, difference].flatMap((of) => {
        const { value = Number.NaN, ci95, holds } = of.runs[index] ?? {}
        const shown = of === difference ? signed(value) : value
        return [shown, ci95 ? interval(ci95) : nothing, holds ? 'yes' : 'no']
      }),
    ]),
  )
  return {
    title: 'Crosswind lab: coverage of the intervals',
    subtitle: `${runs.length} runs from ${moment(coverage.startedAt)} to ${moment(last?.startedAt ?? '')}`,
    finding,
    sections: [
      ratios('means', means),
      ratios('medians', medians),
      drawn(
        'Differences of the means',
        `${labelOf(mode)} − ${labelOf(baseline)}, ms: each run’s difference of means`,
        'difference, ms',
        difference,
      ),
      {
        title: 'Every run',
        tables: [every],
        paragraphs: [
          `Each run was ${coverage.commands.map((command) => `“${command}”`).join(' or ')}, with its own seed.`,
          `The pooled values are means over all ${count(sessions)} sessions, for the ratios the geometric one. Each run contributes ${figure(100 / runs.length)} % of them.`,
          `Intervals say how far the sessions of a run differ. If hours differ more than sessions, as when the machine’s speed changes, fewer of them contain the pooled value: ${labelOf(baseline)}’s mean was ${figure(Math.min(...speeds))} to ${figure(Math.max(...speeds))} ms in these runs. A difference in milliseconds changes with the speed; a ratio does not if both modes slow down alike. The lab’s verdicts use the ratio of the means.`,
        ],
      },
    ],
  }
}

export function coverageFiles({
  runs,
  means,
  medians,
  difference,
}: Coverage): Readonly<Record<string, string>> {
  type Row = Coverage['runs'][number]
  const columnsOf = (name: string, unit: string, of: Covered) =>
    [
      [`${name}${unit}`, (_: Row, index: number) => of.runs[index]?.value ?? null],
      [`${name}_ci95_low${unit}`, (_: Row, index: number) => of.runs[index]?.ci95[0] ?? null],
      [`${name}_ci95_high${unit}`, (_: Row, index: number) => of.runs[index]?.ci95[1] ?? null],
      [`${name}_holds`, (_: Row, index: number) => of.runs[index]?.holds ?? null],
    ] as const
  const each = (name: 'ratio' | 'medianRatio' | 'difference') => (run: Row) =>
    run.sessions.map((session) => session[name]).join(' ')
  const content = formatCsv<Row>(
    [
      ['run', (_, index) => index + 1],
      ['started_at', ({ startedAt }) => startedAt],
      ['load_before', ({ loadBefore }) => loadBefore],
      ['baseline_ms', ({ baselineMs }) => baselineMs],
      ...columnsOf('mean_ratio', '', means),
      ...columnsOf('median_ratio', '', medians),
      ...columnsOf('difference', '_ms', difference),
      ['session_mean_ratios', each('ratio')],
      ['session_median_ratios', each('medianRatio')],
      ['session_differences_ms', each('difference')],
    ],
    runs,
  )
  return { 'runs.csv': content }
}

function forest({ runs, pooled }: Covered, axis: string, width: number): string {
  const rows = runs.map(({ value: point, ci95: interval, holds: isDecided }) => ({
    label: '',
    point,
    interval,
    isDecided,
    sessions: [],
  }))
  return intervals(rows, { width, axis, references: [pooled], rowHeight: 11, mayBeLogarithmic: false })
}
