// Sessions: what a browser holds after an invitation, a signed token in a cookie, so that the server keeps no list.

import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { Refusal } from '../refusal.ts'
import { type Permission, permissionSchema } from './grant.ts'
import type { Invitation } from './invitation.ts'
import { sign, type TokenKind, verify } from './token.ts'

export interface Session extends Permission {
  /** Ms since the epoch; never after `until`. */
  readonly expiresAt: number
  /** When the invitation ends, ms since the epoch. */
  readonly until: number
}

const claims = permissionSchema.extend({ until: z.int() })
const sessionToken: TokenKind<z.output<typeof claims>> = { purpose: 'session', claims }

/** `__Host-`: a browser takes it over TLS alone and for this host alone; it knows no ports, so that both of ours get it. */
const cookieName = '__Host-crosswind'

const cookiePattern = new RegExp(`(?:^|;\\s*)${cookieName}=([^;]*)`)

/** The session that an invitation opens at `now`, for `sessionMs` or as long as the invitation runs. */
export function startSession(
  { channels, may, expiresAt: until }: Invitation,
  now: number,
  sessionMs: number,
): Session {
  return renewed({ channels, may, expiresAt: until, until }, now, sessionMs)
}

/** The same session with a new end, which is again never after the invitation's. */
export function renewed(session: Session, now: number, sessionMs: number): Session {
  // Whole seconds, as the token keeps it: what a window is told is what will be checked.
  const end = Math.floor((now + sessionMs) / 1000) * 1000
  return { ...session, expiresAt: Math.min(end, session.until) }
}

/** The value of a Set-Cookie header (RFC 6265bis). */
export async function cookieFor(session: Session, key: KeyObject, now: number): Promise<string> {
  const { expiresAt, until, ...permission } = session
  const token = await sign(sessionToken, { claims: { ...permission, until }, endsAt: expiresAt }, key)
  const seconds = Math.max(0, Math.floor((expiresAt - now) / 1000))
  // Lax, not Strict: with Strict the cookie would not go along on the redirect after a link was clicked in a mail.
  return `${cookieName}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; Secure; SameSite=Lax`
}

/** The token in a Cookie header. Throws 401 `no-session` when there is none. */
export function sessionTokenIn(cookieHeader: string | undefined): string {
  const token = cookieHeader === undefined ? undefined : cookiePattern.exec(cookieHeader)?.[1]
  if (!token) throw noSession()
  return token
}

/** `now` in ms since the epoch. Throws a Refusal: 401 `no-session` or `session-expired`. */
export async function verifySession(token: string, key: KeyObject, now: number): Promise<Session> {
  const verified = await verify(sessionToken, token, key, now)
  if (verified === 'expired') throw sessionExpired()
  if (verified === 'invalid') throw noSession()
  return { ...verified.claims, expiresAt: verified.endsAt }
}

function noSession(): Refusal {
  const sentence =
    'This server is by invitation; open the link that you were given, or ask for a new one (`npm run invite` makes one).'
  return new Refusal(401, 'no-session', sentence)
}

export function sessionExpired(): Refusal {
  const sentence =
    'Your session has ended; open your link once more, or ask for a new one (`npm run invite` makes one).'
  return new Refusal(401, 'session-expired', sentence)
}
