// The finding of any study: faults, the fastest level and by how much, and what would decide the rest.

import { formatDuration } from '../lab/estimate.ts'
import { atAllWindows, type Counts, isFaulty, totals } from '../lab/samples.ts'
import {
  type Analysis,
  axesOf,
  contrastOf,
  type Design,
  type Factor,
  isTime,
  type Level,
  type Matters,
  type Measured,
  type Place,
  type StudyComparison,
  sessionsNeeded,
} from '../lab/study.ts'
import { capital, count, figure, interval, listed, lowered } from './section.ts'

/** Faults first, then the verdict; without comparisons, the means. */
export function findingOfStudy(design: Design, measured: Measured, found: Analysis): string {
  const [measure] = design.measures
  const compared = found.comparisons.filter((one) => one.measure === measure.name)
  const { varied } = axesOf(design, found)
  const places = new Set(found.figures.map(({ at }) => formatPlace(varied, at)))
  const words =
    places.size < 2
      ? formatVerdict(design, measured, found)
      : compared.length > 0
        ? formatPlaces(design, found, compared)
        : formatAverages(design, found)
  return [...(found.broken ?? []), ...formatFaults(design, found), ...words].join(' ')
}

export const labelAt = ({ name, label = String }: Factor, place: Place) => label(place[name] ?? '')

export const spokenAt = (factor: Factor, level: Level) => (factor.spoken ?? factor.label ?? String)(level)

/** `at 10 kB`; empty without other factors. */
const formatPlace = (factors: readonly Factor[], place: Place) =>
  factors
    .map((factor) => {
      const level = place[factor.name] ?? ''
      return factor.spoken ? factor.spoken(level) : `at ${labelAt(factor, place)}`
    })
    .join(' ')

/**
 * `WebSocket at 10 kB lost 3 of 1,000 samples.` If all levels of a number from one on lost some:
 * `WebSocket lost nothing up to 10 kB and lost 9 of 2,000 samples from 100 kB on.`
 */
export function formatFaults(design: Design, found: Analysis): readonly string[] {
  const {
    factors: [subject, ...others],
    measures: [measure],
    areMessages = true,
  } = design
  if (!areMessages) return []
  const { varied, over, panel } = axesOf(design, found)
  const all = atAllWindows(found.figures, found.echoes).filter((row) => row.measure === measure.name)
  const lines = Map.groupBy(all, ({ at }) =>
    JSON.stringify([subject, ...(over ? [panel] : varied)].map((factor) => factor && at[factor.name])),
  )
  return [...lines.values()].flatMap((line) => {
    const faulty = line.filter(isFaulty)
    const before = line.at(-1 - faulty.length)
    const isEnd = faulty.every((row, index) => row.lost > 0 && row === line.at(index - faulty.length))
    const [first] = faulty
    if (!over || !before || !first || !isEnd)
      return faulty.map((row) => {
        const who = [capital(spokenAt(subject, row.at[subject.name] ?? '')), formatPlace(others, row.at)]
        return `${who.filter(Boolean).join(' ')} ${listed(faultsOf(row))}.`
      })
    const who = [
      capital(spokenAt(subject, first.at[subject.name] ?? '')),
      panel && formatPlace([panel], first.at),
    ]
    const words = [`lost nothing up to ${labelAt(over, before.at)}`, ...faultsOf(totals(faulty))]
    const where = faulty.length === 1 ? formatPlace([over], first.at) : `from ${labelAt(over, first.at)} on`
    return [`${who.filter(Boolean).join(' ')} ${listed(words)} ${where}.`]
  })
}

const faultsOf = ({ lost, expected, duplicated, reordered }: Counts): readonly string[] =>
  [
    lost > 0 && `lost ${lost === expected ? 'all' : `${count(lost)} of`} ${count(expected)} samples`,
    duplicated > 0 && `repeated ${count(duplicated)}`,
    reordered > 0 && `reordered ${count(reordered)}`,
  ].filter((one) => one !== false)

/** With more sentences it would be no finding: then a pair has one for all panels. */
const maxSentences = 3

/**
 * A sentence for each pair and panel. Among several places, gives a number's two ends, or the least and
 * greatest ratio.
 */
