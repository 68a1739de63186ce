// Network profiles: delay, jitter, stalls and rate in each direction.

import { createSeededRandom, drawNormal, type Random } from '../../client/wire.ts'

export interface Profile {
  readonly name: string
  readonly down: Delay
  readonly up: Delay
  /** Per direction, shared by all connections; null: no limit. */
  readonly kilobitsPerSecond: number | null
  /** Loss of IP packets; null: bytes are carried, and none is lost. */
  readonly loss: Loss | null
  readonly source: string
}

export interface Loss {
  /** Share of the packets lost in a direction, from 0 to below 1. */
  readonly share: number
  /** Mean number of packets lost in a row; 1/(1 − share) if each is lost by chance. */
  readonly burst: number
}

export const noLoss: Loss = { share: 0, burst: 1 }

/** The floor plus the larger of queue and remaining stall. */
export interface Delay {
  readonly floorMs: number
  /** Log-normal; mean 0: no queue. */
  readonly queueMeanMs: number
  readonly queueSdMs: number
  /** Time in which the queue's autocorrelation falls to 1/e. */
  readonly correlationMs: number
  readonly stalls: Stalls | null
}

/** Bursts of loss: everything that enters during one leaves at its end, in order. */
interface Stalls {
  /**
   * Gaps are uniform in 0.5 to 1.5 times the mean, not Poisson, so that all five-minute runs are
   * alike.
   */
  readonly perSecond: number
  readonly leastMs: number
  readonly mostMs: number
}

/**
 * W. Zhang and J. He, "Statistical Modeling and Correlation Analysis of End-to-End Delay in Wide Area Networks" (SNPD
 * 2007): correlated over about 1.25 s, with a long tail.
 */
const correlationMs = 1250

const none: Delay = { floorMs: 0, queueMeanMs: 0, queueSdMs: 0, correlationMs, stalls: null }

/** From WebSocket's way down; the way up is assumed alike. Mean and spread are the means of a site's three rows. */
const windcomm = 'Pimentel and Nickerson, IEEE Internet Computing 16(4), 2012, Table 1: '

export const profiles = {
  loopback: alike('loopback', {}, 'The relay alone.'),
  lan: alike(
    'lan',
    { floorMs: 0.25, queueMeanMs: 0.05, queueSdMs: 0.05 },
    'Assumed: 0.3 ms one way, a switched office network.',
  ),
  wan: alike('wan', { floorMs: 25 }, 'Assumed: a round trip of 50 ms, always.'),
  mobile: alike(
    'mobile',
    { floorMs: 25, queueMeanMs: 10, queueSdMs: 8 },
    'LTE as J. Huang et al. found it (MobiSys 2012): a round trip of 70 ms, 13 Mbit/s down and 6 up (medians), here 6 both ways; its spread is assumed.',
    6000,
  ),
  edmonton: alike(
    'edmonton',
    { floorMs: 38.4, queueMeanMs: 1.8, queueSdMs: 3.8 },
    `${windcomm}40.2 ms, spread 3.6.`,
  ),
  lund: alike('lund', { floorMs: 85.4, queueMeanMs: 2, queueSdMs: 1.75 }, `${windcomm}87.4 ms, spread 1.7.`),
  /**
   * In the evening 98.8 ms, spread 1.4: the large spreads are few readings, rare stalls. An equally
   * uneven queue would push long polling past M/2 = 125 ms repeatedly, unlike in the paper.
   */
  caracas: alike(
    'caracas',
    { floorMs: 106.7, queueMeanMs: 6, queueSdMs: 4, stalls: timeouts(0.0125, 300) },
    `${windcomm}115.2 ms, spread 33.5.`,
  ),
  /**
   * 10,400 km at Edmonton's and Lund's quickest 11.7 ms per 1,000 km; the rest must be few and long
   * waits.
   */
  nagaoka: alike(
    'nagaoka',
    { floorMs: 121.4, queueMeanMs: 8, queueSdMs: 8, stalls: timeouts(0.036, 600) },
    `${windcomm}157.6 ms, spread 157.1.`,
  ),
}

export type ProfileName = keyof typeof profiles

function alike(
  name: string,
  change: Partial<Delay>,
  source: string,
  kilobitsPerSecond: number | null = null,
): Profile {
  const delay = { ...none, ...change }
  return { name, down: delay, up: delay, kilobitsPerSecond, loss: null, source }
}

/** Below this share a burst of every length fits. */
const maxLossPercent = 50

