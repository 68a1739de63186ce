// What the windows of one process received of the messages that count: how late, how often, in which order.

/** The messages of one measured interval, by their marks. */
export interface Interval {
  /** Mark of the first; the others follow without a gap. */
  readonly first: number
  readonly count: number
  /** When the first is due, on the shared clock, and how far apart they are due, ms. */
  readonly startAt: number
  readonly intervalMs: number
}

export interface Tally {
  /** First copies that came. */
  readonly received: number
  readonly duplicated: number
  /** First copies that came after a later message. */
  readonly reordered: number
  /** From due to received, ms, one for each first copy, in no order. */
  readonly latenciesMs: Float64Array
}

export interface Tallying {
  /** A mark came at that window, its place among the windows of this process, at `at` on the shared clock. */
  readonly take: (window: number, mark: number, at: number) => void
  readonly isComplete: () => boolean
  readonly result: () => Tally
}

/** `onComplete` is called once, when every window has every message. */
export function createTallying(windows: number, interval: Interval, onComplete: () => void): Tallying {
  const { first, count, startAt, intervalMs } = interval
  const expected = windows * count
  const hasCome = new Uint8Array(expected)
  const furthest = new Int32Array(windows).fill(-1)
  const latenciesMs = new Float64Array(expected)
  let received = 0
  let duplicated = 0
  let reordered = 0

  return {
    take(window, mark, at) {
      const place = mark - first
      if (place < 0 || place >= count) return
      const cell = window * count + place
      if (hasCome[cell] === 1) {
        duplicated += 1
        return
      }
      hasCome[cell] = 1
      if (place < (furthest[window] ?? 0)) reordered += 1
      else furthest[window] = place
      latenciesMs[received] = at - (startAt + place * intervalMs)
      received += 1
      if (received === expected) onComplete()
    },
    isComplete: () => received === expected,
    result: () => ({ received, duplicated, reordered, latenciesMs: latenciesMs.slice(0, received) }),
  }
}
