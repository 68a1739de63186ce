// Asks a polled sensor (M3, M4) for its readings: `?` to enable it, then its node letter at a steady rate.

import { nothingPlanned, type Timers } from '../../wire/time.ts'

export interface Polling {
  /** `A` to `Z`; the sensor's default is `Q`. */
  readonly node: string
  /** Questions a second; at most `1000 / replyMs`, so that each can be answered before the next. */
  readonly rateHz: number
}

/** What is said to a polled sensor besides its node letter (manual 1405-PS-0019, polled mode). */
export const enable = '?'
export const disable = '!'

/** In which a reply has to begin (same place). */
export const replyMs = 130
/** A sensor is ready this long after its power-up (same place), which nobody hears: it is enabled again so often. */
const readyMs = 5000

const STX = 0x02
const DOLLAR = 0x24

export interface PollingOpening extends Polling {
  readonly timers: Timers
  write(text: string): void
  /** Nothing that begins a frame came within `replyMs` of a question. */
  onMissed(): void
}

export interface Poller {
  heard(bytes: Uint8Array): void
  stop(): void
}

/**
 * Question n is due at start + n / rate whatever the timers did before; those that a stall has overtaken are not asked.
 * Writes `?` and the node letter, and nothing else.
 */
export function startPolling({ node, rateHz, timers, write, onMissed }: PollingOpening): Poller {
  const startAt = timers.now() + replyMs
  let hopefulAt = timers.now()
  let next = 0
  let cancelNext = nothingPlanned
  let cancelMissed = nothingPlanned

  function plan(): void {
    cancelNext = timers.later(ask, startAt + (next * 1000) / rateHz - timers.now())
  }

  function ask(): void {
    next = Math.max(next, Math.floor(((timers.now() - startAt) * rateHz) / 1000)) + 1
    plan()
    if (timers.now() - hopefulAt >= readyMs) enableAnew()
    cancelMissed()
    cancelMissed = timers.later(onMissed, replyMs)
    write(node)
  }

  function enableAnew(): void {
    hopefulAt = timers.now()
    write(enable)
  }

  enableAnew()
  plan()
  return {
    heard(bytes) {
      if (!bytes.some(beginsFrame)) return
      cancelMissed()
      hopefulAt = timers.now()
    },
    stop() {
      cancelNext()
      cancelMissed()
    },
  }
}

/** An adapter on two wires sends back what was written: a node letter alone is no reply. */
function beginsFrame(byte: number): boolean {
  return byte === STX || byte === DOLLAR
}
