// Decides what the wind panel shows of the newest reading, from its age, the sensor's health and the reader's unit.

import type { Axes, ReadingBody, SensorSource } from '../../server/wire/reading.ts'
import { toMetresPerSecond, type WindUnit } from '../../server/wire/wind/units.ts'
import type { WindView } from '../store/store.ts'
import { unitShown } from './choices.ts'
import { ageWords, isStale, staleSentence } from './words/age.ts'
import { compassPoint, wholeDegrees } from './words/compass.ts'
import { type Quantity, quantityIn, units } from './words/speed.ts'
import { faultSentence, isHeated } from './words/status-words.ts'

export interface WindFace {
  readonly state: 'none' | ReadingBody['state']
  readonly isStale: boolean
  readonly unit: WindUnit
  /** A word in place of the speed: "Calm", "Fault". */
  readonly word: string | null
  readonly speed: Quantity | null
  /** Where the wind comes from, a whole number; null when it comes from nowhere or nobody knows. */
  readonly directionDegrees: number | null
  readonly directionWords: string
  /** Null before the first reading. */
  readonly ageWords: string | null
  /** What is wrong, one sentence that stays the same while it lasts; null when all is well. */
  readonly trouble: string | null
  readonly source: SensorSource | null
  /** What a frame says besides: its axes, the heating; null where it says no more. */
  readonly asideWords: string | null
}

type Seen = Pick<WindView, 'reading' | 'receivedAt' | 'sensor' | 'choices'>

/** `now` is ms since the epoch. */
export function windFace({ reading, receivedAt, sensor, choices }: Seen, now: number): WindFace {
  const ageMs = receivedAt === null ? null : now - receivedAt
  const isOld = ageMs !== null && isStale(ageMs)
  const unit = unitShown(choices.unit, reading?.unit ?? null)
  const sensorTrouble = sensor && sensor.state !== 'connected' ? sensor.sentence : null
  return {
    ...(reading ? faceOf(reading, unit) : noFace),
    isStale: isOld,
    unit,
    ageWords: ageMs === null ? null : ageWords(ageMs),
    trouble: sensorTrouble ?? (isOld ? staleSentence : faultOf(reading)),
    source: reading?.source ?? sensor?.source ?? null,
    asideWords: reading && asideWords(reading, unit),
  }
}

function faultOf(reading: ReadingBody | null): string | null {
  return reading?.state === 'fault' ? faultSentence(reading.status) : null
}

type ReadingFace = Pick<WindFace, 'state' | 'word' | 'speed' | 'directionDegrees' | 'directionWords'>

const noFace: ReadingFace = {
  state: 'none',
  word: '–',
  speed: null,
  directionDegrees: null,
  directionWords: 'No reading yet',
}

function faceOf(reading: ReadingBody, unit: WindUnit): ReadingFace {
  const { state, directionDegrees, speedMetresPerSecond } = reading
  if (state === 'fault') return { ...noFace, state, word: 'Fault', directionWords: 'No measurement' }
  const speed = speedMetresPerSecond === null ? null : quantityIn(unit, speedMetresPerSecond)
  if (state === 'calm')
    return { ...noFace, state, word: 'Calm', speed, directionWords: 'Too light for a direction' }
  if (directionDegrees === null)
    return { ...noFace, state, word: null, speed, directionWords: 'No direction' }
  const directionWords = `from the ${compassPoint(directionDegrees)}`
  return { state, word: null, speed, directionDegrees: wholeDegrees(directionDegrees), directionWords }
}

function asideWords({ axes, status, unit: sentUnit }: ReadingBody, unit: WindUnit): string | null {
  const words = [axes && axesWords(axes, sentUnit, unit), isHeated(status) && 'Heating on']
  return words.filter((word) => word).join(' · ') || null
}

/** As the sensor signs them: along U and V, or along the one axis of a tunnel. */
function axesWords({ u, v }: Axes, sentUnit: WindUnit, unit: WindUnit): string {
  const along = (speed: number) => signed(quantityIn(unit, toMetresPerSecond(speed, sentUnit)).number)
  const parts = v === null ? `Axis ${along(u)}` : `U ${along(u)}  V ${along(v)}`
  return `${parts} ${units[unit].symbol}`
}

/** With a true minus, which is as wide as a plus. */
function signed(number: string): string {
  return number.startsWith('-') ? `−${number.slice(1)}` : `+${number}`
}
