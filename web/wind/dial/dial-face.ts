// What the dial shows, decided from the panel's face and the figures of the last minutes.

import type { WindFigures } from '../../../server/wire/wind/figures.ts'
import type { Spread } from '../../../server/wire/wind/spread.ts'
import type { WindFace } from '../wind-face.ts'
import { wholeDegrees } from '../words/compass.ts'
import { quantityIn } from '../words/speed.ts'

export interface DialFace {
  /** In place of the number: "Calm", "Fault". */
  readonly word: string | null
  readonly number: string | null
  readonly unit: string | null
  /** Below the number, with its word: "gust 8.4". */
  readonly gust: string | null
  /** Where the pointer is to point; null for none: no direction is never shown as north. */
  readonly directionDegrees: number | null
  readonly spread: Spread | null
  /** What is old is hollow and grey: still legible, no longer the wind. */
  readonly isStale: boolean
  readonly isFault: boolean
}

export function dialFace(face: WindFace, { gustMetresPerSecond, spread }: WindFigures): DialFace {
  const isLive = !face.isStale && (face.state === 'measured' || face.state === 'calm')
  const gust = gustMetresPerSecond === null ? null : quantityIn(face.unit, gustMetresPerSecond)
  return {
    word: face.word,
    number: face.speed?.number ?? null,
    unit: face.speed?.unit ?? null,
    gust: isLive && gust ? `gust ${gust.number}` : null,
    directionDegrees: face.directionDegrees,
    spread: isLive ? spread : null,
    isStale: face.isStale,
    isFault: face.state === 'fault',
  }
}

/** Whether both look the same. */
export function isSameFace(one: DialFace, other: DialFace): boolean {
  const { spread, ...rest } = one
  return (
    spread?.directionDegrees === other.spread?.directionDegrees &&
    spread?.deviationDegrees === other.spread?.deviationDegrees &&
    (Object.keys(rest) as (keyof typeof rest)[]).every((part) => rest[part] === other[part])
  )
}

/** The dial in a sentence, for who does not see it. */
export function dialSentence(face: WindFace, { gustMetresPerSecond, spread }: WindFigures): string {
  const { state, isStale, speed, directionDegrees, directionWords, unit } = face
  if (state === 'none') return 'Wind dial: no reading yet.'
  if (state === 'fault') return 'Wind dial: no measurement, the sensor reports a fault.'
  const parts = [
    isStale ? 'Wind dial, last reading' : 'Wind dial',
    state === 'calm' ? 'calm' : `${speed?.number} ${speed?.spokenUnit}`,
    directionDegrees !== null && `${directionWords}, ${directionDegrees} degrees`,
    gustMetresPerSecond !== null && `gust ${quantityIn(unit, gustMetresPerSecond).number}`,
    spread && `swinging ${wholeDegrees(spread.deviationDegrees)} degrees to either side`,
  ]
  const [first, ...others] = parts.filter((part) => part !== false && part !== null)
  return `${first}: ${others.join(', ')}.`
}
