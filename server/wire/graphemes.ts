// Cuts text between characters as people see them: grapheme clusters (UAX #29, 3).

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** UTF-16 units beside a place that decide whether it lies between two clusters. */
const context = 100

export function graphemeAfter(text: string): string {
  const [first] = segmenter.segment(text.slice(0, context))
  return first?.segment ?? ''
}

export function graphemeBefore(text: string): string {
  const end = text.slice(-context)
  return segmenter.segment(end).containing(end.length - 1)?.segment ?? ''
}

/** At most `most` UTF-16 units from the beginning. A single cluster that is longer is cut between code points. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text
  // From the beginning: which two regional indicators are a flag depends on all of them.
  const end = segmenter.segment(text.slice(0, most + context)).containing(most)?.index ?? 0
  if (end > 0) return text.slice(0, end)
  const isHalf = /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(most - 1, most + 1))
  return text.slice(0, isHalf ? most - 1 : most)
}

/** At most `most` UTF-16 units, the last of which is an ellipsis where the text is cut. */
export function excerptOf(text: string, most: number): string {
  return text.length <= most ? text : `${cutText(text, most - 1)}…`
}

/** Pieces of at most `most` UTF-16 units, two or more. */
export function piecesOf(text: string, most: number): string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length; ) {
    const piece = cutText(text.slice(start, start + most + context), most)
    pieces.push(piece)
    start += piece.length
  }
  return pieces
}

/** Without halves of surrogate pairs, which UTF-8 cannot say (Unicode 16, 3.9). */
export function withoutHalves(text: string): string {
  return text.isWellFormed() ? text : text.replaceAll(/\p{Surrogate}/gu, '')
}