function formatPlaces(
  design: Design,
  found: Analysis,
  compared: readonly StudyComparison[],
): readonly string[] {
  const [subject] = design.factors
  const [measure] = design.measures
  const { varied, over, panel } = axesOf(design, found)
  const [verb, asMuch] = isTime(measure) ? ['took', 'as long as'] : ['had', 'as much as']
  const pairs = Map.groupBy(compared, ({ at, baseline }) => `${at[subject.name]} ${baseline}`)
  const isPanelled = panel !== null && pairs.size * (found.levels[panel.name] ?? []).length <= maxSentences
  const isNumber = over !== null && (panel === null || isPanelled)
  const groups = isPanelled
    ? [...pairs.values()].flatMap((own) => [...Map.groupBy(own, ({ at }) => at[panel.name]).values()])
    : [...pairs.values()]
  return groups.map((own) => {
    const ordered = isNumber ? own : own.toSorted((one, other) => one.ratio - other.ratio)
    const ends = [...new Set([ordered[0], ordered.at(-1)])].filter((end) => end !== undefined)
    const words = ends.map((end, index) => {
      const against = index === 0 ? ` ${asMuch} ${spokenAt(subject, end.baseline)}` : ''
      const sure = end.ratioCi95
        ? `${index === 0 ? '95 % interval ' : ''}${ratioEnds(end.ratioCi95)}${doubt(end)}`
        : 'in one session'
      const where = ends.length === 1 && !panel ? '' : ` ${formatPlace(varied, end.at)}`
      return `${ratioFigure(end.ratio)} times${against}${where} (${sure})`
    })
    const name = spokenAt(subject, own[0]?.at[subject.name] ?? '')
    const between = isNumber || words.length === 1 ? '' : 'between '
    return `${capital(name)} ${verb} ${between}${listed(words)}.`
  })
}

/** Describes the averages of a study without comparisons; for a numeric factor, at its two ends. */
function formatAverages(design: Design, found: Analysis): readonly string[] {
  const {
    factors: [subject],
    measures: [measure],
  } = design
  const { varied, over, panel } = axesOf(design, found)
  const known = found.figures.filter((row) => row.measure === measure.name && row.mean !== null)
  const lines = Map.groupBy(known, ({ at }) => `${at[subject.name]} ${panel && at[panel.name]}`)
  const words = [...lines.values()].map((line) => {
    const rows = over ? [...new Set([line[0], line.at(-1)])].filter((row) => row !== undefined) : line
    const amounts = rows.map(({ mean }) => `${figure(mean)} ${measure.unit}`)
    const each = rows.map(({ at }, index) => `${amounts[index]} ${formatPlace(varied, at)}`)
    const isSame = rows.length > 1 && new Set(amounts).size === 1
    const name = spokenAt(subject, line[0]?.at[subject.name] ?? '')
    return `${name} ${isSame && !over ? `${amounts[0]} everywhere` : listed(each)}`
  })
  return words.length === 0
    ? [`No ${lowered(measure.title)} was measured.`]
    : [`${measure.title} on average: ${words.join('; ')}.`]
}

/** To follow an interval. */
export const doubt = ({ verdict }: Pick<StudyComparison, 'verdict'>) =>
  verdict === 'undecided' ? ', undecided' : verdict === 'alike' ? ', alike' : ''

interface Ranked {
  readonly level: Level
  readonly value: number
}

interface Judged extends Ranked {
  /** Against the best. */
  readonly pair: ReturnType<typeof contrastOf>
  readonly outcome: ReturnType<typeof outcomeOf>
}

