// Signed texts (JWT, RFC 7519) that end, each kind for one purpose: none passes for one of another kind.

import type { KeyObject } from 'node:crypto'
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { z } from 'zod'

const algorithm = 'HS256'

export interface TokenKind<Claims extends JWTPayload> {
  readonly purpose: 'invitation' | 'session'
  readonly claims: z.ZodType<Claims>
}

export interface Token<Claims> {
  readonly claims: Claims
  /** Ms since the epoch, whole seconds: a token's end is kept in those. */
  readonly endsAt: number
}

/** Rejects when the claims are not of the kind's shape. `endsAt` is rounded down to a whole second. */
export async function sign<Claims extends JWTPayload>(
  { purpose, claims: shape }: TokenKind<Claims>,
  { claims, endsAt }: Token<Claims>,
  key: KeyObject,
): Promise<string> {
  return new SignJWT(shape.parse(claims))
    .setProtectedHeader({ alg: algorithm, typ: typeOf(purpose) })
    .setAudience(audienceOf(purpose))
    .setExpirationTime(Math.floor(endsAt / 1000))
    .sign(key)
}

/** The token when it is of that kind, signed with that key and not over at `now` (ms since the epoch). */
export async function verify<Claims extends JWTPayload>(
  kind: TokenKind<Claims>,
  token: string,
  key: KeyObject,
  now: number,
): Promise<Token<Claims> | 'expired' | 'invalid'> {
  try {
    const { payload } = await jwtVerify(token, key, {
      // Named here and never taken from the token: RFC 8725, 3.1, and 3.11 for the type.
      algorithms: [algorithm],
      typ: typeOf(kind.purpose),
      audience: audienceOf(kind.purpose),
      requiredClaims: ['exp'],
      currentDate: new Date(now),
    })
    const { success, data } = kind.claims.safeParse(payload)
    return success ? { claims: data, endsAt: (payload.exp ?? 0) * 1000 } : 'invalid'
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    // jose looks at the end last: what it calls expired was signed here, for this purpose.
    return error instanceof errors.JWTExpired ? 'expired' : 'invalid'
  }
}

const typeOf = (purpose: string) => `crosswind-${purpose}+jwt`
const audienceOf = (purpose: string) => `crosswind:${purpose}`
