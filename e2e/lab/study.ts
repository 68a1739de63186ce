// A scenario's samples as data: factors, measures and sessions; one analysis for all scenarios.

import { holm, mean, meanOfClusters, meanOfRatios } from '../../client/statistics.ts'
import { atOthers, bySession, type Counts, echoesIn, totals } from './samples.ts'
import {
  ascending,
  clustersFor,
  median,
  quantile,
  rounded,
  roundedInterval,
  sessionRatio,
  significant,
  summarise,
} from './statistics.ts'

export type Level = string | number

/** A property that differs between samples, such as the mode or the size of a message. */
export interface Factor {
  /** The column of the samples. */
  readonly name: string
  readonly title: string
  /** For tables and axes; default: the level itself. */
  readonly label?: (level: Level) => string
  /** Beside the title, as in a column or on an axis: `6` of `6 windows`; default: the label. */
  readonly short?: (level: Level) => string
  /** Lines of one family have one colour, all but its first one dashed; default: the level itself. */
  readonly family?: (level: Level) => Level
  /**
   * For sentences: the name of a subject; for another factor, the place: `at 10 kB`. Default: by the
   * label.
   */
  readonly spoken?: (level: Level) => string
}

export interface Measure {
  /** The column of the samples; null there: it did not arrive. */
  readonly name: string
  /** Such as `Transmission time`. */
  readonly title: string
  readonly unit: string
  readonly better: 'less' | 'more'
  /**
   * The figure that sessions are compared by; default: the mean. A table of several measures has means
   * if each says so, else medians.
   */
  readonly by?: 'mean' | 'median'
  /** A session in which something did not arrive has no figure, and is not compared. */
  readonly needsAll?: boolean
  /** False: only described, in one table with the others of this kind. */
  readonly isCompared?: boolean
}

export const isTime = ({ unit }: Measure) => unit === 'ms' || unit === 'µs'

export const comparedOf = ({ measures }: Design) => measures.filter(({ isCompared = true }) => isCompared)

/** A scenario's declaration. */
export interface Design<Own extends object = object> {
  /** Ends with a question mark. */
  readonly question: string
  /** The levels of the first are compared, where those of the others are the same. */
  readonly factors: readonly [Factor, ...Factor[]]
  /** The first answers the question. */
  readonly measures: readonly [Measure, ...Measure[]]
  /** False: a sample is a value of its own; null is then "not measured", not a message that was lost. */
  readonly areMessages?: boolean
  /** Levels of the first factor that the finding ranks, default all; others are only compared with. */
  readonly isSubject?: (level: Level) => boolean
  /** The comparisons; default: every level of the first factor with the baseline. */
  readonly pairs?: (
    levels: readonly Level[],
    baseline: Level | null,
    samples: readonly Row[],
  ) => readonly Pair[]
  /** Notes: what a sample is, and what only this scenario can say about its figures. */
  readonly notes: (found: Analysis) => readonly string[]
  /** Sentences that follow the finding. `Own`: what only this scenario finds. */
  remarks?(found: Analysis & Own): readonly string[]
}

type Pair = readonly [level: Level, against: Level]

/**
 * A row for each factor's level, session and measured value. `id`: samples of one message count as one.
 * `receiver` 1: the window that sent it, whose samples are summarised apart if there are others.
 * `broken`: a sentence that says why the row is in no figure. `expected`: a row that stands for this
 * many samples, with figures of all that arrived.
 */
export type Row = {
  readonly session: number
  readonly id?: string
  readonly receiver?: number
  readonly copies?: number
  readonly reordered?: boolean | number
  readonly expected?: number
  readonly lost?: number
  readonly duplicated?: number
  readonly broken?: string | null
} & { readonly [column: string]: Level | boolean | null | undefined }

export interface Measured {
  /** In order; by the factor's name. */
  readonly levels: Readonly<Record<string, readonly Level[]>>
  /** A level of the first factor; null: nothing is compared, unless the design has pairs. */
  readonly baseline: Level | null
  readonly samples: readonly Row[]
  /** The server's use of processor and memory in a session, by all factors or the first ones. */
  readonly costs?: readonly Cost[]
  /** The error between two clocks, ms; a difference of times within it is undecided. */
  readonly boundMs?: number
  /** The smallest difference of the first measure that matters: absent, none is alike. */
  readonly matters?: Matters
  /** Levels of the first factor that are in no comparison, such as a system that failed. */
  readonly uncompared?: readonly Level[]
  /**
   * Why a run that continues until every interval is narrow enough ended; absent with a fixed number of
   * sessions.
   */
  readonly until?: 'decided' | 'limit'
  /** A first look: the time that the whole run would take. */
  readonly quick?: { readonly fullMs: number }
}