/** At one place: every level, the best first. */
function formatVerdict(design: Design, measured: Measured, found: Analysis): readonly string[] {
  const [subject] = design.factors
  const [measure] = design.measures
  const { name, amount, verb, average } = wordsOf(design)
  const ranked = rankedLevels(design, found)
  const [best, ...others] = ranked
  if (!best) return [`No ${lowered(measure.title)} was measured.`]
  if (others.length === 0) return [`${capital(name(best))} ${verb} ${amount(best)} ${average}.`]
  const isCompared = found.comparisons.some(
    (one) => one.baseline === String(found.baseline) && one.ratioCi95 !== null,
  )
  if (!isCompared) {
    const none =
      found.baseline === null
        ? ''
        : `: ${isTime(measure) ? 'messages arrived in too few sessions, or clock errors put a mean below 0' : 'too few sessions measured both'}`
    const why = found.sessions < 2 ? ': one session cannot show how far sessions differ' : none
    return [
      `Undecided${why}. ${capital(average)} ${listed(ranked.map((row) => `${name(row)} ${amount(row)}`))}.`,
    ]
  }
  const { [subject.name]: _, ...place } = found.figures[0]?.at ?? {}
  const judged = others.map((other) => {
    const pair = contrastOf(design, measured, [other.level, best.level], place)
    return { ...other, pair, outcome: outcomeOf(subject, found, best.level, other.level, pair) }
  })
  return formatRanking(design, measured, best, judged)
}

/** The best first. */
function rankedLevels(
  { factors: [subject], measures: [measure], isSubject = () => true }: Design,
  { figures }: Analysis,
): readonly Ranked[] {
  return figures
    .filter((row) => row.measure === measure.name && isSubject(row.at[subject.name] ?? ''))
    .flatMap((row) => {
      const value = measure.by === 'median' ? row.p50 : row.mean
      return value === null ? [] : [{ level: row.at[subject.name] ?? '', value }]
    })
    .toSorted((one, other) => (measure.better === 'less' ? one.value - other.value : other.value - one.value))
}

const wordsOf = ({ factors: [subject], measures: [measure] }: Design) => ({
  name: ({ level }: Ranked) => spokenAt(subject, level),
  amount: ({ value }: Ranked) => `${figure(value)} ${measure.unit}`,
  average: measure.by === 'median' ? 'in the median' : 'on average',
  verb: isTime(measure) ? 'took' : 'had',
  asMuch: isTime(measure) ? 'as long' : 'as much',
})

/** Undecided levels before alike ones, and those that are worse in a sentence of their own. */
function formatRanking(
  design: Design,
  { matters }: Measured,
  best: Ranked,
  judged: readonly Judged[],
): readonly string[] {
  const [subject] = design.factors
  const [measure] = design.measures
  const { name, amount, verb, average, asMuch } = wordsOf(design)
  const of = (one: Judged['outcome']) => judged.filter(({ outcome }) => outcome === one)
  const open = of('undecided')
  const alike = of('alike')
  const near = [...open, ...alike]
  const apart = of('apart')
  const firstInterval = [...near, ...apart].find(({ pair }) => pair?.ratioCi95)
  const amounts = (list: readonly Judged[]) =>
    listed(
      list.map((one, index) => {
        const [does, as] = index === 0 ? [` ${verb}`, ` ${asMuch}`] : ['', '']
        if (!one.pair?.ratioCi95) return `${name(one)}${does} ${amount(one)}`
        const confidence = one === firstInterval ? '95 % interval ' : ''
        return `${name(one)}${does} ${ratioFigure(one.pair.ratio)} times${as} (${confidence}${ratioEnds(one.pair.ratioCi95)})`
      }),
    )
  const rivals = [best, ...near].map(name)
  const [more, most] = isTime(measure)
    ? ['faster', 'fastest']
    : measure.better === 'less'
      ? ['lower', 'lowest']
      : ['higher', 'highest']
  const rest = apart.length > 0 ? [`${capital(amounts(apart))}.`] : []
  const first = `${name(best)} ${verb} ${amount(best)} ${average}`
  if (open.length > 0) {
    const whether =
      apart.length === 0 && rivals.length > 2
        ? `which ${lowered(subject.title)} is ${most}`
        : `whether ${listed(rivals, 'disjunction')} is ${rivals.length > 2 ? most : more}`
    return [`Undecided ${whether}: ${first}, ${amounts(near)}.`, ...rest]
  }
  if (alike.length > 0) {
    const least = matters ? `; ${formatMatters(design, matters)} would matter` : ''
    return [
      `No difference that matters between ${listed(rivals)}: ${first}, ${amounts(near)}${least}.`,
      ...rest,
    ]
  }
  const rank = judged.length > 1 ? `the ${most} of ${judged.length + 1} ${lowered(subject.title)}s` : more
  return [`${capital(name(best))} was ${rank}. It ${verb} ${amount(best)} ${average}; ${amounts(apart)}.`]
}

