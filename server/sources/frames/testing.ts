// What the tests of frames share: the facts sheet's vectors, and short ways to read and to send a body.

import assert from 'node:assert/strict'
import { createFrameSplitter, type FrameSplitter, type Split } from './frame-splitter.ts'
import { readBody } from './read-body.ts'
import { type BodyRefusal, checksum, type FrameReading } from './windsonic-frame.ts'

interface Vector {
  readonly body: string
  readonly sum: string
  readonly format: FrameReading['format']
  readonly state: FrameReading['state']
  readonly directionDegrees: number | null
  readonly speed: number | null
}

type Row = readonly [
  body: string,
  sum: string,
  format: Vector['format'],
  state: Vector['state'],
  direction: number | null,
  speed: number | null,
]

const rows: readonly Row[] = [
  ['Q,229,002.74,M,00,', '16', 'polar', 'measured', 229, 2.74],
  ['Q,156,000.05,M,00,', '19', 'polar', 'measured', 156, 0.05],
  ['Q,,000.04,M,00,', '2A', 'polar', 'calm', null, 0.04],
  ['Q,160,000.04,M,00,', '1D', 'polar', 'calm', null, 0.04],
  ['Q,,000.03,M,00,', '2D', 'polar', 'calm', null, 0.03],
  ['Q,,,M,04,', '34', 'polar', 'fault', null, null],
  ['Q,999,999.99,M,04,', '1A', 'polar', 'fault', null, null],
  ['Q,+001.59,-002.74,M,00,', '3A', 'uv', 'measured', 239.874, 3.168],
  ['Q,001.59,1,00,M,', '12', 'tunnel', 'measured', 180, 1.59],
  ['Q,316,009.52,N,00,', '17', 'polar', 'measured', 316, 9.52],
  ['Q,078,007.10,K,00,', '11', 'polar', 'measured', 78, 7.1],
  ['Q,+000.01,-000.01,M,00,', '36', 'uv', 'calm', null, 0.014],
  ['A,356,006.94,M,60,', '03', 'polar', 'measured', 356, 6.94],
  ['IIMWV,284,R,001.26,K,A', '1D', 'nmea', 'measured', 284, 1.26],
  ['IIMWV,120,R,002.10,M,A', '10', 'nmea', 'measured', 120, 2.1],
]

/** Checked against real captures where the manual contradicts itself; UV to three decimals. */
export const vectors: readonly Vector[] = rows.map(([body, sum, format, state, directionDegrees, speed]) => ({
  body,
  sum,
  format,
  state,
  directionDegrees,
  speed,
}))

/** As it goes over the wire, a character a byte; NMEA by its first letters. */
export function wireOf(body: string, ending = '\r\n', sum = checksum(body)): string {
  const isNmea = /^(II|WI)MWV/.test(body)
  return isNmea ? `$${body}*${sum}${ending}` : `\x02${body}\x03${sum}${ending}`
}

/** Each chunk is stamped with its first byte's place. */
export function feed(
  text: string,
  pieceLength = text.length,
  splitter: FrameSplitter = createFrameSplitter(),
): Split[] {
  const bytes = Buffer.from(text, 'latin1')
  const splits: Split[] = []
  for (let i = 0; i < bytes.length; i += pieceLength)
    splits.push(...splitter.push(bytes.subarray(i, i + pieceLength), i))
  return splits
}

/** Bodies of the frames, and codes of the refusals, in order. */
export function outline(splits: readonly Split[]): string[] {
  return splits.map((split) => (split.kind === 'frame' ? split.reading.raw : split.code))
}

function verdictOn(body: string): FrameReading | BodyRefusal {
  return readBody({ bytes: Buffer.from(body, 'latin1'), length: body.length }, /^(II|WI)MWV/.test(body))
}

/** Fails the test when the body is refused. */
export function read(body: string): FrameReading {
  const verdict = verdictOn(body)
  return typeof verdict === 'string' ? assert.fail(`${body} was refused: ${verdict}`) : verdict
}

/** `none` when the body is read. */
export function refusal(body: string): BodyRefusal | 'none' {
  const verdict = verdictOn(body)
  return typeof verdict === 'string' ? verdict : 'none'
}
