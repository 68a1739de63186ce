// Finds frames in a stream of bytes that arrives in any pieces, damaged or not.

import { begin, createCandidate, isHeadOnly, isLineEnd, isMark, take } from './candidate.ts'
import type { FrameReading, RefusalCode } from './windsonic-frame.ts'

/** `at` is the stamp of the chunk that held the frame's first byte: ms since the epoch, with fractions. */
export type Split =
  | { readonly kind: 'frame'; readonly reading: FrameReading; readonly at: number }
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly at: number }

export interface FrameSplitter {
  /** Takes bytes as they came, with the host's stamp, and returns what they completed, in order. */
  push(bytes: Uint8Array, at: number): Split[]
  /** Forgets a frame begun: for every opening of the port, since old bytes may survive a cable. Counts stay. */
  clear(): void
  /** How many frames were refused, by reason, since the start. */
  readonly refused: Readonly<Record<RefusalCode, number>>
  /**
   * Bytes outside any frame since the start, line ends not counted: garbage, banners, answers to commands, other
   * instruments' NMEA, what is left of refused frames, and frames without a whole beginning (STX, or `$` with its head).
   */
  readonly strayBytes: number
}

/**
 * Pure: no clock, no timer. Never holds more than one frame's bytes. STX and `$` begin anew wherever they come, since they
 * stand nowhere else in a frame: so a frame that came whole is read, whatever stood before it.
 */
export function createFrameSplitter(): FrameSplitter {
  const refused = { checksum: 0, layout: 0, range: 0, cut: 0, 'too-long': 0, ending: 0 }
  const candidate = createCandidate()
  let isInside = false
  let begunAt = 0
  let strayBytes = 0

  function conclude(verdict: FrameReading | RefusalCode): Split {
    isInside = false
    if (typeof verdict !== 'string') return { kind: 'frame', reading: verdict, at: begunAt }
    refused[verdict] += 1
    return { kind: 'refused', code: verdict, at: begunAt }
  }

  function letGo(): null {
    isInside = false
    strayBytes += 1 + candidate.length
    return null
  }

  function passOver(byte: number): null {
    if (!isLineEnd(byte)) strayBytes += 1
    return null
  }

  function interrupt(): Split | null {
    if (!isInside) return null
    return isHeadOnly(candidate) ? letGo() : conclude('cut')
  }

  function takeMark(mark: number, at: number): Split | null {
    const before = interrupt()
    begin(candidate, mark)
    isInside = true
    begunAt = at
    return before
  }

  function takeOther(byte: number): Split | null {
    if (!isInside) return passOver(byte)
    const verdict = take(candidate, byte)
    if (verdict === null) return null
    if (verdict !== 'none') return conclude(verdict)
    letGo()
    return passOver(byte)
  }

  return {
    refused,
    get strayBytes() {
      return strayBytes
    },
    push(bytes, at) {
      const splits: Split[] = []
      for (let i = 0; i < bytes.length; i++) {
        const byte = bytes[i] ?? 0
        const split = isMark(byte) ? takeMark(byte, at) : takeOther(byte)
        if (split) splits.push(split)
      }
      return splits
    },
    clear() {
      isInside = false
    },
  }
}
