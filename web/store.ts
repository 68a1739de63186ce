// The page's state: one immutable view of all that a window shows, its listeners, saved choices.

import type { NamedVersion, ReadingBody, SensorBody } from '../app/shared/page-messages.ts'
import type { ViewName } from '../app/shared/views.ts'
import { noFigures, type WindFigures } from '../app/shared/wind-statistics.ts'
import type { ConnectionState } from '../client/connect.ts'
import type { OutboxState } from '../client/drafts.ts'
import type { Share } from '../protocol/modes.ts'
import { isWindUnit, type WindUnit } from '../sensor/wind-units.ts'
import type { Person } from './editor/presence.ts'

/** The last two are a day and a week. */
export const historyMinutes = [1, 10, 60, 1440, 10_080] as const
export type HistoryMinutes = (typeof historyMinutes)[number]

/** Choices in the wind panel, kept in this browser. */
export interface WindChoices {
  /** A fixed unit, or each reading's own. */
  readonly unit: WindUnit | 'sent'
  readonly minutes: HistoryMinutes
}

export const firstChoices: WindChoices = { unit: 'sent', minutes: 10 }

export interface WindView {
  /** False if the server started without a sensor and none has sent since. */
  readonly hasSensor: boolean
  readonly reading: ReadingBody | null
  /** Arrival of the newest reading, or its due time if late; this window's clock, ms since the epoch. */
  readonly receivedAt: number | null
  /** The reading's time in the history; ms. */
  readonly takenAt: number | null
  readonly figures: WindFigures
  /** Incremented each time past wind replaces the whole history. */
  readonly lookedBack: number
  readonly choices: WindChoices
  /** Null until known. */
  readonly sensor: SensorBody | null
}

/** `information` reports both what succeeded and what did not. */
export type Tone = 'success' | 'information' | 'warning'

interface ShownView {
  readonly name: ViewName
  /** Shown until it is dismissed or another view is chosen. */
  readonly notice: { readonly tone: Tone; readonly sentence: string } | null
}

export interface DeletionView {
  /** The deletion's sequence number. */
  readonly seq: number
  /** The document can be restored until then; the server's clock, ms since the epoch. */
  readonly until: number
  /** The server has erased the document: the displayed content exists only in this window. */
  readonly isErased: boolean
}

type Told = 'mode' | 'preferred' | 'fallbackReason' | 'reason' | 'retryAt' | 'repairs' | 'clock' | 'behindMs'

/** The connection, with what the browser knows of it. */
export interface ShownLink extends Required<Pick<ConnectionState, Told>> {
  readonly state: ConnectionState['status']
  /** HTTP version that the browser uses, such as `3`; null while unknown, as of a WebSocket behind a proxy. */
  readonly spokenHttp: string | null
}

/** The whole content that a window of version 0.2 could not send: the log takes no such edit any more. */
export interface LeftEdit {
  readonly ids: readonly string[]
  /** When it was made, ms since the epoch. */
  readonly at: number
  readonly html: string
}

export interface View {
  readonly link: ShownLink
  /** One sentence, from the loss of the connection until it is open again; otherwise null. */
  readonly outage: string | null
  /** When this browser kept the page, ms since the epoch, until the link is open. */
  readonly keptAt: number | null
  /** Whether this browser can open the page without the server; null until known. */
  readonly canReopen: boolean | null
  /** Windows on this page's channel, including this one; null until known. */
  readonly windows: number | null
  /** The people on the page, this window first. */
  readonly people: readonly Person[]
  /** Number of streams that this browser holds open over HTTP/1.1. */
  readonly browserHttp1Streams: number
  /** The effective sharing in this browser; never changes. */
  readonly share: Share
  readonly outbox: OutboxState
  /** The log refused an update, and takes none that builds on it. */
  readonly isUnshared: boolean
  readonly refusal: string | null
  /** Edits that the user may restore. */
  readonly left: readonly LeftEdit[]
  /** The document's deletion, while it is deleted. */
  readonly deletion: DeletionView | null
  readonly shown: ShownView
  /** The document's title; empty until someone names it. */
  readonly title: string
  /** Its first heading, which is its title until then; empty if there is none. */
  readonly heading: string
  /** Names of the document's versions, as people gave them. */
  readonly versions: readonly NamedVersion[]
  readonly wind: WindView
}

/** The document's name, as it is shown. */
export const nameOf = ({ title, heading }: Pick<View, 'title' | 'heading'>, channel: string) =>
  title || heading || channel

export type Store = ReturnType<typeof createStore>

