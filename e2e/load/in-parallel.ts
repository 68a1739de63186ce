// Many things to do, a bounded number of them at a time.

/** Results in the order of the items. The first failure ends it; what was under way is let run out. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item, place: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const left = items.entries()

  async function lane(): Promise<void> {
    // All lanes take from one iterator: whoever is free takes the next item.
    for (const [place, item] of left) results[place] = await work(item, place)
  }

  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane))
  return results
}
