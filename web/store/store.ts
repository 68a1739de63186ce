// What React sees: one immutable view of everything a window shows, and a way to be told when it changes.

import type { ClockReading } from '../../server/wire/clock/reading.ts'
import type { HttpVersion } from '../../server/wire/modes.ts'
import type { OverviewBody } from '../../server/wire/overview.ts'
import type { ReadingBody, SensorBody } from '../../server/wire/reading.ts'
import { noFigures, type WindFigures } from '../../server/wire/wind/figures.ts'
import type { ShownView } from '../page/views.ts'
import { firstChoices, type WindChoices } from '../wind/choices.ts'

/** State of the link, as data; words for people are made where they are shown. */
export interface LinkView {
  readonly state: 'opening' | 'open' | 'waiting'
  /** Name of the mode in use or being opened, `sse/2`. */
  readonly mode: string
  /** Name of the mode that was asked for. */
  readonly wished: string
  /** Why these two differ: it does not get through, this browser cannot do it, it ends again and again. */
  readonly fall: 'blocked' | 'unsupported' | 'flapping' | null
  /** The HTTP version that the server saw on this link; null until it is open. */
  readonly spokenHttp: HttpVersion | null
  /** Why it is not open: one sentence; null when it is. */
  readonly reason: string | null
  /** When the next try starts, ms since the epoch; null when none is planned. */
  readonly retryAt: number | null
  /** How often a loss within a stream was noticed and made good. */
  readonly repairs: number
  /** This window's clock against the server's; null while it is not known, and while nobody looks. */
  readonly clock: ClockReading | null
}

export interface OutboxView {
  /** Edits that the server has not yet acknowledged. */
  readonly unstored: number
  /** Of the unsent ones, how many were left out for newer ones that say the same and more. */
  readonly superseded: number
  /** The newest edit found no room: it is in this window and nowhere else. */
  readonly isFull: boolean
  /** Whether a reload would keep what is not stored. */
  readonly isSaved: boolean
}

export interface WindView {
  readonly reading: ReadingBody | null
  /** When the newest reading came, or was due where it came late; this window's clock, ms since the epoch. */
  readonly receivedAt: number | null
  /** When it was made, in the anemograph's time; ms. */
  readonly takenAt: number | null
  /** As of the newest reading. */
  readonly figures: WindFigures
  readonly choices: WindChoices
  /** How the sensor itself is doing; null until it is known. */
  readonly sensor: SensorBody | null
}

/** What the server worked out last. */
export interface OverviewView {
  readonly body: OverviewBody
  /** The server's clock when it did, ms since the epoch. */
  readonly at: number
  /** When it came, or was due where it came late; this window's clock, ms since the epoch. */
  readonly receivedAt: number
}

export interface View {
  readonly link: LinkView
  /** Windows open on this page's channel, this one included; null until known. */
  readonly windows: number | null
  /** Streams that this browser holds open over HTTP/1.1. */
  readonly browserHttp1Streams: number
  readonly outbox: OutboxView
  /** An edit that the server refused: one sentence; null when there is none. */
  readonly refusal: string | null
  readonly shown: ShownView
  readonly wind: WindView
  /** Null until one has come, and then only as new as the view that shows it. */
  readonly overview: OverviewView | null
}

export interface Store {
  readonly view: () => View
  readonly change: (part: Partial<View>) => void
  /** Calls back after each change; returns the way to stop. Fits React's `useSyncExternalStore`. */
  readonly subscribe: (onChange: () => void) => () => void
}

export function createStore(initial: View): Store {
  let current = initial
  const listeners = new Set<() => void>()
  return {
    view: () => current,
    change(part) {
      current = { ...current, ...part }
      for (const listener of listeners) listener()
    },
    subscribe(onChange) {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
  }
}

/** Before anything was heard. */
export function firstView(
  mode: string,
  shown: ShownView = { name: 'all', notice: null },
  choices: WindChoices = firstChoices,
): View {
  return {
    link: {
      state: 'opening',
      mode,
      wished: mode,
      fall: null,
      spokenHttp: null,
      reason: null,
      retryAt: null,
      repairs: 0,
      clock: null,
    },
    windows: null,
    browserHttp1Streams: 0,
    outbox: { unstored: 0, superseded: 0, isFull: false, isSaved: true },
    refusal: null,
    shown,
    wind: {
      reading: null,
      receivedAt: null,
      takenAt: null,
      figures: noFigures,
      choices,
      sensor: null,
    },
    overview: null,
  }
}
