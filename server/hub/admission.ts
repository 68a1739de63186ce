// The one door for drafts from windows: what is not of the right shape stays outside, with a sentence that says why.

import { z } from 'zod'
import { Refusal } from '../refusal.ts'
import type { Draft } from '../wire/envelope.ts'
import { pageOfOverview } from '../wire/overview.ts'

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

/** The channels that sources write to, as overviews have them too; a window reads them and may not write there. */
const sourceChannels: ReadonlySet<string> = new Set(['wind'])

/** Under these names the server's own messages are stored: who could use one could have them taken for repeats. */
export const sensorName = 'sensor'
export const overviewName = 'overview'
const reservedNames = [sensorName, overviewName]

/** Throws a `Refusal` (400 `bad-shape`, 403 `read-only-channel` or `reserved-name`) that names the field. */
export function admitDraft(given: unknown): Draft {
  const parsed = draftSchema.safeParse(given)
  if (!parsed.success) throw badShape(given, parsed.error)
  const { id, channel, from } = parsed.data
  if (sourceChannels.has(channel) || pageOfOverview(channel) !== null) {
    const sentence = `Channel "${channel}" is written by the server alone; send edits to the page's own channel.`
    throw new Refusal(403, 'read-only-channel', sentence, id)
  }
  const reserved = reservedNames.find((name) => from === name || id.startsWith(`${name}-`))
  if (reserved !== undefined) {
    const sentence = `"${reserved}" is a name of the server's own; give the window another one, in from and id.`
    throw new Refusal(403, 'reserved-name', sentence, id)
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

/** Throws a `Refusal` (400 `bad-query`) when that is no channel's name. */
export function admitChannel(given: string): string {
  const parsed = name(64).safeParse(given)
  if (parsed.success) return parsed.data
  throw new Refusal(
    400,
    'bad-query',
    `The channel's name ${JSON.stringify(given.slice(0, 80))} does not fit.`,
  )
}

const joinSchema = z.object({
  window: name(48),
  browser: name(48).nullable(),
  opening: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  channels: z.array(name(64)).min(1, 'name at least one channel'),
})

/** What a stream's query says: `?window=…&channels=main,wind&browser=…&opening=…&cursor=…`. Throws a `Refusal` (400 `bad-query`). */
export function admitJoining(query: URLSearchParams, maxChannels: number) {
  const channels = new Set((query.get('channels') ?? '').split(',').filter(Boolean))
  const parsed = joinSchema.safeParse({
    window: query.get('window') ?? undefined,
    browser: query.get('browser'),
    opening: query.get('opening') ?? 0,
    channels: [...channels],
  })
  if (parsed.success && channels.size <= maxChannels) return { ...parsed.data, channels }
  const [issue] = parsed.error?.issues ?? []
  const why = issue
    ? `${String(issue.path[0])}: ${issue.message}`
    : `channels: ${channels.size} are more than ${maxChannels} (limits.channelsPerWindow)`
  throw new Refusal(400, 'bad-query', `The stream's query does not fit: ${why}.`)
}
