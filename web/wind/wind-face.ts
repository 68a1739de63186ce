// Decides what the wind panel shows, from the newest reading, its age and the sensor's health.

import type { ReadingBody, SensorSource } from '../../server/wire/reading.ts'
import type { WindView } from '../store/store.ts'
import { ageWords, isStale } from './age.ts'
import { compassPoint } from './compass.ts'
import { type Quantity, quantity } from './speed.ts'

export interface WindFace {
  readonly state: 'none' | ReadingBody['state']
  readonly isStale: boolean
  /** A word in place of the speed: "Calm", "Fault". */
  readonly word: string | null
  readonly speed: Quantity | null
  /** The same speed in m/s, when it was sent in another unit. */
  readonly speedBeside: Quantity | null
  /** Where the wind comes from; null when it comes from nowhere or nobody knows. */
  readonly directionDegrees: number | null
  readonly directionWords: string
  /** Null before the first reading. */
  readonly ageWords: string | null
  /** The sensor's trouble, one sentence; null when it is well. */
  readonly trouble: string | null
  readonly source: SensorSource | null
}

/** `now` is ms since the epoch. */
export function windFace({ reading, receivedAt, sensor }: WindView, now: number): WindFace {
  const ageMs = receivedAt === null ? null : now - receivedAt
  return {
    ...(reading ? faceOf(reading) : noFace),
    isStale: ageMs !== null && isStale(ageMs),
    ageWords: ageMs === null ? null : ageWords(ageMs),
    trouble: sensor && sensor.state !== 'connected' ? sensor.sentence : null,
    source: reading?.source ?? sensor?.source ?? null,
  }
}

type ReadingFace = Omit<WindFace, 'isStale' | 'ageWords' | 'trouble' | 'source'>

const noFace: ReadingFace = {
  state: 'none',
  word: '–',
  speed: null,
  speedBeside: null,
  directionDegrees: null,
  directionWords: 'No reading yet',
}

function faceOf(reading: ReadingBody): ReadingFace {
  if (reading.state === 'measured') return measuredFace(reading)
  if (reading.state === 'calm') {
    return {
      ...noFace,
      ...speedsOf(reading),
      state: 'calm',
      word: 'Calm',
      directionWords: 'Too light for a direction',
    }
  }
  const directionWords = `The sensor reports a fault, status ${reading.status}`
  return { ...noFace, state: 'fault', word: 'Fault', directionWords }
}

function measuredFace(reading: ReadingBody): ReadingFace {
  const { directionDegrees } = reading
  const directionWords =
    directionDegrees === null ? 'No direction' : `from the ${compassPoint(directionDegrees)}`
  return { ...speedsOf(reading), state: 'measured', word: null, directionDegrees, directionWords }
}

function speedsOf({
  speed,
  unit,
  speedMetresPerSecond,
}: ReadingBody): Pick<WindFace, 'speed' | 'speedBeside'> {
  return {
    speed: speed === null ? null : quantity(speed, unit),
    speedBeside: unit === 'M' || speedMetresPerSecond === null ? null : quantity(speedMetresPerSecond, 'M'),
  }
}
