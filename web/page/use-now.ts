// The time for words that grow old: "4 s ago", "in 3 s".

import { useEffect, useState } from 'react'

/** The clock in ms since the epoch, renewed every `periodMs` while it runs; it costs nothing while it does not. */
export function useNow(periodMs: number, isRunning: boolean): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!isRunning) return
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), periodMs)
    return () => clearInterval(timer)
  }, [periodMs, isRunning])
  return now
}
