// An application's rules for channels, and what it lets clients publish there.

import { isDeepStrictEqual } from 'node:util'
import { copyJson } from '../../protocol/json-data.ts'
import {
  type AwarenessReport,
  type Bodies,
  type Draft,
  isChannelName,
  type Kind,
  type Message,
} from '../../protocol/messages.ts'
import { idTaken, isRefusal, Refusal } from '../../protocol/refusal.ts'
import { nothingPlanned, type Timers } from '../../protocol/time.ts'
import { upsert } from '../../protocol/upsert.ts'
import { refuseOthers } from '../../scripts/suggestion.ts'
import {
  type ChannelType,
  fits,
  isWhole,
  type Keep,
  type KindRules,
  type TypeOf,
  typesByName,
  type YjsRules,
} from '../channels/channel-type.ts'
import { type DocumentRules, withDocumentRules } from '../channels/document-types.ts'
import { changeBody, jsonBody } from '../channels/shapes.ts'
import type { EngineSettings } from '../config/engine-settings.ts'
import { admitDraft, admitOwnDraft, admitStates, applicationName, jsonState } from '../hub/admission.ts'
import type { Step } from '../hub/writer.ts'
import { erases, isChange, isErased } from '../log/changes.ts'
import { keptAsText, parsed } from '../log/kept-json.ts'
import { keyOf, type Log } from '../log/log.ts'
import { limitsOf } from '../log/open-log.ts'
import type { Grant } from '../security/grants.ts'
import { isPattern } from '../security/permits.ts'
import type { Admission } from '../transports/transport.ts'
import { refuseChanges } from './change-rights.ts'
import { isSchema, type StandardSchema } from './standard-schema.ts'
import { catchExpiryErrors, checkType } from './type-check.ts'
import { type Changed, isSameAsSent, type Publication, Validation, type WithData } from './validation.ts'

/** Rule for a channel, or for all whose names begin with the text before a final `*`. */
export type ChannelRule = JsonRule | YjsRule | ChannelType

export interface JsonRule {
  readonly kind: 'json'
  /**
   * Schema of published data: its output is stored. It must return the same for the same data, and may
   * be asynchronous; then each client's messages wait for the one before.
   */
  readonly validate?: StandardSchema
  /** See `Before`. Not called for what the application itself publishes. */
  // A method: the application may say what data it gets.
  before?(message: Publication): Changed | Promise<Changed>
  /**
   * Schema of the states that clients show: others see its output. A state that does not fit is not shown. Must
   * not be asynchronous.
   */
  readonly presence?: StandardSchema
  /** How much each of the channels keeps, if that is less than `limits` allow the whole log. */
  readonly keep?: Keep
  /**
   * Whether only the newest message matters: a slow client is not sent those before it. `by`: only the newest
   * with each value at this path of the data, such as `sensor.id`; a message without it is always sent.
   */
  readonly latest?: boolean | { readonly by: string }
  /**
   * Whether messages may be changed and erased: by the server and, if true, each by the client that sent it. Default:
   * false.
   */
  readonly changes?: boolean | 'server'
}

/** Each channel is one document of Yjs, of any shape but without subdocuments. Needs `yjs`. */
export interface YjsRule extends YjsRules {
  readonly kind: 'yjs'
}

/**
 * Returns its argument, and keeps the types of names and schemas, for clients of the same language:
 *
 *     export const channels = defineChannels({ 'room.*': { kind: 'json', validate: schema } })
 *     connect<typeof channels>(url)
 */
export const defineChannels = <const Rules extends Readonly<Record<string, ChannelRule>>>(
  rules: Rules,
): Rules => rules

/** The settings that limit what the whole log keeps. */
const keepLimits = {
  messages: ['logMessages', 'memoryMessages'],
  bytes: ['logBytes', 'memoryBytes'],
  hours: ['logHours'],
} as const

type LogSettings = Pick<EngineSettings, 'limits' | 'storage' | 'broker'>

interface ChannelsParts {
  readonly rules: Readonly<Record<string, ChannelRule>>
  readonly settings: LogSettings
  readonly timers: Timers
  /** The log in use. */
  readonly log: () => Pick<Log, 'find'>
  /** Receives errors of the application's schemas, types and `before`. */
  readonly onFailure: (error: unknown) => void
  /** Names of senders that are the server's, besides those that it always has. */
  readonly reserved?: readonly string[] | undefined
}

/** The rules of an application's channels. */
export class Channels implements Admission {
  readonly #rules: readonly (readonly [pattern: string, rule: ChannelRule])[]
  readonly #types: readonly (readonly [pattern: string, type: ChannelType])[]
  readonly #validation: Validation
  readonly #log: ChannelsParts['log']
  /** Messages that `before` has not answered yet, by `keyOf`. */
  readonly #intercepted = new Map<string, { readonly draft: Draft; readonly completed: Promise<Draft> }>()
  readonly haveDocuments: boolean
  readonly typeOf: TypeOf
  readonly #reserved: readonly string[]
  readonly #anyState: Admission['awareness']
  readonly #states = new WeakMap<ChannelType, Admission['awareness']>()