/** In the measure's unit, or in percent of the base of the comparison. */
export interface Matters {
  readonly amount: number
  readonly isPercent: boolean
}

/** With levels of the factors. */
export type Cost = {
  readonly session: number
  readonly cpuMs: number
  readonly rssBytes: number
  /** Use of all the machine's processors meanwhile, 0 to 1. */
  readonly machineBusy?: number
  /** Processor time of a front between windows and server. */
  readonly frontCpuMs?: number
} & { readonly [column: string]: Level | undefined }

export type Analysis = ReturnType<typeof analyseStudy>
export type FigureRow = Analysis['figures'][number]
export type StudyComparison = Analysis['comparisons'][number]

/**
 * Levels of all factors or some of them, by the factor's name. In summary.json it is a row's `at`, and its
 * label the row's `mode`, because the first factor of most studies is the mode.
 */
export type Place = Readonly<Record<string, Level>>

/** Deterministic; figures have at most six significant digits. */
export function analyseStudy(design: Design, measured: Measured) {
  const { samples: all, levels, baseline } = measured
  const [factor, ...others] = design.factors
  const broken = all.flatMap((row) => row.broken ?? [])
  const whole = all.filter((row) => !row.broken) as readonly (Row & { readonly receiver: number })[]
  const samples = atOthers(whole)
  const places = measuredPlaces(design, levels, all)
  const own = samples === whole ? [] : echoesIn(whole)
  const numbers = bySession(all).map(([session]) => session)
  const otherPlaces = placesOf(others, levels)
  const pairs = pairsOf(design, measured)
  const asked = comparedOf(design).flatMap((measure) =>
    otherPlaces.flatMap((place) =>
      pairs.map((pair) => ({ design, measured, samples, measure, place, pair })),
    ),
  )
  const found = asked.map((one) => ({ ...one, contrast: contrast(one) }))
  const contrasts = found.flatMap((one) => one.contrast ?? [])
  const corrected = correctedByHolm(contrasts)
  return {
    question: design.question,
    measures: design.measures,
    sessions: numbers.length,
    baseline,
    levels,
    figures: figuresOf(design, places, samples, numbers),
    echoes: figuresOf(design, own.length === 0 ? [] : places, own, numbers),
    comparisons: contrasts.map((one) => ({ ...one, ...decide(one, corrected.get(one) ?? null) })),
    /** Pairs without a ratio: they share no session with arrivals of both, or a clock's error put a mean below 0. */
    notCompared: found
      .filter((one) => one.contrast === undefined)
      .map(({ measure, place: others, pair: [level, against] }) => {
        const place = { ...others, [factor.name]: level }
        return {
          mode: placeLabel(design.factors, place),
          baseline: String(against),
          at: place,
          measure: measure.name,
        }
      }),
    costs: costsOf(design, measured),
    ...(broken.length > 0 && { broken }),
  }
}

function pairsOf({ pairs, factors: [{ name }] }: Design, run: Measured): readonly Pair[] {
  const { baseline, uncompared = [], samples } = run
  const levels = (run.levels[name] ?? []).filter((level) => !uncompared.includes(level))
  return (
    pairs?.(levels, baseline, samples) ??
    levels.flatMap((level): Pair[] => (baseline === null || level === baseline ? [] : [[level, baseline]]))
  )
}

/**
 * Whether every interval is at most as wide as the smallest difference that matters: it then
 * excludes 1, or lies within that difference. A rule by the width alone, not by the verdict, keeps
 * the intervals valid although they are checked after each session (Y. S. Chow and H. Robbins, "On
 * the Asymptotic Theory of Fixed-Width Sequential Confidence Intervals", Ann. Math. Statist. 36,
 * 1965).
 */
