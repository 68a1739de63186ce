// `npm run report -- --coverage DIR…`: whether the intervals of repeated runs hold what all of them found.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as Plot from '@observablehq/plot'
import { z } from 'zod'
import { labelOf, spokenName } from '../lab/mode-names.ts'
import { mean, meanOfClusters } from '../lab/statistics.ts'
import { svg } from './charts.ts'
import { csv } from './render.ts'
import { count, figure, interval, moment, number, type Report, signed, text } from './section.ts'

const runSchema = z.object({
  command: z.string(),
  startedAt: z.string(),
  environment: z.looseObject({ commit: z.string(), loadBefore: z.number() }),
  comparisons: z
    .array(
      z.object({
        mode: z.string(),
        baseline: z.string(),
        differenceMs: z.number(),
        ci95Ms: z.tuple([z.number(), z.number()]),
        verdict: z.string(),
        sessions: z.array(z.object({ differenceMs: z.number() })),
      }),
    )
    .min(1),
})

export type RepeatedRun = z.output<typeof runSchema> & { readonly folder: string }

/** Rejects with a sentence for a folder without a run of two modes in several sessions. */
export async function readRepeatedRun(folder: string): Promise<RepeatedRun> {
  const file = join(folder, 'summary.json')
  const words = await readFile(file, 'utf8').catch(() => {
    throw new Error(`${folder} holds no summary.json; name the folders of reports of keystrokes.`)
  })
  const parsed = runSchema.safeParse(JSON.parse(words))
  if (parsed.success) return { ...parsed.data, folder }
  throw new Error(`${file} has no comparison over sessions; reports of keystrokes with two modes have one.`)
}

export type Coverage = ReturnType<typeof coverageOf>

/**
 * Of the first comparison of each run. The pooled value is the mean over all sessions of all runs; it stands for the truth,
 * which nobody knows. Throws for different comparisons, or fewer than two runs.
 */
export function coverageOf(runs: readonly RepeatedRun[]) {
  if (runs.length < 2) throw new Error('Two runs or more are needed; one has nothing to be held against.')
  const found = runs
    .toSorted((one, other) => one.startedAt.localeCompare(other.startedAt))
    .map(({ folder, startedAt, environment: { commit, loadBefore }, comparisons: [comparison] }) => {
      if (!comparison) throw new Error(`${folder} compares nothing.`)
      return { folder, startedAt, commit, loadBefore, ...comparison }
    })
  const [first] = found
  const other = found.find(({ mode, baseline }) => mode !== first?.mode || baseline !== first.baseline)
  if (!first || other)
    throw new Error(`${other?.folder} compares other modes than ${first?.folder}; repeat one comparison.`)
  const sessions = found.flatMap((one) => one.sessions.map(({ differenceMs }) => differenceMs))
  const pooledMs = mean(sessions)
  const taken = found.map((one) => {
    const [low, high] = one.ci95Ms
    return { ...one, holds: low <= pooledMs && pooledMs <= high }
  })
  const holding = taken.filter(({ holds }) => holds).length
  const { mode, baseline } = first
  return {
    scenario: 'coverage',
    startedAt: first.startedAt,
    ...{ mode, baseline, pooledMs },
    /** Over the runs, each one figure: whether hours differ more than sessions. */
    pooledCi95Ms: meanOfClusters(taken.map(({ differenceMs }) => differenceMs)).interval,
    sessions: sessions.length,
    holding,
    runs: taken,
    finding: `Of ${taken.length} runs of one comparison, ${spokenName(mode)} against ${spokenName(baseline)}, ${holding} (${Math.round((100 * holding) / taken.length)} %) have the pooled difference, ${figure(Math.abs(pooledMs))} ms, in their 95 % interval.`,
  }
}

export function coverageReport(coverage: Coverage): Report {
  const { mode, baseline, runs, pooledMs, pooledCi95Ms, sessions, finding } = coverage
  const last = runs.at(-1) ?? runs[0]
  return {
    title: 'Crosswind lab: coverage of the intervals',
    subtitle: `${runs.length} runs from ${moment(coverage.startedAt)} to ${moment(last?.startedAt ?? '')}`,
    finding,
    sections: [
      {
        title: 'Every run',
        figure: {
          caption: `${labelOf(mode)} − ${labelOf(baseline)}, ms: each run’s difference of means with its 95 % interval over its sessions, in the order of time from top to bottom. Upright: the pooled difference, ${figure(pooledMs)} ms. Hollow: the interval does not hold it.`,
          description: finding,
          draw: (width) => forest(coverage, width),
        },
        tables: [
          {
            caption: 'Runs in the order of time; differences in milliseconds',
            columns: [
              text('Run'),
              ...['Started', 'Load before', 'Difference', '95 % interval'].map(number),
              text('Holds'),
            ],
            rows: runs.map((run, place) => [
              String(place + 1),
              moment(run.startedAt),
              figure(run.loadBefore),
              signed(run.differenceMs),
              interval(run.ci95Ms),
              run.holds ? 'yes' : 'no',
            ]),
          },
        ],
        paragraphs: [
          `The pooled difference is the mean over all ${count(sessions)} sessions; over the runs its own 95 % interval is ${interval(pooledCi95Ms)} ms. Each run is part of it by ${figure(100 / runs.length)} %. Intervals tell how far the sessions of a run differ; where hours differ more than sessions, fewer of them hold it.`,
        ],
      },
    ],
  }
}

export function coverageFiles({ runs }: Coverage): Readonly<Record<string, string>> {
  return {
    'runs.csv': csv(
      [
        ['run', (_run, place) => place + 1],
        ['started_at', ({ startedAt }) => startedAt],
        ['load_before', ({ loadBefore }) => loadBefore],
        ['difference_ms', ({ differenceMs }) => differenceMs],
        ['ci95_low_ms', ({ ci95Ms }) => ci95Ms[0]],
        ['ci95_high_ms', ({ ci95Ms }) => ci95Ms[1]],
        ['holds', ({ holds }) => holds],
        ['sessions_ms', (run) => run.sessions.map(({ differenceMs }) => differenceMs).join(' ')],
      ],
      runs,
    ),
  }
}

function forest({ runs, pooledMs }: Coverage, width: number): string {
  const rows = runs.map((run, place) => ({ ...run, y: place + 0.5 }))
  const stroke = 'var(--accent)'
  return svg({
    width,
    height: runs.length * 11 + 56,
    marginLeft: 10,
    marginRight: 10,
    marginTop: 8,
    marginBottom: 42,
    x: { grid: true, label: 'difference, ms', labelAnchor: 'right', ticks: width < 500 ? 5 : 10 },
    y: { axis: null, domain: [runs.length, 0] },
    marks: [
      Plot.ruleX([pooledMs], { stroke: 'var(--ink)', strokeWidth: 1.5 }),
      Plot.ruleY(rows, {
        x1: ({ ci95Ms }) => ci95Ms[0],
        x2: ({ ci95Ms }) => ci95Ms[1],
        y: 'y',
        stroke,
        strokeWidth: 2,
      }),
      Plot.dot(rows, {
        x: 'differenceMs',
        y: 'y',
        r: 3,
        fill: ({ holds }) => (holds ? stroke : 'var(--paper)'),
        stroke,
        strokeWidth: 1.5,
      }),
    ],
  })
}
