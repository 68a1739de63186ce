// A comparison of the modes: its plan, the rows of its result, their intervals, and the verdict.

import { type Interval, mean, meanOfClusters } from '../../client/statistics.ts'
import type { Closing } from '../../client/transports.ts'
import type { WindowHttp, WindowMode } from '../../protocol/modes.ts'
import type { Random } from '../../protocol/time.ts'
import { formatMs } from '../page/late-wording.ts'

export interface Plan {
  /** If null, continues for `budgetMs`, within `minRounds` and `maxRounds`. */
  readonly rounds: number | null
  readonly budgetMs: number
  readonly minRounds: number
  readonly maxRounds: number
  /** Probes in a turn, after the warm-up; `minProbes` once they have taken `turnMs`. */
  readonly probes: number
  readonly minProbes: number
  readonly turnMs: number
  readonly warmUp: number
  /**
   * Mean pause from an acknowledgement to the next probe, which would otherwise queue behind the
   * last over XHR. Drawn from half to one and a half times this: polls must not keep step with
   * probes.
   */
  readonly pauseMs: number
  /** Time for both connections to open, and for the last probe to arrive. */
  readonly openWithinMs: number
  readonly arriveWithinMs: number
}

export const usualPlan: Plan = {
  rounds: null,
  budgetMs: 30_000,
  minRounds: 4,
  maxRounds: 16,
  probes: 8,
  minProbes: 3,
  turnMs: 600,
  warmUp: 1,
  pauseMs: 30,
  openWithinMs: 5000,
  arriveWithinMs: 3000,
}

export const maxRoundsAsked = 60

/** The usual plan, or one with the number of rounds in the address's query. */
export function planAsked(search: string): Plan {
  const asked = Number(new URLSearchParams(search).get('rounds') ?? Number.NaN)
  const isRight = Number.isInteger(asked) && asked >= 1 && asked <= maxRoundsAsked
  return isRight ? { ...usualPlan, rounds: asked } : usualPlan
}

export function isLastRound(
  { rounds, budgetMs, minRounds, maxRounds }: Plan,
  done: number,
  tookMs: number,
): boolean {
  if (rounds !== null) return done >= rounds
  // Half a round later than the budget is as near as half a round earlier.
  return done >= maxRounds || (done >= minRounds && tookMs + tookMs / done / 2 >= budgetMs)
}

export const pauseBefore = ({ pauseMs }: Plan, random: Random) => pauseMs * (0.5 + random())

/** A mode's part of a round. */
export interface Turn {
  readonly mode: WindowMode
  /** From the request to the receiver's welcome; null if either connection did not open. */
  readonly openMs: number | null
  /** The version seen by the server. */
  readonly serverHttp: WindowHttp | null
  /** Shortest time from a probe's departure to its acknowledgement; null without any. */
  readonly roundTripMs: number | null
  /** How a connection ended by itself. */
  readonly closing: Closing | null
  /**
   * From each probe's departure to its arrival, ms; null if it did not arrive. Excludes warm-up
   * probes.
   */
  readonly times: readonly (number | null)[]
}

/** Why a mode has no figure, or lacks probes. */
export const failures = ['late', 'full', 'unsupported', 'refused', 'lost', 'missing', 'instead'] as const
export type Failure = (typeof failures)[number]

export function failureOf({ mode, openMs, serverHttp, closing, times }: Turn): Failure | null {
  if (mode.isOverUdp && serverHttp !== null && serverHttp !== mode.http) return 'instead'
  if (openMs === null && closing === null) return 'late'
  if (closing?.code === 'uninvited' || closing?.code === 'expired') return 'refused'
  if (closing) return failures.find((failure) => failure === closing.code) ?? 'lost'
  return times.includes(null) ? 'missing' : null
}

