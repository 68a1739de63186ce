// The words and characters of a document, as readers of each script would count them.

import { imageCharacter, type Line } from '../../app/document/rich-text.ts'

/**
 * Counts Unicode words (UAX #29, 4), by dictionary in scripts without spaces, and grapheme clusters
 * (UAX #29, 3) with spaces but without line ends.
 */
export function countsOf(lines: readonly Line[]) {
  const words = new Intl.Segmenter('en', { granularity: 'word' })
  const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })
  const counts = { words: 0, characters: 0 }
  for (const { runs } of lines) {
    const text = runs.map((run) => run.text.replaceAll(imageCharacter, '')).join('')
    for (const line of text.split(/[\n\r\u2028]/)) {
      // The segmenter treats some underscores as words.
      for (const { segment, isWordLike } of words.segment(line))
        if (isWordLike && !/^_+$/.test(segment)) counts.words += 1
      for (const _segment of characters.segment(line)) counts.characters += 1
    }
  }
  return counts
}
