// Who may come in: from a cookie to a grant, from an invitation to a cookie. Knows no Koa, for WebSockets ask here too.

import type { KeyObject } from 'node:crypto'
import { type Grant, grantFrom, hasEnded, openGrant } from './grant.ts'
import { verifyInvitation } from './invitation.ts'
import {
  cookieFor,
  renewed,
  type Session,
  sessionExpired,
  sessionTokenIn,
  startSession,
  verifySession,
} from './session.ts'

export interface AccessParts {
  /** Whether everybody may come in and write. */
  readonly isOpen: boolean
  readonly key: KeyObject
  /** How long a session lasts, in ms, unless its invitation ends before. */
  readonly sessionMs: number
  /** Ms since the epoch. */
  readonly now: () => number
  /** Sessions that are kept so that their signature is not checked with every request; a few hundred bytes each. */
  readonly cachedSessions?: number
}

export interface Entry {
  readonly grant: Grant
  /** The value of a Set-Cookie header; null where there is no session to renew, for the server is open. */
  readonly setCookie: string | null
}

export interface Access {
  readonly isOpen: boolean
  /** Throws a Refusal: 401 `no-session` or `session-expired`. Costs microseconds for a cookie that was seen before. */
  readonly grantFor: (cookieHeader: string | undefined) => Promise<Grant>
  /** Opens a session. Throws a Refusal: 401 `invitation-invalid` or `invitation-expired`. */
  readonly redeem: (invitationToken: string) => Promise<Entry>
  /** Gives a session that still runs a new end. Throws what `grantFor` throws. */
  readonly renew: (cookieHeader: string | undefined) => Promise<Entry>
}

interface Known {
  readonly session: Session
  readonly grant: Grant
}

export function createAccess({ isOpen, key, sessionMs, now, cachedSessions = 2048 }: AccessParts): Access {
  // Only what was signed here comes in, so that nobody without an invitation can push others out.
  const known = new Map<string, Known>()

  async function knownFor(cookieHeader: string | undefined): Promise<Known> {
    const token = sessionTokenIn(cookieHeader)
    const found = known.get(token) ?? (await verifyAndKeep(token))
    if (!hasEnded(found.grant, now())) return found
    known.delete(token)
    throw sessionExpired()
  }

  async function verifyAndKeep(token: string): Promise<Known> {
    const session = await verifySession(token, key, now())
    const found = { session, grant: grantFrom(session, session.expiresAt) }
    // The oldest leaves: it is the likeliest to have been renewed under another token.
    const [oldest] = known.keys()
    if (known.size >= cachedSessions && oldest !== undefined) known.delete(oldest)
    known.set(token, found)
    return found
  }

  async function entryTo(session: Session): Promise<Entry> {
    const setCookie = await cookieFor(session, key, now())
    return { grant: grantFrom(session, session.expiresAt), setCookie }
  }

  return {
    isOpen,
    async grantFor(cookieHeader) {
      return isOpen ? openGrant : (await knownFor(cookieHeader)).grant
    },
    async redeem(invitationToken) {
      return entryTo(startSession(await verifyInvitation(invitationToken, key, now()), now(), sessionMs))
    },
    async renew(cookieHeader) {
      if (isOpen) return { grant: openGrant, setCookie: null }
      const { session } = await knownFor(cookieHeader)
      return entryTo(renewed(session, now(), sessionMs))
    },
  }
}
