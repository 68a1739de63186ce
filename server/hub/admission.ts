// The one door for drafts from windows: what is not of the right shape stays outside, with a sentence that says why.

import { z } from 'zod'
import { Refusal } from '../refusal.ts'
import type { Draft } from '../wire/envelope.ts'

const name = (most: number) =>
  z
    .string()
    .regex(new RegExp(`^[A-Za-z0-9_.-]{1,${most}}$`), `must be 1 to ${most} letters, digits, "-", "_" or "."`)

/** Windows may send edits; readings come from sources alone. */
const draftSchema = z.strictObject({
  id: name(64),
  channel: name(64),
  kind: z.literal('edit', 'must be "edit"'),
  from: name(48),
  at: z.number(),
  body: z.strictObject({ html: z.string() }),
})

/** The channels that sources write to; a window reads them and may not write there. */
const sourceChannels: ReadonlySet<string> = new Set(['wind'])

/** Throws a `Refusal` (400 `bad-shape`, 403 `read-only-channel`) that names the field. */
export function admitDraft(given: unknown): Draft {
  const parsed = draftSchema.safeParse(given)
  if (!parsed.success) throw badShape(given, parsed.error)
  if (sourceChannels.has(parsed.data.channel)) {
    const sentence = `Channel "${parsed.data.channel}" is written by the sensor alone; send edits to the page's own channel.`
    throw new Refusal(403, 'read-only-channel', sentence, parsed.data.id)
  }
  return parsed.data
}

function badShape(given: unknown, error: z.ZodError): Refusal {
  const [issue] = error.issues
  const place = issue?.path.join('.') || 'the message'
  const sentence = `The message does not fit: ${place}: ${issue?.message ?? 'wrong'}. PROTOCOL.md shows its shape.`
  return new Refusal(400, 'bad-shape', sentence, idOf(given))
}

/** The message's id, where it has a proper one: a refusal names it. */
export function idOf(given: unknown): string | null {
  const named = z.object({ id: name(64) }).safeParse(given)
  return named.success ? named.data.id : null
}

const joinSchema = z.object({
  window: name(48),
  browser: name(48).nullable(),
  channels: z.array(name(64)).min(1, 'name at least one channel').max(8, 'name at most 8 channels'),
})

/** What a stream's query says: `?window=…&channels=main,wind&browser=…&cursor=…`. */
export function admitJoining(query: URLSearchParams) {
  const parsed = joinSchema.safeParse({
    window: query.get('window') ?? undefined,
    browser: query.get('browser'),
    channels: (query.get('channels') ?? '').split(',').filter(Boolean),
  })
  if (parsed.success) return { ...parsed.data, channels: new Set(parsed.data.channels) }
  const [issue] = parsed.error.issues
  throw new Refusal(
    400,
    'bad-query',
    `The stream's query does not fit: ${String(issue?.path[0])}: ${issue?.message}.`,
  )
}
