// Reads a tunnel body, M12: `Q,001.59,1,00,M,`, the wind along one axis.

import { isWindUnit } from '../../wire/wind/units.ts'
import {
  areWhole,
  type Body,
  fieldsOf,
  isSigned,
  takeLetter,
  takeNothing,
  takeSigned,
  takeSize,
  takeStatus,
  takeWhole,
  textOf,
} from './fields.ts'
import { faultOf, type Heading, windOf } from './reading-of.ts'
import { isSound } from './status.ts'
import { type BodyRefusal, type FrameReading, filled } from './windsonic-frame.ts'

/** "Wind from the North" and "from the South" (manual 1405-PS-0019, issue 28, section 9.6). */
const fromNorth = 0
const fromSouth = 1
/** How a polarity is filled in a fault of format O2; no source shows it. */
const filledPolarity = 9

/** Null when it is another format. */
export function readTunnel(body: Body): FrameReading | BodyRefusal | null {
  const fields = fieldsOf(body)
  const node = takeLetter(fields)
  const hasSign = isSigned(fields)
  const size = hasSign ? takeSigned(fields) : takeSize(fields)
  const polarity = takeWhole(fields, 1)
  const status = takeStatus(fields)
  const unit = takeLetter(fields)
  takeNothing(fields)
  if (!areWhole(fields) || !isWindUnit(unit)) return null
  const isFromNorth = polarity === fromNorth && !hasSign
  const u = size !== null && isFromNorth ? 0 - size : size
  return readAlong({ format: 'tunnel', raw: textOf(body), node, unit, status }, u, polarity)
}

/**
 * `u` comes with a sign or without one (the manual says the one and shows the other): without one the polarity is its sign,
 * -U from the north. Empty and filled fields are taken as in the other formats.
 */
function readAlong(heading: Heading, u: number | null, polarity: number | null): FrameReading | BodyRefusal {
  const isEmpty = u === null && polarity === null
  const isFilled = Math.abs(u ?? 0) === filled.speed && polarity === filledPolarity
  if (isEmpty || isFilled || !isSound(heading.status)) return faultOf(heading)
  if (u === null || (polarity ?? fromNorth) > fromSouth) return 'layout'
  const directionDegrees = polarity === null ? null : polarity * 180
  return windOf(heading, { directionDegrees, speed: Math.abs(u), axes: { u, v: null } })
}
