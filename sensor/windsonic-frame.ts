// Reads and writes WindSonic frames: fields, checksums, axes and units of every format.

import type { Axes, FrameFormat, FrameReading } from './readings.ts'
import { directionOf, isWindUnit, toMetresPerSecond, type WindUnit } from './wind-units.ts'

/** `layout`: unknown fields or widths, right checksum. `range`: impossible values. */
type BodyRefusal = 'layout' | 'range'

/** `cut`: another frame or a line end came too early. `ending`: no line end after the checksum. */
export type RefusalCode = BodyRefusal | 'checksum' | 'cut' | 'too-long' | 'ending'

/** Whether the checksum was right: undamaged, but another format or impossible values. */
export function isIntact(code: RefusalCode): boolean {
  return code === 'layout' || code === 'range'
}

/**
 * XOR of all characters as two upper-case hex digits (manual 1405-PS-0019, section 9.1; its later
 * examples contradict the rule, which real units follow). Text is latin1.
 */
export function checksum(body: string): string {
  let sum = 0
  for (let i = 0; i < body.length; i++) sum ^= body.charCodeAt(i)
  return sum.toString(16).toUpperCase().padStart(2, '0')
}

/** Only ft/min needs more than three digits: undocumented, assumed to grow as `%06.2f`. */
const size = String.raw`(?:\d{3}|[1-9]\d{3,4})\.\d\d`
/** Some units pad it with a space. */
const status = String.raw`(\d\d ?| \d\d?)`

/** Exact widths; values may be empty. A UV fault in format O1 is identical to a polar one. */
const layouts = {
  /** M2 and M4, `Q,229,002.74,M,00,` */
  polar: new RegExp(String.raw`^([A-Z]),(\d{3})?,(${size})?,([A-Z]),${status},$`),
  /** M1 and M3, `Q,+001.59,-002.74,M,00,` */
  uv: new RegExp(`^([A-Z]),([+-]${size})?,([+-]${size})?,([A-Z]),${status},$`),
  /**
   * M12, `Q,001.59,1,00,M,`: polarity 0 from the north, 1 from the south (manual 1405-PS-0019,
   * issue 28, section 9.6). The manual describes a signed size but shows an unsigned one: both are
   * read.
   */
  tunnel: new RegExp(String.raw`^([A-Z]),([+-]?${size})?,(\d)?,${status},([A-Z]),$`),
  /** M5, M14, M15 and M16, `IIMWV,284,R,001.26,K,A` */
  nmea: new RegExp(String.raw`^(?:II|WI)MWV,(\d{3})?,R,(${size})?,([A-Z]),(?:([AV])|${status})$`),
}

/**
 * Expects a valid checksum. XOR accepts two spliced halves and ignores order: swapped digits remain
 * undetected.
 */
export function readBody(raw: string, isNmea: boolean): FrameReading | BodyRefusal {
  if (isNmea) {
    const [whole, direction, speed, unit, letter, status = letter] = layouts.nmea.exec(raw) ?? []
    if (whole === undefined) return 'layout'
    const values = directionAndSpeed(numberIn(direction), numberIn(speed))
    return readingOf({ format: 'nmea', raw, node: null }, unit, status, values)
  }
  const polar = layouts.polar.exec(raw)
  if (polar !== null) {
    const [, node = '', direction, speed, unit, status] = polar
    const values = directionAndSpeed(numberIn(direction), numberIn(speed))
    return readingOf({ format: 'polar', raw, node }, unit, status, values)
  }
  const uv = layouts.uv.exec(raw)
  if (uv !== null) {
    const [, node = '', u, v, unit, status] = uv
    return readingOf({ format: 'uv', raw, node }, unit, status, alongAxes(numberIn(u), numberIn(v)))
  }
  const tunnel = layouts.tunnel.exec(raw)
  if (tunnel === null) return 'layout'
  const [, node = '', size, polarity, status, unit] = tunnel
  return readingOf({ format: 'tunnel', raw, node }, unit, status, alongTunnel(size, numberIn(polarity)))
}

