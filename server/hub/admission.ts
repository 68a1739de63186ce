// Admission: validates drafts, awareness reports and queries; errors name the invalid field.

import { maxJsonDepth, measureJson } from '../../protocol/json-depth.ts'
import {
  type AwarenessReport,
  type BeatReport,
  type Draft,
  isIdOf,
  logName,
} from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { rulesFor, type TypeOf } from '../channels/channel-type.ts'
import {
  type Check,
  channelName,
  type Misfit,
  nameOf,
  number,
  object,
  rule,
  text,
  within,
} from '../channels/shapes.ts'

const idCheck = nameOf(64)
const senderCheck = nameOf(48)
const openingCheck = rule(
  `an integer from 0 to ${Number.MAX_SAFE_INTEGER}`,
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
)

const anyObject = rule('an object', (body) => typeof body === 'object' && body !== null)

const envelope = object(
  { id: idCheck, channel: channelName, kind: text, from: senderCheck, at: number, body: anyObject },
  { volatile: rule('true', (value) => value === true) },
)

/** The sender of messages that an application publishes from its server. */
export const applicationName = 'server'

/**
 * `reserved`: names of senders that belong to the server, besides those that always do. Throws a
 * `Refusal` (400 `bad-shape`, 403 `read-only-channel` or `reserved-name`) that names the field.
 */
export function admitDraft(given: unknown, typeOf: TypeOf, reserved: readonly string[] = []): Draft {
  const misfit = envelope(given)
  if (misfit) throw badDraft(misfit, idOf(given))
  const draft = given as Draft
  const { id, from, body } = draft
  const bodyMisfit =
    within('body', bodyCheckFor(draft, typeOf)(body)) ?? misfitOfId(draft) ?? misfitOfVolatile(draft, typeOf)
  if (bodyMisfit) throw badDraft(bodyMisfit, id)
  // A client using one could make the server's messages look like repeats.
  if (from !== logName && from !== applicationName && !reserved.includes(from)) return draft
  const sentence = `"${from}" is reserved for the server; use another name for the window, in from and id.`
  throw new Refusal('reserved-name', sentence, id)
}

/**
 * Checks the server's own drafts: it may write everything that the channel's type declares. Throws a
 * `Refusal` (400 `bad-shape`) that names the field.
 */
export function admitOwnDraft(draft: Draft, typeOf: TypeOf): void {
  const { channel, kind, body, id } = draft
  const { name, kinds } = typeOf(channel)
  if (!Object.hasOwn(kinds, kind)) throw badKind(Object.keys(kinds), { id, channel, name })
  const misfit =
    within('body', anyObject(body) ?? kinds[kind]?.body?.(body) ?? null) ?? misfitOfVolatile(draft, typeOf)
  if (misfit) throw badDraft(misfit, id)
}

/**
 * The body that a client's draft must have. Throws a `Refusal` if its channel does not accept its kind:
 * 403 `read-only-channel` if only the server writes there, else 400 `bad-shape`.
 */
function bodyCheckFor({ id, channel, kind }: Pick<Draft, 'id' | 'channel' | 'kind'>, typeOf: TypeOf): Check {
  const { body } = rulesFor(typeOf, channel, kind)
  if (body) return body
  const { name, kinds } = typeOf(channel)
  const taken = Object.entries(kinds).flatMap(([one, rules]) => (rules.body ? [one] : []))
  if (taken.length === 0) {
    const sentence = `Only the server writes to channel "${channel}"; send messages to another.`
    throw new Refusal('read-only-channel', sentence, id)
  }
  throw badKind(taken, { id, channel, name })
}

interface Target {
  readonly id: string
  readonly channel: string
  /** Name of the channel's type. */
  readonly name: string
}

function badKind(kinds: readonly string[], { id, channel, name }: Target): Refusal {
  const quoted = kinds.map((kind) => `"${kind}"`)
  const list = quoted.length === 1 ? quoted.join() : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
  return badDraft({ path: 'kind', must: `${list}: channel "${channel}" is of the type ${name}` }, id)
}

