// What the bench tells a load process, and what it answers; one order at a time.

import type { FleetPlan } from './fleet.ts'
import type { Interval, Tally } from './tally.ts'

/** Messages to receive, and to send where window 0 is here. */
export interface Measuring extends Interval {
  /** How long to wait for what is still on its way when the last one was due, ms. */
  readonly graceMs: number
}

export type Order =
  | { readonly type: 'open'; readonly plan: FleetPlan }
  | { readonly type: 'measure'; readonly measuring: Measuring }
  | { readonly type: 'close' }

export interface Measured extends Tally {
  /** The process's own use of the processor while it measured. */
  readonly cpuMs: number
  readonly wallMs: number
  /** How much later than planned its event loop came round: a client that is late itself sees late messages. */
  readonly loopDelayP99Ms: number
  readonly loopDelayMaxMs: number
  /** Windows that ended and messages that were refused; the first few in words. */
  readonly failures: number
  readonly failureWords: readonly string[]
}

export type Reply =
  | { readonly type: 'done' }
  | { readonly type: 'measured'; readonly measured: Measured }
  | { readonly type: 'failed'; readonly sentence: string }
