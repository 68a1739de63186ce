// Whether this server may accept windows: watches the log, and disconnects windows while cut off.

import { Refusal } from '../protocol/refusal.ts'
import { repeat, type Timers } from '../protocol/time.ts'
import type { Outage } from './log/log.ts'

interface HealthParts {
  readonly timers: Timers
  readonly outage: () => Outage | null
  readonly print: (code: 'log-down' | 'log-up', sentence: string) => void
  /** Called when an outage begins, has another reason, or is over. */
  readonly onChanged?: ((outage: Outage | null) => void) | undefined
  /** Called repeatedly until the outage is over. */
  readonly onCutOff: (sentence: string) => void
}

const lookEachMs = 500
/** A broker that restarts is back sooner. */
const unreadyAfterMs = 5000
/** Another server may answer at once. */
const retryAfterMs = 1000

export class Health {
  readonly #parts: HealthParts
  #known: Outage | null = null
  #count = 0
  readonly stop: () => void

  constructor(parts: HealthParts) {
    this.#parts = parts
    this.stop = repeat(parts.timers, () => this.#look(), lookEachMs)
  }

  /** Null while the log accepts messages. */
  outage(): Outage | null {
    return this.#parts.outage()
  }

  /** Number of outages since the start. */
  outages(): number {
    return this.#count
  }

  /** A clause; null while this server may accept windows. */
  whyUnready(): string | null {
    const outage = this.outage()
    const lastsMs = this.#parts.timers.now() - (outage?.since ?? Number.POSITIVE_INFINITY)
    return outage !== null && lastsMs >= unreadyAfterMs ? outage.reason : null
  }

  /** Refuses windows and reads while the log is stale (503 `draining`). */
  refusal(): Refusal | null {
    const sentence = this.#whyCutOff()
    return sentence === null ? null : new Refusal('draining', sentence, null, retryAfterMs)
  }

  /** Asked before the log is read for a client or the application. Throws as `refusal` says. */
  readonly mustBeCurrent = (): void => {
    const refusal = this.refusal()
    if (refusal) throw refusal
  }

  #whyCutOff(): string | null {
    const reason = this.outage()?.isCutOff ? this.whyUnready() : null
    return reason === null
      ? null
      : `This server is cut off from its log (${reason}); another server takes over its windows.`
  }

  #look(): void {
    const { timers, print, onChanged, onCutOff } = this.#parts
    const known = this.#known
    const found = this.outage()
    this.#known = found
    if (found?.reason !== known?.reason) {
      if (!known) this.#count += 1
      if (found) print('log-down', `The log accepts no messages: ${found.reason}.`)
      else if (known) {
        const seconds = Math.round((timers.now() - known.since) / 1000)
        print('log-up', `The log accepts messages again, after ${seconds} s.`)
      }
      onChanged?.(found)
    }
    const sentence = this.#whyCutOff()
    if (sentence !== null) onCutOff(sentence)
  }
}
