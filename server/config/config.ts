// Loads the configuration: a flag goes before an environment variable, that before the config file, that before the default.

import { crossCheck } from './cross-checks.ts'
import { type Environment, overridesFromEnvironment } from './environment.ts'
import { configFromFile, usualFile } from './file.ts'
import { readFlags } from './flags.ts'
import type { Override } from './override.ts'
import { type Config, configSchema, defaultConfig } from './schema.ts'

export { ConfigError } from './error.ts'
export { type Config, type ConfigInput, defaultConfig, defineConfig } from './schema.ts'

export interface ConfigSources {
  /** The words after the script's name, without Node and script: `process.argv.slice(2)`. */
  readonly argv: readonly string[]
  readonly env: Environment
  /** Where `crosswind.config.ts` is looked for, and what `--config` is relative to. */
  readonly cwd: string
}

/**
 * The configuration, checked and complete. Paths in it are as they were given. Throws ConfigError, whose message is one
 * sentence: which key, where it came from, what it is and what is allowed.
 */
export async function loadConfig({ argv, env, cwd }: ConfigSources): Promise<Config> {
  const { overrides, configFile } = readFlags(argv)
  const all = [...overridesFromEnvironment(env), ...overrides]
  const fromFile = await configFromFile(cwd, configFile)
  const config = configSchema.parse(all.reduce<object>(overlay, fromFile))
  crossCheck(config, (key) => originOf(key, all, fromFile, configFile ?? usualFile))
  return config
}

/** Whether the command line asks for the help text rather than for a server. Throws ConfigError for a wrong flag. */
export const wantsHelp = (argv: readonly string[]): boolean => readFlags(argv).wantsHelp

function overlay(config: object, { key, value }: Override): object {
  return withValue(config, key.path, value)
}

function withValue(object: object, [name = '', ...rest]: readonly string[], value: unknown): object {
  const inner: unknown = Object.entries(object).find(([key]) => key === name)?.[1]
  const nested = rest.length > 0 && typeof inner === 'object' && inner !== null
  return { ...object, [name]: nested ? withValue(inner, rest, value) : value }
}

function originOf(key: string, overrides: readonly Override[], fromFile: Config, file: string): string {
  const override = overrides.findLast((candidate) => candidate.key.key === key)
  if (override !== undefined) return override.from
  return fromFile === defaultConfig ? 'the defaults' : file
}
