// What an application declares of its channels, and what it lets clients publish there.

import { admitJson, admitJsonAwareness } from '../hub/admission.ts'
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
}

/** The rules of an application's channels. */
export class Channels implements Admission {
  readonly #rules: readonly (readonly [pattern: string, rule: ChannelRule])[]

  /** Throws an `Error` that names what does not fit. */
  constructor(rules: Readonly<Record<string, ChannelRule>>) {
    this.#rules = Object.entries(rules)
    for (const [pattern] of this.#rules) {
      const isReserved = [windChannel, probesChannel].includes(pattern) || pageOfOverview(pattern) !== null
      if (isReserved || !isChannelName(pattern.replace(/\*$/, 'x')))
        throw new Error(`createCrosswind: "${pattern}" in channels cannot name a channel.`)
    }
  }

  /** Throws a `Refusal` (400 `bad-channel`). */
  ruleFor({ id, channel }: Pick<Draft, 'id' | 'channel'>): ChannelRule {
    const [, rule] = this.#rules.find(([pattern]) => matches(pattern, channel)) ?? []
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
}
