// One direction of a path through a network: how long what enters it at a given moment is on its way.

import { createSeededRandom, drawNormal, type Random } from '../../server/wire/random.ts'

/** Bursts of loss that TCP sits out: all that enters meanwhile leaves at the end, in order. */
export interface Stalls {
  /** Gaps are evenly spread from half to one and a half of the mean one: steadier than chance, so that any five minutes are like any others. */
  readonly perSecond: number
  /** How long they last, evenly spread between. */
  readonly leastMs: number
  readonly mostMs: number
}

/** One way, ms: the floor, the queue on top of it, and what is left of a stall where there is one. */
export interface Delay {
  /** Distance and routers: nothing is faster. */
  readonly floorMs: number
  /** Log-normal; a mean of 0 is no queue. */
  readonly queueMeanMs: number
  readonly queueSdMs: number
  /** In this time the correlation of the queue with itself falls to 1/e. */
  readonly correlationMs: number
  readonly stalls: Stalls | null
}

/** When it leaves, of what enters then; both in ms since the start. To be asked in the order of time. */
export type Path = (entersAtMs: number) => number

export interface Paths {
  readonly down: Path
  readonly up: Path
}

/** How finely the queue's course is drawn; in between it is a straight line. */
const stepsPerCorrelation = 100

/**
 * Both directions, each with its own course of queues and stalls. The course depends on `random` and the time alone, never on
 * what passes: the same seed gives every method the same network.
 */
export function createPaths({ down, up }: Record<keyof Paths, Delay>, random: Random): Paths {
  const fork = () => createSeededRandom(Math.floor(random() * 2 ** 32))
  return { down: createPath(down, fork()), up: createPath(up, fork()) }
}

/**
 * One direction. What enters later never leaves earlier: a queue drains no faster than time passes. Throws RangeError
 * for a correlation time that is not above 0.
 */
export function createPath(delay: Delay, random: Random): Path {
  if (!(delay.correlationMs > 0))
    throw new RangeError(`A queue's correlation time is above 0 ms; got ${delay.correlationMs}`)
  const stepMs = delay.correlationMs / stepsPerCorrelation
  const nextWaitMs = createWaits(delay, stepMs, random)
  let stepAtMs = 0
  let before = nextWaitMs()
  let after = nextWaitMs()

  return (entersAtMs) => {
    for (; entersAtMs >= stepAtMs + stepMs; stepAtMs += stepMs) {
      before = after
      after = nextWaitMs()
    }
    const share = (entersAtMs - stepAtMs) / stepMs
    return entersAtMs + delay.floorMs + before + (after - before) * share
  }
}

/** What waits beyond the floor, step by step. */
function createWaits({ stalls, ...queue }: Delay, stepMs: number, random: Random): () => number {
  const nextQueueMs = createQueue(queue, random)
  const nextStallMs = stalls ? createStalls(stalls, stepMs, random) : () => 0
  let waitMs = 0
  return () => {
    waitMs = Math.max(nextQueueMs(), nextStallMs(), waitMs - stepMs)
    return waitMs
  }
}

/** A log-normal level whose logarithm is a first-order autoregressive course (an Ornstein-Uhlenbeck process in steps). */
function createQueue(
  { queueMeanMs, queueSdMs }: Pick<Delay, 'queueMeanMs' | 'queueSdMs'>,
  random: Random,
): () => number {
  if (queueMeanMs === 0) return () => 0
  const sigma = Math.sqrt(Math.log1p((queueSdMs / queueMeanMs) ** 2))
  const kept = Math.exp(-1 / stepsPerCorrelation)
  const renewed = Math.sqrt(1 - kept ** 2)
  let state = drawNormal(random)
  return () => {
    state = kept * state + renewed * drawNormal(random)
    return queueMeanMs * Math.exp(sigma * state - sigma ** 2 / 2)
  }
}

/** The length of a stall at the step at which it begins, else 0. */
function createStalls({ perSecond, leastMs, mostMs }: Stalls, stepMs: number, random: Random): () => number {
  const meanGapMs = 1000 / perSecond
  let untilNextMs = random() * meanGapMs
  return () => {
    untilNextMs -= stepMs
    if (untilNextMs > 0) return 0
    untilNextMs += (0.5 + random()) * meanGapMs
    return leastMs + (mostMs - leastMs) * random()
  }
}
