// Draws at most once for each frame, only while something has changed, and not at all while nobody can see it.

import type { Cancel } from '../../server/wire/time.ts'

/** What tells whether the drawing can be seen, and when it can again. */
export interface Sight {
  readonly isHidden: () => boolean
  /** Returns the way to stop. */
  readonly onSeen: (listener: () => void) => () => void
}

export interface Frames {
  /** Runs once, in the first frame after so many ms; `now` is the frame's time, ms. Returns the way to take it back. */
  readonly request: (run: (now: number) => void, afterMs: number) => Cancel
}

export interface Drawing {
  /** Something has changed. */
  readonly plan: () => void
  readonly stop: () => void
}

export const browserFrames: Frames = {
  request(run, afterMs) {
    let frame = 0
    const ask = () => {
      frame = requestAnimationFrame(run)
    }
    // Not one frame after the other until it is time: each costs, drawn or not.
    const timer = afterMs > 0 ? setTimeout(ask, afterMs) : undefined
    if (timer === undefined) ask()
    return () => {
      clearTimeout(timer)
      cancelAnimationFrame(frame)
    }
  },
}

/** `draw` gets the frame's time, ms, and says in how many ms it wants to be called again; null for when planned. */
export function createDrawing(draw: (now: number) => number | null, sight: Sight, frames: Frames): Drawing {
  let cancel: Cancel | null = null
  let isDue = false

  function run(now: number): void {
    cancel = null
    if (sight.isHidden()) return
    const againInMs = draw(now)
    isDue = againInMs !== null
    if (againInMs !== null) request(againInMs)
  }

  function request(afterMs: number): void {
    if (cancel === null && !sight.isHidden()) cancel = frames.request(run, afterMs)
  }

  const stopWatching = sight.onSeen(() => {
    if (isDue) request(0)
  })

  return {
    plan() {
      isDue = true
      cancel?.()
      cancel = null
      request(0)
    },
    stop() {
      stopWatching()
      cancel?.()
    },
  }
}
