// Counts words and characters in any script, a little at a time, so that no text holds up what else is to be done.

import { textOf } from './html-text.ts'
import { countPlain, isPlain } from './plain-text.ts'

export interface TextCounts {
  /** As Unicode cuts words (UAX #29, 4), with dictionaries for scripts that have no spaces. */
  readonly words: number
  /** What a reader takes for one character, spaces included: grapheme clusters (UAX #29, 3). Ends of lines are none. */
  readonly characters: number
}

/** Each step is a few milliseconds of work at most. */
export type Counting = Generator<void, TextCounts>

export interface TextCounter {
  /** Counts the text of HTML. A line that was there when it was last counted is looked up. */
  readonly count: (html: string) => Counting
  /** Lets go of what it remembers. */
  readonly forget: () => void
}

export function createTextCounter(): TextCounter {
  let known = new Map<string, TextCounts>()

  function* countLine(line: string, met: Map<string, TextCounts>): Counting {
    if (isPlain(line)) return countPlain(line)
    const counts = known.get(line) ?? (yield* countAny(line))
    met.set(line, counts)
    return counts
  }

  return {
    *count(html) {
      const met = new Map<string, TextCounts>()
      let total: TextCounts = { words: 0, characters: 0 }
      for (const text of wholeLines(textOf(html))) {
        if (isPlain(text)) total = sum(total, countPlain(text))
        else for (const line of text.split(/[\n\r]/)) total = sum(total, yield* countLine(line, met))
        yield
      }
      known = met
      return total
    },
    forget() {
      known = new Map()
    },
  }
}

/** Puts parts together so that none begins or ends within a line; or within a word, where a part has no line's end. */
function* wholeLines(parts: Iterable<string>): Generator<string> {
  let rest = ''
  for (const part of parts) {
    const cut = part.lastIndexOf('\n') + 1 || part.lastIndexOf(' ') + 1
    yield cut === 0 ? '' : rest + part.slice(0, cut)
    rest = cut === 0 ? rest + part : part.slice(cut)
  }
  yield rest
}

const words = new Intl.Segmenter('en', { granularity: 'word' })
const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })

function* countAny(line: string): Counting {
  return {
    words: yield* countSegments(words.segment(line), ({ isWordLike }) => isWordLike === true),
    characters: yield* countSegments(characters.segment(line), () => true),
  }
}

const segmentsOfStep = 2000

function* countSegments(
  segments: Iterable<Intl.SegmentData>,
  counts: (segment: Intl.SegmentData) => boolean,
): Generator<void, number> {
  let count = 0
  let seen = 0
  for (const segment of segments) {
    if (counts(segment)) count += 1
    seen += 1
    if (seen % segmentsOfStep === 0) yield
  }
  return count
}

function sum(one: TextCounts, other: TextCounts): TextCounts {
  return { words: one.words + other.words, characters: one.characters + other.characters }
}
