// Admission: validates drafts, awareness reports and queries; errors name the invalid field.

import { cutText } from '../wire/graphemes.ts'
import { measureJson, mostJsonDepth } from '../wire/json-depth.ts'
import {
  type AwarenessReport,
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
import { Refusal } from '../wire/refusal.ts'

/**
 * `path` locates the invalid value (`body.versions.0.at`; empty for the value itself); `must` says
 * what is expected.
 */
interface Misfit {
  readonly path: string
  readonly must: string
}

type Check = (value: unknown) => Misfit | null
type Fields = Readonly<Record<string, Check>>

const rule =
  (must: string, fits: (value: unknown) => boolean): Check =>
  (value) =>
    fits(value) ? null : { path: '', must }

const matching = (must: string, fits: (text: string) => boolean) =>
  rule(must, (value) => typeof value === 'string' && fits(value))

function within(step: string | number, misfit: Misfit | null): Misfit | null {
  return misfit && { ...misfit, path: misfit.path === '' ? String(step) : `${step}.${misfit.path}` }
}

/** An object with exactly these fields. */
function object(required: Fields, optional: Fields = {}): Check {
  const checks = Object.entries(required)
  const further = Object.entries(optional)
  const must = `an object of ${[...Object.keys(required), ...Object.keys(optional).map((name) => `${name} (optional)`)].join(', ')}`
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return { path: '', must }
    const fields = value as Record<string, unknown>
    let count = checks.length
    for (const [name, check] of checks) {
      const misfit = check(fields[name])
      if (misfit) return within(name, misfit)
    }
    for (const [name, check] of further) {
      if (fields[name] === undefined) continue
      count += 1
      const misfit = check(fields[name])
      if (misfit) return within(name, misfit)
    }
    return Object.keys(fields).length === count ? null : { path: '', must }
  }
}

function list(most: number, check: Check): Check {
  const must = `a list of 1 to ${most}`
  return (value) => {
    if (!Array.isArray(value) || value.length === 0 || value.length > most) return { path: '', must }
    for (const [index, one] of value.entries()) {
      const misfit = check(one)
      if (misfit) return within(index, misfit)
    }
    return null
  }
}

const orNull =
  (check: Check): Check =>
  (value) =>
    value === null ? null : check(value)

const plainName = /^[A-Za-z0-9_.-]+$/
const name = (most: number) =>
  matching(
    `1 to ${most} letters, digits, "-", "_" or "."`,
    (text) => text.length <= most && plainName.test(text),
  )
const idCheck = name(64)
const senderCheck = name(48)
/** The rule of `isChannelName`; follows "must be". */
const channelNameRule = `1 to ${mostChannelBytes} bytes of letters and digits of any script, "-", "_" and ".", in Unicode normalization form C`
const channelCheck = matching(channelNameRule, isChannelName)
const number = rule('a number', Number.isFinite)
const text = rule('a text', (value) => typeof value === 'string')
const openingCheck = rule(
  `an integer from 0 to ${Number.MAX_SAFE_INTEGER}`,
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
)
const boolean = rule('true or false', (value) => typeof value === 'boolean')
const title = matching(
  `one line of at most ${mostTitleLength} characters, without spaces at its ends`,
  isTitle,
)

/** RFC 4648, section 4. */
const isBase64 = (given: string) => given.length % 4 === 0 && base64Pattern.test(given)
const base64Pattern = /^[A-Za-z0-9+/]*={0,2}$/

const updateBody = object({ update: matching('base64 with padding', isBase64) })

/** The body of each kind of message that clients may send. */
const bodies: ReadonlyMap<unknown, Check> = new Map([
  ['edit', object({ html: text })],
  ['update', updateBody],
  ['title', object({ title })],
  ['versions', object({ versions: list(mostNamedVersions, object({ at: number, name: title })) })],
  ['deletion', object({ deleted: boolean })],
  ['probe', object({ text })],
])

type BodyChecks = ReadonlyMap<unknown, Check>

function envelopeOf(bodies: BodyChecks): Check {
  const kinds = Array.from(bodies.keys(), (kind) => `"${kind}"`)
  const list = kinds.length === 1 ? kinds.join() : `${kinds.slice(0, -1).join(', ')} or ${kinds.at(-1)}`
  return object({
    id: idCheck,
    channel: channelCheck,
    kind: rule(list, (kind) => bodies.has(kind)),
    from: senderCheck,
    at: number,
    body: rule('an object', (body) => typeof body === 'object' && body !== null),
  })
}