/** A mode's part of a result: everything that a link carries. */
export interface Row {
  readonly mode: WindowMode
  /**
   * Differs from the mode's version if a proxy or the browser chose another; null before the first
   * welcome.
   */
  readonly serverHttp: WindowHttp | null
  readonly sent: number
  readonly received: number
  /** Median of each round, ms; null where it has none. */
  readonly medians: readonly (number | null)[]
  /** The most recent failure. */
  readonly failure: Failure | null
}

export interface Result {
  /** When the comparison ended; ms since the epoch. */
  readonly at: number
  /** Name and version, such as `Firefox 128`. */
  readonly browser: string
  /** In the mode table's order. */
  readonly rows: readonly Row[]
}

/** A row for each of the modes; rounds in which it had no turn have no median. */
export function rowsOf(rounds: readonly (readonly Turn[])[], modes: readonly WindowMode[]): Row[] {
  return modes.map((mode) => {
    const turns = rounds.map((round) => round.find((turn) => turn.mode.name === mode.name))
    const times = turns.flatMap((turn) => turn?.times ?? [])
    const medians = turns.map((turn) => (turn ? medianOf(turn.times) : null))
    const failed = turns.findLast((turn) => turn && failureOf(turn) !== null)
    return {
      mode,
      serverHttp: turns.find((turn) => turn?.serverHttp)?.serverHttp ?? null,
      sent: times.length,
      received: times.filter((time) => time !== null).length,
      medians,
      failure: failed ? failureOf(failed) : null,
    }
  })
}

/** A missing probe counts as later than any that arrived. Null if the median is a missing probe. */
export function medianOf(times: readonly (number | null)[]): number | null {
  const sorted = times.map((time) => time ?? Number.POSITIVE_INFINITY).sort((one, other) => one - other)
  const below = sorted[(sorted.length - 1) >> 1]
  const above = sorted[sorted.length >> 1]
  if (below === undefined || above === undefined || above === Number.POSITIVE_INFINITY) return null
  return (below + above) / 2
}

/** Above the median of its mode: a packet that is sent again takes longer. */
const lateBy = { times: 2, ms: 50 }
const seldom = { messages: 3, share: 0.02 }

function latenessOf(turns: readonly Turn[]) {
  const late = [...Map.groupBy(turns, ({ mode }) => mode).values()].flatMap((ofMode) => {
    const times = ofMode.flatMap((turn) => turn.times).map((time) => time ?? Number.POSITIVE_INFINITY)
    const most = (medianOf(times) ?? Number.POSITIVE_INFINITY) * lateBy.times + lateBy.ms
    return times.filter((time) => time > most)
  })
  return { late: late.length, all: turns.reduce((sum, { times }) => sum + times.length, 0) }
}

/**
 * Browsers do not say how many packets are lost: says so when many messages were late, and how many
 * were over HTTP/3, which does not delay those whose packets arrived. Null when few were.
 */
export function formatLoss(turns: readonly Turn[]): string | null {
  const pushed = turns.filter(({ mode }) => mode.isPush)
  const { late, all } = latenessOf(pushed.filter(({ mode }) => !mode.isOverUdp))
  if (late < seldom.messages || late < all * seldom.share) return null
  const found = `${late} of ${all} messages took over twice as long as usual: this network loses packets, or something here was busy.`
  const overUdp = latenessOf(pushed.filter(({ mode }) => mode.isOverUdp))
  if (overUdp.all === 0)
    return `${found} HTTP/3, which this server does not offer, is made for such networks.`
  return `${found} Over HTTP/3 it was ${overUdp.late} of ${overUdp.all}.`
}

interface Estimate {
  readonly medianMs: number
  /** 95 % interval; null with too few rounds. */
  readonly interval: readonly [lowMs: number, highMs: number] | null
}

/** With fewer, Student's t interval is too wide to be useful. */
const minForInterval = 3

/** Below the resolution of a browser's clock. */
const leastMs = 0.005

const logsOf = ({ medians }: Row) =>
  medians.map((median) => (median === null ? null : Math.log(Math.max(median, leastMs))))

/**
 * Geometric mean of the rounds' medians. The unit is the round, since the probes of a round resemble each other; the
 * logarithm because times are skewed and modes differ by factors.
 */