/** Responses are matched by id: another sender's prefix could be mistaken for its message. */
function misfitOfId({ from, id }: Draft): Misfit | null {
  if (isIdOf(from, id)) return null
  return { path: 'id', must: 'the name in from, "-" and a counter without another "-"' }
}

/** What a type checks against a channel's content is checked where that is stored. */
function misfitOfVolatile({ channel, kind, volatile }: Draft, typeOf: TypeOf): Misfit | null {
  const { name, yjs, gate, refuse, kinds } = typeOf(channel)
  if (!volatile || !(yjs || gate || refuse || kinds[kind]?.refuse)) return null
  return {
    path: 'volatile',
    must: `absent: channel "${channel}", of the type ${name}, checks what it stores`,
  }
}

const badDraft = (misfit: Misfit, id: string | null) => badShape('message', 'the message', misfit, id)

function badShape(what: string, whole: string, { path, must }: Misfit, id: string | null = null): Refusal {
  const sentence = `Invalid ${what}: ${path || whole} must be ${must}. PROTOCOL.md shows its shape.`
  return new Refusal('bad-shape', sentence, id)
}

export function idOf(given: unknown): string | null {
  if (typeof given !== 'object' || given === null || !('id' in given)) return null
  return idCheck(given.id) === null ? String(given.id) : null
}

/** `state` checks a state. The result throws a `Refusal` (400 `bad-shape`) that names the field. */
export function admitStates(state: Check): (given: unknown) => AwarenessReport {
  const check = object({ state }, { window: senderCheck, channel: channelName })
  return (given) => {
    const misfit = check(given)
    if (misfit) throw badShape('window state', 'the report', misfit)
    return given as AwarenessReport
  }
}

const depthCheck = rule(
  `nested at most ${maxJsonDepth} levels deep`,
  (value) => measureJson(JSON.stringify(value)).depth <= maxJsonDepth,
)

/** Accepts any JSON as a state. */
export function jsonState(maxBytes: number): Check {
  const fits = (state: unknown) => state !== undefined && Buffer.byteLength(JSON.stringify(state)) <= maxBytes
  const sizeCheck = rule(`JSON of at most ${maxBytes} bytes (limits.stateBytes)`, fits)
  return (state) => sizeCheck(state) ?? depthCheck(state)
}

/** The largest `channelsPerWindow` that the settings allow. */
const maxCounted = 1000

const maxWindows = 100_000

/** Throws a `Refusal` (400 `bad-shape`). */
export function admitBeat(given: unknown): BeatReport {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  const { at, windows } = (isObject(given) ? given : { windows: null }) as { at?: unknown; windows?: unknown }
  if (at !== undefined && typeof at !== 'number')
    throw new Refusal('bad-shape', 'A heartbeat\'s optional "at" is that of the heartbeat that it answers.')
  const answer = at === undefined ? {} : { at }
  if (windows === undefined) return answer
  const counts = isObject(windows) ? Object.entries(windows as object) : null
  const fits = counts?.every(
    ([channel, count]) =>
      channel.length <= 64 && Number.isInteger(count) && count >= 0 && count <= maxWindows,
  )
  if (fits && counts && counts.length <= maxCounted)
    return { ...answer, windows: windows as BeatReport['windows'] }
  throw new Refusal(
    'bad-shape',
    'A heartbeat\'s optional "windows" maps each first channel to a number of windows.',
  )
}

/** Parses `?window=…&opening=…`. Throws a `Refusal` (400 `bad-query`). */
export function admitWindow(query: URLSearchParams) {
  return windowIn(query, 'query')
}

/** Parses `?window=…&channels=main,notes&opening=…`. Throws a `Refusal` (400 `bad-query`). */
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
  const misfit = channels
    .values()
    .map(channelName)
    .find((found) => found !== null)
  return misfit ? `each must be ${misfit.must}` : null
}

function badQuery(what: string, why: string): Refusal {
  return new Refusal('bad-query', `Invalid ${what}: ${why}.`)
}
