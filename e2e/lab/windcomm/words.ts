// Figures and names as they stand in the sentences of a WindComm report.

import { paperPlaces } from './paper.ts'

/** `Edmonton`, also for a profile that is no place of the paper's. */
export function placeName(site: string): string {
  return paperPlaces[site] ?? capital(site)
}

export function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** `Edmonton, Lund and Caracas`. */
export function listed(words: readonly string[]): string {
  const [last = ''] = words.slice(-1)
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`
}

/** `1.00 to 1.05`, or one figure where both are alike when rounded. */
export function span(values: readonly number[], digits = 2): string {
  const [low, high] = [Math.min(...values).toFixed(digits), Math.max(...values).toFixed(digits)]
  return low === high ? low : `${low} to ${high}`
}

/** Three digits: `155 ms`, `40.2 ms`, `4.02 ms`. */
export function ms(value: number): string {
  const size = Math.abs(value)
  return `${value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0).replace('-', '−')} ms`
}