/**
 * Compares the best level with another. Between two that are not the baseline, the interval decides: a
 * level is called the best only if it is better than each other, so no correction for their number is
 * needed (R. L. Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling", Technometrics 24,
 * 1982).
 */
function outcomeOf(
  { name }: Factor,
  { baseline, comparisons }: Analysis,
  best: Level,
  other: Level,
  pair: ReturnType<typeof contrastOf>,
): 'apart' | 'alike' | 'undecided' {
  const level = best === baseline ? other : other === baseline ? best : null
  const one = comparisons.find(
    ({ at, baseline: against }) => at[name] === level && against === String(baseline),
  )
  if (level !== null) {
    if (one?.verdict === 'alike') return 'alike'
    return one?.verdict === 'higher' || one?.verdict === 'lower' ? 'apart' : 'undecided'
  }
  const [low = 0, high = 0] = pair?.ratioCi95 ?? []
  const isWithin = pair === undefined || Math.abs(pair.difference) <= pair.boundMs
  return !isWithin && (low > 1 || high < 1) ? 'apart' : 'undecided'
}

/** Among more comparisons than this, some are always undecided. */
const maxToDecide = 12

/**
 * Says what the run could not decide of its first measure, and how long a run would. `sessionMs`: time
 * of a session.
 */
export function formatNextSteps(
  { until, quick }: Pick<Measured, 'until' | 'quick'>,
  { comparisons, sessions }: Analysis,
  sessionMs: number,
): readonly string[] {
  const own = comparisons.filter(({ measure }) => measure === comparisons[0]?.measure)
  if (quick) {
    const widths = own.flatMap(({ ratioCi95 }) => (ratioCi95 ? Math.sqrt(ratioCi95[1] / ratioCi95[0]) : []))
    const limit =
      widths.length === 0 ? 'what is faster' : `differences below ${formatShare(Math.max(...widths))}`
    return [
      `A quick run cannot decide ${limit}, nor how slow the slowest are. Without --quick it takes about ${formatDuration(quick.fullMs)}.`,
    ]
  }
  if (sessions < 2)
    return own.length === 0 ? [] : [`To decide, use --sessions 5: about ${formatDuration(5 * sessionMs)}.`]
  const open = own.filter(({ verdict }) => verdict === 'undecided')
  if (open.length === 0 || until === 'decided' || own.length > maxToDecide) return []
  const seen = open.map(({ ratio }) => Math.max(ratio, 1 / ratio) - 1)
  const isSmall = until === undefined && seen.some((share) => share < minShare)
  const needed = Math.max(
    ...open.map((one, index) =>
      sessionsNeeded([one], sessions, until ? null : Math.max(minShare, seen[index] ?? 0)),
    ),
  )
  const wholeMs = needed * sessionMs
  const how = until ? `--limit ${Math.ceil(wholeMs / 60_000)}` : `--sessions ${needed}`
  const what = isSmall ? `tell differences of ${formatShare(1 + minShare)}` : 'decide'
  return [`To ${what}, use ${how}: about ${formatDuration(wholeMs)}.`]
}

/** Smaller differences are not worth more sessions. */
const minShare = 0.05

/** `30 %`, or `a factor of 2.1`. */
const formatShare = (ratio: number) =>
  ratio < 2 ? `${Math.round(100 * (ratio - 1))} %` : `a factor of ${ratioFigure(ratio)}`

/** `1 ms`, or `5 %`. */
export const formatMatters = (
  { measures: [{ unit }] }: Pick<Design, 'measures'>,
  { amount, isPercent }: Matters,
) => `${amount} ${isPercent ? '%' : unit}`

/** Two decimals below 10, since the range from 1.0 to 1.1 matters. */
export const ratioFigure = (value: number) => (value < 10 ? value.toFixed(2) : figure(value))

export const ratioEnds = ([low, high]: readonly [number, number]) =>
  low < 10 && high < 10 ? `${ratioFigure(low)} to ${ratioFigure(high)}` : interval([low, high])