/** Of a draft whose kind has one of these bodies. */
function misfitOf(given: unknown, envelope: Check, bodies: BodyChecks): Misfit | null {
  const misfit = envelope(given)
  if (misfit) return misfit
  const { id, kind, from, body } = given as Draft
  const bodyMisfit = within('body', bodies.get(kind)?.(body) ?? null)
  if (bodyMisfit) return bodyMisfit
  // Responses are matched by id: another sender's prefix could be mistaken for its message.
  if (!isIdOf(from, id))
    return { path: 'id', must: 'the name in from, "-" and a counter without another "-"' }
  return null
}

const pageEnvelope = envelopeOf(bodies)

function misfitOfDraft(given: unknown): Misfit | null {
  const misfit = misfitOf(given, pageEnvelope, bodies)
  if (misfit) return misfit
  const { channel, kind } = given as Draft
  if ((channel === probesChannel) !== (kind === 'probe'))
    return { path: 'channel', must: `"${probesChannel}" for probes, and only for probes` }
  return null
}

const applicationBodies: BodyChecks = new Map([
  ['json', object({ data: rule('JSON', (data) => data !== undefined) })],
  ['update', updateBody],
])
const applicationEnvelope = envelopeOf(applicationBodies)

/**
 * On an application's server. Throws a `Refusal` (400 `bad-shape`, 403 `reserved-name`) that names
 * the field.
 */
export function admitForApplication(given: unknown): Draft<'json' | 'update'> {
  const misfit = misfitOf(given, applicationEnvelope, applicationBodies)
  if (misfit) throw badShape('message', 'the message', misfit, idOf(given))
  const draft = given as Draft<'json' | 'update'>
  refuseReserved(draft)
  return draft
}

/**
 * Reserved, like the log's name: a client using one could make the server's messages look like
 * repeats.
 */
export const sensorName = 'sensor'
export const overviewName = 'overview'
/** The sender of what an application publishes from its server. */
export const applicationName = 'server'

/**
 * Throws a `Refusal` (400 `bad-shape`, 403 `read-only-channel` or `reserved-name`) that names the
 * field.
 */
export function admitDraft(given: unknown): Draft {
  const misfit = misfitOfDraft(given)
  if (misfit) throw badShape('message', 'the message', misfit, idOf(given))
  const draft = given as Draft
  const { id, channel } = draft
  if (channel === windChannel || pageOfOverview(channel) !== null) {
    const sentence = `Only the server writes to channel "${channel}"; send edits to the page's own channel.`
    throw new Refusal('read-only-channel', sentence, id)
  }
  refuseReserved(draft)
  return draft
}

function refuseReserved({ from, id }: Draft): void {
  if (![sensorName, overviewName, logName, applicationName].includes(from)) return
  const sentence = `"${from}" is reserved for the server; use another name for the window, in from and id.`
  throw new Refusal('reserved-name', sentence, id)
}

function badShape(what: string, whole: string, { path, must }: Misfit, id: string | null = null): Refusal {
  const sentence = `Invalid ${what}: ${path || whole} must be ${must}. PROTOCOL.md shows its shape.`
  return new Refusal('bad-shape', sentence, id)
}

export function idOf(given: unknown): string | null {
  if (typeof given !== 'object' || given === null || !('id' in given)) return null
  return idCheck(given.id) === null ? String(given.id) : null
}

/** Maximum length in UTF-16 units of an encoded position in base64; a Yjs one has at most 28. */
const mostPositionCharacters = 64

const position = orNull(
  matching(
    `null or 1 to ${mostPositionCharacters} characters of base64`,
    (given) => given !== '' && given.length <= mostPositionCharacters && isBase64(given),
  ),
)

const nameExcludes = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

