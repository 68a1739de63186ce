// Counts words and characters in any script, in slices that do not block the event loop.

import type { Timers } from '../wire/time.ts'

export interface TextCounts {
  /** Unicode words (UAX #29, 4), by dictionary in scripts without spaces. */
  readonly words: number
  /** Grapheme clusters (UAX #29, 3), spaces included, line ends excluded. */
  readonly characters: number
}

/** Yields where the work may pause. */
type Counting = Generator<void, TextCounts>

/** Short enough not to delay other messages noticeably. */
const turnMs = 3

export class TextCounter {
  readonly #timers: Timers
  #known = new Map<string, TextCounts>()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** Parts of a text, cut anywhere. Reuses the last count's lines. */
  async count(parts: Iterable<string>): Promise<TextCounts> {
    const { now, later } = this.#timers
    const counting = this.#count(parts)
    for (;;) {
      const until = now() + turnMs
      let step = counting.next()
      while (!step.done && now() < until) step = counting.next()
      if (step.done) return step.value
      await new Promise<void>((resolve) => later(resolve, 0))
    }
  }

  forget(): void {
    this.#known = new Map()
  }

  *#count(parts: Iterable<string>): Counting {
    const met = new Map<string, TextCounts>()
    let words = 0
    let characters = 0
    for (const text of wholeLines(parts)) {
      for (const line of text.split(/[\n\r]/)) {
        const counts = met.get(line) ?? this.#known.get(line) ?? (yield* countLine(line))
        met.set(line, counts)
        words += counts.words
        characters += counts.characters
      }
      yield
    }
    this.#known = met
    return { words, characters }
  }
}

/** Re-splits parts at line ends or, in a part without one, at a space. */
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

function* countLine(line: string): Counting {
  yield
  return {
    // The segmenter takes some underscores for words.
    words: yield* countSegments(
      words.segment(line),
      ({ segment, isWordLike }) => isWordLike === true && !/^_+$/.test(segment),
    ),
    characters: yield* countSegments(characters.segment(line), () => true),
  }
}

/** Less than a millisecond of work. */
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
