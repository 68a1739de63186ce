// Decides after a failure which mode to open, and when to try a better one.

import type { LinkMode, WindowHttp } from '../protocol/modes.ts'
import type { Random, Timers } from '../protocol/time.ts'
import type { Closing } from './transports/transport.ts'

/** Why the preferred mode is not in use; `full`: connection limit reached. */
export type FallbackReason = 'blocked' | 'unsupported' | 'flapping' | 'full'

/** Codes of failures of the mode; all others say nothing about whether it gets through. */
const brokenCodes: readonly string[] = ['lost', 'silent', 'failed'] satisfies Closing['code'][]

/**
 * Consecutive failures before moving down; low, since the page itself just came from this server.
 */
const firstPatience = 2
/** The same for a mode that has worked in this window: an outage is likelier than a block. */
const provenPatience = 6
/** Each fruitless descent doubles the patience, up to this many failures. */
const maxPatience = 16

const shortLifeMs = 20_000
const shortLivesAllowed = 2
const flappingWithinMs = 60_000

/** The first applies to a mode that worked before: the failure may have been a server outage. */
const probePausesMs = [250, 30_000, 60_000, 120_000, 300_000] as const

interface FallbackOptions {
  readonly timers: Pick<Timers, 'now'>
  readonly random: Random
  /** Modes to fall back to. */
  readonly modes: readonly LinkMode[]
}

/**
 * After a failure, the mode `home` is opened again. After enough failures, a descent along `fallback` in the mode
 * table tries each lower mode once. The first that opens is the new home; if none does, the home stays, so a
 * server outage does not change the mode. A better mode that opens is the new home, too; if it soon ends, the
 * former home is used again.
 */
export class Fallback {
  readonly preferred: LinkMode
  readonly #timers: Pick<Timers, 'now'>
  readonly #random: Random
  readonly #modes: readonly LinkMode[]
  readonly #unsupported = new Set<string>()
  readonly #proven = new Set<string>()
  #home: LinkMode
  #mode: LinkMode
  #reason: FallbackReason | null = null
  /** The mode to return to after a short-lived probe. */
  #returnTo: LinkMode | null = null
  #failures = 0
  #fruitlessDescents = 0
  #failedProbes = 0
  #shortLivesAt: number[] = []

  constructor(preferred: LinkMode, { timers, random, modes: all }: FallbackOptions) {
    this.preferred = preferred
    this.#timers = timers
    this.#random = random
    this.#modes = all
    this.#home = preferred
    this.#mode = preferred
  }

  /** The mode in use, or the next to open. */
  get mode(): LinkMode {
    return this.#mode
  }

  /** Null while the preferred mode is in use or not yet known to fail. */
  get fallbackReason(): FallbackReason | null {
    // Not probed since the fallback, though it worked before.
    const isUnproved = this.#reason === 'blocked' && this.#failedProbes === 0
    return this.#mode === this.preferred || isUnproved ? null : this.#reason
  }

