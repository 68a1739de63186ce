// How long after the last line of a stamped log the next one comes, whatever the logger's clock did.

/**
 * Loggers that poll keep a frame every few minutes, at the longest every hour. A longer gap is a hole in the log, or a clock
 * that was set; the page shows an hour of wind, so that waiting longer would change nothing in it.
 */
const longestGapMs = 3_600_000
/** A WindSonic's fastest rate (P3). */
const fastestHz = 4

/**
 * Takes each line's time, ms, and returns the gap before it, ms: that of the times, but none where the clock went back, and
 * an hour at most. Of lines with the same time a second's worth come at once; the others, whose logger keeps no seconds or
 * one time for all, come at `rateHz` for as long as they last, and the next gap is that much shorter.
 */
export function createPacing(rateHz: number): (at: number) => number {
  const mostAtOnce = Math.max(fastestHz, rateHz)
  let lastAt: number | null = null
  let alike = 0
  let aheadMs = 0

  function spread(): number {
    alike += 1
    if (alike <= mostAtOnce) return 0
    aheadMs += 1000 / rateHz
    return 1000 / rateHz
  }

  return (at) => {
    if (at === lastAt) return spread()
    const gapMs = Math.min(Math.max(0, at - (lastAt ?? at)), longestGapMs)
    lastAt = at
    alike = 1
    const waitMs = Math.max(0, gapMs - aheadMs)
    aheadMs -= gapMs - waitMs
    return waitMs
  }
}
