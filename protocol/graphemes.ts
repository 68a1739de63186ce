// Cuts text between user-perceived characters: grapheme clusters (UAX #29, 3).

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Number of UTF-16 units around a position that decide whether it lies between two clusters. */
const context = 100

export function graphemeAfter(text: string): string {
  const [first] = segmenter.segment(text.slice(0, context))
  return first?.segment ?? ''
}

export function graphemeBefore(text: string): string {
  const end = text.slice(-context)
  return segmenter.segment(end).containing(end.length - 1)?.segment ?? ''
}

/**
 * Returns at most `most` UTF-16 units from the start. A single longer cluster is cut between code
 * points.
 */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text
  // From the start: how regional indicators pair into flags depends on all of them.
  const end = segmenter.segment(text.slice(0, most + context)).containing(most)?.index ?? 0
  if (end > 0) return text.slice(0, end)
  const isHalf = /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(most - 1, most + 1))
  return text.slice(0, isHalf ? most - 1 : most)
}

/** Returns at most `most` UTF-16 units; if the text is cut, the last is an ellipsis. */
export function excerptOf(text: string, most: number): string {
  return text.length <= most ? text : `${cutText(text, most - 1)}…`
}

/** Splits into pieces of at most `most` UTF-16 units, which must be two or more. */
export function piecesOf(text: string, most: number): string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length; ) {
    const piece = cutText(text.slice(start, start + most + context), most)
    pieces.push(piece)
    start += piece.length
  }
  return pieces
}

/** Removes halves of surrogate pairs, which UTF-8 cannot encode (Unicode 16, 3.9). */
export function withoutHalves(text: string): string {
  return text.isWellFormed() ? text : text.replaceAll(/\p{Surrogate}/gu, '')
}