export function createStore(initial: View) {
  let current = initial
  const listeners = new Set<() => void>()
  return {
    view: () => current,
    /** An unchanged part stays the same object, so that components that show it are not rendered again. */
    change(part: Partial<View>) {
      const changed = Object.entries(part).map(([name, value]) => {
        const before = current[name as keyof View]
        return [name, isAlike(before, value) ? before : value]
      })
      current = { ...current, ...Object.fromEntries(changed) }
      for (const listener of listeners) listener()
    },
    /**
     * Calls back after each change; returns the function that stops it. Fits
     * `useSyncExternalStore`.
     */
    subscribe(onChange: () => void) {
      listeners.add(onChange)
      return () => {
        listeners.delete(onChange)
      }
    },
  }
}

/** Whether both are objects with the same properties. */
function isAlike(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  const properties = Object.entries(one)
  return (
    properties.length === Object.keys(other).length &&
    properties.every(([name, value]) => Object.is(value, Reflect.get(other, name)))
  )
}

/** Constant over the opening attempts between retries. */
export function outageAfter(
  outage: string | null,
  { state, reason }: Pick<ShownLink, 'state' | 'reason'>,
): string | null {
  if (state === 'open') return null
  return state === 'waiting' ? (reason ?? 'The server does not answer.') : outage
}

export function firstView(
  mode: string,
  shown: ShownView = { name: 'write', notice: null },
  choices: WindChoices = firstChoices,
): View {
  return {
    link: {
      state: 'opening',
      mode,
      preferred: mode,
      fallbackReason: null,
      spokenHttp: null,
      reason: null,
      retryAt: null,
      repairs: 0,
      clock: null,
      behindMs: null,
    },
    outage: null,
    keptAt: null,
    canReopen: null,
    windows: null,
    people: [],
    browserHttp1Streams: 0,
    share: 'none',
    outbox: { unstored: 0, persisted: 0, isFull: false, canPersist: true },
    isUnshared: false,
    refusal: null,
    left: [],
    deletion: null,
    shown,
    title: '',
    heading: '',
    versions: [],
    wind: {
      hasSensor: true,
      reading: null,
      receivedAt: null,
      takenAt: null,
      figures: noFigures,
      lookedBack: 0,
      choices,
      sensor: null,
    },
  }
}

/** Metres per second before the first reading. */
export function unitShown({ choices, reading }: Pick<WindView, 'choices' | 'reading'>): WindUnit {
  return choices.unit === 'sent' ? (reading?.unit ?? 'M') : choices.unit
}

/** Throws where the browser denies storage. */
export type ChoiceStorage = () => Pick<Storage, 'getItem' | 'setItem'>

/** Null if nothing is stored. */
export function readItem(storage: ChoiceStorage, key: string): string | null {
  try {
    return storage().getItem(key)
  } catch {
    return null
  }
}

/** Has no effect where storage is denied or full. */
export function keepItem(storage: ChoiceStorage, key: string, text: string): void {
  try {
    storage().setItem(key, text)
  } catch {
    // The choice holds for this window only.
  }
}

function readObject(storage: ChoiceStorage, key: string): Readonly<Record<string, unknown>> {
  try {
    return { ...JSON.parse(readItem(storage, key) ?? '{}') }
  } catch {
    return {}
  }
}

const choicesKey = 'crosswind.wind'

/** Defaults replace missing or invalid choices. */
export function readChoices(storage: ChoiceStorage): WindChoices {
  const { unit, minutes } = readObject(storage, choicesKey)
  return {
    unit: typeof unit === 'string' && isWindUnit(unit) ? unit : firstChoices.unit,
    minutes: historyMinutes.find((known) => known === minutes) ?? firstChoices.minutes,
  }
}

export function keepChoices(storage: ChoiceStorage, choices: WindChoices): void {
  keepItem(storage, choicesKey, JSON.stringify(choices))
}

const mediansKey = 'crosswind.medians'

/** The last comparison in this browser: medians in ms by mode name; `at`: ms since the epoch. */
export interface LastMedians {
  readonly at: number
  readonly ms: Readonly<Record<string, number>>
}

/** Null if none is stored. */
export function readMedians(storage: ChoiceStorage): LastMedians | null {
  const { at, ms } = readObject(storage, mediansKey)
  return Number.isFinite(at) && ms ? ({ at, ms } as LastMedians) : null
}

export function keepMedians(storage: ChoiceStorage, medians: LastMedians): void {
  keepItem(storage, mediansKey, JSON.stringify(medians))
}

/** The user's chosen name. */
export const nameKey = 'crosswind.name'
