// A raw log once, or over and over.

import { type LogRecord, recordsOf } from './records.ts'

export interface Rounds {
  /** The log from its beginning. */
  read(): AsyncIterable<Uint8Array>
  readonly rateHz: number
  readonly repeats: boolean
}

/**
 * A new round begins `1000 / rateHz` after the last; bad lines are told in the first only. Throws where a round says
 * nothing, since the next would not either.
 */
export async function* roundsOf({ read, rateHz, repeats }: Rounds): AsyncGenerator<LogRecord> {
  let pauseMs = 0
  do {
    let said = 0
    for await (const record of recordsOf(read(), rateHz)) {
      const isFirstRound = pauseMs === 0
      if (record.kind === 'said') {
        yield said === 0 ? { ...record, gapMs: pauseMs } : record
        said += 1
      } else if (isFirstRound) yield record
    }
    if (said === 0) throw new Error('nothing in the log can be replayed')
    pauseMs = 1000 / rateHz
  } while (repeats)
}
