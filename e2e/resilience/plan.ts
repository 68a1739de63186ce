// Which faults a run brings upon its windows and its server, and when: drawn from a seed, so that it can be had again.

import { createSeededRandom, type Random } from '../../server/wire/random.ts'
import type { FaultKind } from './record.ts'

export interface PlannedFault {
  readonly atMs: number
  readonly kind: FaultKind
  /** Which of its kind. */
  readonly how: string
  /** From 0 up to 1: whom it meets of those whom it can meet then. */
  readonly draw: number
  readonly lastsMs: number
}

/** What a run of that many seconds promises at least. */
export interface Promised {
  readonly cuts: number
  readonly restarts: number
  readonly kills: number
}

export interface FaultPlan {
  readonly seed: number
  readonly promised: Promised
  /** In the order of time. */
  readonly faults: readonly PlannedFault[]
}

export const cutKinds = ['idle', 'right after sending', 'while it resumes'] as const
export const stallKinds = ['short', 'until its queue overflows', 'until it counts as silent'] as const

/** Of the planned cuts some meet nobody: a server that is down has no connections. */
const cutsPlannedForOnePromised = 1.25

/** In a run of 60 s; a longer or shorter one has them in proportion, and at least one of each. */
const perMinute = { cuts: 200, restarts: 3, kills: 3, stalls: 18, floods: 10, broken: 33 }

/** The server's last life is to be long enough to see its memory go flat: no restart comes after this share of the run. */
const lastRestartAt = 0.74

const msOf = {
  short: [500, 2000],
  'until its queue overflows': [3000, 5000],
  'until it counts as silent': [6000, 8000],
} as const

export function promisedFor(seconds: number): Promised {
  const { cuts, restarts, kills } = perMinute
  const share = (count: number) => Math.max(1, Math.round((count * seconds) / 60))
  return { cuts: share(cuts), restarts: share(restarts), kills: share(kills) }
}

/** `floodKinds` and `brokenKinds` take turns. */
export function planFaults(
  seed: number,
  seconds: number,
  floodKinds: readonly string[],
  brokenKinds: readonly string[],
): FaultPlan {
  const random = createSeededRandom(seed)
  const promised = promisedFor(seconds)
  const wholeMs = seconds * 1000
  const share = (count: number) => Math.max(1, Math.round((count * seconds) / 60))
  const spread = (kind: FaultKind, count: number, kinds: readonly string[]) =>
    spreadOver(random, kind, Math.max(count, 1), kinds, wholeMs)
  const faults = [
    ...restarts(random, promised, wholeMs),
    ...spread('cut', Math.ceil(promised.cuts * cutsPlannedForOnePromised), cutKinds),
    ...spread('stall', share(perMinute.stalls), stallKinds),
    ...spread('flood', share(perMinute.floods), floodKinds),
    ...spread('broken input', share(perMinute.broken), brokenKinds),
  ]
  return { seed, promised, faults: faults.sort((one, other) => one.atMs - other.atMs) }
}

/** In turns, evenly over the run's first part, a bit to either side. */
function restarts(random: Random, promised: Promised, wholeMs: number): PlannedFault[] {
  const count = promised.restarts + promised.kills
  const stepMs = (wholeMs * lastRestartAt) / count
  return Array.from({ length: count }, (_, place): PlannedFault => {
    const isKill = place % 2 === 1 ? promised.kills > 0 : promised.restarts === 0
    return {
      atMs: (place + 0.75 + random() * 0.25) * stepMs,
      kind: isKill ? 'kill' : 'restart',
      how: isKill ? 'SIGKILL' : 'SIGTERM',
      draw: random(),
      lastsMs: 0,
    }
  })
}

/** One in each equal stretch of time, anywhere within it. */
function spreadOver(
  random: Random,
  kind: FaultKind,
  count: number,
  kinds: readonly string[],
  wholeMs: number,
): PlannedFault[] {
  return Array.from({ length: count }, (_, place) => {
    const how = kinds[place % kinds.length] ?? ''
    const lastsMs = lastsOf(kind, how, random)
    const latestMs = Math.max(0, wholeMs - lastsMs)
    const atMs = Math.min(latestMs, ((place + random()) / count) * wholeMs)
    return { atMs, kind, how, draw: random(), lastsMs }
  })
}

function lastsOf(kind: FaultKind, how: string, random: Random): number {
  if (kind === 'flood') return 1000
  if (kind === 'cut') return random() * 4
  if (kind !== 'stall') return 0
  const [least, most] = msOf[how as keyof typeof msOf]
  return least + random() * (most - least)
}
