// Reads what stands between a frame's first mark and its sum, whatever its format.

import type { Body } from './fields.ts'
import { readNmea } from './read-nmea.ts'
import { readPolar } from './read-polar.ts'
import { readTunnel } from './read-tunnel.ts'
import { readUv } from './read-uv.ts'
import type { BodyRefusal, FrameReading } from './windsonic-frame.ts'

/**
 * For a body whose checksum was right. Demands the exact widths and the ranges as well, because XOR alone lets stitched
 * halves through. Cannot see digits that changed places within the ranges: XOR is blind to order.
 */
export function readBody(body: Body, isNmea: boolean): FrameReading | BodyRefusal {
  if (isNmea) return readNmea(body) ?? 'layout'
  return readPolar(body) ?? readUv(body) ?? readTunnel(body) ?? 'layout'
}
