// Gives an anemograph the readings of a trace once more, so that it stands where the one stood that recorded it.

import type { Anemograph } from './anemograph.ts'
import type { BareReading } from './sampling.ts'
import type { Mark, Trace } from './trace.ts'

const fault: BareReading = { state: 'fault', speedMetresPerSecond: null, directionDegrees: null }

/**
 * A step for each mark, so that a long trace can be given in portions; returns the newest time, null for none. Sums, means,
 * lowest and highest of each mark come out as they were; within a mark only the order of its readings is lost, and how far
 * the direction swung. `faultAt`: when the newest reading was made, where that was a fault.
 */
export function* retake(
  { take }: Pick<Anemograph, 'take'>,
  trace: Trace,
  faultAt: number | null,
): Generator<void, number | null> {
  let newestAt: number | null = null
  for (const mark of trace) {
    newestAt = takeMark(take, mark)
    yield
  }
  return faultAt === null ? newestAt : take(fault, faultAt)
}

function takeMark(take: Anemograph['take'], mark: Mark): number {
  const { fromAt, toAt, count, directionDegrees } = mark
  // A fault is what parts two readings that are close to each other.
  if (mark.startsAnew) take(fault, fromAt)
  const state = directionDegrees === null ? 'calm' : 'measured'
  let newestAt = fromAt
  for (const [place, speedMetresPerSecond] of speedsOf(mark).entries()) {
    const at = fromAt + ((place + 0.5) / count) * (toAt - fromAt)
    newestAt = take({ state, directionDegrees, speedMetresPerSecond }, at)
  }
  return newestAt
}

/** As many as there were, with their lowest, highest and sum. */
function speedsOf(mark: Mark): number[] {
  const { count, speedMetresPerSecond: mean } = mark
  const [lowest, highest] = [mark.lowestMetresPerSecond, mark.highestMetresPerSecond]
  if (count === 1) return [mean]
  const between = (count * mean - lowest - highest) / Math.max(1, count - 2)
  // The mean was rounded: that of equal readings may lie outside them.
  const within = Math.min(highest, Math.max(lowest, between))
  return [lowest, ...Array<number>(count - 2).fill(within), highest]
}
