// Summarises a WindComm run: cells, tests, predictions, agreement with the paper, and the finding.

import { createSeededRandom } from '../../server/wire/time.ts'
import { boundBetween, paperBoundMs } from '../lab/clock.ts'
import {
  effectiveSize,
  type Figures,
  holm,
  type Interval,
  mean,
  pairedDifference,
  pairedRatio,
  rounded,
  roundedInterval,
  significant,
  standardDeviation,
  summarise,
  welch,
} from '../lab/statistics.ts'
import type { Profile } from '../network/profiles.ts'
import { count } from '../report/section.ts'
import {
  baseline,
  expectationOf,
  keepsUp,
  type Method,
  methodOf,
  methods,
  methodWords,
  modeOf,
  paperLevel,
  paperRatios,
  predict,
} from './windcomm-paper.ts'
import { cellOf, hasArrived, latencyMs, type RunClock, type Site, type WindRun } from './windcomm-samples.ts'

export type WindSummary = ReturnType<typeof analyse>
export type CellSummary = ReturnType<typeof summariseCell>
export type TestSummary = ReturnType<typeof decide>
type SitePrediction = ReturnType<typeof predictionOf>

/** Content of summary.json: measured figures have six significant digits at most. Deterministic. */
export function analyse(run: WindRun) {
  const { command, startedAt, finishedAt, environment, analysedBy, parameters } = run
  const { rateHz, holdMs, intervalMs, faster, modes, warmUpReadings, sites, links } = run
  const cells = sites.flatMap((site) => modes.map((mode) => summariseCell(run, site, mode)))
  const predictions = sites.map((site) => predictionOf(run, site, cells))
  const checks = checksOf(run, cells, predictions)
  return {
    scenario: 'windcomm',
    ...{ command, startedAt, finishedAt, environment, analysedBy },
    ...{ parameters, rateHz, holdMs, intervalMs, faster, baseline, modes },
    readings: run.readings.length,
    warmUpReadings,
    finding: findingOf(run, cells, predictions, checks),
    checks,
    cells,
    tests: testsOf(run),
    predictions,
    clock: {
      before: roundedClocks(run.clock.before),
      after: roundedClocks(run.clock.after),
      largestErrorMs: rounded(largestErrorMs(run.clock)),
    },
    serialLine: serialLineOf(run),
    sites,
    links,
    serverCpuMs: rounded(run.serverCpuMs),
  }
}

export function faultsIn({ cells }: { readonly cells: readonly CellSummary[] }): number {
  return cells.reduce((sum, { lost, duplicated, reordered }) => sum + lost + duplicated + reordered, 0)
}

function roundedClocks(clocks: RunClock['before']) {
  return clocks.map(({ name, offsetMs, boundMs, errorMs }) => ({
    name,
    offsetMs: rounded(offsetMs),
    boundMs: rounded(boundMs),
    errorMs: rounded(errorMs),
  }))
}

function largestErrorMs({ before, after }: RunClock): number {
  return Math.max(...[...before, ...after].map(({ errorMs }) => errorMs))
}

/** Ms from the frame's first byte to the server's acceptance; not part of any latency. */
function serialLineOf({ readings }: WindRun) {
  const { mean, sd, p99, max } = summarise(readings.map(({ at, acceptedAt }) => acceptedAt - at))
  return { meanMs: rounded(mean), sdMs: significant(sd) ?? 0, p99Ms: rounded(p99), maxMs: rounded(max) }
}

/** One mode at one site. Times in ms; null without arrivals. */
function summariseCell(run: WindRun, { name, windows }: Site, mode: string) {
  const samples = cellOf(run, name, mode)
  const times = samples.filter(hasArrived).map(latencyMs)
  const figures = times.length === 0 ? undefined : summarise(times)
  const inMs = (figure: Exclude<keyof Figures, 'n'>) => significant(figures?.[figure] ?? Number.NaN)
  const both = latenciesOfBoth(run, name, mode, baseline)
  const ratio = both.first.length < 2 ? null : pairedRatio(both.first, both.second)
  return {
    site: name,
    mode,
    windows,
    n: times.length,
    expected: samples.length,
    lost: samples.length - times.length,
    duplicated: samples.filter(({ copies }) => copies > 1).length,
    reordered: samples.filter(({ reordered }) => reordered).length,
    meanMs: inMs('mean'),
    sdMs: inMs('sd'),
    medianMs: inMs('p50'),
    p95Ms: inMs('p95'),
    p99Ms: inMs('p99'),
    minMs: inMs('min'),
    maxMs: inMs('max'),
    /** Effective sample size of the mean. */
    effectiveN: times.length === 0 ? null : Math.round(effectiveSize(times)),
    /** By readings that both received. */
    ratioToWebsocket: ratio && rounded(ratio.ratio),
    ratioToWebsocketCi95: ratio && mode !== baseline ? roundedInterval(ratio.interval) : null,
  }
}

