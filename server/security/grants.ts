// Grants: what a client may read and write, and for which names it may speak.

import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http2'
import { z } from 'zod'
import { fingerprintIn, fingerprintLength, isChannelName, keyPattern } from '../wire/messages.ts'
import { Refusal } from '../wire/refusal.ts'

/** Browsers drop cookies of over 4,096 bytes (RFC 6265, 6.1). */
export const mostChannels = 32

const channelName = z.string().refine(isChannelName)

export const permissionSchema = z.object({
  channels: z.union([z.literal('all'), z.array(channelName).min(1).max(mostChannels).readonly()]),
  may: z.enum(['read', 'write']),
})

export type Permission = Readonly<z.output<typeof permissionSchema>>

/**
 * Which channel's permission counts for a channel; null if everybody may. Without rules, its own.
 */
export interface GrantRules {
  readonly read: (channel: string) => string | null
  readonly write: (channel: string) => string | null
}

export interface Grant {
  readonly channels: ReadonlySet<string> | 'all'
  /** If other channels may be written than read. */
  readonly writable?: ReadonlySet<string>
  readonly may: 'read' | 'write'
  readonly rules?: GrantRules | undefined
  /** Given by an application, which tells its clients apart as users. */
  readonly isOfApplication?: true
  /** End of the session, ms since the epoch; null for never. */
  readonly expiresAt: number | null
  /** Absent if nobody can revoke it. */
  readonly isRevoked?: () => boolean
  /** The same for everyone with the same link; null on an open server. */
  readonly invitation: string | null
}

export const openGrant: Grant = { channels: 'all', may: 'write', expiresAt: null, invitation: null }

/** Finds what the sender of a request may do. */
export interface Gate {
  /** Rejects with a `Refusal`, 401. */
  readonly grantFor: (request: Asking) => Promise<Grant>
}

export interface Asking {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
}

/** `until` is the end of the invitation. */
export function grantFrom(
  { channels, may }: Permission,
  expiresAt: number,
  until = expiresAt,
  rules?: GrantRules,
): Grant & { expiresAt: number } {
  const invitation = `${may} ${until} ${channels}`
  return { channels: channels === 'all' ? 'all' : new Set(channels), may, rules, expiresAt, invitation }
}

export const hasEnded = ({ expiresAt, isRevoked }: Grant, now: number) =>
  (expiresAt !== null && expiresAt <= now) || isRevoked?.() === true

export const sessionEnded =
  'Your session has ended; open your link again, or ask for a new one (`npm run invite` makes one).'

export const ticketEnded = 'This ticket has ended; post the token to session again.'

/** Call after slow work: the session may have ended. Throws a `Refusal`, 401 `session-expired`. */
export function mustLast(grant: Grant, now: number): void {
  if (!hasEnded(grant, now)) return
  throw new Refusal('session-expired', grant.isOfApplication ? ticketEnded : sessionEnded)
}

/** Tokens end in whole seconds; the clocks of two grants differ by less. */
const secondMs = 1000

/** Whether `one` allows everything that `other` does, for as long. */
export function includes(one: Grant, other: Grant): boolean {
  const channels = other.channels === 'all' ? null : [...other.channels]
  return (
    (one.channels === 'all' || channels?.every((channel) => isCovered(one, channel)) === true) &&
    (one.may === 'write' || other.may === 'read') &&
    (one.expiresAt === null || (other.expiresAt !== null && one.expiresAt + secondMs > other.expiresAt))
  )
}

/** Undefined if all channels are covered. */
export const firstChannel = ({ channels }: Grant) => (channels === 'all' ? undefined : [...channels][0])

/** Null if allowed; else 403 `not-invited-there`, naming the first channel that is not covered. */
export function refuseReading(grant: Grant, channels: Iterable<string>): Refusal | null {
  for (const channel of channels) {
    const source = grant.rules ? grant.rules.read(channel) : channel
    if (source !== null && !isCovered(grant, source)) return notInvitedThere(grant, channel)
  }
  return null
}

/** Null if allowed; else a 403 with the draft's `id`. */
export function refuseWriting(grant: Grant, channel: string, id: string | null = null): Refusal | null {
  const source = grant.rules ? grant.rules.write(channel) : channel
  if (source === null) return null
  if (!isCovered({ channels: grant.writable ?? grant.channels }, source))
    return notInvitedThere(grant, channel, id)
  if (grant.may === 'write') return null
  const sentence = 'Your invitation is read-only; ask for one that lets you write.'
  return new Refusal('read-only-invitation', sentence, id)
}

const isCovered = ({ channels }: Pick<Grant, 'channels'>, channel: string) =>
  channels === 'all' || channels.has(channel)

function notInvitedThere({ isOfApplication }: Grant, channel: string, id: string | null = null): Refusal {
  const sentence = isOfApplication
    ? `The application does not let this client use channel "${channel}" (authorize).`
    : `Your invitation does not cover channel "${channel}"; ask for one that does.`
  return new Refusal('not-invited-there', sentence, id)
}

/**
 * Returns the prefix of the names that a query's key proves; null without a key. Throws a `Refusal`
 * (400 `bad-query`).
 */
export function fingerprintFor(query: URLSearchParams): string | null {
  const key = query.get('key')
  if (key === null) return null
  if (keyPattern.test(key)) return hash('sha256', key, 'base64url').slice(0, fingerprintLength)
  // Omits the secret: responses may be logged.
  const sentence = `Invalid key: it has ${key.length} characters, but must have 22 to 64 letters, digits, "-" or "_".`
  throw new Refusal('bad-query', sentence)
}

/** Null if the key proves the name, or the name is free; else 403 `not-your-name`. */
export function refuseName(name: string, fingerprint: string | null, id: string | null = null) {
  const needed = fingerprintIn(name)
  if (needed === null || needed === fingerprint) return null
  const sentence = `The name "${name}" belongs to a key that this request did not send; add it (key=…), or use a name of your own.`
  return new Refusal('not-your-name', sentence, id)
}

/** Like `refuseName`, but refuses free names too. */
export function refuseSpeaking(name: string, fingerprint: string | null): Refusal | null {
  if (fingerprintIn(name) !== null) return refuseName(name, fingerprint)
  const sentence = `"${name}" is a free name, and nobody can speak for it; create a key, and use the name that it gives (PROTOCOL.md, "Names").`
  return new Refusal('not-your-name', sentence)
}
