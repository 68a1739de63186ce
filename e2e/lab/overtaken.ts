// Finds what came out of order.

/** Those whose first copy came after a later one's. `arrivals`: ids as they came; `places`: where each of them belongs. */
export function overtaken(
  arrivals: Iterable<string>,
  places: ReadonlyMap<string, number>,
): ReadonlySet<string> {
  const late = new Set<string>()
  let furthest = -1
  for (const id of new Set(arrivals)) {
    const place = places.get(id) ?? -1
    if (place < furthest) late.add(id)
    furthest = Math.max(furthest, place)
  }
  return late
}
