// Puts the counts in the header into words: windows, and edits on their way.

import type { LinkView, OutboxView } from '../store/store.ts'

/** Null until the number is known. */
export function windowsWords(windows: number | null): string | null {
  if (windows === null) return null
  return windows === 1 ? '1 window open' : `${windows} windows open`
}

/** Where what was typed here is: stored is only what the server has acknowledged. */
export function storedWords({ unstored, isFull, isSaved }: OutboxView, state: LinkView['state']): string {
  if (isFull) return 'Kept in this window only'
  if (unstored === 0) return 'All changes stored'
  if (state === 'open') return 'Storing…'
  if (!isSaved) return 'Kept in this window only'
  return unstored === 1 ? '1 edit waits for the connection' : `${unstored} edits wait for the connection`
}