export const isDecided = ({
  comparisons,
  notCompared,
}: Pick<Analysis, 'comparisons' | 'notCompared'>): boolean =>
  notCompared.length === 0 && comparisons.every((one) => one.ratioCi95 !== null && widthInMatters(one) <= 1)

/**
 * The total number of sessions after which every interval would be at most as wide as this share of the
 * comparison's base, if they differ as these do. Default: the smallest difference that matters.
 */
export function sessionsNeeded(
  comparisons: readonly StudyComparison[],
  sessions: number,
  share: number | null = null,
): number {
  const widest = Math.max(1, ...comparisons.map((one) => widthInMatters(one, share ?? one.matters)))
  return clustersFor(sessions, 1 / widest)
}

/**
 * Width on the logarithmic scale, where the distance from a ratio of 1 to the smallest that matters
 * is one.
 */
function widthInMatters({ ratioCi95, matters }: StudyComparison, share: number | null = matters): number {
  return share === null || ratioCi95 === null
    ? 0
    : Math.log(ratioCi95[1] / ratioCi95[0]) / Math.log(1 + share)
}

/** Over all sessions: processor time in all, and the highest resident memory. */
function costsOf(design: Design, { costs = [], samples, levels }: Measured) {
  const [first] = costs
  if (!first) return []
  const factors = design.factors.filter(({ name }) => name in first)
  return placesOf(factors, levels).flatMap((place) => {
    const own = costs.filter(isAt(place))
    if (own.length === 0) return []
    const received = valuesOf(samples.filter(isAt(place)), design.measures[0]).length
    const sum = (of: (one: Cost) => number) => own.reduce((total, one) => total + of(one), 0)
    const cpuMs = sum((one) => one.cpuMs)
    const frontCpuMs = sum((one) => one.frontCpuMs ?? Number.NaN)
    return [
      {
        mode: placeLabel(factors, place),
        at: place,
        serverCpuMs: significant(cpuMs),
        serverCpuMicrosPerSample: significant((1000 * cpuMs) / received),
        serverRssBytes: significant(Math.max(...own.map(({ rssBytes }) => rssBytes))),
        ...(first.frontCpuMs !== undefined && {
          frontCpuMs: significant(frontCpuMs),
          frontCpuMicrosPerSample: significant((1000 * frontCpuMs) / received),
        }),
        ...(first.machineBusy !== undefined && {
          machineBusy: significant(mean(own.map(({ machineBusy = Number.NaN }) => machineBusy))),
        }),
      },
    ]
  })
}

/** Combinations of the levels; one without any factor. */
function placesOf(factors: readonly Factor[], levels: Measured['levels']): readonly Place[] {
  return factors.reduce<readonly Place[]>(
    (places, { name }) =>
      places.flatMap((place) => (levels[name] ?? []).map((level) => ({ ...place, [name]: level }))),
    [{}],
  )
}

/**
 * The factors after the first that have several levels. `over`: the one whose levels are numbers, to
 * draw lines over; `panel`: the only other one. Null if there is none, or too many.
 */
export function axesOf({ factors: [, ...others] }: Design, { levels }: Pick<Measured, 'levels'>) {
  const of = ({ name }: Factor) => levels[name] ?? []
  const varied = others.filter((factor) => of(factor).length > 1)
  const over = varied.find((factor) => of(factor).every((level) => typeof level === 'number'))
  const [panel = null, ...more] = varied.filter((factor) => factor !== over)
  if (!over || more.length > 0) return { varied, over: null, panel: null }
  return { varied, over, panel }
}

/** In order, the last factor changing first. */
function measuredPlaces({ factors }: Design, levels: Measured['levels'], samples: readonly Row[]) {
  const there = new Set(samples.map((row) => keyOf(factors, row)))
  return placesOf(factors, levels).filter((place) => there.has(keyOf(factors, place)))
}

const keyOf = (factors: readonly Factor[], row: Place | Row) =>
  JSON.stringify(factors.map(({ name }) => row[name]))

const isAt = (place: Place) => (row: Place | Row | Cost) =>
  Object.entries(place).every(([name, level]) => row[name] === level)

/** Such as `sse/2, 10 kB`: the row's name in budgets. The first factor's level is not labelled. */
export const placeLabel = (factors: readonly Factor[], place: Place) =>
  factors
    .map(({ name, label = String }, index) => (index === 0 ? String(place[name]) : label(place[name] ?? '')))
    .join(', ')