  /** Throws an `Error` that names what does not fit. */
  constructor({ rules, settings, timers, log, onFailure, reserved = [] }: ChannelsParts) {
    const { limits } = settings
    this.#rules = Object.entries(rules)
    this.#reserved = reserved
    this.#log = log
    this.#validation = new Validation({ limits, timers, onFailure })
    this.#anyState = admitStates(jsonState(limits.stateBytes))
    for (const [pattern, rule] of this.#rules) {
      if (!isPattern(pattern))
        throw new Error(`createCrosswind: "${pattern}" in channels cannot name a channel.`)
      const what = `createCrosswind: channels['${pattern}']`
      checkRule(what, rule)
      if ('keep' in rule && rule.keep !== undefined) checkKeep(`${what}.keep`, rule.keep, settings)
    }
    const isOwn = (sender: string) => sender === applicationName || reserved.includes(sender)
    this.#types = this.#rules.map(([pattern, rule]) => [pattern, typeFrom(rule, { isOwn, onFailure })])
    this.haveDocuments = this.#types.some(([, type]) => type.yjs)
    this.typeOf = this.typesWith(null)
  }

  /** The types for a log with these documents; `documents` is null where nothing is stored. */
  typesWith(documents: DocumentRules | null): TypeOf {
    return typesByName(this.#types.map(([pattern, type]) => [pattern, withDocumentRules(type, documents)]))
  }

  /**
   * Checks the channels that a function of the application is for: a name, or a prefix and `*`. Throws an
   * `Error` if none of them is declared. `what` begins the sentence.
   */
  mustDeclare(what: string, pattern: unknown): void {
    if (!isPattern(pattern))
      throw new Error(
        `${what}: ${JSON.stringify(pattern)} is no channel's name, nor the beginning of one and *.`,
      )
    const isMet = ([declared]: readonly [string, ...unknown[]]) =>
      fits(declared, pattern.replace(/\*$/, '')) || fits(pattern, declared.replace(/\*$/, ''))
    if (!this.#rules.some(isMet))
      throw new Error(
        `${what}: no channel "${pattern}" is declared; declare it, or a prefix of it and *, in channels.`,
      )
  }

  /** Throws a `Refusal` (400 `bad-channel`) if the application has not declared it. */
  typeFor(channel: string): ChannelType {
    this.ruleFor(channel)
    return this.typeOf(channel)
  }

  isDocument(channel: string): boolean {
    return this.typeFor(channel).yjs !== undefined
  }

  hasOwners(channel: string): boolean {
    return this.typeFor(channel).yjs?.owners === true
  }

  /** Whether older messages are joined: the channel is read as a whole. */
  isWhole(channel: string): boolean {
    return isWhole(this.typeFor(channel))
  }

  /** For reading backwards. Throws a `Refusal` (400 `bad-query`) if older messages are joined. */
  mustHaveMessages(channel: string): void {
    if (!this.isWhole(channel)) return
    throw new Refusal(
      'bad-query',
      `"${channel}" is read as a whole, as documents are: it cannot be read backwards.`,
    )
  }

  /** The kind that a query names. Throws a `Refusal` (400 `bad-query`) if the channel does not have it. */
  kindNamed(channel: string, name: unknown): Kind | undefined {
    const kinds = Object.keys(this.typeFor(channel).kinds) as Kind[]
    const kind = kinds.find((one) => one === name)
    if (kind || name === undefined) return kind
    const sentence = `kind is ${JSON.stringify(name).slice(0, 80)}; "${channel}" has ${kinds.join(', ')}.`
    throw new Refusal('bad-query', sentence)
  }

  /** Kind of message that the application publishes when it names none. */
  usualKind(channel: string): Kind {
    const rule = this.ruleFor(channel)
    const [first = 'json'] = isOwn(rule) ? (Object.keys(rule.kinds) as Kind[]) : []
    return first
  }

  /** Throws a `Refusal` (400 `bad-channel`). */
  ruleFor(channel: string, id: string | null = null): ChannelRule {
    const rule = this.#find(channel)
    if (rule) return rule
    const sentence = `This server has no channel "${channel}"; declare it, or a prefix of it and *, in channels.`
    throw new Refusal('bad-channel', sentence, id)
  }

  /** Whether clients may not use this name of a sender. */
  isReserved(name: string): boolean {
    return this.#reserved.includes(name)
  }

  /** Checks a client's state by the shape that the channel's type declares; without one, that of `*`. */
  readonly awareness = (given: unknown): AwarenessReport => {
    const channel: unknown = Object(given).channel
    const type = this.typeOf(typeof channel === 'string' ? channel : '')
    const { state } = type
    if (!state) return this.#anyState(given)
    return upsert(this.#states, type, () => admitStates(state))(given)
  }

  readonly draft = (given: unknown): Draft => {
    const draft = admitDraft(given, this.typeOf, this.#reserved)
    this.ruleFor(draft.channel, draft.id)
    return draft
  }

  /**
   * Returns what is stored. Throws or rejects with a `Refusal`: 400 `bad-channel` or `bad-shape`, 503
   * `too-much-begun`, and those of `before`. `connection` is the sender's, null for the application itself.
   */
  readonly complete = (
    draft: Draft,
    grant: Pick<Grant, 'user'>,
    connection: object | null,
  ): Draft | Promise<Draft> => {
    const rule = this.ruleFor(draft.channel, draft.id)
    if (connection === null) admitOwnDraft(draft, this.typeOf)
    if (isOwn(rule)) mustNameNobody(draft)
    const { user } = grant
    const named = withUser(draft, user) as WithData
    const account = connection && (user ?? connection)
    const { validate, before }: Partial<JsonRule> =
      isJson(rule) && !(isChange(named) && erases(named)) ? rule : {}
    const validated = () => (validate ? this.#validation.run(named, validate, account) : keptAsText(named))
    if (!before || account === null) return validated()
    const allowed = async () => this.#validation.before(await validated(), before, account)
    return named.volatile ? allowed() : this.#once(named, allowed)
  }

  /**
   * Completes a draft, unless the log has its message: then returns that. A repeat that arrives meanwhile
   * gets the same result. Rejects with a `Refusal` (409 `id-taken`) too.
   */
  async #once(draft: Draft, complete: () => Promise<Draft>): Promise<Draft> {
    const stored = await this.#log().find(draft)
    const key = keyOf(draft)
    const earlier = this.#intercepted.get(key)
    const known = stored ?? earlier?.draft
    if (known && !isSame(draft, known)) throw idTaken(draft)
    if (stored) return draftOf(stored)
    if (earlier) return earlier.completed
    const completed = complete().finally(() => this.#intercepted.delete(key))
    this.#intercepted.set(key, { draft, completed })
    return completed
  }

  #find(channel: string): ChannelRule | undefined {
    if (!isChannelName(channel)) return undefined
    return this.#rules.find(([pattern]) => fits(pattern, channel))?.[1]
  }
}

const isJson = (rule: ChannelRule): rule is JsonRule => 'kind' in rule && rule.kind === 'json'
const isYjs = (rule: ChannelRule): rule is YjsRule => 'kind' in rule && rule.kind === 'yjs'
const isOwn = (rule: ChannelRule): rule is ChannelType => 'kinds' in rule

function typeFrom(rule: ChannelRule, { isOwn: isOwnName, onFailure }: TypeParts): ChannelType {
  if (isOwn(rule)) return catchExpiryErrors(rule, onFailure)
  if (isYjs(rule)) return { name: 'yjs', kinds: {}, yjs: { owners: rule.owners === true } }
  const json: KindRules<'json'> = { body: jsonBody, ...dropping(rule) }
  const refuse = refuseChanges(isOwnName, rule.changes)
  const kinds = { json, change: { body: changeBody, refuse } }
  const { keep, presence } = rule
  return { name: 'json', kinds, keep, ...(presence && { shows: shownBy(presence, onFailure) }) }
}

function dropping({ latest }: JsonRule): KindRules<'json'> {
  if (!latest) return {}
  return { drop: 'superseded', by: latest === true ? undefined : `data.${latest.by}` }
}

interface TypeParts {
  readonly isOwn: (sender: string) => boolean
  readonly onFailure: (error: unknown) => void
}

/** Returns what the schema makes of a state; null, which shows nothing, if it does not fit. */
const shownBy =
  (schema: StandardSchema, onFailure: (error: unknown) => void): NonNullable<ChannelType['shows']> =>
  (state) => {
    try {
      const result = schema['~standard'].validate(state)
      if (!('then' in result)) return result.issues ? null : copyJson(result.value, 'presence: state')
      result.then(nothingPlanned, nothingPlanned)
      throw new Error('presence: the schema is asynchronous; it must not be.')
    } catch (error) {
      onFailure(error)
      return null
    }
  }

/** Fields that a rule of each kind may declare. */
const ruleNames = {
  json: ['kind', 'validate', 'before', 'presence', 'keep', 'latest', 'changes'],
  yjs: ['kind', 'owners'],
} as const

function checkRule(what: string, rule: ChannelRule): void {
  if (typeof rule === 'object' && rule !== null && isOwn(rule)) {
    checkType(what, rule)
    return
  }
  const kind: unknown = rule?.kind
  if (kind !== 'json' && kind !== 'yjs')
    throw new Error(
      `${what}.kind is ${JSON.stringify(kind)}; it must be "json" or "yjs", unless a type is declared by kinds.`,
    )
  refuseOthers(`${what}, of the kind ${kind},`, rule, ruleNames[kind])
  const { latest, before, changes, owners }: Readonly<Record<string, unknown>> = { ...rule }
  if (owners !== undefined && typeof owners !== 'boolean')
    throw new Error(`${what}.owners is ${JSON.stringify(owners)}; it must be true or false.`)
  if (changes !== undefined && typeof changes !== 'boolean' && changes !== 'server')
    throw new Error(`${what}.changes is ${JSON.stringify(changes)}; it must be true, 'server' or false.`)
  if (latest !== undefined && typeof latest !== 'boolean' && !isBy(latest))
    throw new Error(
      `${what}.latest is ${JSON.stringify(latest)}; it must be true, false or such as { by: 'sensor.id' }, a path of the data.`,
    )
  if (before !== undefined && typeof before !== 'function')
    throw new Error(`${what}.before is ${JSON.stringify(before)}; it must be a function.`)
  for (const name of ['validate', 'presence'] as const) {
    const schema: unknown = Object(rule)[name]
    if (schema === undefined || isSchema(schema)) continue
    throw new Error(
      `${what}.${name} is no Standard Schema (https://standardschema.dev), as zod's and others' are.`,
    )
  }
}

function isBy(latest: unknown): boolean {
  const [name, ...others] = Object.keys(Object(latest))
  return (
    name === 'by' && others.length === 0 && typeof Object(latest).by === 'string' && Object(latest).by !== ''
  )
}

/** Throws an `Error` that names the value and what is allowed. */
function checkKeep(what: string, keep: unknown, settings: LogSettings): void {
  if (typeof keep !== 'object' || keep === null)
    throw new Error(`${what} is ${JSON.stringify(keep)}; it must be such as { messages: 1000, hours: 24 }.`)
  refuseOthers(what, keep, Object.keys(keepLimits))
  const { limits } = settings
  const bounds = { ...limitsOf(settings), hours: limits.logHours }
  for (const [name, value] of Object.entries(keep)) {
    const most = bounds[name as keyof Keep]
    const form = name === 'hours' ? 'a number' : 'a whole number'
    const isNumber = name === 'hours' ? typeof value === 'number' : Number.isInteger(value)
    if (value === undefined || (isNumber && value > 0 && value <= most)) continue
    const setting = keepLimits[name as keyof Keep].find((one) => limits[one] === most)
    const allowed = `${form} above 0, at most that of the whole log, ${most} (limits.${setting})`
    throw new Error(`${what}.${name} is ${JSON.stringify(value)}; it must be ${allowed}.`)
  }
}

/** Throws a `Refusal` (400 `bad-shape`) if a body has a `user`, which only the server adds. */
function mustNameNobody({ body, id }: Draft): void {
  if (!Array.isArray(body) && !('user' in body)) return
  const sentence = 'Invalid message: body must be an object without user, which the server adds.'
  throw new Refusal('bad-shape', sentence, id)
}

const withUser = (draft: Draft, user: string | null): Draft =>
  user === null ? draft : ({ ...draft, body: { ...draft.body, user } } as Draft)

/**
 * Answers a repeat with the number of the first, even if what `complete` adds to it has changed
 * since, such as its user.
 */
export function acceptRepeats(log: Pick<Log, 'find'>): Step {
  return (writing, next) => {
    const seq = next(writing)
    if (typeof seq === 'number') return seq
    return seq.catch(async (error) => {
      const known = isRefusal(error, 'id-taken') ? await log.find(writing.draft) : null
      if (known && isSame(writing.draft, known)) return known.seq
      throw error
    })
  }
}

/** A client's repeat has the time of the first; an application may publish again later. */
function isSame(draft: Draft, known: Draft): boolean {
  const isSent = draft.from === applicationName || draft.at === known.at
  if (!isSent || draft.kind !== known.kind) return false
  // Nothing is left to compare.
  if (isErased(known)) return true
  if (draft.kind === 'json')
    return isSameAsSent(parsed(draft.body as Bodies['json']), parsed(known.body as Bodies['json']))
  if (isChange(draft) && isChange(known))
    return draft.body.seq === known.body.seq && isSameAsSent(draft.body, known.body)
  return isDeepStrictEqual(sentIn(draft), sentIn(known))
}

const draftOf = ({ id, channel, kind, from, at, body }: Message): Draft => ({
  id,
  channel,
  kind,
  from,
  at,
  body,
})

function sentIn({ kind, body }: Pick<Draft, 'kind' | 'body'>): unknown {
  if (kind === 'update') return (body as Bodies['update']).update
  const { user: _, ...sent } = body as { readonly user?: string }
  return sent
}
