// Tells windows who else is here, at most now and then, so that a thousand joins are not a million frames.

import type { Presence } from '../wire/frames.ts'
import type { Cancel, Timers } from '../wire/time.ts'
import { createDelivery } from './delivery.ts'
import type { Window } from './window.ts'

const shortestPauseMs = 50
const pausePerWindowMs = 1

export interface PresenceTeller {
  /** A window came or went. */
  readonly changed: () => void
  readonly stop: () => void
}

export function createPresence(windows: ReadonlySet<Window>, timers: Timers): PresenceTeller {
  let cancel: Cancel | null = null

  function tell(): void {
    cancel = null
    const windowsOf = countBy([...windows].map(pageOf))
    const streamsOf = countBy([...windows].filter(holdsScarceConnection).map((window) => window.browser))
    for (const window of windows) {
      const frame: Presence = {
        type: 'presence',
        windows: windowsOf.get(pageOf(window)) ?? 0,
        browserHttp1Streams: window.browser ? (streamsOf.get(window.browser) ?? 0) : 0,
      }
      window.send(createDelivery(frame))
    }
  }

  return {
    changed() {
      cancel ??= timers.later(tell, shortestPauseMs + windows.size * pausePerWindowMs)
    },
    stop: () => cancel?.(),
  }
}

/** The page's own channel is the first one that a window names; the wind's is shared by all pages. */
function pageOf(window: Window): string | undefined {
  return [...window.channels][0]
}

function holdsScarceConnection(window: Window): boolean {
  return window.mode.windowsPerBrowser !== null
}

function countBy<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}