export function estimateOf(row: Row): Estimate | null {
  const logs = logsOf(row).filter((log) => log !== null)
  if (logs.length === 0) return null
  const medianMs = Math.exp(mean(logs))
  if (logs.length < minForInterval) return { medianMs, interval: null }
  const [low, high] = meanOfClusters(logs).interval
  return { medianMs, interval: [Math.exp(low), Math.exp(high)] }
}

/**
 * How many times as long `row` takes as `than`: the interval of the ratio, by Student's t on the paired logarithms of
 * the rounds that have both. All of `compared` such intervals hold together at 95 % (Bonferroni). Null with too few
 * rounds.
 */
export function timesAsLong(row: Row, than: Row, compared: number): Interval | null {
  const others = logsOf(than)
  const differences = logsOf(row).flatMap((log, round) => {
    const beside = others[round] ?? null
    return log === null || beside === null ? [] : [log - beside]
  })
  if (differences.length < minForInterval) return null
  const [low, high] = meanOfClusters(differences, 1 - 0.05 / compared).interval
  return [Math.exp(low), Math.exp(high)]
}

/** Whether a ratio of `timesAsLong` is certainly above 1. */
export const isSlower = (times: Interval | null): times is Interval => times !== null && times[0] > 1

/**
 * The mode with the lowest estimate, compared with each other one. `modes`: the fastest, and those
 * that cannot be told apart from it; empty if none has a figure. `compared`: the number of other
 * modes.
 */
export function verdictOf(rows: readonly Row[]): { modes: readonly WindowMode[]; compared: number } {
  const [best, ...others] = ranked(rows).filter((row) => estimateOf(row) !== null)
  if (!best) return { modes: [], compared: 0 }
  const undecided = others.filter((row) => !isSlower(timesAsLong(row, best, others.length)))
  return { modes: [best, ...undecided].map(({ mode }) => mode), compared: others.length }
}

const listed = new Intl.ListFormat('en-GB')
const quoted = (some: readonly WindowMode[]) => listed.format(some.map(({ label }) => `“${label}”`))

/** The verdict, covering every mode: the fastest, the slower ones, and those without a figure. */
export function formatVerdict(rows: readonly Row[]): string {
  const { modes: first, compared } = verdictOf(rows)
  const [best] = first
  if (!best) return 'No mode got through.'
  const others = compared + 1 - first.length
  const slower = others === 1 ? 'the other one was slower' : `the other ${others} were slower`
  const without = rows.filter((row) => estimateOf(row) === null).map(({ mode }) => mode)
  const figure = formatFigure(rows.find(({ mode }) => mode === best))
  const sentences = [
    compared === 0
      ? `Only ${best.label} got through: ${figure}.`
      : first.length === 1
        ? `The fastest: ${best.label}, ${figure}; ${slower}.`
        : `Undecided between ${quoted(first)}${others > 0 ? `; ${slower}` : ''}.`,
    without.length > 0 && `Without a figure: ${quoted(without)}.`,
  ]
  return sentences.filter(Boolean).join(' ')
}

/** Such as `5.5 ms (5.0 to 6.0 ms)`; a dash without a figure. */
function formatFigure(row: Row | undefined): string {
  const estimate = row && estimateOf(row)
  if (!estimate) return '–'
  const { medianMs, interval } = estimate
  return interval ? `${formatMs(medianMs)} (${formatInterval(interval)})` : formatMs(medianMs)
}

export const formatInterval = ([low, high]: readonly [number, number]) =>
  `${formatMs(low).replace(' ms', '')} to ${formatMs(high)}`

/** The fastest first, those without a figure last, otherwise in the given order. */
export function ranked(rows: readonly Row[]): Row[] {
  const placeOf = (row: Row) => estimateOf(row)?.medianMs ?? Number.MAX_VALUE
  return rows.toSorted((one, other) => placeOf(one) - placeOf(other))
}
