// Says when a run of messages is more than may be kept.

import type { LogLimits } from './log.ts'

export interface Bounds {
  readonly messages: number
  readonly bytes: number
  readonly ageMs: number
}

export interface Kept {
  readonly messages: number
  readonly bytes: number
  /** When the oldest of them was accepted, ms since the epoch. */
  readonly oldestAt: number
}

export function boundsOf({ logMessages, logBytes, logAgeMs }: LogLimits): Bounds {
  return { messages: logMessages, bytes: logBytes, ageMs: logAgeMs }
}

/** True when the oldest has to go. A single message may be too large, never too many. */
export function exceeds(bounds: Bounds, kept: Kept, now: number): boolean {
  if (kept.messages === 0) return false
  if (kept.oldestAt + bounds.ageMs < now) return true
  return kept.messages > bounds.messages || (kept.bytes > bounds.bytes && kept.messages > 1)
}
