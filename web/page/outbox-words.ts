// What a person should know of edits that could not be sent or kept, in sentences.

import type { OutboxView } from '../store/store.ts'

/** Null while all that is unsent is kept, and nothing was left out. */
export function outboxWords({ unstored, superseded, isFull, isSaved }: OutboxView): string | null {
  if (isFull)
    return 'The newest edit is in this window only: there is no room for more unsent edits. It is sent when earlier ones are stored; leave this window open.'
  if (unstored === 0) return null
  const sentences = [superseded > 0 && supersededWords(superseded), !isSaved && unsavedSentence]
  return sentences.filter((sentence) => sentence !== false).join(' ') || null
}

const unsavedSentence =
  'This browser has no room to keep the unsent edits over a reload: leave this window open.'

function supersededWords(count: number): string {
  const what = count === 1 ? 'One older unsent edit was' : `${count} older unsent edits were`
  return `${what} left out to make room; the newer ones hold the whole document.`
}
