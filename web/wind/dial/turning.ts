// The pointer's way from one direction to the next: the short one, slowing down, and over before the next reading.

import { shortWay } from '../words/compass.ts'

/** Under the 250 ms between two readings at 4 Hz, so that the pointer comes to rest at each. */
const turnMs = 200

/** A turn of less than this is no motion to see, and not worth five pictures. */
const leastTurnDegrees = 1.5

export interface Turning {
  /** `isStill` for who wants no motion. Null takes the pointer away; the next direction is then simply there. */
  readonly turnTo: (directionDegrees: number | null, now: number, isStill: boolean) => void
  /** Degrees, maybe beyond a whole turn; null when there is no pointer. */
  readonly angleAt: (now: number) => number | null
  readonly isTurningAt: (now: number) => boolean
}

export function createTurning(): Turning {
  let target: number | null = null
  let fromDegrees = 0
  let startedAt = Number.NEGATIVE_INFINITY

  function angleAt(now: number): number | null {
    if (target === null) return null
    const done = Math.min(1, Math.max(0, (now - startedAt) / turnMs))
    return target + (fromDegrees - target) * (1 - done) ** 3
  }

  function rest(degrees: number | null): void {
    target = degrees
    startedAt = Number.NEGATIVE_INFINITY
  }

  return {
    turnTo(directionDegrees, now, isStill) {
      const angle = angleAt(now)
      if (directionDegrees === null || angle === null) return rest(directionDegrees)
      const next = shortWay(angle, directionDegrees)
      if (target !== null && Math.abs(next - target) < 1e-6) return
      if (isStill || Math.abs(next - angle) < leastTurnDegrees) return rest(next)
      fromDegrees = angle
      target = next
      startedAt = now
    },
    angleAt,
    isTurningAt: (now) => target !== null && now - startedAt < turnMs && fromDegrees !== target,
  }
}