function latenciesOfBoth(run: WindRun, site: string, one: string, other: string) {
  const others = cellOf(run, site, other)
  const pairs = cellOf(run, site, one).flatMap((sample, place) => {
    const second = others[place]
    return second && hasArrived(sample) && hasArrived(second)
      ? [[latencyMs(sample), latencyMs(second)] as const]
      : []
  })
  return { first: pairs.map(([first]) => first), second: pairs.map(([, second]) => second) }
}

/**
 * For each site the paper's tests, then other modes against WebSocket. Omits those with fewer than two common readings.
 * Holm's correction covers the tests beyond the paper's; the paper did not correct its own.
 */
function testsOf(run: WindRun) {
  const found = run.sites.flatMap((site) =>
    pairsOf(run.modes).flatMap((pair) => contrast(run, site, pair) ?? []),
  )
  const others = found.filter(({ mode }) => !methodOf(mode))
  const corrected = holm(others.map(({ welch: { p } }) => p))
  return found.map((test) =>
    decide(test, methodOf(test.mode) ? null : (corrected[others.indexOf(test)] ?? 1)),
  )
}

type Pair = readonly [mode: string, against: string]

function pairsOf(modes: readonly string[]): readonly Pair[] {
  const papers: readonly Pair[] = [
    [modeOf['long-polling'], baseline],
    [modeOf.polling, baseline],
    [modeOf.polling, modeOf['long-polling']],
  ]
  const others = modes.filter((mode) => !methodOf(mode))
  return [
    ...papers.filter((pair) => pair.every((mode) => modes.includes(mode))),
    ...others.map((mode): Pair => [mode, baseline]),
  ]
}

/** Mode minus `against`, in ms: above 0 the mode is slower. */
function contrast(run: WindRun, site: Site, [mode, against]: Pair) {
  const { first, second } = latenciesOfBoth(run, site.name, mode, against)
  if (first.length < 2) return undefined
  const unpaired = welch(summarise(first), summarise(second), paperLevel)
  const paired = pairedDifference(first, second, paperLevel)
  return {
    site: site.name,
    mode,
    against,
    readings: first.length,
    differenceMs: rounded(unpaired.difference),
    /** As in the paper, treats readings as independent. */
    welch: {
      ci99Ms: roundedInterval(unpaired.interval),
      t: rounded(unpaired.t),
      degreesOfFreedom: rounded(unpaired.degreesOfFreedom),
      p: unpaired.p,
    },
    /** Pairs of readings, corrected for autocorrelation. */
    paired: {
      ci99Ms: roundedInterval(paired.interval),
      p: paired.p,
      effectiveReadings: Math.round(paired.effectiveSize),
    },
    /** Largest difference between two windows' clocks. */
    clockMs: rounded(clockBetweenMs(run.clock, site.name)),
  }
}

/** Two pages' errors may add up; clients share one clock, so that its error cancels. */
function clockBetweenMs({ before, after }: RunClock, site: string): number {
  const bounds = [before, after].map((clocks) => {
    const pages = clocks.filter(({ name }) => name.startsWith(`${site}, `))
    return boundBetween(pages.map(({ errorMs }) => ({ offsetMs: 0, boundMs: errorMs })))
  })
  return Math.max(...bounds)
}

/** Causes: chance (Welch), autocorrelation (paired), the clocks' error. */
type Doubt = 'chance' | 'neighbours' | 'clock'

function decide(test: NonNullable<ReturnType<typeof contrast>>, pCorrected: number | null) {
  const doubt = doubtOf()
  const verdict = doubt ? 'undecided' : test.differenceMs < 0 ? 'faster' : 'slower'
  return { ...test, welch: { ...test.welch, pCorrected }, verdict, doubt }

  function doubtOf(): Doubt | null {
    const [low, high] = test.paired.ci99Ms
    if ((pCorrected ?? test.welch.p) >= 1 - paperLevel) return 'chance'
    if (low <= 0 && high >= 0) return 'neighbours'
    return Math.abs(test.differenceMs) <= test.clockMs ? 'clock' : null
  }
}

export const modelRuns = 20

