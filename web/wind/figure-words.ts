// The figures beside the dial, as words: means, gust and spread, each with the time it is made of.

import { meanMs, type WindFigures } from '../../server/wire/wind/figures.ts'
import type { WindMean } from '../../server/wire/wind/mean.ts'
import type { WindUnit } from '../../server/wire/wind/units.ts'
import { timeWords } from './words/age.ts'
import { compassLetters, compassPoint, wholeDegrees } from './words/compass.ts'
import { quantityIn } from './words/speed.ts'

export interface FigureWords {
  readonly name: 'two minutes' | 'ten minutes' | 'gust' | 'spread'
  /** What it is, and over which time; over how much of it where that is not full yet. */
  readonly label: string
  /** Null while there is none. */
  readonly number: string | null
  readonly unit: string
  readonly spokenUnit: string
  /** Below the number, in short, and as it is read out; empty where there is nothing to add. */
  readonly beside: string
  readonly spokenBeside: string
}

const spreadMs = 60_000
const leastCoveredMs = 10_000

/** `ageMs`: how old they are, the newest reading's age; one of a time that has passed by is left out. */
export function figureWords(figures: WindFigures, unit: WindUnit, ageMs: number): readonly FigureWords[] {
  const { twoMinutes, tenMinutes, gustMetresPerSecond, spread } = figures
  const within = <Figure>(figure: Figure, spanMs: number) => (ageMs < spanMs ? figure : null)
  const [twoMinuteMean, tenMinuteMean] = [
    within(ifCovered(twoMinutes), meanMs.twoMinutes),
    within(ifCovered(tenMinutes), meanMs.tenMinutes),
  ]
  return [
    { name: 'two minutes', ...meanWords(twoMinuteMean, meanMs.twoMinutes, unit) },
    { name: 'ten minutes', ...meanWords(tenMinuteMean, meanMs.tenMinutes, unit) },
    gustWords(within(gustMetresPerSecond, meanMs.tenMinutes), tenMinutes, unit),
    spreadWords(within(spread, spreadMs)),
  ]
}

/** The first reading is no mean yet. */
function ifCovered(mean: WindMean | null): WindMean | null {
  return mean && mean.coversMs >= leastCoveredMs ? mean : null
}

function meanWords(mean: WindMean | null, spanMs: number, unit: WindUnit): Omit<FigureWords, 'name'> {
  const speed = quantityIn(unit, mean?.speedMetresPerSecond ?? 0)
  return {
    label: `Mean ${spanWords(mean, spanMs)}`,
    number: mean && speed.number,
    unit: speed.unit,
    spokenUnit: speed.spokenUnit,
    ...directionBeside(mean?.directionDegrees ?? null, 'from'),
  }
}

/** `mean` is of the time that the gust is the highest of. */
function gustWords(gust: number | null, mean: WindMean | null, unit: WindUnit): FigureWords {
  const speed = quantityIn(unit, gust ?? 0)
  return {
    name: 'gust',
    label: `Gust ${spanWords(gust === null ? null : mean, meanMs.tenMinutes)}`,
    number: gust === null ? null : speed.number,
    unit: speed.unit,
    spokenUnit: speed.spokenUnit,
    beside: gust === null ? '' : '3 s mean',
    spokenBeside: gust === null ? '' : 'highest mean over 3 seconds',
  }
}

function spreadWords(spread: WindFigures['spread']): FigureWords {
  return {
    name: 'spread',
    label: `Spread ${timeWords(spreadMs)}`,
    number: spread && `±${Math.round(spread.deviationDegrees)}°`,
    unit: '',
    spokenUnit: '',
    ...directionBeside(spread?.directionDegrees ?? null, 'about'),
  }
}

function directionBeside(
  directionDegrees: number | null,
  preposition: string,
): Pick<FigureWords, 'beside' | 'spokenBeside'> {
  if (directionDegrees === null) return { beside: '', spokenBeside: '' }
  const degrees = wholeDegrees(directionDegrees)
  return {
    beside: `${degrees}° ${compassLetters(degrees)}`,
    spokenBeside: `${preposition} ${degrees} degrees, ${compassPoint(degrees)}`,
  }
}

/** The span; "9 of 10 min" while readings stand for less of it, at the beginning and after an outage. */
function spanWords(mean: WindMean | null, spanMs: number): string {
  if (!mean || mean.coversMs > 0.95 * spanMs) return timeWords(spanMs)
  const { coversMs } = mean
  if (coversMs >= 60_000) return `${Math.floor(coversMs / 60_000)} of ${timeWords(spanMs)}`
  if (coversMs < leastCoveredMs) return `under ${timeWords(leastCoveredMs)}`
  // By tens, so that it stands still long enough to be read.
  return `${Math.floor(coversMs / 10_000) * 10} of ${spanMs / 1000} s`
}
