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

/** What to add when another mode is in use than was asked for, or another HTTP version; null when they agree. */
export function spokenWords({ mode, wished, spokenHttp }: LinkView): string | null {
  if (mode !== wished) return `in fact ${modeWords(mode)}`
  const asked = modeNamed(mode)?.http
  if (spokenHttp === null || asked === undefined || asked === spokenHttp) return null
  return `in fact over HTTP/${spokenHttp}`
}

const fallReasons: Readonly<Record<NonNullable<LinkView['fall']>, (label: string) => string>> = {
  blocked: (label) => `${label} does not get through here`,
  flapping: (label) => `${label} ends again and again here`,
  unsupported: (label) => `This browser cannot do ${label}`,
}

/** Why the window is connected by another mode than was asked for; null while it is not. */
export function fallWords({ state, mode, wished, fall }: LinkView): string | null {
  if (state !== 'open' || fall === null) return null
  return `${fallReasons[fall](modeWords(wished))}; connected by ${modeWords(mode)} meanwhile.`
}

/** For screen readers, once for each change of state, so without a countdown. */
export function linkAnnouncement(link: LinkView): string {
  if (link.state === 'open') return `Connected by ${modeWords(link.mode)}.`
  if (link.state === 'opening') return `Connecting by ${modeWords(link.mode)}.`
  return ['The connection is lost.', link.reason].filter(Boolean).join(' ')
}
