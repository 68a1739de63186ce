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

/** A third of the cuts is two: the second comes while the window resumes, if it is there to be cut by then. */
const cutsPlannedForOnePromised = 1.05

/** In a run of 60 s; a longer or shorter one has them in proportion, and at least one of each. */
const perMinute = { cuts: 200, restarts: 3, kills: 3, stalls: 18, floods: 10, broken: 33 }

/** The server's last life is to be long enough to see its memory go flat: no restart comes after this share of the run. */
const lastRestartAt = 0.5

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

/** How soon the second of two follows the first: in the midst of the windows' coming back, ms. */
const followsMs = { least: 1500, spread: 3000 }

/** In pairs, a restart and a kill in either order, so that one meets windows at work and the other windows that come back. */
function restarts(random: Random, promised: Promised, wholeMs: number): PlannedFault[] {
  const pairs = Math.max(promised.restarts, promised.kills)
  const stepMs = (wholeMs * lastRestartAt) / pairs
  return Array.from({ length: pairs }, (_, place) => place).flatMap((place): PlannedFault[] => {
    const kinds: FaultKind[] = place % 2 === 0 ? ['kill', 'restart'] : ['restart', 'kill']
    const atMs = (place + 0.4 + random() * 0.3) * stepMs
    const gapMs = Math.min(followsMs.least + random() * followsMs.spread, stepMs / 3)
    return kinds.map((kind, second) => ({
      atMs: atMs + second * gapMs,
      kind,
      how: kind === 'kill' ? 'SIGKILL' : 'SIGTERM',
      draw: random(),
      lastsMs: 0,
    }))
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
