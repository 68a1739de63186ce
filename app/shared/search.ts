// The search in the list of documents: every word, wherever it stands, ignoring case and accents.

import { excerptOf } from '../../protocol/graphemes.ts'

/** Text as it is compared: without case and accents. Has the same number of lines. */
export const plain = (text: string): string =>
  text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLocaleLowerCase()

export const wordsIn = (wanted: string): string[] => plain(wanted).split(/\s+/).filter(Boolean)

const maxExcerpt = 120

/** The line of `text` with the first place of a word; null if there is none. `plainText` is `plain(text)`. */
export function lineWith(words: readonly string[], text: string, plainText: string): string | null {
  const places = words.map((word) => plainText.indexOf(word)).filter((place) => place >= 0)
  if (places.length === 0) return null
  const first = Math.min(...places)
  const before = plainText.slice(0, first)
  const line = text.split('\n', lineCount(before)).at(-1) ?? ''
  // Words far to the right come into view.
  const offset = Math.max(0, first - (before.lastIndexOf('\n') + 1) - maxExcerpt / 3)
  const start = offset === 0 ? 0 : line.indexOf(' ', offset) + 1
  return `${start > 0 ? '… ' : ''}${excerptOf(line.slice(start), maxExcerpt)}`
}

const lineCount = (text: string) => text.split('\n').length
