// Counts edits by the second, for as long as they belong to the last minute.

/** The window slides by whole seconds. */
const secondsKept = 60

export interface EditRate {
  /** `now`, here and below, never runs back; ms. */
  readonly add: (now: number) => void
  /** In each of the last 60 seconds; the second under way is the last. */
  readonly eachSecond: (now: number) => readonly number[]
}

/** However many edits there are, 60 numbers are kept. */
export function createEditRate(): EditRate {
  let counts: number[] = new Array(secondsKept).fill(0)
  let second = 0

  function goOnTo(now: number): void {
    const passed = Math.min(secondsKept, Math.floor(now / 1000) - second)
    second = Math.floor(now / 1000)
    if (passed > 0) counts = [...counts.slice(passed), ...new Array(passed).fill(0)]
  }

  return {
    add(now) {
      goOnTo(now)
      counts[secondsKept - 1] = (counts[secondsKept - 1] ?? 0) + 1
    },
    eachSecond(now) {
      goOnTo(now)
      return [...counts]
    },
  }
}
