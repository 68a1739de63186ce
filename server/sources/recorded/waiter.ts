// Waits for one thing after another without drifting.

import { nothingPlanned, type Timers } from '../../wire/time.ts'

export interface Waiter {
  /** Resolves `ms` after the last time was due, however late that was noticed; at once when it is past. */
  pass(ms: number): Promise<void>
  /** Whoever waits goes on at once, and nobody waits again. */
  end(): void
}

/** Behind by more than this, as after a machine's sleep, it goes on from where it is instead of catching up. */
const longestBacklogMs = 10_000
/** As far ahead as a timer of Node can be. */
const longestWaitMs = 2 ** 31 - 1

/** The first time is counted from now. */
export function createWaiter(timers: Timers): Waiter {
  let dueAt = timers.now()
  let isOver = false
  let wake = nothingPlanned
  let cancel = nothingPlanned

  function sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = resolve
    cancel = timers.later(resolve, Math.min(ms, longestWaitMs))
    return promise
  }

  return {
    async pass(ms) {
      dueAt += ms
      if (timers.now() - dueAt > longestBacklogMs) dueAt = timers.now()
      while (!isOver && dueAt > timers.now()) await sleep(dueAt - timers.now())
    },
    end() {
      isOver = true
      cancel()
      wake()
    },
  }
}
