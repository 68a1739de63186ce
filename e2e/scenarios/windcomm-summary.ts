// Summary of a WindComm run: cells, tests, predictions, agreement with the paper, and the finding.

import { holm, type Interval, mean, standardDeviation } from '../../client/statistics.ts'
import { createSeededRandom } from '../../client/wire.ts'
import { boundBetween, paperBoundMs } from '../lab/clock.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { hasArrived, isFaulty, summariseSamples } from '../lab/samples.ts'
import {
  effectiveSize,
  outerThirds,
  pairedDifference,
  pairedRatio,
  rounded,
  roundedInterval,
  sessionRatio,
  significant,
  summarise,
  welch,
} from '../lab/statistics.ts'
import type { Profile } from '../network/profiles.ts'
import { capital, count, figure, formatRatio, listed, lowered, range } from '../report/section.ts'
import {
  baseline,
  cityOf,
  expectationOf,
  keepsUp,
  type Method,
  methodOf,
  methods,
  methodWords,
  modeOf,
  paperFormulaError,
  paperLevel,
  paperTests,
  pollReturnsMs,
  predict,
  span,
} from './windcomm-paper.ts'
import type {
  ClockChecks,
  ComparedClock,
  LinkUse,
  MachineSite,
  Reading,
  SimulatedSite,
  Site,
  SiteBytes,
  WindSample,
} from './windcomm-testbed.ts'

export interface WindRun extends Circumstances {
  /** Pace as run, after scaling. */
  readonly rateHz: number
  readonly holdMs: number
  readonly intervalMs: number
  /** Scales rate, hold, interval and delays together. */
  readonly faster: number
  readonly warmUpReadings: number
  readonly sites: readonly Site[]
  readonly modes: readonly string[]
  /** Number of consecutive sessions, of equally many readings each. */
  readonly sessions: number
  /** Sites that are left out of a session, each with the reason: joined devices. */
  readonly missed?: readonly MissedSession[]
  readonly readings: readonly Reading[]
  readonly samples: readonly WindSample[]
  readonly clock: ClockChecks
  readonly links: readonly LinkUse[]
  /** Bytes of the first session; absent in older runs. */
  readonly bytes?: readonly SiteBytes[]
  /** Up to the last late arrival. */
  readonly serverCpuMs: number
}

export interface MissedSession {
  readonly site: string
  /** From 1. */
  readonly session: number
  /** Such as `was hidden`. */
  readonly why: string
}

/** Empty on real machines. */
export const simulatedIn = (sites: readonly Site[]): readonly SimulatedSite[] =>
  sites.filter((site) => site.profile !== null)

/** Empty at simulated sites. */
export const machinesIn = (sites: readonly Site[]): readonly MachineSite[] =>
  sites.filter((site) => site.profile === null)

/** One way, from the server's acceptance. */
export const latencyMs = ({ acceptedAt, receivedAt }: WindSample & { readonly receivedAt: number }) =>
  receivedAt - acceptedAt

export function cellOf({ samples }: WindRun, site: string, mode: string): readonly WindSample[] {
  return samples.filter((sample) => sample.site === site && sample.mode === mode)
}

export type WindSummary = ReturnType<typeof analyse>
export type CellSummary = ReturnType<typeof summariseCell>
export type TestSummary = ReturnType<typeof decide>
type SitePrediction = ReturnType<typeof predictionOf>

export function analyse(run: WindRun) {
  const { readings, samples: _, clock, ...known } = run
  const cells = run.sites.flatMap((site) => run.modes.map((mode) => summariseCell(run, site, mode)))
  const predictions = run.sites.map((site) => predictionOf(run, site, cells))
  const checks = checksOf(run, cells, predictions)
  return {
    scenario: 'windcomm',
    ...known,
    baseline,
    readings: readings.length,
    finding: findingOf(run, cells, predictions, checks),
    remarks: run.sessions > 1 ? run.sites.flatMap(({ name }) => formatSessions(cells, name)) : [],
    checks,
    cells,
    tests: testsOf(run),
    predictions,
    clock: {
      before: clock.before.map(roundedClock),
      after: clock.after.map(roundedClock),
      largestErrorMs: rounded(largestErrorMs(clock)),
    },
    drifts: driftsOf(run),
    serialLine: serialLineOf(run),
    serverCpuMs: rounded(run.serverCpuMs),
  }
}

