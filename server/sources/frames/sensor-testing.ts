// Draws frames as the sensors of this world send them: any format, any settings, wind, calm and fault.

import type { Random } from '../../wire/random.ts'
import type { FrameFormat } from '../../wire/reading.ts'
import { fromMetresPerSecond, type WindUnit } from '../../wire/wind/units.ts'
import { axesOf } from './axes.ts'
import { type FrameStyle, type FrameValues, writeFrame } from './write-frame.ts'

export interface SentFrame {
  readonly bytes: readonly number[]
  /** What its reading's `raw` must be. */
  readonly raw: string
}

const formats: readonly FrameFormat[] = ['polar', 'uv', 'nmea', 'tunnel']
const units: readonly WindUnit[] = ['M', 'N', 'P', 'K', 'F']

export function oneOf<Item>(items: readonly Item[], random: Random): Item {
  const item = items[below(items.length, random)]
  if (item === undefined) throw new RangeError('There is nothing to draw from.')
  return item
}

/** Whole, from 0 up to but not `end`. */
export function below(end: number, random: Random): number {
  return Math.floor(random() * end)
}

const hundredths = (value: number) => Math.round(value * 100) / 100

/** The frames of one sensor, which keeps its settings: one in six a calm, one in thirty a fault. */
export function drawFrames(count: number, random: Random): readonly SentFrame[] {
  const style: FrameStyle = {
    format: oneOf(formats, random),
    ending: oneOf(['\r\n', '\r'], random),
    talker: oneOf(['II', 'WI'], random),
    hasGillStatus: random() < 0.5,
  }
  const sound = {
    node: String.fromCharCode(0x41 + below(26, random)),
    unit: oneOf(units, random),
    status: oneOf(['00', '60'], random),
  }
  const isO2 = random() < 0.5
  return Array.from({ length: count }, () => {
    const chance = random() * 30
    const values = chance < 1 ? fault(isO2) : wind(chance < 6 ? 0.05 : 25, sound.unit, isO2, random)
    return sent(writeFrame({ ...sound, ...values }, style))
  })
}

type Values = Partial<FrameValues> & Pick<FrameValues, 'directionDegrees' | 'speed' | 'axes'>

function wind(strongest: number, unit: WindUnit, isO2: boolean, random: Random): Values {
  const metresPerSecond = Math.min(random() * strongest, unit === 'F' ? 5 : strongest)
  const speed = hundredths(fromMetresPerSecond(metresPerSecond, unit))
  const directionDegrees = below(360, random)
  const { u, v } = axesOf(directionDegrees, speed)
  const isEmpty = metresPerSecond < 0.04 && !isO2
  const axes = { u: hundredths(u), v: hundredths(v) }
  return { directionDegrees: isEmpty ? null : directionDegrees, speed, axes }
}

function fault(isO2: boolean): Values {
  const fields = isO2 ? { directionDegrees: 999, speed: 999.99 } : { directionDegrees: null, speed: null }
  return { ...fields, axes: null, status: '04' }
}

function sent(bytes: Uint8Array): SentFrame {
  const text = Buffer.from(bytes).toString('latin1')
  const sumLength = text.endsWith('\n') ? 5 : 4
  return { bytes: [...bytes], raw: text.slice(1, -sumLength) }
}