const valuesOf = (rows: readonly Row[], { name }: Measure) =>
  rows.flatMap((row) => {
    const value = row[name]
    return typeof value === 'number' ? [value] : []
  })

/** One row for each place and measure. */
function figuresOf(
  { factors, measures }: Design,
  places: readonly Place[],
  samples: readonly Row[],
  sessions: readonly number[],
) {
  const byPlace = Map.groupBy(samples, (row) => keyOf(factors, row))
  return measures.flatMap((measure, index) =>
    places.map((place) => {
      const rows = byPlace.get(keyOf(factors, place)) ?? []
      const values = valuesOf(rows, measure)
      const figures = values.length === 0 ? undefined : summarise(values)
      const of = (name: Exclude<keyof NonNullable<typeof figures>, 'n'>) =>
        significant(figures?.[name] ?? Number.NaN)
      const label = placeLabel(factors, place)
      const counts = totals(rows.map((row) => countsOf(row, measure)))
      return {
        mode: index === 0 ? label : `${label}: ${measure.name}`,
        at: place,
        measure: measure.name,
        n: counts.expected - counts.lost,
        ...counts,
        mean: of('mean'),
        sd: of('sd'),
        p50: of('p50'),
        p95: of('p95'),
        p99: of('p99'),
        min: of('min'),
        max: of('max'),
        /** Value of each session of the run, in order; null if nothing arrived in one. */
        sessions: sessions.map((session) => {
          const own = rows.filter((row) => row.session === session)
          return significant(sessionValue(own, measure) ?? Number.NaN)
        }),
      }
    }),
  )
}

function countsOf(row: Row, { name }: Measure): Counts {
  const { copies = 1, reordered = 0, expected = 1 } = row
  const { lost = typeof row[name] === 'number' ? 0 : expected, duplicated = copies > 1 ? 1 : 0 } = row
  return { expected, lost, duplicated, reordered: Number(reordered) }
}

/** Null if nothing arrived. A message counts once, with its mean over the windows. */
function sessionValue(rows: readonly Row[], measure: Measure): number | null {
  const values = valuesOf(rows, measure)
  if (values.length === 0) return null
  if (measure.by === 'median') return median(values)
  if (rows.every(({ id }) => id === undefined)) return mean(values)
  const messages = Map.groupBy(rows, ({ id }) => id)
  return mean(
    [...messages.values()].flatMap((message) => {
      const times = valuesOf(message, measure)
      return times.length === 0 ? [] : [mean(times)]
    }),
  )
}

interface Contrasted {
  readonly design: Design
  readonly measured: Measured
  readonly samples: readonly Row[]
  readonly measure: Measure
  /** Levels of the other factors. */
  readonly place: Place
  readonly pair: Pair
}

/**
 * The unit is the session: samples of one session resemble each other more than those of different
 * ones. Each that measured both gives one ratio, and ratios are pooled by their logarithms
 * (Student's t): where a machine's speed changes from run to run, a ratio holds and a difference
 * does not (docs/measuring.md, "Check the intervals"). Undefined if no session measured both, or if
 * clocks differ so much that a session's value is below 0, which has no ratio. If the measure needs
 * all, that includes what the sending window receives.
 */
export function contrast(asked: Contrasted) {
  const { design, measured, measure, place: others, pair } = asked
  const { factors, measures } = design
  const [level, against] = pair
  const place = { ...others, [factors[0].name]: level }
  const sessions = comparedSessions(asked)
  if (sessions.length === 0) return undefined
  const ratios = sessions.map(({ ratio }) => ratio)
  const pooled = sessions.length < 2 ? null : meanOfRatios(ratios)
  const differences = sessions.map(({ difference }) => difference)
  const apart = sessions.length < 2 ? null : meanOfClusters(differences)
  const pooledOf = (name: 'medianRatio' | 'p95Ratio') =>
    sessionRatio(sessions.map((one) => one[name]).filter((one) => one > 0 && one < Infinity))
  const medians = pooledOf('medianRatio')
  const p95s = pooledOf('p95Ratio')
  return {
    mode: placeLabel(factors, place),
    baseline: String(against),
    at: place,
    measure: measure.name,
    ratio: rounded(pooled?.ratio ?? ratios[0] ?? Number.NaN),
    ratioCi95: pooled && roundedInterval(pooled.interval),
    difference: rounded(mean(differences)),
    differenceCi95: apart && roundedInterval(apart.interval),
    medianRatio: medians.ratio,
    medianRatioCi95: medians.ratioCi95,
    p95Ratio: p95s.ratio,
    p95RatioCi95: p95s.ratioCi95,
    p: pooled?.p ?? null,
    matters:
      measure === measures[0] ? mattersIn(measured.matters, mean(sessions.map(({ base }) => base))) : null,
    boundMs: measure.unit === 'ms' ? (measured.boundMs ?? 0) : 0,
    sessions: sessions.map(({ session, ratio, medianRatio, difference }) => ({
      session,
      ratio: rounded(ratio),
      medianRatio: significant(medianRatio),
      difference: rounded(difference),
    })),
  }
}

