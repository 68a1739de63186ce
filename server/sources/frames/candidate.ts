// What may become a frame: takes bytes from the first mark on, until they are one or can no longer be.

import { readBody } from './read-body.ts'
import { headLength, isOfHead } from './read-nmea.ts'
import type { FrameReading, RefusalCode } from './windsonic-frame.ts'

const STX = 0x02
const ETX = 0x03
const LF = 0x0a
const CR = 0x0d
const DOLLAR = 0x24
const ASTERISK = 0x2a

/** The longest body that any format sends has 28 bytes: UV in ft/min with a padded status. */
const longestBody = 32

export interface Candidate {
  part: 'head' | 'body' | 'sum'
  isNmea: boolean
  readonly bytes: Buffer
  /** Of the body, so far. */
  length: number
  /** XOR of the body, so far. */
  sum: number
  sumSent: number
  sumDigits: number
}

/**
 * What a byte makes of a candidate: null while it may still become a frame; `none` where a `$` was only a `$`, which is no
 * loss.
 */
export type Verdict = FrameReading | RefusalCode | 'none' | null

/** Holds one body's bytes, ever. */
export function createCandidate(): Candidate {
  const bytes = Buffer.alloc(longestBody)
  return { part: 'body', isNmea: false, bytes, length: 0, sum: 0, sumSent: 0, sumDigits: 0 }
}

/** STX and `$` begin a frame, and stand nowhere else in one. */
export function isMark(byte: number): boolean {
  return byte === STX || byte === DOLLAR
}

export function isLineEnd(byte: number): boolean {
  return byte === CR || byte === LF
}

export function begin(candidate: Candidate, mark: number): void {
  candidate.isNmea = mark === DOLLAR
  candidate.part = candidate.isNmea ? 'head' : 'body'
  candidate.length = 0
  candidate.sum = 0
  candidate.sumSent = 0
  candidate.sumDigits = 0
}

/** Whether it is so far nothing but a `$` with a part of what follows it in a frame. */
export function isHeadOnly({ part }: Candidate): boolean {
  return part === 'head'
}

/** Any byte but a mark. The CR completes a frame: whether LF follows is of no concern. */
export function take(candidate: Candidate, byte: number): Verdict {
  if (candidate.part === 'body') return takeBody(candidate, byte)
  return candidate.part === 'sum' ? takeSum(candidate, byte) : takeHead(candidate, byte)
}

function takeHead(candidate: Candidate, byte: number): Verdict {
  if (!isOfHead(candidate.length, byte)) return 'none'
  hold(candidate, byte)
  if (candidate.length === headLength) candidate.part = 'body'
  return null
}

function takeBody(candidate: Candidate, byte: number): Verdict {
  if (isLineEnd(byte)) return 'cut'
  if (byte === (candidate.isNmea ? ASTERISK : ETX)) candidate.part = 'sum'
  else if (candidate.length === longestBody) return 'too-long'
  else hold(candidate, byte)
  return null
}

function hold(candidate: Candidate, byte: number): void {
  candidate.bytes[candidate.length] = byte
  candidate.length += 1
  candidate.sum ^= byte
}

function takeSum(candidate: Candidate, byte: number): Verdict {
  if (candidate.sumDigits === 2) return byte === CR ? read(candidate) : 'ending'
  if (isLineEnd(byte)) return 'cut'
  candidate.sumSent = candidate.sumSent * 16 + hexDigit(byte)
  candidate.sumDigits += 1
  return null
}

function read(candidate: Candidate): FrameReading | RefusalCode {
  if (candidate.sumSent !== candidate.sum) return 'checksum'
  return readBody(candidate, candidate.isNmea)
}

/** Of an upper-case digit; of anything else so much that no sum comes out. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  return byte >= 0x41 && byte <= 0x46 ? byte - 0x37 : 0x1000
}
