// Finds the name that someone meant.

/** `; did you mean x?`, or `; <otherwise>.` when no name is near. Ends the sentence either way. */
export function suggestion(given: string, names: readonly string[], otherwise: string): string {
  const meant = nearest(given, names)
  return meant === null ? `; ${otherwise}.` : `; did you mean ${meant}?`
}

/** The name with the fewest changed letters; null when more than a third of the letters differ. */
export function nearest(given: string, names: readonly string[]): string | null {
  const ranked = names
    .map((name) => ({ name, distance: distanceBetween(given.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(given.length, name.length) / 3)
    .sort((a, b) => a.distance - b.distance)
  return ranked[0]?.name ?? null
}

/** How many letters have to be added, dropped or changed (Levenshtein 1966). */
function distanceBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...from].entries()) row = nextRow(row, i + 1, letter, to)
  return row.at(-1) ?? 0
}

function nextRow(above: readonly number[], first: number, letter: string, to: string): number[] {
  const row = [first]
  for (const [j, other] of [...to].entries()) {
    const at = (cells: readonly number[], index: number) => cells[index] ?? Number.POSITIVE_INFINITY
    row.push(Math.min(at(above, j + 1) + 1, at(row, j) + 1, at(above, j) + (letter === other ? 0 : 1)))
  }
  return row
}
