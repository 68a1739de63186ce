// Fallback fallback: which mode to open after a failure, and when to retry a better one.

import { type Mode, modeNamed } from '../server/wire/modes.ts'
import type { Clock, Random } from '../server/wire/time.ts'
import type { Closing } from './transports/transport.ts'

/** Why the wished mode is not in use; `full`: connection limit reached. */
export type Fall = 'blocked' | 'unsupported' | 'flapping' | 'full'

/** All others say nothing about whether the mode gets through. */
const brokenCodes: ReadonlySet<string> = new Set<Closing['code']>(['lost', 'silent', 'failed'])

/** Consecutive failures before a descent; low, since the page itself just came from this server. */
const firstPatience = 2
/** The same for a mode that worked in this window: an outage is likelier than a block. */
const provenPatience = 6
/** Each fruitless descent doubles the patience, up to this many failures. */
const mostPatience = 16

const shortLifeMs = 20_000
const shortLivesAllowed = 2
const flappingWithinMs = 60_000

/** The first is for a mode that worked before: the failure may have been a server outage. */
const probePausesMs = [250, 30_000, 60_000, 120_000, 300_000] as const

/**
 * Follows `fallback` of the mode table. A descent tries each lower mode once and keeps only one that opens
 * (`home`, the mode to which failures return). So a server outage does not change the mode.
 */
export function createFallback(first: Mode, now: Clock, random: Random) {
  const unsupported = new Set<string>()
  let proven = new Set<string>()
  let wished = first
  let home = first
  let mode = first
  let fall: Fall | null = null
  /** Where a short-lived probe returns to. */
  let cameFrom: Mode | null = null
  let failures = 0
  let fruitless = 0
  let probes = 0
  let openedAt: number | null = null
  let shortLivesAt: number[] = []

  const isSupported = ({ name }: Mode) => !unsupported.has(name)

  /** Best first. */
  function fallbacks({ fallback }: Mode): Mode[] {
    const next = modeNamed(fallback ?? '')
    if (!next) return []
    return isSupported(next) ? [next, ...fallbacks(next)] : fallbacks(next)
  }

  const below = (high: Mode) => fallbacks(high)[0]

  const isAbove = (high: Mode, low: Mode) => fallbacks(high).includes(low)

  const wishedIfSupported = () => (isSupported(wished) ? wished : (below(wished) ?? wished))

  function settle(on: Mode): void {
    home = on
    mode = on
    cameFrom = null
    failures = 0
    shortLivesAt = []
    openedAt = null
  }

  function opened(welcomed: Mode): void {
    const from = isAbove(welcomed, home) ? home : null
    if (welcomed !== home) settle(welcomed)
    mode = welcomed
    cameFrom = from
    failures = 0
    fruitless = 0
    proven.add(welcomed.name)
    openedAt = now()
    if (welcomed === wished) fall = null
  }

  /** True when the next try needs no pause. */
  function closed(code: Closing['code'] | 'offline'): boolean {
    const livedMs = openedAt === null ? null : now() - openedAt
    openedAt = null
    if (code === 'unsupported') return skipUnsupported(mode)
    if (code === 'full') return makeRoom()
    if (!brokenCodes.has(code)) mode = home
    else if (livedMs !== null) return afterLife(livedMs)
    else if (mode === home) failedAtHome(code)
    else failedElsewhere()
    return false
  }

  /** Descends without a pause, and never returns. */
  function skipUnsupported(absent: Mode): boolean {
    unsupported.add(absent.name)
    mode = below(absent) ?? wishedIfSupported()
    if (absent === home) settle(mode)
    if (absent === wished) fall = 'unsupported'
    return mode !== absent
  }

  /** Other windows hold all connections: descends without a pause, and returns later. */
  function makeRoom(): boolean {
    const roomy = modeNamed(mode.whenFull ?? '')
    // During a descent, one more failed mode.
    if (mode !== home || !roomy || !isSupported(roomy)) {
      failedElsewhere()
      return false
    }
    settle(roomy)
    fall = 'full'
    probes = Math.max(1, probes)
    return true
  }

  function afterLife(livedMs: number): boolean {
    if (livedMs >= shortLifeMs) {
      cameFrom = null
      if (mode === wished) probes = 0
      return false
    }
    if (cameFrom !== null) {
      fall ??= 'flapping'
      settle(cameFrom)
      probeFailed()
      return true
    }
    shortLivesAt = [...shortLivesAt.filter((at) => now() - at < flappingWithinMs), now()]
    if (shortLivesAt.length > shortLivesAllowed) descend('flapping')
    return false
  }

  function failedAtHome(code: string): void {
    failures += 1
    const least = proven.has(home.name) ? provenPatience : firstPatience
    const patience = Math.min(mostPatience, least * 2 ** fruitless)
    if (code === 'silent' || failures >= patience) descend('blocked')
  }

  function failedElsewhere(): void {
    const next = below(mode)
    if (isAbove(mode, home)) {
      probeFailed()
      mode = home
    } else if (next) mode = next
    else {
      // No mode opened: a proven one or the wished one is tried again, with more patience.
      fruitless += 1
      if (proven.has(home.name)) mode = home
      else settle(wishedIfSupported())
    }
  }

  function descend(why: Fall): void {
    const next = below(home)
    failures = 0
    shortLivesAt = []
    if (!next) {
      // The lowest mode failed: the wished one may work by now.
      settle(wishedIfSupported())
      return
    }
    mode = next
    if (fall !== 'unsupported') fall = why
    probes = why === 'blocked' && proven.has(wished.name) ? 0 : Math.max(1, probes)
  }

  function probeFailed(): void {
    probes = Math.min(probes + 1, probePausesMs.length - 1)
  }

  /** Not retried since the fallback, though it worked before. */
  const isUnproved = () => fall === 'blocked' && probes === 0

  return {
    wished: () => wished,
    /** In use or next to open. */
    mode: () => mode,
    /** Null while the wished mode is in use or not yet known to fail. */
    fall: () => (mode === wished || isUnproved() ? null : fall),
    choose(next: Mode): void {
      proven = new Set()
      wished = next
      settle(next)
      fall = null
      fruitless = 0
      probes = 0
    },
    opened,
    closed,
    left(): void {
      openedAt = null
    },
    /** The mode in use ended during a probe: the probed mode replaces it. */
    adopt(better: Mode): void {
      mode = better
      openedAt = null
    },
    /** Null when no better mode exists. */
    probePauseMs(): number | null {
      if (mode === wishedIfSupported()) return null
      return (probePausesMs[probes] ?? 0) * (0.75 + random() / 2)
    },
    /** Null when only the mode in use is left. */
    betterAfter(tried: Mode): Mode | null {
      const next = below(tried)
      return next && isAbove(next, mode) ? next : null
    },
    probeFailed,
  }
}
