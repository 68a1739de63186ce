// The large numbers of an overview, as words: what was written, and the wind.

import type { OverviewBody, WindOverview } from '../../server/wire/overview.ts'
import type { WindUnit } from '../../server/wire/wind/units.ts'
import { timeWords } from '../wind/words/age.ts'
import { compassPoint, wholeDegrees } from '../wind/words/compass.ts'
import { quantityIn } from '../wind/words/speed.ts'

/** One large number. */
export interface OverviewFigure {
  readonly name: string
  readonly label: string
  /** Null while there is none. */
  readonly number: string | null
  readonly unit: string
  readonly spokenUnit: string
  /** Below the number; empty where there is nothing to add. */
  readonly beside: string
}

/** Large numbers in threes, `12,345`. */
export const { format: grouped } = new Intl.NumberFormat('en-GB')

const noUnit = { unit: '', spokenUnit: '', beside: '' }

export function writingFigures(body: OverviewBody | null): readonly OverviewFigure[] {
  const busiest = Math.max(0, ...(body?.editsEachSecond ?? []))
  return [
    { ...noUnit, name: 'words', label: 'Words', number: body && grouped(body.words) },
    {
      ...noUnit,
      name: 'characters',
      label: 'Characters',
      number: body && grouped(body.characters),
      beside: 'spaces included',
    },
    {
      ...noUnit,
      name: 'edits',
      label: 'Edits, last minute',
      number: body && grouped(body.editsLastMinute),
      beside: busiest === 0 ? '' : `${busiest} in the busiest second`,
    },
  ]
}

export function windFigures(wind: WindOverview | null, unit: WindUnit): readonly OverviewFigure[] {
  const direction = wind?.meanDirectionDegrees ?? null
  const mean = wind?.meanMetresPerSecond ?? null
  const gust = wind?.gustMetresPerSecond ?? null
  return [
    {
      name: 'mean',
      label: 'Mean wind',
      ...speedIn(unit, mean),
      beside: `over ${spanWords(mean, wind?.meanCoversSeconds, 120)}`,
    },
    {
      name: 'gust',
      label: 'Gust',
      ...speedIn(unit, gust),
      beside: `3 s peak in ${spanWords(gust, wind?.gustCoversSeconds, 600)}`,
    },
    {
      name: 'direction',
      label: 'Direction',
      number: direction === null ? null : `${wholeDegrees(direction)}°`,
      unit: '',
      spokenUnit: '',
      beside: directionWords(wind),
    },
  ]
}

function speedIn(
  shown: WindUnit,
  speed: number | null,
): Pick<OverviewFigure, 'number' | 'unit' | 'spokenUnit'> {
  const { number, unit, spokenUnit } = quantityIn(shown, speed ?? 0)
  return { number: speed === null ? null : number, unit, spokenUnit }
}

/** What readings stand for of it, where that is less and there is a speed: by tens of seconds, so that it stands still to be read. */
function spanWords(speed: number | null, coversSeconds: number | undefined, wholeSeconds: number): string {
  const isWhole = speed === null || coversSeconds === undefined || coversSeconds > 0.95 * wholeSeconds
  const seconds = isWhole ? wholeSeconds : coversSeconds
  if (seconds < 10) return 'less than 10 s'
  return timeWords(seconds < 60 ? Math.floor(seconds / 10) * 10_000 : seconds * 1000)
}

function directionWords(wind: WindOverview | null): string {
  if (wind === null || wind.meanMetresPerSecond === null) return ''
  const { meanDirectionDegrees: direction } = wind
  return direction === null ? 'too light for a direction' : `from the ${compassPoint(direction)}`
}
