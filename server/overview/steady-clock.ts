// A clock that never runs back, for what is counted by time.

import type { Clock } from '../wire/time.ts'

/** Where the host's clock is set back it goes on from where it was; where that is set on, so is this. Ms. */
export function createSteadyClock(now: Clock): Clock {
  let newest = Number.NEGATIVE_INFINITY
  let setBackMs = 0
  return () => {
    const given = now()
    setBackMs = Math.max(setBackMs, newest - given)
    newest = given + setBackMs
    return newest
  }
}
