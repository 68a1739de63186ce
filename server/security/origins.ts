// Who may talk to this server from a browser: its own pages, on either of its ports, and whom the config names.

import { Refusal } from '../refusal.ts'

export interface OriginRules {
  /** Ports on which the server's own pages live. */
  readonly ports: () => readonly number[]
  /** Further origins, from the config, `https://wind.example.org`. */
  readonly allowedOrigins: readonly string[]
}

/**
 * True when a page of that origin may send and listen. A request without an Origin comes from no page of
 * another site (browsers always name it on POST and WebSocket), so that it is let in.
 */
export function isOwnOrigin(
  origin: string | undefined,
  host: string | undefined,
  rules: OriginRules,
): boolean {
  // A page of this very port: so it is for nearly every request, and nothing needs to be taken apart.
  if (origin === undefined || origin === `https://${host}`) return true
  if (rules.allowedOrigins.includes(origin)) return true
  const from = URL.canParse(origin) ? new URL(origin) : null
  const to = host && URL.canParse(`https://${host}`) ? new URL(`https://${host}`) : null
  if (!from || !to || from.protocol !== 'https:' || from.hostname !== to.hostname) return false
  return from.host === to.host || rules.ports().includes(Number(from.port || 443))
}

export function refuseForeign(origin: string): Refusal {
  const sentence = `Pages of ${origin} may not talk to this server; name that origin in allowedOrigins to let them.`
  return new Refusal(403, 'foreign-origin', sentence)
}
