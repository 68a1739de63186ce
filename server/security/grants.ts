// Grants: what a client may read and write, and for which names it may speak.

import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { fingerprintIn, fingerprintLength, keyPattern } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { fits } from '../channels/channel-type.ts'

/** Rights of a client. Channels by name, or by a prefix and `*`. */
export interface Rights {
  readonly read: readonly string[]
  readonly write: readonly string[]
  /** Size of a message that it may send, bytes; null leaves it to the settings. */
  readonly maxMessageBytes: number | null
  /** The client's user: others see it with each message. */
  readonly user: string | null
  /** Clients with the same one share quotas; null if there is none. */
  readonly account: string | null
}

interface GrantParts extends Rights {
  /** Ms since the epoch, on the server's clock; null for never. */
  readonly expiresAt: number | null
  readonly isRevoked?: () => boolean
}

/** Rights of a request's sender, and when they end. */
export class Grant implements Rights {
  readonly read: readonly string[]
  readonly write: readonly string[]
  readonly maxMessageBytes: number | null
  readonly user: string | null
  readonly account: string | null
  readonly expiresAt: number | null
  readonly isRevoked: () => boolean

  constructor(parts: GrantParts) {
    this.read = parts.read
    this.write = parts.write
    this.maxMessageBytes = parts.maxMessageBytes
    this.user = parts.user
    this.account = parts.account
    this.expiresAt = parts.expiresAt
    this.isRevoked = parts.isRevoked ?? (() => false)
  }

  /** Whether it may read every channel. */
  get mayReadAll(): boolean {
    return this.read.includes('*')
  }

  /** Whether it may write to every channel. */
  get mayWriteAll(): boolean {
    return this.write.includes('*')
  }

  mayRead(channel: string): boolean {
    return covers(this.read, channel)
  }

  mayWrite(channel: string): boolean {
    return covers(this.write, channel)
  }

  /** `now` is the server's clock, ms since the epoch. */
  hasEnded(now: number): boolean {
    return (this.expiresAt !== null && this.expiresAt <= now) || this.isRevoked()
  }

  /**
   * A browser may have another session since the stream was opened, in which `user` was welcomed. Throws a `Refusal`
   * (401 `other-user`) if this is another's; a client that was not told sends none.
   */
  mustBeOf(user: string | null): void {
    if (!user || user === this.user) return
    const sentence = `This was written by "${user}", but the session is now another user's; open the stream again, and send only what its user wrote.`
    throw new Refusal('other-user', sentence)
  }

  /** Call after slow work. Throws a `Refusal` (401 `session-expired`) if it has ended. */
  mustLast(now: number): void {
    if (this.hasEnded(now)) throw new Refusal('session-expired', sessionEnded)
  }
}

const covers = (patterns: readonly string[], channel: string) =>
  patterns.some((pattern) => fits(pattern, channel))

/** Grant of everyone on an open server. */
export const openGrant = new Grant({
  read: ['*'],
  write: ['*'],
  maxMessageBytes: null,
  user: null,
  account: null,
  expiresAt: null,
})

export type AnyRequest = IncomingMessage | Http2ServerRequest

/** Finds what the sender of a request may do. */
export interface Authorizer {
  /** Rejects with a `Refusal`, 401. */
  readonly grantFor: (request: AnyRequest) => Promise<Grant>
}

export const sessionEnded = 'This session has ended; ask for another one.'

/** Null if allowed; else 403 `not-invited-there`, naming the first channel that is not covered. */
export function refuseReading(grant: Grant, channels: Iterable<string>): Refusal | null {
  for (const channel of channels) if (!grant.mayRead(channel)) return notInvitedThere(channel)
  return null
}

/** Null if allowed; else a 403 with the draft's `id`: `read-only-invitation`, or `not-invited-there`. */
export function refuseWriting(grant: Grant, channel: string, id: string | null = null): Refusal | null {
  if (grant.mayWrite(channel)) return null
  if (!grant.mayRead(channel)) return notInvitedThere(channel, id)
  const sentence = `This session lets you read "${channel}", but not write there; ask for one that lets you write.`
  return new Refusal('read-only-invitation', sentence, id)
}

function notInvitedThere(channel: string, id: string | null = null): Refusal {
  const sentence = `This session does not cover channel "${channel}"; ask for one that does.`
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
