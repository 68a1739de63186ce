// Writes a frame byte for byte as a WindSonic does, in each of its formats.

import type { Axes, FrameFormat } from '../../wire/reading.ts'
import { isWindUnit, type WindUnit } from '../../wire/wind/units.ts'
import { isSound } from './status.ts'
import { checksum, filled } from './windsonic-frame.ts'

/**
 * What a frame says. Format O2 is written by giving the held direction below the threshold, and 999 with 999.99 in a
 * fault; format O1 by giving null for what it leaves empty.
 */
export interface FrameValues {
  /** `A` to `Z`; NMEA frames have none and ignore it. */
  readonly node: string
  /** Whole, 0 to 359; null is left empty (calm of O1), 999 is the fault of O2. */
  readonly directionDegrees: number | null
  /** In `unit`; null with the direction null is the fault of O1, 999.99 with 999 that of O2. */
  readonly speed: number | null
  /**
   * In `unit`, signed as `axes.ts` says. UV frames write both, tunnel frames the size of `u` with polarity 1 where it is
   * positive, from the south, and 0 else. Null in a fault, which is then written as `speed` says, empty or nines.
   */
  readonly axes: Axes | null
  readonly unit: WindUnit
  /** Two digits. NMEA without the Gill status writes `A` or `V` from it. */
  readonly status: string
}

export interface FrameStyle {
  readonly format: FrameFormat
  /** L1 and L2. */
  readonly ending: '\r\n' | '\r'
  /** NMEA talker: M5 and M16 say `II`, M14 and M15 say `WI`. */
  readonly talker: 'II' | 'WI'
  /** NMEA with the Gill status (M15, M16) instead of A or V. */
  readonly hasGillStatus: boolean
}

/** Throws a RangeError that names the field and the value that does not fit it. */
export function writeFrame(values: FrameValues, style: FrameStyle): Uint8Array {
  const isNmea = style.format === 'nmea'
  const body = bodyWriters[style.format](values, style)
  const text = isNmea ? `$${body}*` : `\x02${body}\x03`
  return Buffer.from(`${text}${checksum(body)}${style.ending}`, 'latin1')
}

const bodyWriters: Readonly<Record<FrameFormat, (values: FrameValues, style: FrameStyle) => string>> = {
  polar: (values) =>
    `${nodeOf(values)},${directionOf(values)},${speedOf(values)},${unitOf(values)},${statusOf(values)},`,
  uv: (values) =>
    `${nodeOf(values)},${axisOf(values, 'u')},${axisOf(values, 'v')},${unitOf(values)},${statusOf(values)},`,
  tunnel: (values) => `${nodeOf(values)},${tunnelOf(values)},${statusOf(values)},${unitOf(values)},`,
  nmea: (values, { talker, hasGillStatus }) => {
    const status = statusOf(values)
    const last = hasGillStatus ? status : isSound(status) ? 'A' : 'V'
    return `${talker}MWV,${directionOf(values)},R,${speedOf(values)},${unitOf(values)},${last}`
  },
}

function nodeOf({ node }: FrameValues): string {
  return /^[A-Z]$/.test(node) ? node : misfit('node', node, 'a letter from A to Z')
}

function unitOf({ unit }: FrameValues): string {
  return isWindUnit(unit) ? unit : misfit('unit', unit, 'M, N, P, K or F')
}

function statusOf({ status }: FrameValues): string {
  return /^\d\d$/.test(status) ? status : misfit('status', status, 'two digits')
}

function directionOf({ directionDegrees, speed }: FrameValues): string {
  if (directionDegrees === null) return ''
  const isFilled = directionDegrees === filled.direction && speed === filled.speed
  const isDirection = Number.isInteger(directionDegrees) && directionDegrees >= 0 && directionDegrees < 360
  if (!isFilled && !isDirection)
    misfit('directionDegrees', directionDegrees, 'whole and from 0 to 359, 999 beside 999.99, or null')
  return String(directionDegrees).padStart(3, '0')
}

function speedOf({ directionDegrees, speed }: FrameValues): string {
  if (speed !== null) return sizeOf('speed', speed)
  return directionDegrees === null ? '' : misfit('speed', speed, 'a number where there is a direction')
}

function axisOf({ axes, speed }: FrameValues, name: 'u' | 'v'): string {
  if (axes === null) return speed === null ? '' : `+${faultOf(speed)}`
  const along = axes[name] ?? misfit(`axes.${name}`, null, 'a number')
  const size = sizeOf(`axes.${name}`, Math.abs(along), along)
  return `${along < 0 && Number(size) > 0 ? '-' : '+'}${size}`
}

function tunnelOf({ axes, speed }: FrameValues): string {
  if (axes === null) return speed === null ? ',' : `${faultOf(speed)},9`
  const size = sizeOf('axes.u', Math.abs(axes.u), axes.u)
  return `${size},${axes.u > 0 && Number(size) > 0 ? 1 : 0}`
}

function faultOf(speed: number): string {
  return speed === filled.speed ? sizeOf('speed', speed) : misfit('axes', null, 'given, but in a fault')
}

function sizeOf(name: string, size: number, given = size): string {
  const text = size.toFixed(2).padStart(6, '0')
  return /^\d{3}\.\d\d$/.test(text)
    ? text
    : misfit(name, given, `from ${name === 'speed' ? 0 : -999.99} to 999.99`)
}

function misfit(name: string, value: unknown, wanted: string): never {
  const shown = typeof value === 'string' ? `"${value}"` : value
  throw new RangeError(`${name} is ${shown}, but must be ${wanted} to fit a frame.`)
}
