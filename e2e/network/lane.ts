// One direction of a link: a queue in which whatever enters waits for its time to leave, first in, first out.

import type { Timers } from '../../server/wire/time.ts'
import type { Path } from './path.ts'

export interface Lane {
  /** `leave` runs when the last of `bytes` bytes that enter now comes out at the far end. */
  readonly enter: (bytes: number, leave: () => void) => void
  /** How many have entered and not left. */
  readonly waiting: () => number
  /** Nothing leaves any more. */
  readonly stop: () => void
}

export interface LaneSettings {
  readonly path: Path
  /** At the entrance, shared by all that enters; null is no limit. */
  readonly kilobitsPerSecond: number | null
  readonly timers: Timers
  /** So much before its time something may leave, ms: half a timer's grain, so that on average nothing is late. */
  readonly graceMs: number
  /** How long after its time something left, ms; below 0 when it was early. */
  readonly onLeft: (lateMs: number) => void
}

interface Waiting {
  readonly dueMs: number
  readonly leave: () => void
}

export function createLane({ path, kilobitsPerSecond, timers, graceMs, onLeft }: LaneSettings): Lane {
  const startedAt = timers.now()
  const queue: Waiting[] = []
  let first = 0
  let freeAtMs = 0
  let isFlushing = false
  let isStopped = false
  let cancel: (() => void) | null = null

  const nowMs = () => timers.now() - startedAt

  function enter(bytes: number, leave: () => void): void {
    if (isStopped) return
    // One bit a millisecond is one kilobit a second.
    const sendingMs = kilobitsPerSecond === null ? 0 : (bytes * 8) / kilobitsPerSecond
    freeAtMs = Math.max(nowMs(), freeAtMs) + sendingMs
    queue.push({ dueMs: path(freeAtMs), leave })
    if (!isFlushing && !cancel) flush()
  }

  function flush(): void {
    cancel = null
    isFlushing = true
    for (let next = due(); next; next = due()) {
      first += 1
      onLeft(nowMs() - next.dueMs)
      next.leave()
    }
    isFlushing = false
    queue.splice(0, first)
    first = 0
    const [head] = queue
    if (head) cancel = timers.later(flush, head.dueMs - nowMs() - graceMs)
  }

  function due(): Waiting | undefined {
    const head = queue[first]
    return head && head.dueMs <= nowMs() + graceMs ? head : undefined
  }

  return {
    enter,
    waiting: () => queue.length - first,
    stop() {
      isStopped = true
      queue.length = 0
      first = 0
      cancel?.()
      cancel = null
    },
  }
}