/** `-000.00` is positive zero. */
function numberIn(field: string | undefined): number | null {
  return field === undefined ? null : Number(field) + 0
}

interface Wind {
  /** Null if the field is empty. */
  readonly directionDegrees: number | null
  /** In the frame's unit. */
  readonly speed: number
  readonly axes: Axes | null
}

/** `none`: empty or, in format O2, filled with nines. */
type Values = Wind | 'none' | 'incomplete'

/** A fault in format O2 (manual 1405-PS-0019, issue 28, page 54). */
const filled = { direction: 999, speed: 999.99 } as const
/** Undocumented polarity of such a tunnel fault. */
const filledPolarity = 9

function directionAndSpeed(directionDegrees: number | null, speed: number | null): Values {
  const isEmpty = directionDegrees === null && speed === null
  if (isEmpty || (directionDegrees === filled.direction && speed === filled.speed)) return 'none'
  return speed === null ? 'incomplete' : { directionDegrees, speed, axes: null }
}

/**
 * The manual defines "U (= South - North)" and "V (= East - West)", positive along the arrows of
 * its figure 5 (1405-PS-0019, issue 28, section 9.2); in tunnel frames +U "is a wind from the
 * South" (section 9.6). So u < 0 comes from the north, v > 0 from the east. Meteorology's u and v
 * differ in order and sign. The signs of a fault's nines are undocumented.
 */
function alongAxes(u: number | null, v: number | null): Values {
  if (u === null || v === null) return 'incomplete'
  if (Math.abs(u) === filled.speed && Math.abs(v) === filled.speed) return 'none'
  const directionDegrees = directionOf({ east: v, north: -u })
  return { directionDegrees, speed: Math.sqrt(u * u + v * v), axes: { u, v } }
}

/** Components along the axes of a wind from `directionDegrees`, in the unit of `speed`. */
export function axesOf(directionDegrees: number, speed: number): Axes & { readonly v: number } {
  const radians = (directionDegrees * Math.PI) / 180
  return { u: -speed * Math.cos(radians), v: speed * Math.sin(radians) }
}

/** Without a sign, the polarity decides. */
function alongTunnel(field: string | undefined, polarity: number | null): Values {
  const size = numberIn(field)
  if (size === null) return polarity === null ? 'none' : 'incomplete'
  const speed = Math.abs(size)
  if (speed === filled.speed && polarity === filledPolarity) return 'none'
  if (polarity === null) return { directionDegrees: null, speed, axes: { u: size, v: null } }
  if (polarity > 1) return 'incomplete'
  const isNegated = polarity === 0 && /^\d/.test(field ?? '')
  return { directionDegrees: polarity * 180, speed, axes: { u: isNegated ? 0 - size : size, v: null } }
}

/**
 * Good, good with heating (heated models), maximum gain (old units), NMEA acceptable (manual
 * 1405-PS-0019, issue 28, sections 9.4 and 11.5). Otherwise the values are meaningless.
 */
const soundStatuses: ReadonlySet<string> = new Set(['00', '60', '10', 'A'])

/**
 * Below it the direction is meaningless: command K, default K50 (manual 1405-PS-0019, issue 28,
 * page 53).
 */
const calmMetresPerSecond = 0.05
/** The highest value of K (same page); an empty direction above it is damage. */
const highestCalmMetresPerSecond = 5
/** Limit of the 75 model; others end at 60. */
const highestMetresPerSecond = 75
/** Absorbs the rounding of unit conversion. */
const rounding = 1e-9

const nothing = { directionDegrees: null, speed: null, speedMetresPerSecond: null, axes: null }

/**
 * A fault overrides all other fields. Below the threshold the wind is calm, even with a direction
 * (format O2).
 */
