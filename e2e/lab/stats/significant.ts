// Rounds a measured figure for the summary: more digits than six would only claim a precision that nobody has.

/** To at most six significant digits; null for what is no finite number, as JSON has no other word for it. */
export function significant(value: number): number | null {
  return Number.isFinite(value) ? rounded(value) : null
}

/** The same for a figure that is known to be finite. */
export function rounded(value: number): number {
  return Number(value.toPrecision(6))
}
