// Reads a Gill polar body, M2 and M4: `Q,229,002.74,M,00,`.

import { isWindUnit } from '../../wire/wind/units.ts'
import {
  areWhole,
  type Body,
  fieldsOf,
  takeLetter,
  takeNothing,
  takeSize,
  takeStatus,
  takeWhole,
  textOf,
} from './fields.ts'
import { faultOf, type Heading, windOf } from './reading-of.ts'
import { isSound } from './status.ts'
import { type BodyRefusal, type FrameReading, filled } from './windsonic-frame.ts'

/** Null when it is another format. A UV frame of a fault in format O1 is the same as a polar one, and called polar. */
export function readPolar(body: Body): FrameReading | BodyRefusal | null {
  const fields = fieldsOf(body)
  const node = takeLetter(fields)
  const direction = takeWhole(fields, 3)
  const speed = takeSize(fields)
  const unit = takeLetter(fields)
  const status = takeStatus(fields)
  takeNothing(fields)
  if (!areWhole(fields) || !isWindUnit(unit)) return null
  return readDirectionAndSpeed({ format: 'polar', raw: textOf(body), node, unit, status }, direction, speed)
}

/** A fault, by its status or its fields, wins over whatever else stands in the frame. */
export function readDirectionAndSpeed(
  heading: Heading,
  directionDegrees: number | null,
  speed: number | null,
): FrameReading | BodyRefusal {
  const isEmpty = directionDegrees === null && speed === null
  const isFilled = directionDegrees === filled.direction && speed === filled.speed
  if (isEmpty || isFilled || !isSound(heading.status)) return faultOf(heading)
  return speed === null ? 'layout' : windOf(heading, { directionDegrees, speed, axes: null })
}
