// Decides what the overview shows of the numbers that came last, from their age and the reader's unit.

import { longestPauseMs, type OverviewBody, type WindOverview } from '../../server/wire/overview.ts'
import type { SensorSource } from '../../server/wire/reading.ts'
import type { WindUnit } from '../../server/wire/wind/units.ts'
import type { OverviewView } from '../store/store.ts'
import { isStale as isWindOld, timeWords, staleSentence as windStaleSentence } from '../wind/words/age.ts'
import { faultSentence } from '../wind/words/status-words.ts'
import { grouped, type OverviewFigure, windFigures, writingFigures } from './overview-figures.ts'

export interface OverviewFace {
  readonly origin: string
  /** What comes from the server is late: what is shown may not hold any more. */
  readonly isStale: boolean
  readonly ageWords: string
  readonly writing: readonly OverviewFigure[]
  /** Edits in each of the last 60 seconds; none before there is an overview. */
  readonly editsEachSecond: readonly number[]
  readonly wind: readonly OverviewFigure[]
  readonly source: SensorSource | null
  /** The wind's numbers are from before the sensor fell silent. */
  readonly isWindStale: boolean
  /** What is wrong with the wind, one sentence; null when all is well. */
  readonly trouble: string | null
}

/** Two of the repeats that come even where nothing changes have not come. */
const staleAfterMs = 2.5 * longestPauseMs

/** `now` is this window's clock, ms since the epoch. */
export function overviewFace(overview: OverviewView | null, unit: WindUnit, now: number): OverviewFace {
  const body = overview?.body ?? null
  const ageMs = overview ? now - overview.receivedAt : 0
  // By the server's clock up to when it spoke, by this window's from then on: the two are never compared.
  const serverNow = (overview?.at ?? 0) + ageMs
  const readingAt = body?.wind?.readingAt ?? null
  const isWindStale = readingAt !== null && isWindOld(serverNow - readingAt)
  return {
    origin: originWords(body, serverNow),
    isStale: ageMs >= staleAfterMs,
    ageWords: overview ? ageWords(ageMs) : 'Waiting for the server’s numbers.',
    writing: writingFigures(body),
    editsEachSecond: body?.editsEachSecond ?? [],
    wind: windFigures(body?.wind ?? null, unit),
    source: body?.wind?.source ?? null,
    isWindStale,
    trouble: body && windTrouble(body.wind, isWindStale),
  }
}

function ageWords(ageMs: number): string {
  return ageMs < staleAfterMs ? 'Updated just now' : `Last heard from the server ${timeWords(ageMs)} ago`
}

function originWords(body: OverviewBody | null, serverNow: number): string {
  if (!body) return 'Worked out by the server from the page and the wind.'
  const since = clockWords(body.countedSince, serverNow)
  if (body.edits === 0)
    return `Worked out live by the server. It has taken no edit of this page since ${since}.`
  const edits = body.edits === 1 ? '1 edit' : `${grouped(body.edits)} edits`
  return `Worked out live by the server, from ${edits} since ${since}${body.wind ? ' and the wind' : ''}.`
}

const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long' })

/** `14:02`; of another day `14:02 on 3 May`. */
function clockWords(at: number, now: number): string {
  return day.format(at) === day.format(now) ? time.format(at) : `${time.format(at)} on ${day.format(at)}`
}

function windTrouble(wind: WindOverview | null, isWindStale: boolean): string | null {
  if (wind === null) return 'No wind sensor has been heard of.'
  if (wind.trouble !== null) return wind.trouble
  if (isWindStale) return windStaleSentence
  return wind.state === 'fault' ? faultSentence(wind.status ?? '') : null
}