function roundedClock({ name, offsetMs, boundMs, errorMs, withinMs }: ComparedClock) {
  return {
    name,
    offsetMs: rounded(offsetMs),
    boundMs: rounded(boundMs),
    errorMs: rounded(errorMs),
    ...(withinMs !== undefined && { withinMs: rounded(withinMs) }),
  }
}

function largestErrorMs({ before, after }: ClockChecks): number {
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
  const { p50Ms: medianMs, ...figures } = summariseSamples(samples, latencyMs)
  const both = latenciesOfBoth(run, name, mode, baseline)
  const ratio = both.first.length < 2 ? null : pairedRatio(both.first, both.second)
  const sessions = sessionsOf(run, samples, cellOf(run, name, baseline))
  const overSessions = sessions.length < 2 ? null : sessionRatio(sessions.map((one) => one.ratio))
  return {
    site: name,
    mode,
    windows,
    ...figures,
    medianMs,
    /** Effective sample size of the mean. */
    effectiveN: times.length === 0 ? null : Math.round(effectiveSize(times)),
    /** Over readings that both received. */
    ratioToWebsocket: overSessions ? overSessions.ratio : ratio && rounded(ratio.ratio),
    ratioToWebsocketCi95:
      mode === baseline
        ? null
        : overSessions
          ? overSessions.ratioCi95
          : ratio && roundedInterval(ratio.interval),
    /** Empty if there is one. */
    sessions: sessions.map(({ meanMs, sdMs, ratio }) => ({
      meanMs: rounded(meanMs),
      sdMs: significant(sdMs),
      ratio: rounded(ratio),
    })),
  }
}

/** Sessions of a cell in which something arrived there and over WebSocket; empty with one session. */
function sessionsOf(
  { sessions, readings: { length } }: Pick<WindRun, 'sessions' | 'readings'>,
  samples: readonly WindSample[],
  others: readonly WindSample[],
) {
  if (sessions < 2) return []
  const size = length / sessions
  return Array.from({ length: sessions }, (_, place) => {
    const [times = [], otherTimes = []] = [samples, others].map((cell) =>
      cell
        .filter((sample) => Math.ceil(sample.place / size) === place + 1)
        .filter(hasArrived)
        .map(latencyMs),
    )
    return { meanMs: mean(times), sdMs: standardDeviation(times), ratio: mean(times) / mean(otherTimes) }
  }).filter(({ ratio }) => Number.isFinite(ratio))
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
 * For each site the paper's tests, then other modes against WebSocket. Omits those with fewer than
 * two common readings. Holm's correction covers the tests beyond the paper's; the paper did not
 * correct its own.
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

/** Two pages' errors may add up; clients share one clock, so its error cancels, as that of a machine does. */
function clockBetweenMs({ before, after }: ClockChecks, site: string): number {
  const bounds = [before, after].map((clocks) => {
    const pages = clocks.filter(({ name }) => name.startsWith(`${site}, `))
    return boundBetween(pages.map(({ errorMs, withinMs }) => ({ offsetMs: 0, boundMs: withinMs ?? errorMs })))
  })
  return Math.max(...bounds)
}

/** Fewer readings cannot separate a trend from autocorrelation. */
const minForTrend = 300

/**
 * Last third of each cell's readings minus the first. Readings count by their effective number,
 * from their correlation within thirds over the whole cell: with that of a single third, too short
 * a series, false trends would be found.
 */
function driftsOf(run: WindRun) {
  const found = run.sites.flatMap(({ name }) =>
    run.modes.flatMap((mode) => {
      const times = cellOf(run, name, mode).filter(hasArrived).map(latencyMs)
      if (times.length < minForTrend) return []
      const [first, last] = outerThirds(times)
      const middle = times.slice(first.length, times.length - last.length)
      const within = [first, middle, last].flatMap((third) => third.map((ms) => ms - mean(third)))
      const worth = effectiveSize(within) / times.length
      const group = (third: readonly number[]) => ({
        ...summarise(third),
        n: Math.max(2, third.length * worth),
      })
      const { difference, interval, p } = welch(group(last), group(first), paperLevel)
      return [{ site: name, mode, differenceMs: rounded(difference), ci99Ms: roundedInterval(interval), p }]
    }),
  )
  const corrected = holm(found.map(({ p }) => p))
  return found.map((drift, place) => ({ ...drift, pCorrected: corrected[place] ?? 1 }))
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

/**
 * From the paper's formulas with WebSocket's mean, and at a simulated site from a simulation of the
 * network alone.
 */
function predictionOf(run: WindRun, { name, profile }: Site, cells: readonly CellSummary[]) {
  const measured = (method: Method) => cellAt(cells, name, method)?.meanMs ?? null
  const oneWayMs = measured('websocket')
  const betweenReadingsMs = 1000 / run.rateHz
  const timing = oneWayMs === null ? null : { oneWayMs, betweenReadingsMs, intervalMs: run.intervalMs }
  const models = profile && modelsOf(run, profile)
  return {
    site: name,
    /** The formulas' ν; null without arrivals. */
    oneWayMs,
    limitMs: rounded(betweenReadingsMs / 2),
    /** ν < M/2, for the formula of long polling. */
    binds: timing !== null && keepsUp(timing),
    /** Value that the paper's condition for polling compares with M; null without arrivals. */
    pollReturnsMs: timing && rounded(pollReturnsMs(timing)),
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
          ...models?.(method),
        }
      }),
  }
}

