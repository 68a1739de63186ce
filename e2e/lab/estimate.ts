// Estimates how long a run still takes: by its plan at first, then by the completed sessions.

import { several } from '../report/section.ts'

export interface Plan {
  /** Time of a session, or of each; if absent, unknown until the first is done. */
  readonly sessionMs?: number | readonly number[]
  /** After these sessions. */
  readonly thenMs?: number
  /** End of a run that may have more sessions than planned. */
  readonly limitMs?: number | undefined
}

export class Estimate {
  readonly #isPlanned: boolean
  /** Without a plan, equal shares. */
  readonly #sessionsMs: readonly number[]
  readonly #thenMs: number
  readonly #limitMs: number
  readonly #now: () => number
  readonly #startedAt: number
  #done = 0
  #doneAt: number

  /** The run starts now. `now` in ms. */
  constructor(sessions: number, { sessionMs, thenMs = 0, limitMs = 0 }: Plan, now: () => number) {
    this.#isPlanned = sessionMs !== undefined
    this.#sessionsMs =
      typeof sessionMs === 'object' ? sessionMs : new Array<number>(sessions).fill(sessionMs ?? 1)
    this.#thenMs = thenMs
    this.#limitMs = limitMs
    this.#now = now
    this.#startedAt = now()
    this.#doneAt = this.#startedAt
  }

  sessionDone(): void {
    this.#done += 1
    this.#doneAt = this.#now()
  }

  /** Null if unknown. A session that takes longer than expected does not shorten the others. */
  get leftMs(): number | null {
    if (!this.#isPlanned && this.#done === 0) return null
    const sum = (values: readonly number[]) => values.reduce((total, ms) => total + ms, 0)
    const elapsedMs = this.#doneAt - this.#startedAt
    const pace = this.#done === 0 ? 1 : elapsedMs / sum(this.#sessionsMs.slice(0, this.#done))
    const [current = 0, ...later] = this.#sessionsMs.slice(this.#done)
    const currentMs = Math.max(0, pace * current - (this.#now() - this.#doneAt))
    const untilLimitMs = this.#limitMs - (this.#now() - this.#startedAt)
    return Math.max(currentMs + pace * sum(later) + this.#thenMs, untilLimitMs)
  }
}

/** `50 seconds`, `6 minutes`, `2.5 hours`: to within a tenth. */
export function formatDuration(ms: number): string {
  if (ms < 97_500) return several(Math.max(5, 5 * Math.round(ms / 5000)), 'second')
  if (ms < 5_370_000) return several(Math.max(2, Math.round(ms / 60_000)), 'minute')
  return several(Number((ms / 3_600_000).toFixed(ms < 36_000_000 ? 1 : 0)), 'hour')
}

/** `4:10`. */
export function formatClock(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
