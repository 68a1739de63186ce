// Reads and writes one WindSonic frame in Gill polar format (M2), the factory default.

import type { ReadingBody } from '../../wire/reading.ts'
import { isWindUnit, toMetresPerSecond } from '../../wire/wind/units.ts'

export const STX = 0x02
export const ETX = 0x03

/** A reading that has not been told yet which source it came from. */
export type FrameReading = Omit<ReadingBody, 'source'>

/** What a polar frame carries. Both values null is the fault frame of format O1, direction null its calm. */
export type FrameFields = Pick<FrameReading, 'node' | 'directionDegrees' | 'speed' | 'unit' | 'status'>

/** `checksum`: the sum is wrong. `layout`: not a polar frame, though intact. `range`: polar, but no such wind. */
export type FrameRefusal = 'checksum' | 'layout' | 'range'

export type ParsedFrame =
  | { readonly isGood: true; readonly reading: FrameReading }
  | { readonly isGood: false; readonly code: FrameRefusal }

/** Exact widths; the status may be padded with a space, as some units do. */
const polar = /^([A-Z]),(\d{3}|),(\d{3}\.\d{2}|),([A-Z]),( ?\d\d| \d|\d\d ),$/

/** Good, good with heating, and gain at maximum (old units). Any other status is a fault. */
const soundStatuses: ReadonlySet<string> = new Set(['00', '60', '10'])

/** Below it the direction means nothing: command K, default K50 (manual 1405-PS-0019, issue 28, page 53). */
const calmMetresPerSecond = 0.05
/** The highest threshold that K can be set to (same page), so an empty direction above it is damage. */
const highestCalmMetresPerSecond = 5
/** The 75 model's range; others end at 60. */
const highestMetresPerSecond = 75
/** Keeps a speed that is exactly on a limit there, whatever its conversion rounds to. */
const rounding = 1e-9

/**
 * XOR of all characters, as two upper-case hex digits (manual 1405-PS-0019, section 9.1; its later examples contradict
 * the rule and real units follow it). Characters are bytes: text decoded as latin1.
 */
export function checksum(body: string): string {
  let sum = 0
  for (let i = 0; i < body.length; i++) sum ^= body.charCodeAt(i)
  return sum.toString(16).toUpperCase().padStart(2, '0')
}

/**
 * Reads the text between STX and ETX, `Q,229,002.74,M,00,`, with the two characters that followed ETX. Demands the
 * checksum, the exact widths and the ranges, because XOR alone lets stitched halves through. It cannot see digits that
 * changed places within the ranges: XOR is blind to order.
 */
export function parseFrame(body: string, sum: string): ParsedFrame {
  if (checksum(body) !== sum) return refuse('checksum')
  const [, node, direction, speed, unit, status] = polar.exec(body) ?? []
  if (node === undefined || unit === undefined || status === undefined || !isWindUnit(unit))
    return refuse('layout')
  const heading = {
    format: 'polar' as const,
    raw: body,
    node,
    unit,
    axes: null,
    status: status.trim().padStart(2, '0'),
  }
  if (isFault(direction, speed, heading.status)) return good({ ...heading, ...noValues })
  if (!speed) return refuse('layout')
  const values = wind(
    direction ? Number(direction) : null,
    Number(speed),
    toMetresPerSecond(Number(speed), unit),
  )
  return values ? good({ ...heading, ...values }) : refuse('range')
}

/**
 * Writes a frame byte for byte as the sensor does, CR LF (L1) or CR alone (L2). Format O2 is written by giving the held
 * direction below the threshold, or 999 and 999.99 for a fault. Throws a RangeError when a value does not fit its field.
 */
export function formatFrame(fields: FrameFields, ending: '\r\n' | '\r' = '\r\n'): Uint8Array {
  const direction = fields.directionDegrees === null ? '' : String(fields.directionDegrees).padStart(3, '0')
  const speed = fields.speed === null ? '' : fields.speed.toFixed(2).padStart(6, '0')
  const body = `${fields.node},${direction},${speed},${fields.unit},${fields.status},`
  if (!polar.test(body)) throw new RangeError(`These values do not fit a polar frame: ${body}`)
  return Buffer.from(
    `${String.fromCharCode(STX)}${body}${String.fromCharCode(ETX)}${checksum(body)}${ending}`,
    'latin1',
  )
}

const noValues = { state: 'fault', directionDegrees: null, speed: null, speedMetresPerSecond: null } as const

function isFault(direction: string | undefined, speed: string | undefined, status: string): boolean {
  return (!direction && !speed) || (direction === '999' && speed === '999.99') || !soundStatuses.has(status)
}

function wind(directionDegrees: number | null, speed: number, speedMetresPerSecond: number) {
  if (speedMetresPerSecond > highestMetresPerSecond + rounding) return null
  if (directionDegrees !== null && directionDegrees > 359) return null
  const isCalm = directionDegrees === null || speedMetresPerSecond < calmMetresPerSecond - rounding
  if (!isCalm) return { state: 'measured', directionDegrees, speed, speedMetresPerSecond } as const
  if (speedMetresPerSecond > highestCalmMetresPerSecond + rounding) return null
  return { state: 'calm', directionDegrees: null, speed, speedMetresPerSecond } as const
}

function good(reading: FrameReading): ParsedFrame {
  return { isGood: true, reading }
}

function refuse(code: FrameRefusal): ParsedFrame {
  return { isGood: false, code }
}
