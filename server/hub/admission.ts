// Admission: validates drafts and queries, naming what does not fit, and limits each sender's rate.

import { z } from 'zod'
import { Refusal } from '../refusal.ts'
import { cutText } from '../wire/graphemes.ts'
import {
  type AwarenessReport,
  channelNameRule,
  type Draft,
  isChannelName,
  isIdOf,
  isTitle,
  logName,
  mostChannelBytes,
  mostNameCharacters,
  mostNamedVersions,
  mostTitleLength,
  pageOfOverview,
  probesChannel,
  windChannel,
} from '../wire/messages.ts'
import type { Clock } from '../wire/time.ts'
import type { Holder } from './subscriber.ts'

const name = (most: number) =>
  z
    .string()
    .regex(new RegExp(`^[A-Za-z0-9_.-]{1,${most}}$`), `must be 1 to ${most} letters, digits, "-", "_" or "."`)

const channelName = z.string().refine(isChannelName, `must be ${channelNameRule}`)

const envelope = { id: name(64), channel: channelName, from: name(48), at: z.number() }
const editSchema = z.strictObject({
  ...envelope,
  kind: z.literal('edit'),
  body: z.strictObject({ html: z.string() }),
})
const updateSchema = z.strictObject({
  ...envelope,
  kind: z.literal('update'),
  body: z.strictObject({ update: z.base64() }),
})

const titleRule = `must be one line of at most ${mostTitleLength} characters, without spaces at its ends`
const titleSchema = z.strictObject({
  ...envelope,
  kind: z.literal('title'),
  body: z.strictObject({ title: z.string().refine(isTitle, titleRule) }),
})

const versionsSchema = z.strictObject({
  ...envelope,
  kind: z.literal('versions'),
  body: z.strictObject({
    versions: z
      .array(z.strictObject({ at: z.number(), name: z.string().refine(isTitle, titleRule) }))
      .min(1)
      .max(mostNamedVersions),
  }),
})

const deletionSchema = z.strictObject({
  ...envelope,
  kind: z.literal('deletion'),
  body: z.strictObject({ deleted: z.boolean() }),
})

const probeSchema = z.strictObject({
  ...envelope,
  kind: z.literal('probe'),
  body: z.strictObject({ text: z.string() }),
})

const draftSchema = z
  .discriminatedUnion(
    'kind',
    [editSchema, updateSchema, titleSchema, versionsSchema, deletionSchema, probeSchema],
    'must be "edit", "update", "title", "versions", "deletion" or "probe"',
  )
  .refine(({ channel, kind }) => (channel === probesChannel) === (kind === 'probe'), {
    path: ['channel'],
    error: `probes go to "${probesChannel}", and nothing else does`,
  })
  // Responses are matched by id: another sender's prefix could be mistaken for its message.
  .refine(({ id, from }) => isIdOf(from, id), {
    path: ['id'],
    error: 'must be the name in from, "-" and a counter without another "-"',
  })

/** Reserved, as the log's: a client under these names could make the server's messages look like repeats. */
export const sensorName = 'sensor'
export const overviewName = 'overview'

/**
 * Whether it is an edit or an update as nearly all are. What passes would pass the schema, whose generic code takes several times as
 * long between two messages, when it is in no cache; a test holds them together.
 */
function isPlainDraft(given: unknown): given is Draft<'edit' | 'update'> {
  if (typeof given !== 'object' || given === null) return false
  const { id, channel, kind, from, at, body } = given as Record<keyof Draft, unknown>
  if (typeof id !== 'string' || typeof channel !== 'string' || typeof from !== 'string') return false
  if (typeof body !== 'object' || body === null || !Number.isFinite(at)) return false
  const { html, update } = body as Record<string, unknown>
  const fits = kind === 'edit' ? typeof html === 'string' : kind === 'update' && isPlainBase64(update)
  if (!fits || fieldsOf(given) !== 6 || fieldsOf(body) !== 1) return false
  if (channel === probesChannel || !plainName.test(channel) || !plainName.test(from) || from.length > 48)
    return false
  return (
    id.length <= 64 &&
    id.length > from.length + 1 &&
    plainId.test(id.slice(from.length)) &&
    id.startsWith(from)
  )
}

const plainName = /^[A-Za-z0-9_.-]{1,64}$/
const plainId = /^-[A-Za-z0-9_.]+$/

function fieldsOf(given: object): number {
  let count = 0
  for (const _ in given) count += 1
  return count
}

/** RFC 4648, 4. */
const isPlainBase64 = (text: unknown) =>
  typeof text === 'string' && text !== '' && text.length % 4 === 0 && plainBase64.test(text)
