// Parts the bytes of a raw log into lines, however they end and however they come.

export interface Line {
  /** Latin1, so that every byte is one character. */
  readonly text: string
  /** Empty at the end of the log, and where a line was too long. */
  readonly ending: '\r\n' | '\n' | '\r' | ''
}

/** Longer than any frame and any stamp; a longer line is cut there, so that a log without line ends needs no memory. */
const longestLine = 1024

/** A CR at the end of what came so far may be half of a CR LF. */
const ends = /(\r\n|\n|\r(?!$))/

export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let rest = ''
  for await (const chunk of chunks) {
    const parts = (rest + Buffer.from(chunk).toString('latin1')).split(ends)
    rest = parts.pop() ?? ''
    for (let i = 0; i + 1 < parts.length; i += 2) yield* cut(parts[i] ?? '', parts[i + 1] ?? '')
    for (; rest.length > longestLine; rest = rest.slice(longestLine))
      yield { text: rest.slice(0, longestLine), ending: '' }
  }
  if (rest.endsWith('\r')) yield* cut(rest.slice(0, -1), '\r')
  else if (rest !== '') yield* cut(rest, '')
}

function* cut(text: string, ending: string): Generator<Line> {
  let left = text
  for (; left.length > longestLine; left = left.slice(longestLine))
    yield { text: left.slice(0, longestLine), ending: '' }
  yield { text: left, ending: ending === '\r\n' || ending === '\n' || ending === '\r' ? ending : '' }
}
