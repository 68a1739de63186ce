// Totals over the last so many seconds, each value handled a bounded number of times, and nothing ever subtracted.

/** As many values as are kept for a span; what comes closer together is joined at once. */
const grains = 240

export interface RunningOptions<Value> {
  readonly spanMs: number
  /** Two totals of neighbouring times as one; the order does not matter. */
  readonly join: (one: Value, other: Value) => Value
}

export interface Running<Value> {
  /** `at` never runs back; ms. */
  readonly add: (value: Value, at: number) => void
  /** Over the `spanMs` before `now`, and up to a 240th more; null when nothing is left. `now` never runs back either. */
  readonly total: (now: number) => Value | null
}

interface Entry<Value> {
  at: number
  value: Value
}

/**
 * A queue made of two stacks, both with totals: joins are enough, so that a maximum slides as a sum does and no
 * rounding error builds up. Each value is joined at most three times; at most 242 are kept.
 */
export function createRunning<Value>({ spanMs, join }: RunningOptions<Value>): Running<Value> {
  const grainMs = spanMs / grains
  /** The older part, oldest last; each with the total of itself and all younger ones in here. */
  const older: Entry<Value>[] = []
  /** The younger part, youngest last, each by itself, and their total. */
  let younger: Entry<Value>[] = []
  let youngerTotal: Value | null = null

  const joined = (one: Value | null, other: Value) => (one === null ? other : join(one, other))

  function turnOver(): void {
    let total: Value | null = null
    for (const { at, value } of younger.toReversed()) {
      total = joined(total, value)
      older.push({ at, value: total })
    }
    younger = []
    youngerTotal = null
  }

  function dropUntil(at: number): void {
    const isOver = (entry: Entry<Value> | undefined) => entry !== undefined && entry.at <= at
    while (isOver(older.at(-1) ?? younger[0])) {
      if (older.length === 0) turnOver()
      older.pop()
    }
  }

  return {
    add(value, at) {
      dropUntil(at - spanMs)
      const last = younger.at(-1)
      if (last && Math.floor(last.at / grainMs) === Math.floor(at / grainMs)) {
        last.at = at
        last.value = join(last.value, value)
      } else {
        younger.push({ at, value })
      }
      youngerTotal = joined(youngerTotal, value)
    },
    total(now) {
      dropUntil(now - spanMs)
      const oldest = older.at(-1)
      if (!oldest) return youngerTotal
      return youngerTotal === null ? oldest.value : join(oldest.value, youngerTotal)
    },
  }
}