/** From the paper's formulas with WebSocket's mean, and from a simulation of the network alone. */
function predictionOf(run: WindRun, { name, profile }: Site, cells: readonly CellSummary[]) {
  const measured = (method: Method) => cellAt(cells, name, method)?.meanMs ?? null
  const oneWayMs = measured('websocket')
  const betweenReadingsMs = 1000 / run.rateHz
  const timing = oneWayMs === null ? null : { oneWayMs, betweenReadingsMs, intervalMs: run.intervalMs }
  const { down, up } = profile
  const model = modelOf(run, profile)
  const modelWithoutStalls =
    down.stalls || up.stalls
      ? modelOf(run, { ...profile, down: { ...down, stalls: null }, up: { ...up, stalls: null } })
      : model
  return {
    site: name,
    /** ν of the formulas; null without arrivals. */
    oneWayMs,
    limitMs: rounded(betweenReadingsMs / 2),
    /** ν < M/2, the condition of both formulas. */
    binds: timing !== null && keepsUp(timing),
    methods: methods
      .filter((method) => run.modes.includes(modeOf[method]))
      .map((method) => {
        const measuredMs = measured(method)
        const formula = timing && expectationOf(method, timing)
        const isComparable = formula !== null && measuredMs !== null && modeOf[method] !== baseline
        return {
          method,
          measuredMs,
          formulaMs: formula && rounded(formula.expectedMs),
          formulaWorstMs: formula?.worstMs == null ? null : rounded(formula.worstMs),
          /** Measured over formula, minus 1. */
          deviation: isComparable ? rounded(measuredMs / formula.expectedMs - 1) : null,
          model: model(method),
          modelWithoutStalls: modelWithoutStalls(method),
        }
      }),
  }
}

function cellAt(cells: readonly CellSummary[], wanted: string, method: Method): CellSummary | undefined {
  return cells.find(({ site, mode }) => site === wanted && mode === modeOf[method])
}

function modelOf({ readings: { length }, rateHz, holdMs, intervalMs }: WindRun, profile: Profile) {
  const experiment = { readings: Math.max(2, length), rateHz, holdMs, intervalMs }
  const drawn = Array.from({ length: modelRuns }, (_, seed) =>
    predict(profile, { ...experiment, random: createSeededRandom(seed + 1) }),
  )
  return (method: Method) => {
    const runs = drawn.map((found) => found[method])
    const means = runs.map(mean)
    const rangeMs: Interval = [rounded(Math.min(...means)), rounded(Math.max(...means))]
    return { meanMs: rounded(mean(means)), sdMs: rounded(mean(runs.map(standardDeviation))), rangeMs }
  }
}

/** A criterion for a valid run or for agreement with the paper. */
export interface Check {
  /** Null for all sites. */
  readonly site: string | null
  readonly what: string
  /** `2.2–4.5`, `≤ 2 ms`. */
  readonly wanted: string
  readonly unit: 'times' | '%' | 'readings' | 'ms'
  readonly found: number | null
  readonly holds: boolean
}

/** Requests return before the next reading, the paper's condition for polling. */
const nearSites = ['edmonton', 'lund', 'caracas']
/** Tolerated distance from the paper's range, as a share of it. */
export const ratioWithin = 0.15
const formulaWithin = 0.1
/** Mean, about the precision of timers: above this a link does not match its profile, the machine was overloaded. */
const mostLateMs = 1

const slowerMethods: readonly Method[] = ['long-polling', 'polling']

function checksOf(
  run: WindRun,
  cells: readonly CellSummary[],
  predictions: readonly SitePrediction[],
): readonly Check[] {
  const bound = (what: string, foundMs: number, mostMs: number): Check => {
    const wanted = `≤ ${mostMs} ms`
    return { site: null, what, wanted, unit: 'ms', found: rounded(foundMs), holds: foundMs <= mostMs }
  }
  return [
    {
      site: null,
      what: `Readings once and in order, in the least of ${cells.length} cells`,
      wanted: count(run.readings.length),
      unit: 'readings',
      found: Math.min(...cells.map(({ n }) => n)),
      holds: faultsIn({ cells }) === 0,
    },
    bound('Clocks off the server’s, before and after', largestErrorMs(run.clock), paperBoundMs),
    bound('Links late on average', latenessMs(run), mostLateMs),
    ...predictions
      .flatMap((prediction) => [
        ...slowerMethods.map((method) => ratioCheck(cells, prediction.site, method)),
        formulaCheck(prediction),
      ])
      .filter((check) => check !== undefined),
  ]
}

function latenessMs({ links }: WindRun): number {
  return Math.max(0, ...links.map(({ lateMs }) => lateMs))
}

