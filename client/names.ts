// Names that a key proves, so that nobody else may speak for a window.

import { fingerprintLength } from '../protocol/messages.ts'

export const newKey = () => base64url(crypto.getRandomValues(new Uint8Array(18)))

/** Returns the prefix of names under this key. Needs a secure context (W3C Web Cryptography API). */
export async function fingerprintOf(key: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key))
  return base64url(new Uint8Array(digest)).slice(0, fingerprintLength)
}

/** RFC 4648, section 5; no name has room for padding. */
function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes))
  return text.replaceAll('+', '-').replaceAll('/', '_')
}
