// Where a place in a text is after the text has changed around it.

/**
 * Compares from both ends, as if one stretch had been replaced. A place before the change stays, one behind
 * it moves along, one inside goes to its start; what is inserted exactly there comes to stand behind it.
 * Lengths in UTF-16 units, as the DOM counts.
 */
export function mapOffset(before: string, after: string, offset: number): number {
  const shorter = Math.min(before.length, after.length)
  let prefix = 0
  while (prefix < shorter && before[prefix] === after[prefix]) prefix += 1
  if (offset <= prefix) return offset
  let suffix = 0
  while (suffix < shorter - prefix && before[before.length - 1 - suffix] === after[after.length - 1 - suffix])
    suffix += 1
  if (offset >= before.length - suffix) return offset + after.length - before.length
  return prefix
}
