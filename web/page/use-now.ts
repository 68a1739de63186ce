// The time for words that grow old: "4 s ago", "in 3 s".

import { useEffect, useState } from 'react'
import { browserTimers } from '../link/timers.ts'

const { now: clock } = browserTimers

/**
 * This window's clock, which stamps what comes, in ms since the epoch: another one may be set meanwhile, and ages with
 * it. Renewed every `periodMs` while it runs; it costs nothing while it does not.
 */
export function useNow(periodMs: number, isRunning: boolean): number {
  const [now, setNow] = useState(clock)
  useEffect(() => {
    if (!isRunning) return
    setNow(clock())
    const timer = setInterval(() => setNow(clock()), periodMs)
    return () => clearInterval(timer)
  }, [periodMs, isRunning])
  return now
}