/** Undefined for sites outside the paper. */
function ratioCheck(cells: readonly CellSummary[], site: string, method: Method): Check | undefined {
  const cell = cellAt(cells, site, method)
  const papers = paperRatios(site, method)
  if (!cell || !papers) return undefined
  const [least, most] = [papers[0] * (1 - ratioWithin), papers[1] * (1 + ratioWithin)]
  const found = cell.ratioToWebsocket
  return {
    site,
    what: `${capital(methodWords[method])} over WebSocket`,
    wanted: `${least.toFixed(2)}–${most.toFixed(2)}`,
    unit: 'times',
    found,
    holds: found !== null && found >= least && found <= most,
  }
}

function formulaCheck({ site, methods }: SitePrediction): Check | undefined {
  const polling = methods.find(({ method }) => modeOf[method] === modeOf.polling)
  if (!polling || !nearSites.includes(site)) return undefined
  const { deviation } = polling
  return {
    site,
    what: 'Polling against 2ν + Δ/2',
    wanted: `± ${100 * formulaWithin} %`,
    unit: '%',
    found: deviation === null ? null : rounded(100 * deviation),
    holds: deviation !== null && Math.abs(deviation) <= formulaWithin,
  }
}

/** Faults, then ratios to WebSocket's mean where long polling keeps up and where not, then agreement with the paper. */
function findingOf(
  run: WindRun,
  cells: readonly CellSummary[],
  predictions: readonly SitePrediction[],
  checks: readonly Check[],
): string {
  const faults = cells.flatMap(faultWords)
  const groups = [true, false].flatMap((isNear) => {
    const group = predictions.filter(({ binds, oneWayMs }) => oneWayMs !== null && binds === isNear)
    const sites = group.map(({ site }) => site)
    return ratioWords(cells, sites)
  })
  const pace = run.faster === 1 ? '' : `${run.faster} times as fast as asked for: `
  const found = groups.length === 0 ? 'there is no WebSocket time to compare with' : groups.join('; ')
  const opening = faults.length === 0 ? '' : `${faults.join('; ')}. `
  return `${opening}${capital(`${pace}over simulated networks, ${found}.`)} ${pointsWords(checks)}`
}

function faultWords({ site, mode, expected, lost, duplicated, reordered }: CellSummary): readonly string[] {
  if (lost + duplicated + reordered === 0) return []
  const counts = `lost ${lost} of ${expected} readings, repeated ${duplicated}, reordered ${reordered}`
  return [`${mode} at ${capital(site)} ${counts}`]
}

/** `at Lund long polling took 1.00 times WebSocket’s mean (paper: 0.95 to 1.03)`; empty without a ratio. */
function ratioWords(cells: readonly CellSummary[], sites: readonly string[]): readonly string[] {
  const words: string[] = []
  for (const method of slowerMethods) {
    const ratios = sites.flatMap((site) => cellAt(cells, site, method)?.ratioToWebsocket ?? [])
    if (ratios.length === 0) continue
    const papers = sites.flatMap((site) => paperRatios(site, method) ?? [])
    const isFirst = words.length === 0
    const took = isFirst ? `took ${span(ratios)} times WebSocket’s mean` : span(ratios)
    const beside = papers.length === 0 ? '' : ` (${isFirst ? 'paper: ' : ''}${span(papers)})`
    words.push(`${methodWords[method]} ${took}${beside}`)
  }
  return words.length === 0 ? [] : [`at ${listed(sites.map(capital))} ${listed(words)}`]
}

/** `12 of 14 points hold; not at Nagaoka: long polling over WebSocket and polling over WebSocket.` */
export function pointsWords(checks: readonly Check[]): string {
  const failed = checks.filter(({ holds }) => !holds)
  const words = [...Map.groupBy(failed, ({ site }) => site)].map(
    ([site, own]) =>
      `not${site === null ? '' : ` at ${capital(site)}`}: ${listed(own.map(({ what }) => lowered(what)))}`,
  )
  return `${[`${checks.length - failed.length} of ${checks.length} points hold`, ...words].join('; ')}.`
}

export function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export function lowered(words: string): string {
  return words.charAt(0).toLowerCase() + words.slice(1)
}

function listed(words: readonly string[]): string {
  return new Intl.ListFormat('en-GB').format(words)
}

/** `1.00 to 1.05`, or one figure when equal. */
export function span(values: readonly number[]): string {
  const [low, high] = [Math.min(...values).toFixed(2), Math.max(...values).toFixed(2)]
  return low === high ? low : `${low} to ${high}`
}