const plainBase64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Throws a `Refusal` (400 `bad-shape`, 403 `read-only-channel` or `reserved-name`) that names the field. */
export function admitDraft(given: unknown): Draft {
  const { data, error } = isPlainDraft(given) ? { data: given } : draftSchema.safeParse(given)
  if (error) {
    const [issue] = error.issues
    const place = issue?.path.join('.') || 'the message'
    const sentence = `The message does not fit: ${place}: ${issue?.message ?? 'wrong'}. PROTOCOL.md shows its shape.`
    throw new Refusal(400, 'bad-shape', sentence, idOf(given))
  }
  const { id, channel, from } = data
  if (channel === windChannel || pageOfOverview(channel) !== null) {
    const sentence = `Channel "${channel}" is written by the server alone; send edits to the page's own channel.`
    throw new Refusal(403, 'read-only-channel', sentence, id)
  }
  if (from === sensorName || from === overviewName || from === logName) {
    const sentence = `"${from}" is a name of the server's own; give the window another one, in from and id.`
    throw new Refusal(403, 'reserved-name', sentence, id)
  }
  return data
}

/** UTF-16 units of an encoded position in base64; a Yjs one has at most 28. */
const mostPositionCharacters = 64

const positionSchema = z.base64().min(1).max(mostPositionCharacters).nullable()

const awarenessSchema = z.strictObject({
  state: z
    .strictObject({
      client: z.int().min(0).max(0xffffffff),
      name: z
        .string()
        .max(mostNameCharacters)
        .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]*$/u, 'must have no control characters'),
      anchor: positionSchema,
      head: positionSchema,
    })
    .nullable(),
  window: name(48).optional(),
  channel: channelName.optional(),
})

/** Throws a `Refusal` (400 `bad-shape`) that names the field. */
export function admitAwareness(given: unknown): AwarenessReport {
  const { data, error } = awarenessSchema.safeParse(given)
  if (!error) return data as AwarenessReport
  const [issue] = error.issues
  const place = issue?.path.join('.') || 'the report'
  const sentence = `The window's state does not fit: ${place}: ${issue?.message ?? 'wrong'}. PROTOCOL.md shows its shape.`
  throw new Refusal(400, 'bad-shape', sentence)
}

export function idOf(given: unknown): string | null {
  return z.object({ id: name(64) }).safeParse(given).data?.id ?? null
}

/** Normalizes to NFC. Throws a `Refusal` (400 `bad-channel`). */
export function admitChannel(given: string): string {
  const normalized = given.normalize('NFC')
  if (normalized === probesChannel) {
    const sentence = `"${probesChannel}" cannot name a page: measurements use that channel. Take another name.`
    throw new Refusal(400, 'bad-channel', sentence)
  }
  if (isChannelName(normalized)) return normalized
  const shown = JSON.stringify(cutText(given, 80))
  const sentence = `${shown} cannot name a page: use letters and digits of any script, "-", "_" and ".", ${mostChannelBytes} bytes at most.`
  throw new Refusal(400, 'bad-channel', sentence)
}

const windowSchema = z.object({
  window: name(48),
  opening: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
})
const joinSchema = windowSchema.extend({
  channels: z
    .array(channelName)
    .min(1, 'name at least one channel')
    .refine(
      (channels) => channels.length === 1 || !channels.includes(probesChannel),
      `"${probesChannel}" has cursors of its own; read it over a stream of its own`,
    ),
})

/** `?window=…&opening=…`. Throws a `Refusal` (400 `bad-query`). */
export function admitWindow(query: URLSearchParams) {
  const { data, error } = windowSchema.safeParse(windowIn(query))
  if (error) throw new Refusal(400, 'bad-query', `The query does not fit: ${firstIn(error)}.`)
  return data
}

const windowIn = (query: URLSearchParams) => ({
  window: query.get('window') ?? undefined,
  opening: query.get('opening') ?? '0',
})

const firstIn = ({ issues: [issue] }: z.ZodError) => `${String(issue?.path[0])}: ${issue?.message}`

/** `?window=…&channels=main,wind&opening=…`. Throws a `Refusal` (400 `bad-query`). */
export function admitJoining(query: URLSearchParams, maxChannels: number) {
  const channels = new Set((query.get('channels') ?? '').split(',').filter(Boolean))
  const given = { ...windowIn(query), channels: [...channels] }
  const plain = plainJoining(given)
  const { data, error } = plain ? { data: plain } : joinSchema.safeParse(given)
  if (data && channels.size <= maxChannels) return { ...data, channels }
  const why = error
    ? firstIn(error)
    : `channels: ${channels.size} are more than ${maxChannels} (limits.channelsPerWindow)`
  throw new Refusal(400, 'bad-query', `The stream's query does not fit: ${why}.`)
}

/** As `isPlainDraft`: what passes would pass the schema, with the same result; null for others. */
function plainJoining({ window, opening, channels }: ReturnType<typeof windowIn> & { channels: string[] }) {
  if (window === undefined || window.length > 48 || !plainName.test(window)) return null
  if (!plainNumber.test(opening)) return null
  const areFit = channels.length > 0 && channels.every((one) => one !== probesChannel && plainName.test(one))
  return areFit ? { window, opening: Number(opening), channels } : null
}

