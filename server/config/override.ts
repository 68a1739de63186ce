// One setting from a flag or an environment variable, checked by itself so that a complaint can name where it stood.

import { ConfigError } from './error.ts'
import type { ConfigKey } from './keys.ts'

export interface Override {
  readonly key: ConfigKey
  readonly value: unknown
  /** The flag or variable, for messages: `--port`. */
  readonly from: string
}

/** Reads a setting's text; throws ConfigError when the setting does not allow it. */
export function overrideFrom(key: ConfigKey, text: string, from: string): Override {
  const value = key.fromText(text)
  const result = key.schema.safeParse(value)
  if (!result.success) throw notAllowed(key, value, from)
  return { key, value: result.data, from }
}

/** `transport is "websockets" (from --transport); allowed are sse, websocket.` */
export function notAllowed({ key, allowed }: ConfigKey, value: unknown, from: string): ConfigError {
  return new ConfigError(`${key} is ${JSON.stringify(value)} (from ${from}); allowed are ${allowed}.`)
}
