// Cuts text between characters as people see them: grapheme clusters (UAX #29, 3).

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** UTF-16 units around a place that decide whether it lies between two clusters. */
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
 * The last place at or before `index` where text may be cut, counted in UTF-16 units. A cluster that does not fit into
 * the context is cut between code points.
 */
function boundaryAt(text: string, index: number): number {
  if (index >= text.length) return text.length
  const from = Math.max(0, index - context)
  const around = text.slice(from, index + context)
  const start = segmenter.segment(around).containing(index - from)?.index ?? 0
  if (start > 0) return from + start
  const isHalf = /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(index - 1, index + 1))
  return isHalf ? index - 1 : index
}

/** At most `most` UTF-16 units from the beginning. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, boundaryAt(text, most))
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
