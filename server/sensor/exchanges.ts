// Shows what was said to a sensor, and beside it what came back.

import { rowOf } from './columns.ts'
import { visible } from './shown.ts'

export interface Exchanges {
  show(sent: string, lines: readonly string[]): void
  /** What happened in between, in words. */
  note(text: string): void
}

/** Wide enough for the longest command and the sign for ENTER. */
const widths = [7]

export function createExchanges(print: (line: string) => void): Exchanges {
  return {
    show(sent, [first = '(no answer)', ...rest]) {
      print(rowOf([sent, visible(first)], widths))
      for (const line of rest) print(rowOf(['', visible(line)], widths))
    },
    note: (text) => print(rowOf(['', `(${text})`], widths)),
  }
}
