// Checks the type of a channel that an application declares.

import { refuseOthers } from '../../scripts/suggestion.ts'
import type { ChannelType, KindRules, YjsRules } from '../channels/channel-type.ts'

/** The result of `typeof` for each part that may be there. */
type Parts<Of> = { readonly [Part in keyof Of]-?: string }

const typeParts: Parts<ChannelType> = {
  name: 'string',
  kinds: 'object',
  yjs: 'object',
  keep: 'object',
  gate: 'object',
  refuse: 'function',
  prepare: 'function',
  expiry: 'function',
  showsWindows: 'boolean',
  state: 'function',
  shows: 'function',
}

const kindParts: Parts<KindRules> = {
  body: 'function',
  fold: 'function',
  drop: 'string',
  refuse: 'function',
  by: 'string',
}

/** Those that have a meaning for the log. */
const reservedKinds: readonly string[] = ['change', 'erasure', 'revocation']

/** Throws an `Error` that names the part of the type that does not fit, and what it must be. */
export function checkType(what: string, type: ChannelType): void {
  checkParts(what, type, typeParts)
  const { name, kinds, gate } = type
  if (kinds === undefined) throw new Error(`${what}.kinds is undefined; it must name the kinds of messages.`)
  if (name === undefined) throw new Error(`${what}.name is missing: sentences call the type by it.`)
  if (gate && typeof gate.pass !== 'function')
    throw new Error(`${what}.gate.pass is ${typeof gate.pass}; it must be a function.`)
  if (type.yjs) checkYjs(`${what}.yjs`, type.yjs)
  if (type.yjs && gate)
    throw new Error(`${what}.gate stands beside yjs: the library's own checks the updates of a document.`)
  if (type.yjs && 'update' in kinds)
    throw new Error(`${what}.kinds has "update", which a document has by yjs.`)
  if (Object.keys(kinds).length === 0 && !type.yjs && !type.expiry)
    throw new Error(`${what}.kinds is empty; a type has at least one kind.`)
  for (const [kind, rules] of Object.entries(kinds)) {
    if (!isKindName(kind) || reservedKinds.includes(kind))
      throw new Error(
        `${what}.kinds has "${kind}"; a kind is 1 to 32 letters, digits and "-", and not "change", "erasure" or "revocation".`,
      )
    if (typeof rules !== 'object' || rules === null)
      throw new Error(`${what}.kinds['${kind}'] is ${JSON.stringify(rules)}; it must be such as {}.`)
    checkParts(`${what}.kinds['${kind}']`, rules, kindParts)
    const { drop, by } = rules
    if (drop !== undefined && drop !== 'oldest' && drop !== 'superseded')
      throw new Error(`${what}.kinds['${kind}'].drop is "${drop}"; it must be "oldest" or "superseded".`)
    if (by !== undefined && drop !== 'superseded')
      throw new Error(`${what}.kinds['${kind}'].by is "${by}"; it needs drop: "superseded".`)
  }
}

/** Throws an `Error` that names what does not fit. */
export function checkYjs(what: string, rules: YjsRules): void {
  checkParts(what, rules, { owners: 'boolean' } satisfies Parts<YjsRules>)
}

const isKindName = (kind: string) => /^[A-Za-z0-9-]{1,32}$/.test(kind)

function checkParts(what: string, given: object, parts: Readonly<Record<string, string>>): void {
  refuseOthers(what, given, Object.keys(parts))
  for (const [name, part] of Object.entries(given))
    if (part !== undefined && (part === null || typeof part !== parts[name]))
      throw new Error(
        `${what}.${name} is ${JSON.stringify(part) ?? typeof part}; it must be of the type ${parts[name]}.`,
      )
}

/** Wraps a type so that errors thrown after a message is stored are reported and have no other effect. */
export function catchExpiryErrors(type: ChannelType, onFailure: (error: unknown) => void): ChannelType {
  const { name, expiry } = type
  if (!expiry) return type
  return {
    ...type,
    expiry(content) {
      try {
        return expiry(content)
      } catch (error) {
        onFailure(new Error(`expiry of the channel type ${name} failed.`, { cause: error }))
        return { at: null, spareAt: null }
      }
    },
  }
}
