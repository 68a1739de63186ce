// Permits: what an application allows a client, checked as strictly as what a stranger sends.

import type { IncomingHttpHeaders } from 'node:http2'
import { inspect } from 'node:util'
import { cutText } from '../../protocol/graphemes.ts'
import { isChannelName } from '../../protocol/messages.ts'
import { refuseOthers } from '../../scripts/suggestion.ts'
import type { AnyRequest, Rights } from './grants.ts'

/** Rights that the application grants. Channels by name, or by a prefix and `*`. */
export interface Permit {
  readonly read: readonly string[]
  readonly write: readonly string[]
  /**
   * Ms since the epoch, as `Date.now()` has it; then the application is asked again. Default: in an
   * hour. A ticket, and a permit with a `user`, ends after a day at the latest.
   */
  readonly expiresAt?: number
  /**
   * The client's user, at most 256 bytes: others see it with each message.
   */
  readonly user?: string
  /**
   * Account whose share of the windows (half at most) and of new channels it takes from, at most 256 bytes;
   * others do not see it. Default: the user.
   */
  readonly account?: string
  /** The largest message that it may send, bytes. Default: `limits.maxMessageBytes`, 4096 if `write` is empty. */
  readonly maxMessageBytes?: number
}

/** What an application decides by. */
export interface Asking {
  /**
   * Node's own, with what middleware before Crosswind has added, such as a session. Its body must not be
   * read. A WebSocket's has passed no middleware.
   */
  readonly request: AnyRequest
  readonly headers: IncomingHttpHeaders
  /** Posted to `session`, or a bearer token (RFC 6750); null without one. */
  readonly token: string | null
}

/**
 * Asks an application who may do what. Null, undefined or false refuses, and so does a `Refusal` that it
 * throws, which the client receives.
 */
export type Authorize = (asking: Asking) => Answer | Promise<Answer>

type Answer = Permit | null | undefined | false

export interface CheckedPermit extends Rights {
  readonly expiresAt: number
}

const usualLifeMs = 3_600_000
export const longestLifeMs = 86_400_000
const maxUserBytes = 256

const permitNames: readonly (keyof Permit)[] = [
  'read',
  'write',
  'expiresAt',
  'user',
  'account',
  'maxMessageBytes',
]

/**
 * A copy, so that what the application changes later has no effect; null if it refuses. `now` is
 * the application's clock. Throws an `Error` for the operator, which names what does not fit.
 */
export function checkPermit(answer: unknown, now: number): CheckedPermit | null {
  if (answer === null || answer === undefined || answer === false) return null
  if (typeof answer !== 'object' || Array.isArray(answer))
    throw new Error(`authorize returned ${shown(answer)}; it must return { read, write }, or null to refuse.`)
  refuseOthers('The permit that authorize returned', answer, permitNames)
  const given: Partial<Record<keyof Permit, unknown>> = answer
  const { read, write, expiresAt, maxMessageBytes } = given
  const user = given.user === undefined ? null : checkUser('authorize: user', given.user)
  // Permits of users can be revoked, and revocations are forgotten.
  const latest = user === null ? Number.POSITIVE_INFINITY : now + longestLifeMs
  return {
    read: patternsIn('read', read),
    write: patternsIn('write', write),
    expiresAt: expiresAt === undefined ? now + usualLifeMs : Math.min(endIn(expiresAt, now), latest),
    user,
    account: given.account === undefined ? user : checkUser('authorize: account', given.account),
    maxMessageBytes: maxMessageBytes === undefined ? null : bytesIn(maxMessageBytes),
  }
}

/** A channel's name, or the beginning of one and `*`. */
export const isPattern = (given: unknown): given is string =>
  typeof given === 'string' && isChannelName(given.replace(/\*$/, 'x'))

function patternsIn(field: string, given: unknown): readonly string[] {
  if (!Array.isArray(given))
    throw new Error(
      `authorize: ${field} is ${shown(given)}; it must be a list of channels, such as ['room.*'], which may be empty.`,
    )
  // A list may have holes.
  return Array.from(given, (pattern: unknown) => {
    if (isPattern(pattern)) return pattern
    throw new Error(
      `authorize: ${field} has ${shown(pattern)}; each must be a channel's name, or the beginning of one and *.`,
    )
  })
}

function bytesIn(given: unknown): number {
  if (Number.isSafeInteger(given) && Number(given) > 0) return Number(given)
  throw new Error(
    `authorize: maxMessageBytes is ${shown(given)}; it must be a whole number of bytes above 0.`,
  )
}

function endIn(given: unknown, now: number): number {
  const must = 'it must be in ms since the epoch, a number after Date.now()'
  if (typeof given !== 'number' || !Number.isFinite(given))
    throw new Error(`authorize: expiresAt is ${shown(given)}; ${must}.`)
  if (given > now) return given
  throw new Error(`authorize: expiresAt is ${given}, which is past; ${must}.`)
}

/** Throws an `Error` that names the value. `what` has it. */
export function checkUser(what: string, given: unknown): string {
  const isUser =
    typeof given === 'string' &&
    given !== '' &&
    given.isWellFormed() &&
    Buffer.byteLength(given) <= maxUserBytes
  if (isUser) return given
  throw new Error(`${what} is ${shown(given)}; it must be a text of 1 to ${maxUserBytes} bytes.`)
}

const shown = (value: unknown) =>
  cutText(inspect(value, { depth: 1, maxArrayLength: 5, breakLength: Number.POSITIVE_INFINITY }), 120)
