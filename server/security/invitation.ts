// Invitations: signed links that end, each saying which channels it opens and whether to write there.

import type { KeyObject } from 'node:crypto'
import { Refusal } from '../refusal.ts'
import { type Permission, permissionSchema } from './grant.ts'
import { sign, type TokenKind, verify } from './token.ts'

export interface Invitation extends Permission {
  /** Ms since the epoch; rounded down to a whole second in the link. */
  readonly expiresAt: number
}

const invitationToken: TokenKind<Permission> = { purpose: 'invitation', claims: permissionSchema }

/** Where an invitation is redeemed. */
export const joinPath = '/join'

/** The token of an invitation. Rejects when a channel's name is none, or there are none or more than 32. */
export function makeInvitation({ expiresAt, ...permission }: Invitation, key: KeyObject): Promise<string> {
  return sign(invitationToken, { claims: permission, endsAt: expiresAt }, key)
}

/** `origin` is like `https://localhost:8443`. */
export function invitationLink(origin: string, token: string): string {
  return `${origin}${joinPath}?invitation=${token}`
}

/** `now` in ms since the epoch. Throws a Refusal: 401 `invitation-invalid` or `invitation-expired`. */
export async function verifyInvitation(token: string, key: KeyObject, now: number): Promise<Invitation> {
  const verified = await verify(invitationToken, token, key, now)
  if (verified === 'expired') throw invitationExpired()
  if (verified === 'invalid') throw invitationInvalid()
  return { ...verified.claims, expiresAt: verified.endsAt }
}

function invitationInvalid(): Refusal {
  const sentence =
    'This is no invitation of this server, or a part of the link got lost; ask for a new link (`npm run invite` makes one).'
  return new Refusal(401, 'invitation-invalid', sentence)
}

function invitationExpired(): Refusal {
  const sentence = 'This invitation has ended; ask for a new link (`npm run invite` makes one).'
  return new Refusal(401, 'invitation-expired', sentence)
}