function readingOf(
  { format, raw, node }: Pick<FrameReading, 'format' | 'raw' | 'node'>,
  unit = '',
  statusField = '',
  values: Values,
): FrameReading | BodyRefusal {
  if (!isWindUnit(unit)) return 'layout'
  const status = /^[AV]/.test(statusField) ? statusField : statusField.trim().padStart(2, '0')
  const heading = { format, raw, node, unit, status }
  if (values === 'none' || !soundStatuses.has(status)) return { ...heading, ...nothing, state: 'fault' }
  if (values === 'incomplete') return 'layout'
  const { directionDegrees } = values
  const speedMetresPerSecond = toMetresPerSecond(values.speed, unit)
  const isCalm = directionDegrees === null || speedMetresPerSecond < calmMetresPerSecond - rounding
  const highest = isCalm ? highestCalmMetresPerSecond : highestMetresPerSecond
  if (speedMetresPerSecond > highest + rounding || Number(directionDegrees) >= 360) return 'range'
  if (!isCalm) return { ...heading, ...values, speedMetresPerSecond, state: 'measured' }
  return { ...heading, ...values, speedMetresPerSecond, state: 'calm', directionDegrees: null }
}

/** A calm repeats the last direction in format O2; O1 has null. */
export interface FrameValues {
  /** `A` to `Z`; unused in NMEA. */
  readonly node: string
  /** Whole, 0 to 359; null in a calm or fault of O1, 999 in a fault of O2. */
  readonly directionDegrees: number | null
  /** In `unit`; in a fault null (O1) or 999.99 (O2). */
  readonly speed: number | null
  /**
   * In `unit`; null in a fault. Tunnel frames write the size of `u`, with polarity 1 if positive
   * (from the south), else 0.
   */
  readonly axes: Axes | null
  readonly unit: WindUnit
  /** Two digits. NMEA without the Gill status derives `A` or `V`. */
  readonly status: string
}

export interface FrameStyle {
  readonly format: FrameFormat
  /** L1 or L2. */
  readonly ending: '\r\n' | '\r'
  /** NMEA: `II` in M5 and M16, `WI` in M14 and M15. */
  readonly talker: 'II' | 'WI'
  /** M15 and M16. */
  readonly hasGillStatus: boolean
}

/** Writes the same bytes as a WindSonic. Throws a RangeError for values that no WindSonic sends. */
export function writeFrame(values: FrameValues, style: FrameStyle): Uint8Array {
  const body = bodyOf(values, style)
  const isNmea = style.format === 'nmea'
  if (typeof readBody(body, isNmea) === 'string') throw new RangeError(`No WindSonic sends "${body}".`)
  const text = isNmea ? `$${body}*` : `\x02${body}\x03`
  return Buffer.from(`${text}${checksum(body)}${style.ending}`, 'latin1')
}

function bodyOf(values: FrameValues, { format, talker, hasGillStatus }: FrameStyle): string {
  const { node, directionDegrees, speed, axes, unit, status } = values
  const direction = directionDegrees === null ? '' : String(directionDegrees).padStart(3, '0')
  const nines = speed === null ? null : filled.speed
  switch (format) {
    case 'polar':
      return `${node},${direction},${sizeField(speed)},${unit},${status},`
    case 'uv': {
      const { u, v } = axes ?? { u: nines, v: nines }
      return `${node},${signedField(u)},${signedField(v)},${unit},${status},`
    }
    case 'tunnel': {
      const field = sizeField(axes === null ? nines : Math.abs(axes.u))
      const isFromSouth = axes !== null && axes.u > 0 && Number(field) > 0
      const polarity = axes !== null ? Number(isFromSouth) : nines === null ? '' : filledPolarity
      return `${node},${field},${polarity},${status},${unit},`
    }
    case 'nmea': {
      const last = hasGillStatus ? status : soundStatuses.has(status) ? 'A' : 'V'
      return `${talker}MWV,${direction},R,${sizeField(speed)},${unit},${last}`
    }
  }
}

function sizeField(size: number | null): string {
  return size === null ? '' : size.toFixed(2).padStart(6, '0')
}

/** Zero is positive, from whichever side it was rounded. */
function signedField(along: number | null): string {
  if (along === null) return ''
  const size = sizeField(Math.abs(along))
  return `${along < 0 && Number(size) > 0 ? '-' : '+'}${size}`
}
