// Tells windows who else is here, at most now and then, so that a thousand joins are not a million frames.

import type { Presence } from '../wire/frames.ts'
import type { Cancel, Timers } from '../wire/time.ts'
import type { Crowd, Guest } from './crowd.ts'
import { createDelivery, type Delivery } from './delivery.ts'
import type { Visitor } from './window.ts'

const shortestPauseMs = 50
const pausePerWindowMs = 1

export interface PresenceTeller {
  /** A window came or went. */
  readonly changed: () => void
  /** For a window that polls: what is new to it, or null. */
  readonly newsFor: (guest: Guest) => Delivery | null
  readonly stop: () => void
}

export function createPresence(crowd: Crowd, timers: Timers): PresenceTeller {
  let cancel: Cancel | null = null
  let windowsOn = new Map<string, number>()
  let streamsOf = new Map<string, number>()

  function count(): void {
    windowsOn = new Map()
    streamsOf = new Map()
    for (const { visitor, carries } of crowd.all()) {
      for (const [channel, windows] of carries ?? [[pageOf(visitor), 1] as const]) {
        add(windowsOn, channel, windows)
      }
      if (visitor.browser && visitor.mode.windowsPerBrowser !== null) add(streamsOf, visitor.browser, 1)
    }
  }

  function presenceFor({ visitor, carries }: Guest): Presence {
    return {
      type: 'presence',
      windows: windowsOn.get(pageOf(visitor)) ?? 0,
      ...(carries && { channels: Object.fromEntries([...carries.keys()].map(countOn)) }),
      browserHttp1Streams: visitor.browser ? (streamsOf.get(visitor.browser) ?? 0) : 0,
    }
  }

  const countOn = (channel: string) => [channel, windowsOn.get(channel) ?? 0] as const

  function tell(): void {
    cancel = null
    count()
    // Windows of one page mostly get the same frame: it is encoded once.
    const known = new Map<string, Delivery>()
    for (const guest of crowd.all()) {
      if (!guest.window) continue
      const presence = presenceFor(guest)
      const words = JSON.stringify(presence)
      const delivery = known.get(words) ?? createDelivery(presence)
      known.set(words, delivery)
      guest.window.send(delivery)
    }
  }

  return {
    changed() {
      cancel ??= timers.later(tell, shortestPauseMs + crowd.size() * pausePerWindowMs)
    },
    newsFor(guest) {
      const presence = presenceFor(guest)
      const words = JSON.stringify(presence)
      if (presence.windows === 0 || words === guest.toldPresence) return null
      guest.toldPresence = words
      return createDelivery(presence)
    },
    stop: () => cancel?.(),
  }
}

/** The page's own channel is the first one that a window names; the wind's is shared by all pages. */
function pageOf({ channels }: Visitor): string {
  const [first = ''] = channels
  return first
}

function add(counts: Map<string, number>, key: string, more: number): void {
  counts.set(key, (counts.get(key) ?? 0) + more)
}
