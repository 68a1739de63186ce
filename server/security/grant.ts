// What a client may do: channels it may read and write, names it may use.

import { hash } from 'node:crypto'
import { z } from 'zod'
import { Refusal } from '../refusal.ts'
import {
  fingerprintIn,
  fingerprintLength,
  isChannelName,
  keyPattern,
  pageOfOverview,
} from '../wire/messages.ts'

/** Browsers drop cookies of over 4,096 bytes (RFC 6265, 6.1). */
export const mostChannels = 32

const channelName = z.string().refine(isChannelName)

export const permissionSchema = z.object({
  channels: z.union([z.literal('all'), z.array(channelName).min(1).max(mostChannels).readonly()]),
  may: z.enum(['read', 'write']),
})

export type Permission = Readonly<z.output<typeof permissionSchema>>

export interface Grant {
  readonly channels: ReadonlySet<string> | 'all'
  readonly may: 'read' | 'write'
  /** End of the session, ms since the epoch; null for never. */
  readonly expiresAt: number | null
}

export const openGrant: Grant = { channels: 'all', may: 'write', expiresAt: null }

export function grantFrom({ channels, may }: Permission, expiresAt: number): Grant & { expiresAt: number } {
  return { channels: channels === 'all' ? 'all' : new Set(channels), may, expiresAt }
}

/** Undefined if all are covered. */
export const firstChannel = ({ channels }: Grant) => (channels === 'all' ? undefined : [...channels][0])

/**
 * Null if allowed; else 403 `not-invited-there`, naming the first channel that is not. An overview is readable if its
 * page is, the wind with every grant.
 */
export function refuseReading(grant: Grant, channels: Iterable<string>): Refusal | null {
  for (const channel of channels) {
    const source = pageOfOverview(channel) ?? channel
    if (source !== 'wind' && !isCovered(grant, source)) return notInvitedThere(channel, null)
  }
  return null
}

/** Null if allowed; else a 403 with the draft's `id`. */
export function refuseWriting(grant: Grant, channel: string, id: string | null = null): Refusal | null {
  if (!isCovered(grant, channel)) return notInvitedThere(channel, id)
  if (grant.may === 'write') return null
  const sentence = 'Your invitation is for reading only; ask for one that lets you write.'
  return new Refusal(403, 'read-only-invitation', sentence, id)
}

const isCovered = ({ channels }: Grant, channel: string) => channels === 'all' || channels.has(channel)

function notInvitedThere(channel: string, id: string | null): Refusal {
  const sentence = `Your invitation does not cover channel "${channel}"; ask for one that does.`
  return new Refusal(403, 'not-invited-there', sentence, id)
}

/** The prefix of the names that a query's key proves; null without a key. Throws a `Refusal` (400 `bad-query`). */
export function fingerprintFor(query: URLSearchParams): string | null {
  const key = query.get('key')
  if (key === null) return null
  if (keyPattern.test(key)) return hash('sha256', key, 'base64url').slice(0, fingerprintLength)
  // Omits the secret: responses may be logged.
  const sentence = `The key does not fit: it has ${key.length} characters, and must have 22 to 64 letters, digits, "-" or "_".`
  throw new Refusal(400, 'bad-query', sentence)
}

/** Null if the key proves the name, or the name is free; else 403 `not-your-name`. */
export function refuseName(name: string, fingerprint: string | null, id: string | null = null) {
  const needed = fingerprintIn(name)
  if (needed === null || needed === fingerprint) return null
  const sentence = `The name "${name}" belongs to a key that did not come with this; send its key (key=…), or take a name of your own.`
  return new Refusal(403, 'not-your-name', sentence, id)
}

/** As `refuseName`, but refuses free names too. */
export function refuseSpeaking(name: string, fingerprint: string | null): Refusal | null {
  if (fingerprintIn(name) !== null) return refuseName(name, fingerprint)
  const sentence = `"${name}" is a free name, and nobody can speak for it; make a key, and take the name that it gives (PROTOCOL.md, "Names").`
  return new Refusal(403, 'not-your-name', sentence)
}
