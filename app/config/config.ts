// Reads configuration and flags: defaults, overridden by config file, environment variables, flags.

import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { z } from 'zod'
import { suggestion } from '../../scripts/suggestion.ts'
import {
  ConfigError,
  type ConfigKey,
  checked,
  fieldNotes,
  flagOf,
  misfitsOfLimits,
  notAllowed,
} from '../../server/settings.ts'
import { type Config, configKeys, configSchema, defaultConfig } from './schema.ts'

export { ConfigError } from '../../server/settings.ts'
export { type Config, defaultConfig, defineConfig } from './schema.ts'

export interface ConfigSources {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Folder of `crosswind.config.ts`; `--config` is relative to it. */
  readonly cwd: string
}

/** Optional, unless `--config` names a file. */
const usualFile = 'crosswind.config.ts'

/**
 * Throws ConfigError with one sentence: key, origin, value and what is allowed. Paths are as given.
 */
export async function loadConfig({ argv, env, cwd }: ConfigSources): Promise<Config> {
  const flags = splitFlags(argv, settingFlags)
  const configFile = flags.findLast(({ name }) => name === '--config')?.text ?? null
  const fromFlags = flags.flatMap(({ name, text }) => {
    const key = configKeys.find(({ flag }) => flag === name)
    return key ? [overrideFrom(key, text, name)] : []
  })
  const overrides = [...overridesFromEnvironment(env), ...fromFlags]
  const fromFile = await configFromFile(cwd, configFile)
  const merged: Record<string, unknown> = structuredClone(fromFile)
  for (const { key, value } of overrides) {
    const [name = '', inner] = key.path
    if (inner === undefined) merged[name] = value
    else Object.assign(merged[name] as object, { [inner]: value })
  }
  const config = configSchema.parse(merged)
  const [misfit] = misfitsIn(config, (key) => {
    const override = overrides.findLast((candidate) => candidate.key.key === key)
    return override?.from ?? (fromFile === defaultConfig ? 'the defaults' : (configFile ?? usualFile))
  })
  if (misfit) throw new ConfigError(misfit)
  return config
}

/** Not settings: traces, and what the set-up commands (scripts/) and the tests use, whose servers inherit it. */
const foreignVariable =
  /^CROSSWIND_(DEBUG|CHROMIUM|CHROMEDRIVER|FIREFOX|VITE|NATS_PROGRAM|POSTGRES_PROGRAM|REDIS_PROGRAM|SQS_PROGRAM|BROWSER|STOPS|MODES|NODE|ROUNDS|SEED|HISTORY_EDITS|((ATTACK|WIND)_)?SECONDS)$/

function overridesFromEnvironment(env: ConfigSources['env']): Override[] {
  return Object.entries(env).flatMap(([name, text = '']) => {
    // Empty variables count as missing.
    if (!name.startsWith('CROSSWIND_') || foreignVariable.test(name) || text === '') return []
    const key = configKeys.find(({ variable }) => variable === name)
    if (key !== undefined) return [overrideFrom(key, text, name)]
    const names = configKeys.map(({ variable }) => variable)
    throw new ConfigError(`There is no environment variable ${name}${suggestion(name, names, toHelp)}`)
  })
}

async function configFromFile(cwd: string, named: string | null): Promise<Config> {
  const from = named ?? usualFile
  const file = resolve(cwd, from)
  if (!existsSync(file)) {
    if (named === null) return defaultConfig
    throw new ConfigError(`${named} (from --config) is missing.`)
  }
  return checked(configSchema, configKeys, await exportOf(file), from, toHelp)
}

async function exportOf(file: string): Promise<unknown> {
  const module: unknown = await import(pathToFileURL(file).href).catch((error: unknown) => {
    const [reason] = String(error).split('\n')
    // Node shows the location above the message, or below it.
    const line = error instanceof Error && error.stack?.split(`${basename(file)}:`)[1]?.match(/^\d+/)?.[0]
    const place = line ? `${basename(file)}, line ${line},` : basename(file)
    throw new ConfigError(`${place} cannot be read: ${reason}.`, { cause: error })
  })
  if (typeof module === 'object' && module !== null && 'default' in module) return module.default
  throw new ConfigError(
    `${basename(file)} exports nothing; it should contain: export default defineConfig({ … }).`,
  )
}

type Override = ReturnType<typeof overrideFrom>

/** `from` is the flag or variable, for the message of the ConfigError that this throws. */
function overrideFrom(key: ConfigKey, text: string, from: string) {
  const value = key.fromText(text)
  const result = key.schema.safeParse(value)
  if (!result.success) throw notAllowed(key, value, from)
  return { key, value: result.data, from }
}

/** A polled WindSonic answers within 130 ms (manual 1405-PS-0019, polled mode). */
const maxQuestionsHz = 7

