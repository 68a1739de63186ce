// Notices a stream that says nothing any more: a broken path can look open for minutes.

import type { Timers } from '../../server/wire/time.ts'

export interface Watchdog {
  /** Something was heard. */
  readonly feed: () => void
  /** Silence of more than this is too long from now on. */
  readonly allow: (silenceMs: number) => void
  readonly stop: () => void
}

export function createWatchdog(timers: Timers, firstSilenceMs: number, onSilence: () => void): Watchdog {
  let silenceMs = firstSilenceMs
  let heardAt = timers.now()
  let stopTimer = timers.later(look, silenceMs)

  // Looks again when it would be due, and not at every frame: feeding costs nothing.
  function look(): void {
    const leftMs = heardAt + silenceMs - timers.now()
    if (leftMs <= 0) onSilence()
    else stopTimer = timers.later(look, leftMs)
  }

  return {
    feed() {
      heardAt = timers.now()
    },
    allow(ms) {
      silenceMs = ms
      stopTimer()
      stopTimer = timers.later(look, ms)
    },
    stop: () => stopTimer(),
  }
}
