// Suggests the name that may have been meant.

/**
 * Returns `; did you mean x?`, or `otherwise` if every name differs in more than a third of its
 * letters.
 */
export function suggestion(given: string, names: readonly string[], otherwise: string): string {
  const [nearest] = names
    .map((name) => ({ name, distance: distanceBetween(given.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(given.length, name.length) / 3)
    .sort((a, b) => a.distance - b.distance)
  return nearest ? `; did you mean ${nearest.name}?` : otherwise
}

/** Throws an `Error` for the first name that is not in `names`. `what` has the names. */
export function refuseOthers(what: string, given: object, names: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown === undefined) return
  const all = `; it has ${new Intl.ListFormat('en-GB').format(names)}.`
  throw new Error(`${what} has no ${unknown}${suggestion(unknown, names, all)}`)
}

/** Edit distance (Levenshtein 1966). */
function distanceBetween(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...from].entries()) {
    const row = [i + 1]
    for (const [j, other] of [...to].entries()) {
      const added = row[j] ?? 0
      const dropped = above[j + 1] ?? 0
      const changed = above[j] ?? 0
      row.push(Math.min(dropped + 1, added + 1, changed + (letter === other ? 0 : 1)))
    }
    above = row
  }
  return above.at(-1) ?? 0
}
