// The address of a link, as a person types it.

import { safeLink } from '../../app/document/rich-text.ts'

type TypedAddress = { readonly href: string } | { readonly refusal: string }

const examples = 'such as example.org or name@example.org'

/** Completes `example.org` and `name@example.org`; a refusal is one sentence. */
export function addressTyped(words: string): TypedAddress {
  const typed = words.trim()
  if (typed === '') return { refusal: `Type an address, ${examples}.` }
  const hasPort = /^[^\s/:@]+:\d+(?:[/?#]|$)/.test(typed)
  if (/^[a-z][a-z0-9+.-]*:/i.test(typed) && !hasPort) {
    const href = safeLink(typed)
    return href === null
      ? { refusal: 'A link must begin with https:, http:, ftp:, mailto: or tel:.' }
      : { href }
  }
  if (/^[^\s@/]+@[^\s@/.]+(?:\.[^\s@/.]+)+$/.test(typed)) return { href: `mailto:${typed}` }
  const href = `https://${typed.replace(/^\/\//, '')}`
  const isHost = /^https:\/\/(?:[^\s/.:?#]+(?:\.[^\s/.:?#]+)+|localhost)\.?(?::\d+)?(?:[/?#]\S*)?$/i.test(
    href,
  )
  return isHost && URL.canParse(href) && safeLink(href) !== null
    ? { href }
    : { refusal: `That is not an address, ${examples}.` }
}
