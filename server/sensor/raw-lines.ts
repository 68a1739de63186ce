// Cuts a stream of bytes into the lines that a sensor sent, garbage included.

export interface RawLine {
  /** With its CR, or LF, if it has one. */
  readonly bytes: Uint8Array
  /** The stamp of the chunk that held its first byte, ms since the epoch. */
  readonly at: number
}

export interface RawLines {
  /** Returns what became whole. */
  push(bytes: Uint8Array, at: number): RawLine[]
  /** What has no line end yet, if anything. */
  rest(): RawLine[]
}

const STX = 0x02
const CR = 0x0d
const LF = 0x0a
/** A frame has 29 bytes at most, a line of the banner a few more; garbage without a line end is cut there. */
const longestLine = 48

/** A line ends with CR, LF or both (L1, L2), before STX, or when it is too long; empty ones are left out. */
export function createRawLines(): RawLines {
  let bytes: number[] = []
  let begunAt = 0

  function cut(): RawLine[] {
    const line = { bytes: Uint8Array.from(bytes), at: begunAt }
    bytes = []
    return line.bytes.some((byte) => !isEnd(byte)) ? [line] : []
  }

  function take(byte: number, at: number): RawLine[] {
    const before = byte === STX ? cut() : []
    if (bytes.length === 0) begunAt = at
    bytes.push(byte)
    return isEnd(byte) || bytes.length === longestLine ? [...before, ...cut()] : before
  }

  return {
    push: (more, at) => Array.from(more).flatMap((byte) => take(byte, at)),
    rest: cut,
  }
}

function isEnd(byte: number): boolean {
  return byte === CR || byte === LF
}