/** A value for each session that measured both. */
function comparedSessions({ design, measured, samples, measure, place, pair: [level, against] }: Contrasted) {
  const [{ name }] = design.factors
  const isAtLevel = isAt({ ...place, [name]: level })
  const isAtBase = isAt({ ...place, [name]: against })
  const found = bySession(samples.filter(isAtLevel))
  const bases = new Map(bySession(samples.filter(isAtBase)))
  const isBelowZero = ([, rows]: readonly [number, readonly Row[]]) => (sessionValue(rows, measure) ?? 0) < 0
  if ([...found, ...bases].some(isBelowZero)) return []
  const missed = measured.samples.filter(
    (row) =>
      measure.needsAll &&
      !row.broken &&
      typeof row[measure.name] !== 'number' &&
      (isAtLevel(row) || isAtBase(row)),
  )
  const lossy = new Set(missed.map(({ session }) => session))
  return found.flatMap(([session, rows]) => {
    if (lossy.has(session)) return []
    const baseRows = bases.get(session) ?? []
    const own = sessionValue(rows, measure)
    const base = sessionValue(baseRows, measure)
    if (own === null || base === null || !(own / base > 0 && own / base < Infinity)) return []
    const [values, baseValues] = [valuesOf(rows, measure), valuesOf(baseRows, measure)].map(ascending)
    const ratioAt = (share: number) => quantile(values ?? [], share) / quantile(baseValues ?? [], share)
    return [
      {
        session,
        ratio: own / base,
        difference: own - base,
        base,
        medianRatio: ratioAt(0.5),
        p95Ratio: ratioAt(0.95),
      },
    ]
  })
}

/** Compares two levels by the first measure; `place`: the levels of the other factors. */
export function contrastOf(design: Design, measured: Measured, pair: Pair, place: Place) {
  const samples = atOthers(measured.samples as readonly (Row & { readonly receiver: number })[])
  return contrast({ design, measured, samples, measure: design.measures[0], place, pair })
}

/** As a share of the comparison's base; null if no difference is said to matter. */
function mattersIn(matters: Matters | undefined, base: number): number | null {
  if (!matters) return null
  return matters.isPercent ? matters.amount / 100 : matters.amount / base
}

type Contrast = NonNullable<ReturnType<typeof contrast>>

/** Omits contrasts without a p, which are no tests. */
function correctedByHolm(contrasts: readonly Contrast[]): ReadonlyMap<Contrast, number> {
  const tests = contrasts.flatMap((one) => (one.p === null ? [] : [[one, one.p] as const]))
  const corrected = holm(tests.map(([, p]) => p))
  return new Map(tests.map(([one], index) => [one, corrected[index] ?? 1]))
}

/** `lower`: the ratio is below 1. */
function decide({ ratio, ratioCi95, difference, matters, boundMs }: Contrast, p: number | null) {
  if (ratioCi95 === null || p === null) return { pCorrected: null, verdict: 'undecided' as const }
  const [low, high] = ratioCi95
  const isOpen = p > 0.05 || (low <= 1 && high >= 1) || Math.abs(difference) <= boundMs
  const isAlike = matters !== null && low > 1 / (1 + matters) && high < 1 + matters
  const verdict = ratio < 1 ? ('lower' as const) : ('higher' as const)
  return {
    pCorrected: p,
    verdict: isOpen ? (isAlike ? ('alike' as const) : ('undecided' as const)) : verdict,
  }
}
