// View model of the overview: the server's newest numbers, their age, the reader's unit.

import { longestPauseMs, type OverviewBody, type WindOverview } from '../../server/page/page-messages.ts'
import type { WindUnit } from '../../server/page/wind-units.ts'
import { timeOfDay } from '../page/wording.ts'
import type { OverviewView } from '../store.ts'
import {
  compassPoint,
  faultSentence,
  isStale as isWindOld,
  type Quantity,
  quantityIn,
  timeWords,
  wholeDegrees,
  staleSentence as windStaleSentence,
} from '../wind/wind-words.ts'

export interface OverviewFigure extends Quantity {
  readonly label: string
  /** Below the number; may be empty. */
  readonly beside: string
}

/** Longer than two of the server's regular repeats. */
const staleAfterMs = 2.5 * longestPauseMs

/**
 * `now`: this window's clock, ms since the epoch. Without `isConnected` the sensor's silence is not
 * reported.
 */
export function overviewViewModel(
  overview: OverviewView | null,
  unit: WindUnit,
  now: number,
  isConnected = true,
) {
  const body = overview?.body ?? null
  const ageMs = overview ? now - overview.receivedAt : 0
  const isStale = ageMs >= staleAfterMs
  // The server's send time plus the age by this window's clock; the clocks are never compared.
  const serverNow = (overview?.at ?? 0) + ageMs
  const readingAt = body?.wind?.readingAt ?? null
  const isWindStale = readingAt !== null && isWindOld(serverNow - readingAt)
  const newsWords = isStale ? `Last heard from the server ${timeWords(ageMs)} ago` : 'Updated just now'
  return {
    origin: originWords(body, serverNow),
    isStale,
    ageWords: overview ? newsWords : 'Waiting for the server’s numbers.',
    writing: writingFigures(body),
    /** Empty before the first overview. */
    editsEachSecond: body?.editsEachSecond ?? [],
    wind: windFigures(body?.wind ?? null, unit),
    source: body?.wind?.source ?? null,
    isWindStale,
    /** One sentence; null for none. */
    trouble: body && windTrouble(body.wind, isWindStale, isConnected),
  }
}

function originWords(body: OverviewBody | null, serverNow: number): string {
  if (!body) return 'Computed by the server from the page and the wind.'
  if (body.words === null) return 'The server takes too long to read this page: its words are not counted.'
  const since = timeOfDay(body.countedSince, serverNow)
  if (body.edits === 0) return `Computed live by the server. No edits since ${since}.`
  const edits = body.edits === 1 ? '1 edit' : `${grouped(body.edits)} edits`
  return `Computed live by the server, from ${edits} since ${since}${body.wind ? ' and the wind' : ''}.`
}

function windTrouble(wind: WindOverview | null, isWindStale: boolean, isConnected: boolean): string | null {
  if (wind === null) return 'No wind sensor has sent anything yet.'
  if (wind.trouble !== null) return wind.trouble
  if (isWindStale) return isConnected ? windStaleSentence : null
  return wind.state === 'fault' ? faultSentence(wind.status ?? '') : null
}

const noUnit = { unit: '', spokenUnit: '' }

/** Such as `12,345`. */
const { format: grouped } = new Intl.NumberFormat('en-GB')

function writingFigures(body: OverviewBody | null): readonly OverviewFigure[] {
  const busiest = Math.max(0, ...(body?.editsEachSecond ?? []))
  const figure = (label: string, count: number | null | undefined, beside: string) => ({
    label,
    number: typeof count === 'number' ? grouped(count) : null,
    ...noUnit,
    beside,
  })
  return [
    figure('Words', body?.words, ''),
    figure('Characters', body?.characters, 'spaces included'),
    figure(
      'Edits, last minute',
      body?.editsLastMinute,
      busiest === 0 ? '' : `${busiest} in the busiest second`,
    ),
  ]
}

function windFigures(wind: WindOverview | null, unit: WindUnit): readonly OverviewFigure[] {
  const direction = wind?.meanDirectionDegrees ?? null
  const mean = wind?.meanMetresPerSecond ?? null
  const gust = wind?.gustMetresPerSecond ?? null
  return [
    {
      label: 'Mean wind',
      ...quantityIn(unit, mean),
      beside: `over ${spanWords(mean, wind?.meanCoversSeconds, 120)}`,
    },
    {
      label: 'Gust',
      ...quantityIn(unit, gust),
      beside: `3 s peak in ${spanWords(gust, wind?.gustCoversSeconds, 600)}`,
    },
    {
      label: 'Direction',
      number: direction === null ? null : `${wholeDegrees(direction)}°`,
      ...noUnit,
      beside: directionWords(mean, direction),
    },
  ]
}

/** The covered time if shorter than the whole, rounded to tens of seconds. */
function spanWords(speed: number | null, coversSeconds: number | undefined, wholeSeconds: number): string {
  const isWhole = speed === null || coversSeconds === undefined || coversSeconds > 0.95 * wholeSeconds
  const seconds = isWhole ? wholeSeconds : coversSeconds
  if (seconds < 10) return 'less than 10 s'
  return timeWords(seconds < 60 ? Math.floor(seconds / 10) * 10_000 : seconds * 1000)
}

function directionWords(mean: number | null, direction: number | null): string {
  if (mean === null) return ''
  return direction === null ? 'too light for a direction' : `from the ${compassPoint(direction)}`
}
