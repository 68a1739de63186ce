// Which mode to open next: down the table's `fallback` when the wished one does not get through, and up again later.

import type { Mode } from '../../server/wire/modes.ts'
import type { Random } from '../../server/wire/random.ts'
import type { Clock } from '../../server/wire/time.ts'
import type { Closing } from '../transports/transport.ts'
import { createRungs } from './rungs.ts'

/** Why another mode than the wished one is in use. */
export type Fall = 'blocked' | 'unsupported' | 'flapping'

export interface Ladder {
  readonly wished: () => Mode
  /** The mode in use, or to open next. */
  readonly mode: () => Mode
  /** Null while the wished mode is in use, or nothing shows yet that it does not get through. */
  readonly fall: () => Fall | null
  /** A person's choice: all that was learned of failures is forgotten. */
  readonly choose: (mode: Mode) => void
  /** That mode was welcomed. */
  readonly opened: (mode: Mode) => void
  /** The mode in use ended, or did not open. True when the next one is to be tried without a pause. */
  readonly closed: (code: Closing['code'] | 'offline') => boolean
  /** The window left the mode in use without a failure. */
  readonly left: () => void
  /** A better mode, tried beside, is all there is now: what was in use has ended. */
  readonly adopt: (mode: Mode) => void
  /** Ms until the next climb; null when there is nowhere to climb to. */
  readonly climbPauseMs: () => number | null
  /** The mode to try when that better one did not open; null when the one in use is next. */
  readonly betterAfter: (mode: Mode) => Mode | null
  readonly climbFailed: () => void
}

/** What ends these ways says nothing about whether the mode gets through. */
const innocent: ReadonlySet<string> = new Set<Closing['code'] | 'offline'>([
  'draining',
  'refused',
  'uninvited',
  'expired',
  'replaced',
  'overflow',
  'offline',
])

/** Failures in a row that a mode is given before a lower one is tried. The page came from this server a moment ago. */
const firstPatience = 2
/** The same for a mode that has worked in this window: then it is likelier the server that is down. */
const provenPatience = 6
/** A way down that found nothing open was no fault of the mode: the next one takes twice, up to this, as many failures. */
const mostPatience = 16

const shortLifeMs = 20_000
const shortLivesAllowed = 2
const flappingWithinMs = 60_000

/** The first is for a mode that worked before: that a lower one opened may only mean that the server is back. */
const climbPausesMs = [2_000, 30_000, 60_000, 120_000, 300_000] as const

/**
 * A way down is an experiment: each lower mode is tried once, and only one that opens is kept (it is the `home` that
 * failures lead back to). So a server that is down sends nobody down.
 */
export function createLadder(first: Mode, now: Clock, random: Random): Ladder {
  const rungs = createRungs()
  let proven = new Set<string>()
  let wished = first
  let home = first
  let mode = first
  let fall: Fall | null = null
  /** Where a climb that soon ends leads back to. */
  let cameFrom: Mode | null = null
  let failures = 0
  let fruitless = 0
  let climbs = 0
  let openedAt: number | null = null
  let shortLivesAt: number[] = []

  function choose(next: Mode): void {
    proven = new Set()
    wished = next
    mode = next
    settle(next)
    fall = null
    fruitless = 0
    climbs = 0
  }

  function settle(on: Mode): void {
    home = on
    cameFrom = null
    failures = 0
    shortLivesAt = []
    openedAt = null
  }

  function opened(welcomed: Mode): void {
    const isClimb = rungs.isAbove(welcomed, home)
    const from = isClimb ? home : null
    if (welcomed !== home) settle(welcomed)
    mode = welcomed
    cameFrom = from
    failures = 0
    fruitless = 0
    proven.add(welcomed.name)
    openedAt = now()
    if (welcomed === wished) fall = null
  }

  function closed(code: Closing['code'] | 'offline'): boolean {
    const livedMs = openedAt === null ? null : now() - openedAt
    openedAt = null
    if (innocent.has(code)) {
      mode = home
      return false
    }
    if (code === 'unsupported') return missed(mode)
    if (livedMs !== null) return lived(livedMs)
    return mode === home ? failedAtHome(code) : failedElsewhere()
  }

  /** This browser will not learn it: no pause, and no climb back. */
  function missed(absent: Mode): boolean {
    rungs.remove(absent)
    mode = rungs.below(absent) ?? wishedIfSupported()
    if (absent === home) settle(mode)
    if (absent === wished) fall = 'unsupported'
    return mode !== absent
  }

  function lived(livedMs: number): boolean {
    if (livedMs >= shortLifeMs) {
      cameFrom = null
      if (mode === wished) climbs = 0
      return false
    }
    if (cameFrom !== null) {
      mode = cameFrom
      fall ??= 'flapping'
      settle(cameFrom)
      climbFailed()
      return true
    }
    shortLivesAt = [...shortLivesAt.filter((at) => now() - at < flappingWithinMs), now()]
    if (shortLivesAt.length > shortLivesAllowed) descend('flapping')
    return false
  }

  function failedAtHome(code: string): boolean {
    failures += 1
    // To hear nothing for the whole first silence is proof enough.
    if (code === 'silent' || failures >= patience()) descend('blocked')
    return false
  }

  function failedElsewhere(): boolean {
    if (rungs.isAbove(mode, home)) {
      climbFailed()
      mode = home
      return false
    }
    const next = rungs.below(mode)
    if (next === null) startAgain()
    else mode = next
    return false
  }

  /** Nothing opened down to the foot: from now on what worked in this window, or else what is wished, and for longer. */
  function startAgain(): void {
    fruitless += 1
    if (!proven.has(home.name)) settle(wishedIfSupported())
    mode = home
  }

  function patience(): number {
    const least = proven.has(home.name) ? provenPatience : firstPatience
    return Math.min(mostPatience, least * 2 ** fruitless)
  }

  function descend(why: Fall): void {
    const next = rungs.below(home)
    failures = 0
    shortLivesAt = []
    if (next === null) {
      // The foot itself does not hold any more: perhaps what is wished does by now.
      settle(wishedIfSupported())
      mode = home
      return
    }
    mode = next
    if (fall !== 'unsupported') fall = why
    climbs = why === 'blocked' && proven.has(wished.name) ? 0 : Math.max(1, climbs)
  }

  /** The wished mode, or the best below it that this browser can do. */
  const wishedIfSupported = () => (rungs.isSupported(wished) ? wished : (rungs.below(wished) ?? wished))

  function climbFailed(): void {
    climbs = Math.min(climbs + 1, climbPausesMs.length - 1)
  }

  return {
    wished: () => wished,
    mode: () => mode,
    fall: () => (mode === wished ? null : fall),
    choose,
    opened,
    closed,
    left() {
      openedAt = null
    },
    adopt(better) {
      mode = better
      openedAt = null
    },
    climbPauseMs() {
      if (mode === wishedIfSupported()) return null
      return (climbPausesMs[climbs] ?? 0) * (0.75 + random() / 2)
    },
    betterAfter(tried) {
      const next = rungs.below(tried)
      return next !== null && rungs.isAbove(next, mode) ? next : null
    },
    climbFailed,
  }
}