const report = object(
  {
    state: orNull(
      object({
        client: rule(
          'an integer from 0 to 4294967295',
          (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 0xffffffff,
        ),
        name: matching(
          `at most ${mostNameCharacters} characters without control characters`,
          (given) => given.length <= mostNameCharacters && !nameExcludes.test(given),
        ),
        anchor: position,
        head: position,
      }),
    ),
  },
  { window: senderCheck, channel: channelCheck },
)

/** Throws a `Refusal` (400 `bad-shape`) that names the field. */
function admitAwareness(given: unknown): AwarenessReport {
  const misfit = report(given)
  if (misfit) throw badShape('window state', 'the report', misfit)
  return given as AwarenessReport
}

/** Of Crosswind’s own page. */
export const pageAdmission = { draft: admitDraft, awareness: admitAwareness }

const depthCheck = rule(
  `nested at most ${mostJsonDepth} levels deep`,
  (value) => measureJson(JSON.stringify(value)).depth <= mostJsonDepth,
)

/** Its result throws a `Refusal` (400 `bad-shape`) that names the field. */
export function admitJsonAwareness(mostBytes: number): (given: unknown) => AwarenessReport {
  const fits = (state: unknown) =>
    state !== undefined && Buffer.byteLength(JSON.stringify(state)) <= mostBytes
  const sizeCheck = rule(`JSON of at most ${mostBytes} bytes (limits.stateBytes)`, fits)
  const check = object(
    { state: (state) => sizeCheck(state) ?? depthCheck(state) },
    { window: senderCheck, channel: channelCheck },
  )
  return (given) => {
    const misfit = check(given)
    if (misfit) throw badShape('window state', 'the report', misfit)
    return given as AwarenessReport
  }
}

/** The largest `channelsPerWindow` that the settings allow. */
const mostCounted = 1000

const mostWindows = 100_000

/**
 * Returns a heartbeat's window counts by first channel; undefined for a plain heartbeat. Throws a
 * `Refusal` (400 `bad-shape`).
 */
export function admitBeat(given: unknown): Readonly<Record<string, number>> | undefined {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  const windows = isObject(given) ? (given as { windows?: unknown }).windows : null
  if (windows === undefined) return undefined
  const counts = isObject(windows) ? Object.entries(windows as object) : null
  const fits = counts?.every(
    ([page, count]) => page.length <= 64 && Number.isInteger(count) && count >= 0 && count <= mostWindows,
  )
  if (fits && counts && counts.length <= mostCounted) return windows as Record<string, number>
  throw new Refusal(
    'bad-shape',
    'A heartbeat\'s optional "windows" maps each first channel to a number of windows.',
  )
}

/** Normalizes to NFC. Throws a `Refusal` (400 `bad-channel`). */
export function admitChannel(given: string): string {
  const normalized = given.normalize('NFC')
  if (normalized === probesChannel) {
    const sentence = `"${probesChannel}" cannot name a page: measurements use that channel. Use another name.`
    throw new Refusal('bad-channel', sentence)
  }
  if (isChannelName(normalized)) return normalized
  const shown = JSON.stringify(cutText(given, 80))
  const sentence = `${shown} cannot name a page: use letters and digits of any script, "-", "_" and ".", ${mostChannelBytes} bytes at most.`
  throw new Refusal('bad-channel', sentence)
}

/** Parses `?window=…&opening=…`. Throws a `Refusal` (400 `bad-query`). */
export function admitWindow(query: URLSearchParams) {
  return windowIn(query, 'query')
}

/** Parses `?window=…&channels=main,wind&opening=…`. Throws a `Refusal` (400 `bad-query`). */
export function admitJoining(query: URLSearchParams, maxChannels: number) {
  const what = 'stream query'
  const window = windowIn(query, what)
  const channels = new Set((query.get('channels') ?? '').split(',').filter(Boolean))
  const misfit = misfitOfChannels(channels)
  if (misfit) throw badQuery(what, `channels: ${misfit}`)
  if (channels.size <= maxChannels) return { ...window, channels }
  throw badQuery(
    what,
    `channels: ${channels.size} exceed the limit of ${maxChannels} (limits.channelsPerWindow)`,
  )
}

function windowIn(query: URLSearchParams, what: string) {
  const window = query.get('window') ?? ''
  const opening = Number(query.get('opening') ?? 0)
  const misfit = within('window', senderCheck(window)) ?? within('opening', openingCheck(opening))
  if (misfit) throw badQuery(what, `${misfit.path} must be ${misfit.must}`)
  return { window, opening }
}

function misfitOfChannels(channels: ReadonlySet<string>): string | null {
  if (channels.size === 0) return 'name at least one channel'
  if (channels.size > 1 && channels.has(probesChannel))
    return `"${probesChannel}" has its own cursors; read it over a stream of its own`
  const misfit = channels
    .values()
    .map(channelCheck)
    .find((found) => found !== null)
  return misfit ? `each must be ${misfit.must}` : null
}

function badQuery(what: string, why: string): Refusal {
  return new Refusal('bad-query', `Invalid ${what}: ${why}.`)
}
