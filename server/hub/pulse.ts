// Signs of life: the server's to every window, spread over the time between two; and who was not heard of for too long.

import type { Heartbeat } from '../wire/frames.ts'
import type { Timers } from '../wire/time.ts'
import type { Crowd, Guest } from './crowd.ts'
import { createDelivery, type Delivery } from './delivery.ts'
import type { Window } from './window.ts'

/** Beating for ten thousand windows in one turn would hold messages back: each turn beats for a part of them. */
const turns = 16
/** Two beats may be late before a window counts as gone. */
export const beatsMissed = 2.5

export interface PulseParts {
  readonly crowd: Crowd
  readonly timers: Timers
  readonly heartbeatMs: number
  /** Number of the newest message on these channels. */
  readonly newestOn: (channels: ReadonlySet<string>) => number
  readonly onSilent: (window: Window) => void
  readonly onExpired: (window: Window) => void
  /** Windows that polled were forgotten. */
  readonly onForgotten: () => void
}

/** Starts beating; returns the way to stop. */
export function startPulse(parts: PulseParts): () => void {
  const { crowd, timers, heartbeatMs, newestOn } = parts
  const beatAt = new WeakMap<Guest, number>()
  // A little less than a whole number of turns, so that no timer's moment too early makes it one turn more.
  const restMs = (heartbeatMs * (turns - 1.5)) / turns
  let newcomers = 0
  let stopTimer = timers.later(turn, heartbeatMs / turns)

  function turn(): void {
    const now = timers.now()
    const encoded = new Map<number, Delivery>()
    for (const guest of [...crowd.all()]) if (guest.window) attend(guest, guest.window, now, encoded)
    if (crowd.forgetSilent(heartbeatMs * beatsMissed) > 0) parts.onForgotten()
    stopTimer = timers.later(turn, heartbeatMs / turns)
  }

  function attend(guest: Guest, window: Window, now: number, encoded: Map<number, Delivery>): void {
    const { heardAt } = guest
    if (window.expiresAt !== null && window.expiresAt <= now) parts.onExpired(window)
    else if (heardAt !== null && now - heardAt > heartbeatMs * beatsMissed) parts.onSilent(window)
    else if (isDue(guest, now)) window.beat(beatOf(newestOn(window.channels), encoded))
  }

  function isDue(guest: Guest, now: number): boolean {
    const lastAt = beatAt.get(guest) ?? now - earlierMs()
    const isDueNow = now - lastAt >= restMs
    beatAt.set(guest, isDueNow ? now : lastAt)
    return isDueNow
  }

  /** Newcomers' first beats are due in one turn after another: a restarted server's windows all come at once. */
  function earlierMs(): number {
    newcomers += 1
    return ((newcomers % (turns - 1)) * heartbeatMs) / turns
  }

  return () => stopTimer()
}

function beatOf(newest: number, encoded: Map<number, Delivery>): Delivery {
  const known = encoded.get(newest)
  if (known) return known
  const heartbeat: Heartbeat = { type: 'heartbeat', newest }
  const delivery = createDelivery(heartbeat)
  encoded.set(newest, delivery)
  return delivery
}
