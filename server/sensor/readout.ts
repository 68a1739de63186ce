// Shows lines from a sensor beside what they were read as, and counts.

import { createFrameSplitter, type Split } from '../sources/frames/frame-splitter.ts'
import { isIntact } from '../sources/frames/windsonic-frame.ts'
import { rowOf } from './columns.ts'
import { createRawLines, type RawLine } from './raw-lines.ts'
import { linesOf, readAs, visible } from './shown.ts'

export interface Readout {
  push(bytes: Uint8Array, at: number): void
  /** Shows what has no line end yet, and how many were what. Returns the number of readings. */
  end(): number
}

/** Seconds, and the longest frame that a sensor sends. */
const widths = [7, 38]
/** Garbage needs four characters for a byte. */
const longestShown = 80

export interface ReadoutOpening {
  readonly print: (line: string) => void
  /** Ms since the epoch, from which the time of each line is counted. */
  readonly startAt: number
  /** What begins like a frame and is none; `isIntact` when its checksum was right, so it is only another format. */
  onRefused(isIntact: boolean): void
}

export function createReadout({ print, startAt, onRefused }: ReadoutOpening): Readout {
  const lines = createRawLines()
  const splitter = createFrameSplitter()
  const counts = new Map<string, number>()
  const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)

  let hasLines = false

  function show({ bytes, at }: RawLine): void {
    if (!hasLines) print(rowOf(['seconds', 'as it came', 'read as'], widths))
    hasLines = true
    const splits = splitter.push(bytes, at)
    for (const split of splits) {
      count(nameOf(split))
      if (split.kind === 'refused') onRefused(isIntact(split.code))
    }
    const [text = ''] = linesOf(Buffer.from(bytes).toString('latin1'))
    const passed = ((at - startAt) / 1000).toFixed(3).padStart(7)
    print(rowOf([passed, shortened(visible(text)), splits.map(wordsFor).join(', ')], widths))
  }

  return {
    push: (bytes, at) => lines.push(bytes, at).forEach(show),
    end() {
      lines.rest().forEach(show)
      const parts = [...counts].map(([name, times]) => `${times} ${name}`)
      if (hasLines) print('')
      if (parts.length > 0) for (const line of [`  ${parts.join(', ')}`, '']) print(line)
      return counts.entries().reduce((sum, [name, times]) => sum + (isReading(name) ? times : 0), 0)
    },
  }
}

function shortened(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown - 2)} …` : text
}

function nameOf(split: Split): string {
  return split.kind === 'frame' ? split.reading.state : `refused (${split.code})`
}

function isReading(name: string): boolean {
  return !name.startsWith('refused')
}

function wordsFor(split: Split): string {
  return split.kind === 'frame' ? readAs(split.reading) : `refused: ${split.code}`
}
