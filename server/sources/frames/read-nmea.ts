// Reads an NMEA 0183 body, M5, M14, M15 and M16: `IIMWV,284,R,001.26,K,A`.

import { isWindUnit } from '../../wire/wind/units.ts'
import {
  areWhole,
  type Body,
  fieldsOf,
  isLetter,
  takeLetter,
  takeSize,
  takeStatus,
  takeWhole,
  takeWord,
  textOf,
} from './fields.ts'
import { readDirectionAndSpeed } from './read-polar.ts'
import type { BodyRefusal, FrameReading } from './windsonic-frame.ts'

/** What it begins with, II in M5 and M16, WI in M14 and M15. */
const heads = { ii: 'IIMWV,', wi: 'WIMWV,' } as const
export const headLength = 6

/** Whether such a body may have `byte` at `place`, which is below `headLength`. */
export function isOfHead(place: number, byte: number): boolean {
  return heads.ii.charCodeAt(place) === byte || heads.wi.charCodeAt(place) === byte
}

/** Null when it is another format. Believes that its head is one. */
export function readNmea(body: Body): FrameReading | BodyRefusal | null {
  const fields = fieldsOf(body, headLength)
  const direction = takeWhole(fields, 3)
  takeWord(fields, 'R')
  const speed = takeSize(fields)
  const unit = takeLetter(fields)
  const status = isLetter(fields) ? takeLetter(fields) : takeStatus(fields)
  const isStatus = status.length === 2 || status === 'A' || status === 'V'
  if (!areWhole(fields) || !isWindUnit(unit) || !isStatus) return null
  const raw = textOf(body)
  return readDirectionAndSpeed({ format: 'nmea', raw, node: null, unit, status }, direction, speed)
}