  /** `http`: the version over which it opened. The browser chooses between HTTP/3 and HTTP/2. */
  opened(tried: LinkMode, http: WindowHttp): void {
    const welcomed = (tried.isOverUdp && this.#named(`${tried.transport}/${http}`)) || tried
    const returnTo = this.#isAbove(welcomed, this.#home) ? this.#home : null
    if (welcomed !== this.#home) this.#settle(welcomed)
    this.#mode = welcomed
    this.#returnTo = returnTo
    this.#failures = 0
    this.#fruitlessDescents = 0
    this.#proven.add(welcomed.name)
    if (welcomed === this.preferred) this.#reason = null
    else if (welcomed !== tried && this.#reason) this.probeFailed()
    else this.#reason ??= 'blocked'
  }

  /**
   * `livedMs`: how long the connection was open; null if it never was. Returns true when the next try needs no
   * pause.
   */
  closed(code: Closing['code'] | 'offline', livedMs: number | null = null): boolean {
    if (code === 'unsupported') return this.#skipUnsupported(this.#mode)
    if (code === 'full') return this.#makeRoom()
    if (!brokenCodes.includes(code)) this.#mode = this.#home
    else if (livedMs !== null) return this.#endedAfter(livedMs)
    else if (this.#mode === this.#home) this.#notOpenedAtHome(code)
    else this.#notOpenedElsewhere()
    return false
  }

  /** The mode in use ended while another was tried, which replaces it. */
  adopt(other: LinkMode): void {
    this.#mode = other
  }

  /** Null when no better mode exists. */
  probePauseMs(): number | null {
    if (this.#mode === this.#bestSupported()) return null
    return (probePausesMs[this.#failedProbes] ?? 0) * (0.75 + this.#random() / 2)
  }

  /** Null when only the mode in use is left. */
  betterAfter(tried: LinkMode): LinkMode | null {
    const next = this.below(tried)
    return next && this.#isAbove(next, this.#mode) ? next : null
  }

  probeFailed(): void {
    this.#failedProbes = Math.min(this.#failedProbes + 1, probePausesMs.length - 1)
  }

  /** The first supported mode that `high` falls back to. */
  below(high: LinkMode): LinkMode | undefined {
    return this.#chain(this.#named(high.fallback))[0]
  }

  #named(name: string | null): LinkMode | undefined {
    return this.#modes.find((mode) => mode.name === name)
  }

  /** The supported modes from it on, best first. */
  #chain(mode: LinkMode | undefined): LinkMode[] {
    if (!mode) return []
    const lower = this.#chain(this.#named(mode.fallback))
    return this.#unsupported.has(mode.name) ? lower : [mode, ...lower]
  }

  #isAbove(high: LinkMode, low: LinkMode): boolean {
    return high !== low && this.#chain(high).includes(low)
  }

  #bestSupported(): LinkMode {
    return this.#chain(this.preferred)[0] ?? this.preferred
  }

  #settle(on: LinkMode): void {
    this.#home = on
    this.#mode = on
    this.#returnTo = null
    this.#failures = 0
    this.#shortLivesAt = []
  }

  /** Descends without a pause, and never returns. */
  #skipUnsupported(absent: LinkMode): boolean {
    this.#unsupported.add(absent.name)
    this.#mode = this.below(absent) ?? this.#bestSupported()
    if (absent === this.#home) this.#settle(this.#mode)
    if (absent === this.preferred) this.#reason = 'unsupported'
    return this.#mode !== absent
  }

  /** Other windows hold all connections: descends without a pause, and returns later. */
  #makeRoom(): boolean {
    const roomy = this.#named(this.#mode.whenFull)
    // During a descent, one more failed mode.
    if (this.#mode !== this.#home || !roomy || this.#unsupported.has(roomy.name)) {
      this.#notOpenedElsewhere()
      return false
    }
    this.#settle(roomy)
    this.#reason = 'full'
    this.#failedProbes = Math.max(1, this.#failedProbes)
    return true
  }

  #endedAfter(livedMs: number): boolean {
    if (livedMs >= shortLifeMs) {
      this.#returnTo = null
      if (this.#mode === this.preferred) this.#failedProbes = 0
      return false
    }
    if (this.#returnTo !== null) {
      this.#reason ??= 'flapping'
      this.#settle(this.#returnTo)
      this.probeFailed()
      return true
    }
    const now = this.#timers.now()
    this.#shortLivesAt = [...this.#shortLivesAt.filter((at) => now - at < flappingWithinMs), now]
    if (this.#shortLivesAt.length > shortLivesAllowed) this.#descend('flapping')
    return false
  }

  #notOpenedAtHome(code: string): void {
    this.#failures += 1
    const least = this.#proven.has(this.#home.name) ? provenPatience : firstPatience
    const patience = Math.min(maxPatience, least * 2 ** this.#fruitlessDescents)
    if (code === 'silent' || this.#failures >= patience) this.#descend('blocked')
  }

  #notOpenedElsewhere(): void {
    const next = this.below(this.#mode)
    if (this.#isAbove(this.#mode, this.#home)) {
      this.probeFailed()
      this.#mode = this.#home
    } else if (next) this.#mode = next
    else {
      // No mode opened: a proven one or the preferred one is tried again, with more patience.
      this.#fruitlessDescents += 1
      this.#settle(this.#proven.has(this.#home.name) ? this.#home : this.#bestSupported())
    }
  }

  #descend(why: FallbackReason): void {
    const next = this.below(this.#home)
    // If the lowest mode failed, the preferred one may work by now.
    this.#settle(next ? this.#home : this.#bestSupported())
    if (!next) return
    this.#mode = next
    if (this.#reason !== 'unsupported') this.#reason = why
    this.#failedProbes =
      why === 'blocked' && this.#proven.has(this.preferred.name) ? 0 : Math.max(1, this.#failedProbes)
  }
}
