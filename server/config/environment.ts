// What environment variables say about the configuration.

import { ConfigError } from './error.ts'
import { type ConfigKey, configKeys } from './keys.ts'
import { suggestion } from './nearest.ts'
import { type Override, overrideFrom } from './override.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** They belong to the set-up commands (scripts/), which start the server with them. */
const foreignVariables = ['CROSSWIND_CHROMIUM', 'CROSSWIND_CHROMEDRIVER']

/** The settings among the variables; an empty one counts as not set. Throws ConfigError for an unknown one. */
export function overridesFromEnvironment(env: Environment): Override[] {
  return Object.entries(env)
    .filter(
      ([name, text]) => name.startsWith('CROSSWIND_') && !foreignVariables.includes(name) && text !== '',
    )
    .map(([name, text = '']) => overrideFrom(keyOf(name), text, name))
}

function keyOf(name: string): ConfigKey {
  const key = configKeys.find(({ variable }) => variable === name)
  if (key !== undefined) return key
  const names = configKeys.map(({ variable }) => variable)
  throw new ConfigError(
    `There is no environment variable ${name}${suggestion(name, names, '--help lists them')}`,
  )
}