/** `wan`, `wan+1%`, `wan+1%x4`: a network, its loss, and how many packets are lost in a row. */
export function readProfile(words: string): Profile | null {
  const [, name = '', percent, burst] = /^([a-z]+)(?:\+([\d.]+)%(?:x([\d.]+))?)?$/.exec(words) ?? []
  if (!Object.hasOwn(profiles, name)) return null
  const profile = profiles[name as ProfileName]
  if (percent === undefined) return profile
  const share = Number(percent) / 100
  const byChance = 1 / (1 - share)
  const loss = { share, burst: burst === undefined ? byChance : Number(burst) }
  if (!(percent && share * 100 <= maxLossPercent && loss.burst >= 1)) return null
  const bursts = burst === undefined ? 'each by chance' : `in bursts of ${burst} on average`
  const source = `${profile.source} ${percent} % of the packets are lost, ${bursts}.`
  return {
    ...profile,
    name: words,
    down: withoutStalls(profile.down),
    up: withoutStalls(profile.up),
    loss,
    source,
  }
}

/** Stalls stand for losses, which TCP here waits out itself. */
const withoutStalls = (delay: Delay): Delay => ({ ...delay, stalls: null })

/**
 * From one retransmission timeout to three: its double follows if the retransmission is lost too
 * (RFC 6298, 5.5).
 */
function timeouts(perSecond: number, timeoutMs: number): Stalls {
  return { perSecond, leastMs: timeoutMs, mostMs: 3 * timeoutMs }
}

export function scaled(profile: Profile, faster: number): Profile {
  const { kilobitsPerSecond: rate } = profile
  return {
    ...profile,
    down: scaledDelay(profile.down, faster),
    up: scaledDelay(profile.up, faster),
    kilobitsPerSecond: rate === null ? null : rate * faster,
    source: faster === 1 ? profile.source : `${profile.source} Made ${faster} times as fast.`,
  }
}

function scaledDelay({ stalls, ...delay }: Delay, faster: number): Delay {
  return {
    floorMs: delay.floorMs / faster,
    queueMeanMs: delay.queueMeanMs / faster,
    queueSdMs: delay.queueSdMs / faster,
    correlationMs: delay.correlationMs / faster,
    stalls: stalls && {
      perSecond: stalls.perSecond * faster,
      leastMs: stalls.leastMs / faster,
      mostMs: stalls.mostMs / faster,
    },
  }
}

/**
 * Departure time of a byte that enters at that time, ms since the start. Call in chronological
 * order.
 */
export type Path = (entersAtMs: number) => number

export interface Paths {
  readonly down: Path
  readonly up: Path
}

const stepsPerCorrelation = 100

/** Queues and stalls depend on `random` and time, never on traffic: one seed gives every method the same network. */
export function createPaths({ down, up }: Record<keyof Paths, Delay>, random: Random): Paths {
  const fork = () => createSeededRandom(Math.floor(random() * 2 ** 32))
  return { down: createPath(down, fork()), up: createPath(up, fork()) }
}

/** The chance to leave and to enter the state in which packets are lost. */
function chancesOf({ share, burst }: Loss) {
  const leave = 1 / burst
  return { leave, enter: (share * leave) / (1 - share) }
}

/**
 * Whether the next packet is lost: a chain of two states, one of which loses every packet (E. N.
 * Gilbert, Bell Syst. Tech. J. 39, 1960). Without bursts, independent draws.
 */
export function createLoss(loss: Loss, random: Random): () => boolean {
  const { leave, enter } = chancesOf(loss)
  let isBad = random() < loss.share
  return () => {
    const isLost = isBad
    isBad = random() < (isBad ? 1 - leave : enter)
    return isLost
  }
}

/** How many times the variance of a count of lost packets is that of independent draws. */
export function lossVariance(loss: Loss): number {
  const { leave, enter } = chancesOf(loss)
  const kept = 1 - leave - enter
  return (1 + kept) / (1 - kept)
}

/** Never reorders: a queue drains no faster than time passes. */
function createPath(delay: Delay, random: Random): Path {
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

function createWaits({ stalls, ...queue }: Delay, stepMs: number, random: Random): () => number {
  const nextQueueMs = createLevels(queue, random)
  const nextStallMs = stalls ? createStalls(stalls, stepMs, random) : () => 0
  let waitMs = 0
  return () => {
    waitMs = Math.max(nextQueueMs(), nextStallMs(), waitMs - stepMs)
    return waitMs
  }
}

/** Log-normal level whose logarithm is a first-order autoregressive (discrete Ornstein-Uhlenbeck) process. */
function createLevels(
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

/** Length of a stall that begins at this step, else 0. */
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
