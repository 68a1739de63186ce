// Puts the counts in the header into words: windows, and edits on their way.

import type { LinkView } from '../store/store.ts'

/** Null until the number is known. */
export function windowsWords(windows: number | null): string | null {
  if (windows === null) return null
  return windows === 1 ? '1 window open' : `${windows} windows open`
}

/** Whether everything typed here has reached the server. */
export function sentWords(unstored: number, state: LinkView['state']): string {
  if (unstored === 0) return 'All sent'
  if (state === 'open') return 'Sending…'
  return unstored === 1 ? '1 edit to send' : `${unstored} edits to send`
}
