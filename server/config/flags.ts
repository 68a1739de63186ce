// What the command line says about the configuration.

import { ConfigError } from './error.ts'
import { type ConfigKey, configKeys } from './keys.ts'
import { suggestion } from './nearest.ts'
import { type Override, overrideFrom } from './override.ts'

export interface Flags {
  readonly overrides: readonly Override[]
  /** What `--config` names; null without it. */
  readonly configFile: string | null
  readonly wantsHelp: boolean
}

interface Flag {
  readonly name: string
  readonly text: string
}

const helpNames = ['--help', '-h']

/** Reads `--key value` and `--key=value`; of the same flag twice the last counts. Throws ConfigError. */
export function readFlags(argv: readonly string[]): Flags {
  const wantsHelp = argv.some((word) => helpNames.includes(word))
  const flags = pairUp(argv.filter((word) => !helpNames.includes(word)))
  const isFile = ({ name }: Flag) => name === '--config'
  return {
    overrides: flags
      .filter((flag) => !isFile(flag))
      .map(({ name, text }) => overrideFrom(keyOf(name), text, name)),
    configFile: flags.findLast(isFile)?.text ?? null,
    wantsHelp,
  }
}

function pairUp(words: readonly string[]): Flag[] {
  const flags: Flag[] = []
  for (let index = 0; index < words.length; index += 1) {
    const [word = '', next] = words.slice(index)
    if (!word.startsWith('--')) throw new ConfigError(`"${word}" is no flag; --help lists them.`)
    const [name = word, ...rest] = word.split('=')
    if (name === word) index += 1
    flags.push({ name, text: name === word ? valueAfter(name, next) : rest.join('=') })
  }
  return flags
}

function valueAfter(name: string, next: string | undefined): string {
  if (next !== undefined && !next.startsWith('--')) return next
  const allowed = name === '--config' ? 'the paths of config files' : keyOf(name).allowed
  throw new ConfigError(`${name} needs a value after it; allowed are ${allowed}.`)
}

function keyOf(name: string): ConfigKey {
  const key = configKeys.find(({ flag }) => flag === name)
  if (key !== undefined) return key
  const names = [...configKeys.map(({ flag }) => flag), '--config', '--help']
  throw new ConfigError(`There is no flag ${name}${suggestion(name, names, '--help lists them')}`)
}