/** All such numbers are exact. */
const plainNumber = /^[0-9]{1,15}$/

interface Bucket {
  tokens: number
  filledAt: number
}

interface Connection {
  /** Null before the first that has a name. */
  own: Map<string, Bucket> | null
  /** Of the sender without a name, and of those without a bucket of their own. */
  readonly shared: Bucket
  sweptAt: number
}

/** Active senders per connection with their own bucket. */
const ownBuckets = 64

/**
 * `count` messages per sender and period, a second by default, with a burst of one period. Names are free to invent: a client under thousands has
 * the rate of 65 senders, and does not slow other connections. The frames of a stream have the sender "".
 */
export function createRateLimit(count: number, now: Clock, periodMs = 1000) {
  const connections = new WeakMap<object, Connection>()
  const fullBucket = (at: number): Bucket => ({ tokens: count, filledAt: at })

  function bucketOf(connection: object, sender: string, at: number): Bucket {
    let known = connections.get(connection)
    if (!known) {
      known = { own: null, shared: fullBucket(at), sweptAt: Number.NEGATIVE_INFINITY }
      connections.set(connection, known)
    }
    const { shared } = known
    if (sender === '') return shared
    known.own ??= new Map()
    const { own } = known
    const bucket = own.get(sender)
    if (bucket) return bucket
    // At most once a second: unknown senders must not slow every message.
    if (own.size >= ownBuckets && at - known.sweptAt >= 1000) {
      known.sweptAt = at
      // An idle period fills a bucket, as if new.
      for (const [idle, { filledAt }] of own) if (filledAt < at - periodMs) own.delete(idle)
    }
    if (own.size >= ownBuckets) return shared
    const full = fullBucket(at)
    own.set(sender, full)
    return full
  }

  function filled(connection: object, sender: string): Bucket {
    const at = now()
    const bucket = bucketOf(connection, sender, at)
    const tokens = ((at - bucket.filledAt) / periodMs) * count
    bucket.tokens = Math.min(count, bucket.tokens + tokens)
    bucket.filledAt = at
    return bucket
  }

  return {
    /** Takes a token and returns 0; without one, returns the ms to wait. */
    take(connection: object, sender: string): number {
      const bucket = filled(connection, sender)
      if (bucket.tokens < 1) return ((1 - bucket.tokens) / count) * periodMs
      bucket.tokens -= 1
      return 0
    },
    /** What costs more than a token: the next ones wait for it. */
    charge(connection: object, sender: string, tokens: number): void {
      filled(connection, sender).tokens -= tokens
    },
    /** Until a connection has tokens again after it was charged more than it had, ms. */
    debtMs(connection: object): number {
      return (Math.max(0, -filled(connection, '').tokens) / count) * periodMs
    },
  }
}

export type RateLimit = ReturnType<typeof createRateLimit>

const hourMs = 3_600_000

/** The last quarter of windows and channels is for those who have none. */
export const reserveOf = (most: number) => most * 0.75

/** New channels: so many an hour of each connection and invitation; of the reserve so many in all, and few of each. */
export class NewChannels {
  readonly #perHour: number
  readonly #most: number
  readonly #all = {}
  readonly #usual
  readonly #reserve

  constructor(perHour: number, most: number, now: Clock) {
    this.#perHour = perHour
    this.#most = most
    this.#usual = createRateLimit(perHour, now, hourMs)
    this.#reserve = {
      ofEach: createRateLimit(Math.max(1, Math.floor(perHour / 100)), now, hourMs),
      ofAll: createRateLimit(perHour, now, hourMs),
    }
  }

  /** Throws a `Refusal` (429 `too-fast`) for one more than the holder may begin. */
  begin({ connection, invitation }: Holder, { id, channel }: Draft, channels: number): void {
    const isReserve = channels >= reserveOf(this.#most)
    const { ofEach, ofAll } = this.#reserve
    const waitMs =
      this.#usual.take(connection, '') ||
      (invitation && this.#usual.take(this.#all, invitation)) ||
      (isReserve && (ofEach.take(connection, '') || ofAll.take(this.#all, ''))) ||
      0
    if (waitMs === 0) return
    const few = isReserve ? ', and fewer where little room is left (limits.maxChannels)' : ''
    const sentence = `Channel "${channel}" would be new, and a connection or invitation may begin ${this.#perHour} an hour (limits.newChannelsPerHour)${few}; write to one that is there, or wait.`
    throw new Refusal(429, 'too-fast', sentence, id, Math.ceil(waitMs))
  }
}

/** Of a message's bytes that are refused: the cost of one token. */
export const bytesPerToken = 16_384

/** Tokens, for a refused request. */
export const costOfRefusal = (bytes: number) => 1 + bytes / bytesPerToken
