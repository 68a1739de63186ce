// Reads a Gill UV body, M1 and M3: `Q,+001.59,-002.74,M,00,`.

import { isWindUnit } from '../../wire/wind/units.ts'
import { directionOf } from './axes.ts'
import {
  areWhole,
  type Body,
  fieldsOf,
  takeLetter,
  takeNothing,
  takeSigned,
  takeStatus,
  textOf,
} from './fields.ts'
import { faultOf, windOf } from './reading-of.ts'
import { isSound } from './status.ts'
import { type BodyRefusal, type FrameReading, filled } from './windsonic-frame.ts'

/**
 * Null when it is another format. A fault, by its status or by fields filled with nines, wins over whatever else stands in
 * the frame; no source shows how the nines are signed.
 */
export function readUv(body: Body): FrameReading | BodyRefusal | null {
  const fields = fieldsOf(body)
  const node = takeLetter(fields)
  const u = takeSigned(fields)
  const v = takeSigned(fields)
  const unit = takeLetter(fields)
  const status = takeStatus(fields)
  takeNothing(fields)
  if (!areWhole(fields) || !isWindUnit(unit)) return null
  const heading = { format: 'uv', raw: textOf(body), node, unit, status } as const
  if (!isSound(status)) return faultOf(heading)
  if (u === null || v === null) return 'layout'
  if (Math.abs(u) === filled.speed && Math.abs(v) === filled.speed) return faultOf(heading)
  return windOf(heading, {
    directionDegrees: directionOf(u, v),
    speed: Math.sqrt(u * u + v * v),
    axes: { u, v },
  })
}
