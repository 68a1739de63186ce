// Animation frames: one request for all work that waits for the next one.

import { browserTimers } from '../client/transports.ts'
import type { Cancel, Timers } from '../protocol/time.ts'

/** Hidden and occluded windows get no animation frames. */
const withoutFramesMs = 100

interface FrameParts {
  readonly timers: Timers
  readonly request: (run: () => void) => number
  readonly cancel: (frame: number) => void
  readonly onFailure: (error: unknown) => void
}

/**
 * One request to the browser for all work that waits for the next animation frame: a request costs
 * as much as drawing a letter.
 */
export function createFrames({ timers, request, cancel, onFailure }: FrameParts) {
  let waiting = new Set<() => void>()
  let frame: number | null = null
  let askedAt = 0
  let isWatched = false

  function runAll(): void {
    frame = null
    const running = waiting
    waiting = new Set()
    for (const run of running) {
      try {
        run()
      } catch (error) {
        onFailure(error)
      }
    }
  }

  /** Keeps running after the frame: cancelling a timer costs more than letting it fire. */
  function watch(): void {
    if (isWatched) return
    isWatched = true
    timers.later(
      () => {
        isWatched = false
        if (frame === null) return
        if (timers.now() < askedAt + withoutFramesMs) watch()
        else {
          cancel(frame)
          runAll()
        }
      },
      askedAt + withoutFramesMs - timers.now(),
    )
  }

  /** Runs `run` in the next frame, after work queued before it, or after 100 ms without a frame. */
  return function inNextFrame(run: () => void): Cancel {
    const one = () => run()
    const set = waiting.add(one)
    if (frame === null) {
      frame = request(runAll)
      askedAt = timers.now()
      watch()
    }
    return () => void set.delete(one)
  }
}

export const inNextFrame = createFrames({
  timers: browserTimers,
  request: (run) => requestAnimationFrame(run),
  cancel: (frame) => cancelAnimationFrame(frame),
  onFailure: (error) => reportError(error),
})
