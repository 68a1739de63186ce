// Puts the state of the link into words.

import { modeNamed } from '../../server/wire/modes.ts'
import type { LinkView } from '../store/store.ts'

/** The state in a word or a few, with the seconds until the next try. `now` is ms since the epoch. */
export function linkWords(link: LinkView, now: number): string {
  if (link.state === 'open') return 'Connected'
  if (link.state === 'opening') return 'Connecting'
  if (link.retryAt === null) return 'Disconnected'
  const seconds = Math.ceil((link.retryAt - now) / 1000)
  return seconds > 0 ? `Reconnecting in ${seconds} s` : 'Reconnecting'
}

/** The mode's label; its bare name when the table has none of that name. */
export function modeWords(name: string): string {
  return modeNamed(name)?.label ?? name
}

/** What to add when the server saw another HTTP version than the mode asks for; null when they agree. */
export function spokenWords({ mode, spokenHttp }: LinkView): string | null {
  const asked = modeNamed(mode)?.http
  if (spokenHttp === null || asked === undefined || asked === spokenHttp) return null
  return `in fact over HTTP/${spokenHttp}`
}

/** For screen readers, once for each change of state, so without a countdown. */
export function linkAnnouncement(link: LinkView): string {
  if (link.state === 'open') return `Connected by ${modeWords(link.mode)}.`
  if (link.state === 'opening') return `Connecting by ${modeWords(link.mode)}.`
  return ['The connection is lost.', link.reason].filter(Boolean).join(' ')
}
