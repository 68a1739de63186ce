// What somebody may do here, and the checks on it.

import { z } from 'zod'
import { Refusal } from '../refusal.ts'
import { pageOfOverview } from '../wire/overview.ts'

export const channelName = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/)

/** More would not fit: a browser silently drops a cookie of over 4,096 bytes (RFC 6265, 6.1). */
export const mostChannels = 32

/** What a signed token permits. */
export const permissionSchema = z.object({
  channels: z.union([z.literal('all'), z.array(channelName).min(1).max(mostChannels).readonly()]),
  may: z.enum(['read', 'write']),
})

export type Permission = Readonly<z.output<typeof permissionSchema>>

export interface Grant {
  readonly channels: ReadonlySet<string> | 'all'
  /** Who may write may read too. */
  readonly may: 'read' | 'write'
  /** When the session ends, ms since the epoch; null for never. */
  readonly expiresAt: number | null
}

/** What everybody has where no invitation is needed. */
export const openGrant: Grant = { channels: 'all', may: 'write', expiresAt: null }

/** The wind blows for everyone: every grant reads it. */
const commonChannels: ReadonlySet<string> = new Set(['wind'])

export function grantFrom({ channels, may }: Permission, expiresAt: number): Grant {
  return { channels: channels === 'all' ? 'all' : new Set(channels), may, expiresAt }
}

/** Whether the grant's session is over at `now`, ms since the epoch. */
export function hasEnded({ expiresAt }: Grant, now: number): boolean {
  return expiresAt !== null && expiresAt <= now
}

/**
 * Null when all of these channels may be read; otherwise 403 `not-invited-there`, naming the first that may not. A page's
 * overview, made of it and of the wind, may be read by those who may read the page.
 */
export function refuseReading(grant: Grant, channels: Iterable<string>): Refusal | null {
  for (const channel of channels) {
    const source = pageOfOverview(channel) ?? channel
    if (!commonChannels.has(source) && !isCovered(grant, source)) return notInvitedThere(channel, null)
  }
  return null
}

/** Null when that channel may be written; otherwise a 403 with the draft's `id`. */
export function refuseWriting(grant: Grant, channel: string, id: string | null = null): Refusal | null {
  if (!isCovered(grant, channel)) return notInvitedThere(channel, id)
  return grant.may === 'write' ? null : readOnly(id)
}

function isCovered({ channels }: Grant, channel: string): boolean {
  return channels === 'all' || channels.has(channel)
}

function notInvitedThere(channel: string, id: string | null): Refusal {
  const sentence = `Your invitation does not cover channel "${channel}"; ask for one that does.`
  return new Refusal(403, 'not-invited-there', sentence, id)
}

function readOnly(id: string | null): Refusal {
  const sentence = 'Your invitation is for reading only; ask for one that lets you write.'
  return new Refusal(403, 'read-only-invitation', sentence, id)
}