/** Yields sentences about settings that conflict. `originOf` names a setting's origin. */
function* misfitsIn(config: Config, originOf: (key: string) => string): Generator<string> {
  const { port, http1Port, tls, sensor, limits } = config
  const from = (key: string) => `(from ${originOf(key)})`
  if (port === http1Port && port !== 0)
    yield `port ${from('port')} and http1Port ${from('http1Port')} are both ${port}; each needs a port of its own.`
  const tlsFiles = ['certFile', 'keyFile'] as const
  const [set, other] = tls.certFile === null ? tlsFiles.toReversed() : tlsFiles
  if (set && other && tls[set] !== null && tls[other] === null)
    yield `tls.${set} is set ${from(`tls.${set}`)} but tls.${other} is not; the two go together.`
  if (sensor.source === 'serial' && sensor.path === null)
    yield `sensor.source is "serial" ${from('sensor.source')} but sensor.path is not set; name the serial port, such as --sensor-path /dev/ttyUSB0 (npm run sensor -- --list shows the ports).`
  if (sensor.source === 'recorded' && sensor.file === null)
    yield `sensor.source is "recorded" ${from('sensor.source')} but sensor.file is not set; name the raw log, such as --sensor-file wind.log.`
  if (sensor.mode === 'polled' && sensor.rateHz > maxQuestionsHz)
    yield `sensor.rateHz is ${sensor.rateHz} ${from('sensor.rateHz')}; a polled sensor ${from('sensor.mode')} takes up to 130 ms to answer, so it can be polled at most ${maxQuestionsHz} times a second.`
  yield* misfitsOfLimits(limits, originOf)
}

export const wantsHelp = (argv: readonly string[]) => argv.some((word) => word === '--help' || word === '-h')

/** Allowed values of each flag, which follow "allowed are"; null for a switch. */
const settingFlags: ReadonlyMap<string, string | null> = new Map([
  ...configKeys.map(({ flag, allowed }) => [flag, allowed] as const),
  ['--config', 'the paths of config files'],
  ['--help', null],
])

/**
 * Reads a command's own flags, separated from those of the configuration. `shape` has a field for
 * each: one made in schema.ts, or a `z.boolean()` for a switch. The last of repeated flags wins.
 * Throws ConfigError.
 */
export function readFlags<Shape extends Record<string, z.ZodType>>(
  argv: readonly string[],
  shape: Shape,
): {
  readonly own: { readonly [Name in keyof Shape]: z.output<Shape[Name]> }
  readonly settings: readonly string[]
} {
  const fields = Object.entries(shape).map(([name, schema]) => ({
    name,
    schema,
    flag: flagOf([name]),
    notes: fieldNotes.get(schema),
  }))
  const own = new Map(fields.map(({ flag, notes }) => [flag, notes?.allowed ?? null]))
  const given = splitFlags(argv, new Map([...own, ...settingFlags]))
  const values = fields.map(({ name, schema, flag, notes }) => {
    const text = given.findLast((one) => one.name === flag)?.text
    if (text === undefined) return [name, schema.parse(undefined)]
    const parsed = schema.safeParse(notes ? notes.fromText(text) : true)
    if (parsed.success) return [name, parsed.data]
    throw new ConfigError(`${flag} is ${JSON.stringify(text)}; allowed are ${notes?.allowed}.`)
  })
  const settings = given
    .filter(({ name }) => !own.has(name))
    .map(({ name, text }) => (settingFlags.get(name) === null ? name : `${name}=${text}`))
  return { own: Object.fromEntries(values), settings }
}

const toHelp = '; --help all lists them.'

/**
 * Splits `--name value`, `--name=value` and switches, in order; a switch has no text. Throws
 * ConfigError.
 */
function splitFlags(argv: readonly string[], known: typeof settingFlags): { name: string; text: string }[] {
  const options = Object.fromEntries(
    Array.from(known, ([name, allowed]) => [
      name.slice(2),
      { type: allowed === null ? 'boolean' : 'string', ...(name === '--help' && { short: 'h' }) } as const,
    ]),
  )
  // Not strict: the errors of strict mode name neither the allowed values nor a suggestion.
  const { tokens } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  return tokens.map((token) => {
    const word = argv[token.index] ?? ''
    const name = token.kind === 'option' ? `--${token.name}` : word
    const allowed = known.get(name)
    if (token.kind !== 'option' || allowed === undefined) {
      if (!word.startsWith('--')) throw new ConfigError(`"${word}" is not a flag; --help all lists them.`)
      throw new ConfigError(`There is no flag ${name}${suggestion(name, [...known.keys()], toHelp)}`)
    }
    const { value, inlineValue } = token
    if (allowed === null) {
      if (inlineValue) throw new ConfigError(`${name} takes no value.`)
      return { name, text: '' }
    }
    if (value === undefined || (!inlineValue && value.startsWith('--')))
      throw new ConfigError(`${name} needs a value after it; allowed are ${allowed}.`)
    return { name, text: value }
  })
}
