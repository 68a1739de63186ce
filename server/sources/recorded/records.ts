// Reads a raw log as what was said and how long after the last: stamped by a logger, or as bare bytes.

import { type Line, linesOf } from './lines.ts'
import { createPacing } from './pacing.ts'
import { readStamped } from './stamped-line.ts'

export type LogRecord =
  /** `gapMs`: after the last record, as `createPacing` has it; 0 at the first. */
  | { readonly kind: 'said'; readonly gapMs: number; readonly bytes: Uint8Array }
  /** In a stamped log, a line without a time. `number` counts from 1. */
  | { readonly kind: 'bad'; readonly number: number; readonly text: string }

/** A log is stamped when one of so many lines is; before them may stand a heading, or half a line. */
const linesLookedAt = 20

/**
 * A stamped log gives each line's frame with CR LF, whatever its line ends were. A bare one gives its bytes as they are,
 * frame by frame, each `1000 / rateHz` after the last; but a CR that was taken from before LF is put back.
 */
export async function* recordsOf(
  chunks: AsyncIterable<Uint8Array>,
  rateHz: number,
): AsyncGenerator<LogRecord> {
  const first: Line[] = []
  let read: ((line: Line) => LogRecord | null) | null = null
  for await (const line of linesOf(chunks)) {
    if (read === null) {
      first.push(line)
      if (first.length < linesLookedAt && !isStamped(line)) continue
      read = isStamped(line) ? readStampedLines(rateHz) : readBareLines(rateHz)
      yield* recordsIn(first, read)
    } else yield* recordsIn([line], read)
  }
  if (read === null) yield* recordsIn(first, readBareLines(rateHz))
}

function isStamped({ text }: Line): boolean {
  return readStamped(text) !== null
}

function* recordsIn(lines: readonly Line[], read: (line: Line) => LogRecord | null): Generator<LogRecord> {
  for (const line of lines) {
    const record = read(line)
    if (record !== null) yield record
  }
}

function readStampedLines(rateHz: number): (line: Line) => LogRecord | null {
  const gapBefore = createPacing(rateHz)
  let number = 0
  return ({ text }) => {
    number += 1
    if (text.trim() === '') return null
    const stamped = readStamped(text)
    if (stamped === null) return { kind: 'bad', number, text }
    const bytes = Buffer.from(`${stamped.raw}\r\n`, 'latin1')
    return { kind: 'said', gapMs: gapBefore(stamped.at), bytes }
  }
}

function readBareLines(rateHz: number): (line: Line) => LogRecord | null {
  let isFirst = true
  return ({ text, ending }) => {
    if (text === '') return null
    const gapMs = isFirst ? 0 : 1000 / rateHz
    isFirst = false
    return { kind: 'said', gapMs, bytes: Buffer.from(text + (ending === '\n' ? '\r\n' : ending), 'latin1') }
  }
}