function cellAt(cells: readonly CellSummary[], wanted: string, method: Method): CellSummary | undefined {
  return cells.find(({ site, mode }) => site === wanted && mode === modeOf[method])
}

function modelsOf(run: WindRun, profile: Profile) {
  const { down, up } = profile
  const model = modelOf(run, profile)
  const modelWithoutStalls =
    down.stalls || up.stalls
      ? modelOf(run, { ...profile, down: { ...down, stalls: null }, up: { ...up, stalls: null } })
      : model
  return (method: Method) => ({ model: model(method), modelWithoutStalls: modelWithoutStalls(method) })
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

/** States what makes the run doubtful, then ratios to WebSocket's mean, then agreement with the paper. */
function findingOf(
  run: WindRun,
  cells: readonly CellSummary[],
  predictions: readonly SitePrediction[],
  checks: readonly Check[],
): string {
  const missed = checks.filter(
    ({ kind, unit, outcome }) => kind === 'condition' && unit === 'ms' && outcome === 'fails',
  )
  const broken = missed.map(({ what, found, wanted }) => `${what}: ${figure(found)} ms, wanted ${wanted}`)
  const opening = [...cells.flatMap(formatFaults), ...broken].join('; ')
  const groups = [true, false]
    .map((isNear) => predictions.filter(({ binds, oneWayMs }) => oneWayMs !== null && binds === isNear))
    .map((group) =>
      ratioWords(
        cells,
        group.map(({ site }) => site),
      ),
    )
    .filter((words) => words !== null)
  const pace = run.faster === 1 ? '' : `${run.faster} times as fast as asked for: `
  const found =
    groups.length === 0
      ? predictions.some(({ oneWayMs }) => oneWayMs !== null)
        ? 'neither long polling nor polling was compared with WebSocket'
        : 'there is no WebSocket time to compare with'
      : groups.map(({ at, words }, place) => `${at} ${words(place === 0)}`).join('; ')
  const networks = simulatedIn(run.sites).length > 0 ? 'over simulated networks, ' : ''
  const verdict = `${capital(`${pace}${networks}${found}.`)} ${formatCount(checks)}`
  return `${opening && `${opening}. `}${verdict}`.trimEnd()
}

/** `158 (150 to 166)`: the geometric mean of the sessions' figures with its 95 % interval. */
export function overSessions(values: readonly (number | null)[]): string {
  const { ratio, ratioCi95 } = sessionRatio(values.filter((value) => value !== null))
  return formatRatio(ratio, ratioCi95)
}

/** A site of the paper beside it, with intervals over sessions. */
function formatSessions(cells: readonly CellSummary[], site: string): readonly string[] {
  const found = methods.flatMap((method) => {
    const tests = paperTests(site, method)
    const cell = cellAt(cells, site, method)
    if (!cell || tests.length === 0) return []
    const beside = (name: 'meanMs' | 'sdMs' | 'ratio') =>
      `in the paper ${range(tests.map((test) => test[name]))}`
    const { sessions, ratioToWebsocket, ratioToWebsocketCi95 } = cell
    if (cell.mode !== baseline)
      return `${methodWords[method]} took ${formatRatio(ratioToWebsocket, ratioToWebsocketCi95)} times WebSocket’s mean, ${beside('ratio')}`
    const of = (name: 'meanMs' | 'sdMs') => overSessions(sessions.map((session) => session[name]))
    return `WebSocket’s mean was ${of('meanMs')} ms, ${beside('meanMs')}, its standard deviation ${of('sdMs')} ms, ${beside('sdMs')}`
  })
  return found.length === 0
    ? []
    : [`${capital(site)}, with 95 % intervals over sessions: ${found.join('; ')}.`]
}

function formatFaults({ site, mode, expected, lost, duplicated, reordered }: CellSummary): readonly string[] {
  if (lost + duplicated + reordered === 0) return []
  const counts = `lost ${lost} of ${expected} readings, repeated ${duplicated}, reordered ${reordered}`
  return [`${mode} at ${capital(site)} ${counts}`]
}

/** `at Lund` and `long polling took 1.00 times WebSocket’s mean and polling 2.70`; null without a ratio. */
function ratioWords(cells: readonly CellSummary[], sites: readonly string[]) {
  const found = slowerMethods.flatMap((method) => {
    const ratios = sites.flatMap((site) => cellAt(cells, site, method)?.ratioToWebsocket ?? [])
    return ratios.length === 0 ? [] : [{ method: methodWords[method], ratios: span(ratios) }]
  })
  if (found.length === 0) return null
  const words = (isFirst: boolean) =>
    listed(
      found.map(({ method, ratios }, place) =>
        isFirst && place === 0 ? `${method} took ${ratios} times WebSocket’s mean` : `${method} ${ratios}`,
      ),
    )
  return { at: atSites(sites), words }
}

/** `at Lund and Nagaoka`; `here, at WebDriver 1 and at Device 1`. */
export const atSites = (sites: readonly string[]): string =>
  sites.includes('here')
    ? listed(sites.map((site) => (site === 'here' ? site : `at ${capital(site)}`)))
    : `at ${listed(sites.map(capital))}`

/** As printed; null without tests. */
function paperRatios(site: string, method: Method): readonly [number, number] | null {
  const ratios = paperTests(site, method).map(({ ratio }) => ratio)
  return ratios.length === 0 ? null : [Math.min(...ratios), Math.max(...ratios)]
}

/** Agreement with the paper: within its own figures, only within a wider bound, or not. */
type Outcome = 'holds' | 'weaker' | 'fails'

/** A condition of a valid run, or a point of the paper. */
export interface Check {
  readonly kind: 'condition' | 'paper'
  /** Null for all sites. */
  readonly site: string | null
  readonly what: string
  /** `3.72–3.77`, `≤ 2 ms`; for a point of the paper, the paper's own result. */
  readonly wanted: string
  /** The bound of `weaker`; null if there is none. */
  readonly wider: string | null
  readonly unit: 'times' | '%' | 'readings' | 'ms'
  readonly found: number | null
  readonly outcome: Outcome
}

/** Where a request returns before the next reading: ν < M/2. */
const nearSites = ['edmonton', 'lund', 'caracas']
/** The wider bound: deviation from the paper's range as a share of it, and from its formula. */
export const ratioWithin = 0.15
export const formulaWithin = 0.1
/**
 * Mean, about the precision of timers: above this a link does not match its profile, since the
 * machine was overloaded.
 */
const maxLateMs = 1

const slowerMethods: readonly Method[] = ['long-polling', 'polling']

/** Whether the run is valid, and whether the paper holds in it. */
function checksOf(
  { sites, readings, clock, links }: WindRun,
  cells: readonly CellSummary[],
  predictions: readonly SitePrediction[],
): readonly Check[] {
  const condition = { kind: 'condition', site: null, wider: null } as const
  const bound = (what: string, foundMs: number, mostMs: number): Check => {
    const wanted = `≤ ${mostMs} ms`
    const outcome = foundMs <= mostMs ? 'holds' : 'fails'
    return { ...condition, what, wanted, unit: 'ms', found: rounded(foundMs), outcome }
  }
  return [
    {
      ...condition,
      what: `Readings once and in order, in the least of ${cells.length} cells`,
      wanted: count(readings.length),
      unit: 'readings',
      found: Math.min(...cells.map(({ n, expected }) => readings.length - expected + n)),
      outcome: cells.some(isFaulty) ? 'fails' : 'holds',
    },
    ...(simulatedIn(sites).length > 0
      ? [
          bound('Clocks off the server’s, before and after', largestErrorMs(clock), paperBoundMs),
          bound('Links late on average', Math.max(0, ...links.map(({ lateMs }) => lateMs)), maxLateMs),
        ]
      : []),
    ...predictions
      .flatMap((prediction) => [
        ...slowerMethods.map((method) => ratioCheck(cells, prediction.site, method)),
        formulaCheck(prediction),
      ])
      .filter((check) => check !== undefined),
  ]
}

/** Undefined for sites outside the paper. */
function ratioCheck(cells: readonly CellSummary[], site: string, method: Method): Check | undefined {
  const cell = cellAt(cells, site, method)
  const papers = paperRatios(site, method)
  if (!cell || !papers) return undefined
  const found = cell.ratioToWebsocket
  // To two decimals, as the paper prints its own.
  const printed = Number(found?.toFixed(2) ?? Number.NaN)
  const exact = found ?? Number.NaN
  const [least, most] = papers
  const low = least * (1 - ratioWithin)
  const high = most * (1 + ratioWithin)
  return {
    kind: 'paper',
    site,
    what: `${capital(methodWords[method])} over WebSocket`,
    wanted: span(papers).replace(' to ', '–'),
    wider: `${low.toFixed(2)}–${high.toFixed(2)}`,
    unit: 'times',
    found,
    outcome: outcomeOf(printed >= least && printed <= most, exact >= low && exact <= high),
  }
}

function outcomeOf(isWithin: boolean, isWithinWider: boolean): Outcome {
  return isWithin ? 'holds' : isWithinWider ? 'weaker' : 'fails'
}

function formulaCheck({ site, methods }: SitePrediction): Check | undefined {
  const polling = methods.find(({ method }) => modeOf[method] === modeOf.polling)
  const papers = paperFormulaError(site)
  if (!polling || papers === null || !nearSites.includes(cityOf(site))) return undefined
  const { deviation } = polling
  const own = Math.min(papers, formulaWithin)
  const distance = Math.abs(deviation ?? Number.NaN)
  const percent = (share: number) => `± ${Number((100 * share).toFixed(1))} %`
  return {
    kind: 'paper',
    site,
    what: 'Polling against 2ν + Δ/2',
    wanted: percent(own),
    wider: own < formulaWithin ? percent(formulaWithin) : null,
    unit: '%',
    found: deviation === null ? null : rounded(100 * deviation),
    outcome: outcomeOf(distance <= own, distance <= formulaWithin),
  }
}

/** `Of the paper’s 11 points 8 hold, 1 only within a wider bound, 2 do not.`; empty without points. */
function formatCount(checks: readonly Check[]): string {
  const points = checks.filter(({ kind }) => kind === 'paper')
  if (points.length === 0) return ''
  const number = (wanted: Outcome) => points.filter(({ outcome }) => outcome === wanted).length
  const words = [
    `${number('holds')} ${number('holds') === 1 ? 'holds' : 'hold'}`,
    number('weaker') > 0 && `${number('weaker')} only within a wider bound`,
    number('fails') > 0 && `${number('fails')} ${number('fails') === 1 ? 'does' : 'do'} not`,
  ]
  return `Of the paper’s ${points.length} points ${words.filter(Boolean).join(', ')}.`
}

/** Like `formatCount`, with what does not hold, by site. */
export function formatPoints(checks: readonly Check[]): string {
  const named = (wanted: Outcome, opening: string) => {
    const points = checks.filter(({ kind, outcome }) => kind === 'paper' && outcome === wanted)
    return [...Map.groupBy(points, ({ site }) => site ?? '')].map(
      ([site, own]) => `${opening} at ${capital(site)}: ${listed(own.map(({ what }) => lowered(what)))}.`,
    )
  }
  return [
    formatCount(checks),
    ...named('weaker', 'Only within the wider bound'),
    ...named('fails', 'Not'),
  ].join(' ')
}
