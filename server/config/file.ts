// Reads a config file: a module whose default export is any part of the configuration.

import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { z } from 'zod'
import { ConfigError } from './error.ts'
import { configKeys } from './keys.ts'
import { suggestion } from './nearest.ts'
import { notAllowed } from './override.ts'
import { type Config, configSchema, defaultConfig } from './schema.ts'

/** The file that is read unless `--config` names another; it may be missing. */
export const usualFile = 'crosswind.config.ts'

/** The configuration of a file, defaults filled in. Throws ConfigError when it cannot be read or is wrong. */
export async function configFromFile(cwd: string, named: string | null): Promise<Config> {
  const file = resolve(cwd, named ?? usualFile)
  if (await isThere(file)) return checked(await exportOf(file), named ?? usualFile)
  if (named === null) return defaultConfig
  throw new ConfigError(`${named} (from --config) is missing.`)
}

async function isThere(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}

async function exportOf(file: string): Promise<unknown> {
  const module: unknown = await import(pathToFileURL(file).href).catch((error: unknown) => {
    const [reason] = String(error).split('\n')
    throw new ConfigError(`${basename(file)} cannot be read: ${reason}.`, { cause: error })
  })
  if (typeof module === 'object' && module !== null && 'default' in module) return module.default
  throw new ConfigError(
    `${basename(file)} exports nothing; it should say: export default defineConfig({ … }).`,
  )
}

/** Checks what a file says; `from` is its name in messages. */
export function checked(given: unknown, from: string): Config {
  const result = configSchema.safeParse(given)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw issue === undefined ? result.error : complaint(issue, given, from)
}

function complaint(issue: z.core.$ZodIssue, given: unknown, from: string): ConfigError {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') return unknownKey([...path, issue.keys[0] ?? ''].join('.'), from)
  const key = configKeys.find((candidate) => candidate.path.every((name, index) => path[index] === name))
  if (key !== undefined) return notAllowed(key, valueAt(given, path), from)
  const name = path.length === 0 ? 'The configuration' : path.join('.')
  return new ConfigError(
    `${name} is ${JSON.stringify(valueAt(given, path))} (from ${from}); it has to be an object.`,
  )
}

function unknownKey(key: string, from: string): ConfigError {
  const names = configKeys.map((known) => known.key)
  return new ConfigError(
    `There is no key ${key} (from ${from})${suggestion(key, names, '--help lists them')}`,
  )
}

function valueAt(given: unknown, path: readonly string[]): unknown {
  const step = (value: unknown, name: string) =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).find(([key]) => key === name)?.[1]
      : undefined
  return path.reduce(step, given)
}
