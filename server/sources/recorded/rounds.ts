// A raw log once, or over and over.

import { createFrameSplitter } from '../frames/frame-splitter.ts'
import { type LogRecord, recordsOf } from './records.ts'

export interface Rounds {
  /** The log from its beginning. */
  read(): AsyncIterable<Uint8Array>
  readonly rateHz: number
  readonly repeats: boolean
}

/** More than an hour at a sensor's fastest rate; nobody waits for a frame that comes later. */
const linesLookedAt = 20_000

/**
 * A new round begins `1000 / rateHz` after the last; bad lines are told in the first only. Throws before a round in which
 * no frame can be read: played out it would be hours of nothing, over and over.
 */
export async function* roundsOf({ read, rateHz, repeats }: Rounds): AsyncGenerator<LogRecord> {
  let pauseMs = 0
  do {
    if (!(await hasFrame(recordsOf(read(), rateHz))))
      throw new Error(
        `nothing in the log can be replayed, it holds no whole frame of a WindSonic in its first ${linesLookedAt} lines`,
      )
    let said = 0
    for await (const record of recordsOf(read(), rateHz)) {
      const isFirstRound = pauseMs === 0
      if (record.kind === 'said') {
        yield said === 0 ? { ...record, gapMs: pauseMs } : record
        said += 1
      } else if (isFirstRound) yield record
    }
    pauseMs = 1000 / rateHz
  } while (repeats)
}

/** Reads up to the first frame and no further. */
async function hasFrame(records: AsyncIterable<LogRecord>): Promise<boolean> {
  const splitter = createFrameSplitter()
  let left = linesLookedAt
  for await (const record of records) {
    const splits = record.kind === 'said' ? splitter.push(record.bytes, 0) : []
    if (splits.some(({ kind }) => kind === 'frame')) return true
    left -= 1
    if (left === 0) return false
  }
  return false
}
