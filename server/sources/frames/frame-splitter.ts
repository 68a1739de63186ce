// Finds frames in a stream of bytes that arrives in any pieces, damaged or not.

import { ETX, type FrameReading, type FrameRefusal, parseFrame, STX } from './windsonic-frame.ts'

/**
 * `cut`: a new frame or the line's end came before this one was whole. `too-long`: no ETX where one must be.
 * `ending`: whole, but no CR behind the checksum. The others are the frame's own.
 */
export type RefusalCode = FrameRefusal | 'cut' | 'too-long' | 'ending'

/** `at` is the stamp of the chunk that held the frame's STX: ms since the epoch, with fractions. */
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
  /** Bytes outside any frame since the start, line ends not counted: garbage, banners, frames that lost their STX. */
  readonly strayBytes: number
}

const CR = 0x0d
const LF = 0x0a
/** The longest body that any format sends is UV's 23 bytes. */
const longestBody = 64
/** Two hex digits and CR. */
const tailLength = 3

/**
 * Pure: no clock, no timer. Never holds more than one frame's bytes. A new STX always restarts, so that the frame after
 * any damage is read again.
 */
export function createFrameSplitter(): FrameSplitter {
  const refused: Record<RefusalCode, number> = {
    checksum: 0,
    layout: 0,
    range: 0,
    cut: 0,
    'too-long': 0,
    ending: 0,
  }
  let strayBytes = 0
  let part: 'outside' | 'body' | 'tail' = 'outside'
  let body = ''
  let tail = ''
  let begunAt = 0

  function refuse(code: RefusalCode): Split {
    part = 'outside'
    refused[code] += 1
    return { kind: 'refused', code, at: begunAt }
  }

  function begin(at: number): Split | null {
    const cut = part === 'outside' ? null : refuse('cut')
    part = 'body'
    body = ''
    tail = ''
    begunAt = at
    return cut
  }

  function takeBody(byte: number): Split | null {
    if (byte === ETX) part = 'tail'
    else if (byte === CR || byte === LF) return refuse('cut')
    else if (body.length === longestBody) return refuse('too-long')
    else body += String.fromCharCode(byte)
    return null
  }

  function takeTail(byte: number): Split | null {
    tail += String.fromCharCode(byte)
    if (tail.length < tailLength) return byte === CR || byte === LF ? refuse('cut') : null
    if (byte !== CR) return refuse('ending')
    const parsed = parseFrame(body, tail.slice(0, 2))
    if (!parsed.isGood) return refuse(parsed.code)
    part = 'outside'
    return { kind: 'frame', reading: parsed.reading, at: begunAt }
  }

  function take(byte: number, at: number): Split | null {
    if (byte === STX) return begin(at)
    if (part === 'body') return takeBody(byte)
    if (part === 'tail') return takeTail(byte)
    if (byte !== CR && byte !== LF) strayBytes += 1
    return null
  }

  return {
    refused,
    get strayBytes() {
      return strayBytes
    },
    push(bytes, at) {
      const splits: Split[] = []
      for (const byte of bytes) {
        const split = take(byte, at)
        if (split) splits.push(split)
      }
      return splits
    },
    clear() {
      part = 'outside'
    },
  }
}
