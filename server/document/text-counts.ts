// Counts words and characters in any script.

export interface TextCounts {
  /** Unicode words (UAX #29, 4), by dictionary in scripts without spaces. */
  readonly words: number
  /** Grapheme clusters (UAX #29, 3), spaces included, line ends excluded. */
  readonly characters: number
}

const words = new Intl.Segmenter('en', { granularity: 'word' })
const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })

export function countText(text: string): TextCounts {
  const counts = { words: 0, characters: 0 }
  for (const line of text.split(/[\n\r]/)) {
    // The segmenter takes some underscores for words.
    for (const { segment, isWordLike } of words.segment(line))
      if (isWordLike && !/^_+$/.test(segment)) counts.words += 1
    for (const _segment of characters.segment(line)) counts.characters += 1
  }
  return counts
}
