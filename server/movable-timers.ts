// A clock that runs, and can be put forward.

import type { Timers } from '../protocol/time.ts'

export interface MovableTimers extends Timers {
  /** What is due by then runs at once, in order. */
  readonly advance: (byMs: number) => void
}

export function movableTimers({ now, later }: Timers): MovableTimers {
  let movedMs = 0
  const waiting = new Set<{ readonly dueAt: number; readonly run: () => void }>()

  function nextBefore(time: number) {
    return [...waiting].filter(({ dueAt }) => dueAt <= time).sort((one, other) => one.dueAt - other.dueAt)[0]
  }

  return {
    now: () => now() + movedMs,
    later(run, delayMs) {
      const dueAt = now() + movedMs + delayMs
      const runOnce = () => {
        cancel()
        run()
      }
      const stop = later(runOnce, delayMs)
      const one = { dueAt, run: runOnce }
      waiting.add(one)
      function cancel(): void {
        waiting.delete(one)
        stop()
      }
      return cancel
    },
    advance(byMs) {
      const end = now() + movedMs + byMs
      for (let next = nextBefore(end); next; next = nextBefore(end)) {
        movedMs = Math.max(movedMs, next.dueAt - now())
        next.run()
      }
      movedMs = Math.max(movedMs, end - now())
    },
  }
}
