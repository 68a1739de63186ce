// What networks are like: how long a byte is under way in each direction, how evenly, and how many of them a second.

import type { Delay, Stalls } from './path.ts'

export interface Profile {
  readonly name: string
  readonly down: Delay
  readonly up: Delay
  /** In each direction, shared by all connections; null is no limit. */
  readonly kilobitsPerSecond: number | null
  /** Where its figures come from. */
  readonly source: string
}

export type ProfileName = 'loopback' | 'lan' | 'mobile' | 'edmonton' | 'lund' | 'caracas' | 'nagaoka'

/**
 * W. Zhang and J. He, "Statistical Modeling and Correlation Analysis of End-to-End Delay in Wide Area Networks" (SNPD 2007), find
 * delays correlated over about 1.25 s, and their tail long: no normal distribution.
 */
const correlationMs = 1250

const none: Delay = { floorMs: 0, queueMeanMs: 0, queueSdMs: 0, correlationMs, stalls: null }

/**
 * The 2012 paper's WebSocket shows the way down; the way up is taken to be alike. Each site has three rows: a profile gives
 * WebSocket the mean of their means and the mean of their standard deviations.
 */
const windcomm = 'Pimentel and Nickerson, IEEE Internet Computing 16(4), 2012, Table 1: '

export const profiles: Readonly<Record<ProfileName, Profile>> = {
  loopback: alike('loopback', none, null, 'The relay alone.'),
  lan: alike(
    'lan',
    { ...none, floorMs: 0.25, queueMeanMs: 0.05, queueSdMs: 0.05 },
    null,
    'Assumed: 0.3 ms one way, a switched office network.',
  ),
  mobile: alike(
    'mobile',
    { ...none, floorMs: 25, queueMeanMs: 10, queueSdMs: 8 },
    6000,
    'LTE as J. Huang et al. found it (MobiSys 2012): a round trip of 70 ms, 13 Mbit/s down and 6 up (medians), here 6 both ways; its spread is assumed.',
  ),
  edmonton: alike(
    'edmonton',
    { ...none, floorMs: 38.4, queueMeanMs: 1.8, queueSdMs: 3.8 },
    null,
    `${windcomm}40.2 ms, spread 3.6.`,
  ),
  lund: alike(
    'lund',
    { ...none, floorMs: 85.4, queueMeanMs: 2, queueSdMs: 1.75 },
    null,
    `${windcomm}87.4 ms, spread 1.7.`,
  ),
  /**
   * The evening had 98.8 ms with a spread of 1.4, and the morning's long polling stayed below 125 in three quarters of its
   * readings, so the large spreads are those of a few readings: rare stalls. A queue as uneven as that would take long
   * polling past M/2 = 125 ms again and again, and so far beyond WebSocket, which the paper did not see.
   * As it is, a round of long polling leaves the machines about 12 ms before it falls behind the readings.
   */
  caracas: alike(
    'caracas',
    { ...none, floorMs: 106.7, queueMeanMs: 6, queueSdMs: 4, stalls: timeouts(0.0125, 300) },
    null,
    `${windcomm}115.2 ms, spread 33.5.`,
  ),
  /**
   * 10,400 km. Edmonton's and Lund's quickest rows make 11.7 and 13.9 ms for 1,000 km, so 121 to 145 ms for these; what
   * the mean has beyond, with a spread as large as itself, can only be few and long waits.
   */
  nagaoka: alike(
    'nagaoka',
    { ...none, floorMs: 121.4, queueMeanMs: 8, queueSdMs: 8, stalls: timeouts(0.036, 600) },
    null,
    `${windcomm}157.6 ms, spread 157.1.`,
  ),
}

/** Everything so many times as fast, for runs that are shortened: delays, their course in time, stalls, and the rate. */
export function scaled(profile: Profile, faster: number): Profile {
  if (!(faster > 0)) throw new RangeError(`A profile is made faster by a number above 0; got ${faster}`)
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

function alike(name: string, delay: Delay, kilobitsPerSecond: number | null, source: string): Profile {
  return { name, down: delay, up: delay, kilobitsPerSecond, source }
}

/** From one retransmission timeout to it and its double after it (RFC 6298, 5.5), when the retransmission is lost as well. */
function timeouts(perSecond: number, timeoutMs: number): Stalls {
  return { perSecond, leastMs: timeoutMs, mostMs: 3 * timeoutMs }
}
