// Checks settings, and says which one does not fit, where it comes from and what is allowed.

import type { z } from 'zod'
import { suggestion } from '../../scripts/suggestion.ts'
import type { ConfigKey } from './fields.ts'

export class ConfigError extends Error {
  override name = 'ConfigError'
}

/**
 * Returns the settings, with defaults for those that are missing. `from` names their origin; `wayOut` ends the
 * sentence about an unknown one. Throws a `ConfigError` with one sentence.
 */
export function checked<Schema extends z.ZodObject>(
  schema: Schema,
  keys: readonly ConfigKey[],
  given: unknown,
  from: string,
  wayOut: string,
): z.output<Schema> {
  const result = schema.safeParse(given, { reportInput: true })
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw issue === undefined ? result.error : complaint(issue, keys, from, wayOut)
}

function complaint(
  issue: z.core.$ZodIssue,
  keys: readonly ConfigKey[],
  from: string,
  wayOut: string,
): ConfigError {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    const unknown = [...path, issue.keys[0]].join('.')
    const names = keys.map(({ key }) => key)
    return new ConfigError(`There is no key ${unknown} (from ${from})${suggestion(unknown, names, wayOut)}`)
  }
  const key = keys.find((candidate) => candidate.path.every((name, index) => path[index] === name))
  if (key !== undefined) return notAllowed(key, issue.input, from)
  const name = path.length === 0 ? 'The configuration' : path.join('.')
  return new ConfigError(`${name} is ${JSON.stringify(issue.input)} (from ${from}); it must be an object.`)
}

/** `transport is "websockets" (from --transport); allowed are sse, websocket.` */
export function notAllowed({ key, allowed }: ConfigKey, value: unknown, from: string): ConfigError {
  return new ConfigError(`${key} is ${JSON.stringify(value)} (from ${from}); allowed are ${allowed}.`)
}
