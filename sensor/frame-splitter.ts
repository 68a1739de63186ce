// Extracts WindSonic frames from a byte stream in chunks of any size, damaged or not.

import type { FrameReading } from './readings.ts'
import { type RefusalCode, readBody } from './windsonic-frame.ts'

/** `at`: arrival of the frame's first byte, ms since the epoch, fractional. */
export type Split =
  | { readonly kind: 'frame'; readonly reading: FrameReading; readonly at: number }
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly at: number }

/** In M14 and M15 it begins with W. */
const nmeaHead = Buffer.from('IIMWV,')

const codes = { STX: 0x02, ETX: 0x03, LF: 0x0a, CR: 0x0d, dollar: 0x24, asterisk: 0x2a, W: 0x57 } as const

/** The longest body has 28 bytes: UV in ft/min with a padded status. */
const longestBody = 32
/**
 * Other Gill instruments have longer bodies in the same frames: their checksum distinguishes them
 * from a damaged frame.
 */
const longestForeignBody = 400

/**
 * Pure, and holds at most one frame. STX and `$` occur only at a frame's start, so each starts a
 * new one.
 */
export function createFrameSplitter() {
  const refused = { checksum: 0, layout: 0, range: 0, cut: 0, 'too-long': 0, ending: 0 }
  /** In `head`, the `$` may still prove stray. */
  let part: 'outside' | 'head' | 'body' | 'sum' = 'outside'
  let isNmea = false
  let begunAt = 0
  /** Start of the body; `length` and `sum` (XOR) cover all of it. */
  const bytes = Buffer.alloc(longestBody)
  let length = 0
  let sum = 0
  let sumSent = 0
  let sumDigits = 0

  function takeMark(mark: number, at: number): Split | null {
    const before = part === 'body' || part === 'sum' ? refuse('cut') : null
    isNmea = mark === codes.dollar
    part = isNmea ? 'head' : 'body'
    begunAt = at
    length = sum = sumSent = sumDigits = 0
    return before
  }

  function takeOther(byte: number): Split | null {
    if (part === 'body') return takeBody(byte)
    if (part === 'sum') return takeSum(byte)
    if (part === 'head') {
      if (byte === nmeaHead[length] || (length === 0 && byte === codes.W)) {
        hold(byte)
        if (length === nmeaHead.length) part = 'body'
      } else part = 'outside'
    }
    return null
  }

  function takeBody(byte: number): Split | null {
    if (isLineEnd(byte)) return refuse('cut')
    if (byte === (isNmea ? codes.asterisk : codes.ETX)) part = 'sum'
    else if (length === longestForeignBody) return refuse('too-long')
    else hold(byte)
    return null
  }

  function hold(byte: number): void {
    if (length < longestBody) bytes[length] = byte
    length += 1
    sum ^= byte
  }

  /** A frame is complete at CR, or at LF if something removed the CR. */
  function takeSum(byte: number): Split | null {
    if (sumDigits === 2) return isLineEnd(byte) ? complete() : refuse('ending')
    if (isLineEnd(byte)) return refuse('cut')
    // NaN, for other characters, equals no checksum.
    sumSent = sumSent * 16 + Number.parseInt(String.fromCharCode(byte), 16)
    sumDigits += 1
    return null
  }

  function complete(): Split {
    if (sumSent !== sum) return refuse('checksum')
    if (length > longestBody) return refuse('layout')
    const reading = readBody(bytes.toString('latin1', 0, length), isNmea)
    if (typeof reading === 'string') return refuse(reading)
    part = 'outside'
    return { kind: 'frame', reading, at: begunAt }
  }

  function refuse(code: RefusalCode): Split {
    part = 'outside'
    refused[code] += 1
    return { kind: 'refused', code, at: begunAt }
  }

  return {
    /** Number of refusals by code. */
    refused: refused as Readonly<Record<RefusalCode, number>>,
    push(chunk: Uint8Array, at: number): Split[] {
      const splits: Split[] = []
      for (let i = 0; i < chunk.length; i++) {
        const byte = chunk[i] ?? 0
        const split = byte === codes.STX || byte === codes.dollar ? takeMark(byte, at) : takeOther(byte)
        if (split) splits.push(split)
      }
      return splits
    },
    /** For a port that opens, since a cable may have kept old bytes. Keeps the counts. */
    clear(): void {
      part = 'outside'
    },
  }
}

function isLineEnd(byte: number): boolean {
  return byte === codes.CR || byte === codes.LF
}
