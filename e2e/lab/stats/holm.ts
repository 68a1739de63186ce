// Holm's correction: several comparisons in one run must not find a difference merely because they are several.

/**
 * Corrected p's, in the order given; comparing each with 0.05 keeps the chance of even one false finding at 5 %.
 * S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (Scand. J. Statist. 6, 1979): the k-th smallest
 * of m is multiplied by m - k + 1, never falls below its predecessor and never exceeds 1. An empty list gives an
 * empty list. Throws RangeError for what is no probability.
 */
export function holm(probabilities: readonly number[]): readonly number[] {
  const wrong = probabilities.find((p) => !(p >= 0 && p <= 1))
  if (wrong !== undefined) throw new RangeError(`A p lies from 0 to 1; got ${wrong}`)
  const smallestFirst = [...probabilities.entries()].sort(([, a], [, b]) => a - b)
  const corrected = new Array<number>(probabilities.length)
  let floor = 0
  for (const [rank, [place, p]] of smallestFirst.entries()) {
    floor = Math.min(1, Math.max(floor, (probabilities.length - rank) * p))
    corrected[place] = floor
  }
  return corrected
}
