// Does something once with the next animation frame, or soon where a window gets no frames.

/** Hidden and occluded windows are given no frames. */
const withoutFramesMs = 100

export interface Frame {
  /** Planning again before it ran changes nothing. */
  readonly plan: () => void
  /** Runs what is planned at once; nothing when nothing is. */
  readonly runNow: () => void
}

export function createFrame(run: () => void): Frame {
  let stop: (() => void) | null = null

  function runNow(): void {
    if (stop === null) return
    stop()
    stop = null
    run()
  }

  return {
    plan() {
      if (stop !== null) return
      const frame = requestAnimationFrame(runNow)
      const timer = setTimeout(runNow, withoutFramesMs)
      stop = () => {
        cancelAnimationFrame(frame)
        clearTimeout(timer)
      }
    },
    runNow,
  }
}
