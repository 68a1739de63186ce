// What an application declares of its channels, and what it lets clients publish there.

import { admitJson, admitJsonAwareness } from '../hub/admission.ts'
import type { LogParts } from '../log/log.ts'
import type { Grant } from '../security/grants.ts'
import { matches } from '../security/tickets.ts'
import type { Admission } from '../transports/transport.ts'
import { type Draft, isChannelName, pageOfOverview, probesChannel, windChannel } from '../wire/messages.ts'
import { Refusal } from '../wire/refusal.ts'

/** Of a channel, or of all whose names begin with what stands before a final `*`. */
export interface ChannelRule {
  readonly kind: 'json'
  /** Throws, or returns a sentence, if a client may not publish this. */
  readonly check?: (data: unknown) => string | undefined
  /** How much each of the channels keeps, if that is less than `limits` allow the whole log. */
  readonly keep?: Keep
}

/** The newest message stays in any case. */
export interface Keep {
  readonly messages?: number
  /** Of the data as JSON. */
  readonly bytes?: number
  readonly hours?: number
}

const keepLimits = { messages: 'logMessages', bytes: 'logBytes', hours: 'logHours' } as const

type Limits = Readonly<Record<(typeof keepLimits)[keyof typeof keepLimits], number>>

const hourMs = 3_600_000

/** The rules of an application's channels. */
export class Channels implements Admission {
  readonly #rules: readonly (readonly [pattern: string, rule: ChannelRule])[]

  /** Throws an `Error` that names what does not fit. */
  constructor(rules: Readonly<Record<string, ChannelRule>>, limits: Limits) {
    this.#rules = Object.entries(rules)
    for (const [pattern, { keep }] of this.#rules) {
      const isReserved = [windChannel, probesChannel].includes(pattern) || pageOfOverview(pattern) !== null
      if (isReserved || !isChannelName(pattern.replace(/\*$/, 'x')))
        throw new Error(`createCrosswind: "${pattern}" in channels cannot name a channel.`)
      if (keep) checkKeep(`channels['${pattern}'].keep`, keep, limits)
    }
  }

  /** See `LogParts`; undefined if no channel keeps less than the log. */
  get keepOn(): LogParts['keepOn'] {
    if (!this.#rules.some(([, { keep }]) => keep)) return undefined
    return (channel) => {
      const keep = this.#find(channel)?.keep
      if (!keep) return undefined
      const { messages = Infinity, bytes = Infinity, hours = Infinity } = keep
      return { messages, bytes, ageMs: hours * hourMs }
    }
  }

  /** Throws a `Refusal` (400 `bad-channel`). */
  ruleFor({ id, channel }: Pick<Draft, 'id' | 'channel'>): ChannelRule {
    const rule = this.#find(channel)
    if (rule) return rule
    const sentence = `This server has no channel "${channel}"; declare it, or a prefix of it and *, in channels.`
    throw new Refusal('bad-channel', sentence, id)
  }

  readonly awareness = admitJsonAwareness

  readonly draft = (given: unknown): Draft<'json'> => {
    const draft = admitJson(given)
    const fault = this.ruleFor(draft).check?.(draft.body.data)
    if (fault !== undefined) throw new Refusal('bad-shape', fault, draft.id)
    return draft
  }

  /** `grant` is the sender's: what an application allows is of a user. */
  readonly complete = (draft: Draft, { invitation: user }: Pick<Grant, 'invitation'>): Draft =>
    user === null ? draft : { ...draft, body: { ...draft.body, user } }

  #find(channel: string): ChannelRule | undefined {
    return this.#rules.find(([pattern]) => matches(pattern, channel))?.[1]
  }
}

/** Throws an `Error` that names the value and what is allowed. */
function checkKeep(what: string, keep: Keep, limits: Limits): void {
  for (const [name, value] of Object.entries(keep)) {
    if (!Object.hasOwn(keepLimits, name))
      throw new Error(`createCrosswind: ${what} has no ${name}; it has messages, bytes and hours.`)
    const limit = keepLimits[name as keyof Keep]
    const isNumber = name === 'hours' ? value > 0 : Number.isInteger(value) && value > 0
    if (isNumber && value <= limits[limit]) continue
    const allowed = `a number above 0, at most that of the whole log, ${limits[limit]} (limits.${limit})`
    throw new Error(`createCrosswind: ${what}.${name} is ${value}; it must be ${allowed}.`)
  }
}
