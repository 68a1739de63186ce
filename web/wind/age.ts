// How old a reading is, in words that stay still while readings keep coming.

/** Twelve readings at 4 Hz: when that many are missing, what is shown is no longer the wind. */
export const staleAfterMs = 3000

export function isStale(ageMs: number): boolean {
  return ageMs >= staleAfterMs
}

/** Coarse on purpose: up to `staleAfterMs` a reading is simply new. */
export function ageWords(ageMs: number): string {
  if (!isStale(ageMs)) return 'just now'
  const seconds = Math.floor(ageMs / 1000)
  if (seconds < 60) return `${seconds} s ago`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ago`
  const hours = Math.floor(minutes / 60)
  return hours < 24 ? `${hours} h ago` : 'more than a day ago'
}
