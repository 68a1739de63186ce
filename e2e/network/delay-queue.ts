// One direction of a delay link: entries leave in order, each when due.

import { createHistogram } from 'node:perf_hooks'
import { processTimers } from '../../server/process.ts'
import type { Timers } from '../../server/wire/time.ts'
import type { Path } from './profiles.ts'

interface DelayQueueSettings {
  readonly path: Path
  /** Shared by all entries; null: no limit. */
  readonly kilobitsPerSecond: number | null
  readonly timers: Timers
  /** How early an entry may leave, ms: half a timer's grain, so that the mean lateness is 0. */
  readonly graceMs: number
}

interface Entry {
  readonly dueMs: number
  readonly leave: () => void
}

/** Histograms hold positive integers: lateness is stored in µs above this minimum. */
const earliestMs = -1

export class DelayQueue {
  readonly #settings: DelayQueueSettings
  readonly #startedAt: number
  readonly #entries: Entry[] = []
  readonly #lateness = createHistogram()
  /** Entries before it have left. */
  #first = 0
  #freeAtMs = 0
  #isFlushing = false
  #isStopped = false
  #cancel: (() => void) | null = null

  constructor(settings: DelayQueueSettings) {
    this.#settings = settings
    this.#startedAt = settings.timers.now()
  }

  /** Runs `leave` when the last of `bytes` bytes reaches the far end. */
  enter(bytes: number, leave: () => void): void {
    if (this.#isStopped) return
    const { path, kilobitsPerSecond } = this.#settings
    // 1 bit/ms = 1 kbit/s.
    const sendingMs = kilobitsPerSecond === null ? 0 : (bytes * 8) / kilobitsPerSecond
    this.#freeAtMs = Math.max(this.#nowMs(), this.#freeAtMs) + sendingMs
    this.#entries.push({ dueMs: path(this.#freeAtMs), leave })
    if (!this.#isFlushing && !this.#cancel) this.#flush()
  }

  /** Departure minus due time, ms; negative: early. NaN before the first departure. */
  lateness() {
    const { count: n, mean, max } = this.#lateness
    const toMs = (micros: number) => (n === 0 ? Number.NaN : micros / 1000 + earliestMs)
    const p99 = this.#lateness.percentile(99)
    return { n, meanMs: toMs(mean), p99Ms: toMs(p99), maxMs: toMs(max) }
  }

  stop(): void {
    this.#isStopped = true
    this.#entries.length = 0
    this.#first = 0
    this.#cancel?.()
    this.#cancel = null
  }

  #flush(): void {
    const { timers, graceMs } = this.#settings
    this.#cancel = null
    this.#isFlushing = true
    for (let next = this.#due(); next; next = this.#due()) {
      this.#first += 1
      this.#record(this.#nowMs() - next.dueMs)
      next.leave()
    }
    this.#isFlushing = false
    this.#entries.splice(0, this.#first)
    this.#first = 0
    const [head] = this.#entries
    if (head) this.#cancel = timers.later(() => this.#flush(), head.dueMs - this.#nowMs() - graceMs)
  }

  #due(): Entry | undefined {
    const head = this.#entries[this.#first]
    return head && head.dueMs <= this.#nowMs() + this.#settings.graceMs ? head : undefined
  }

  #record(lateMs: number): void {
    this.#lateness.record(Math.max(1, Math.round((lateMs - earliestMs) * 1000)))
  }

  #nowMs(): number {
    return this.#settings.timers.now() - this.#startedAt
  }
}

/** Node truncates a delay to whole ms and fires about this much later. */
const usualLatenessMs = 0.2

/** Node's timers, whole ms: up to 1 ms late, no CPU while waiting. */
export const wholeTimers: Timers = {
  now: processTimers.now,
  later: (run, delayMs) => processTimers.later(run, Math.max(1, Math.ceil(delayMs - usualLatenessMs))),
}

/** Delays below 1 ms spin the event loop and occupy one CPU. */
export const spinningTimers: Timers = {
  now: processTimers.now,
  later(run, delayMs) {
    if (delayMs >= 1) return wholeTimers.later(run, delayMs)
    const turn = setImmediate(run)
    return () => clearImmediate(turn)
  },
}
