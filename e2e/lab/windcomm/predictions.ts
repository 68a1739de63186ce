// What was to be expected: by the paper's formulas from WebSocket's mean, and by a model that sends readings over the profile without a machine.

import { createSeededRandom } from '../../../server/wire/random.ts'
import { type Method, predict } from '../../network/predict.ts'
import type { Profile } from '../../network/profiles.ts'
import { rounded } from '../stats/significant.ts'
import { mean, standardDeviation } from '../stats/summary.ts'
import type { CellSummary } from './cells.ts'
import {
  type Expectation,
  keepsUp,
  longPollingExpectation,
  pollingExpectation,
  type Timing,
} from './formulas.ts'
import { baseline, methods, modeOf } from './methods.ts'
import type { Site, WindRun } from './run.ts'

/** The profile's network, drawn anew so many times. */
export const modelRuns = 20

export interface SitePrediction {
  readonly site: string
  /** ν, for the formulas: WebSocket's mean here, ms; null where nothing of it arrived. */
  readonly oneWayMs: number | null
  /** M/2, ms. */
  readonly limitMs: number
  /** ν < M/2: both formulas are made for this. */
  readonly binds: boolean
  readonly methods: readonly MethodPrediction[]
}

export interface MethodPrediction {
  readonly method: Method
  readonly measuredMs: number | null
  readonly formulaMs: number | null
  readonly formulaWorstMs: number | null
  /** Measured over formula, minus 1. */
  readonly deviation: number | null
  readonly model: Model
  /** The same networks without their stalls. */
  readonly modelWithoutStalls: Model
}

/** Of `modelRuns` runs as long as this one. */
export interface Model {
  readonly meanMs: number
  readonly sdMs: number
  /** Least and largest mean of a run. */
  readonly rangeMs: readonly [number, number]
}

export function predictionsOf(run: WindRun, cells: readonly CellSummary[]): readonly SitePrediction[] {
  return run.sites.map((site) => predictionOf(run, site, (method) => meanOf(cells, site, method)))
}

function meanOf(cells: readonly CellSummary[], { name }: Site, method: Method): number | null {
  return cells.find(({ site, mode }) => site === name && mode === modeOf[method])?.meanMs ?? null
}

function predictionOf(run: WindRun, site: Site, measured: (method: Method) => number | null): SitePrediction {
  const oneWayMs = measured('websocket')
  const timing = oneWayMs === null ? null : { oneWayMs, ...timingOf(run) }
  const model = modelsOf(run, site.profile)
  const steady = withoutStalls(site.profile)
  const modelWithoutStalls = steady === site.profile ? model : modelsOf(run, steady)
  return {
    site: site.name,
    oneWayMs,
    limitMs: rounded(timingOf(run).betweenReadingsMs / 2),
    binds: timing !== null && keepsUp(timing),
    methods: methods
      .filter((method) => run.modes.includes(modeOf[method]))
      .map((method) => ({
        method,
        measuredMs: measured(method),
        ...formulaOf(method, timing, measured(method)),
        model: model[method],
        modelWithoutStalls: modelWithoutStalls[method],
      })),
  }
}

function timingOf({ rateHz, intervalMs }: WindRun): Omit<Timing, 'oneWayMs'> {
  return { betweenReadingsMs: 1000 / rateHz, intervalMs }
}

function formulaOf(method: Method, timing: Timing | null, measuredMs: number | null) {
  if (timing === null) return { formulaMs: null, formulaWorstMs: null, deviation: null }
  const { expectedMs, worstMs } = expectations[method](timing)
  // WebSocket is ν by definition.
  const isTelling = measuredMs !== null && modeOf[method] !== baseline
  return {
    formulaMs: rounded(expectedMs),
    formulaWorstMs: worstMs === null ? null : rounded(worstMs),
    deviation: isTelling ? rounded(measuredMs / expectedMs - 1) : null,
  }
}

const expectations: Readonly<Record<Method, (timing: Timing) => Expectation>> = {
  websocket: ({ oneWayMs }) => ({ expectedMs: oneWayMs, worstMs: null }),
  'long-polling': longPollingExpectation,
  polling: pollingExpectation,
}

/** The same profile where it has none. */
function withoutStalls(profile: Profile): Profile {
  const { down, up } = profile
  if (!down.stalls && !up.stalls) return profile
  return { ...profile, down: { ...down, stalls: null }, up: { ...up, stalls: null } }
}

function modelsOf(run: WindRun, profile: Profile): Readonly<Record<Method, Model>> {
  const { rateHz, holdMs, intervalMs, readings } = run
  const drawn = Array.from({ length: modelRuns }, (_, seed) =>
    predict(profile, {
      readings: Math.max(2, readings.length),
      rateHz,
      holdMs,
      intervalMs,
      random: createSeededRandom(seed + 1),
    }),
  )
  const modelOf = (method: Method) => model(drawn.map((found) => found[method]))
  return {
    websocket: modelOf('websocket'),
    'long-polling': modelOf('long-polling'),
    polling: modelOf('polling'),
  }
}

function model(runs: readonly (readonly number[])[]): Model {
  const means = runs.map(mean)
  return {
    meanMs: rounded(mean(means)),
    sdMs: rounded(mean(runs.map(standardDeviation))),
    rangeMs: [rounded(Math.min(...means)), rounded(Math.max(...means))],
  }
}
