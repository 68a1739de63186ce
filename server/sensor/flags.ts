// Reads the command line of the sensor command: what to do, with what, and which words are for the configuration.

import { ConfigError } from '../config/error.ts'
import { configKeys } from '../config/keys.ts'
import { suggestion } from '../config/nearest.ts'
import { overrideFrom } from '../config/override.ts'

/** What each action may be given besides the configuration's own flags. */
const actions = {
  '--list': [],
  '--listen': ['--path', '--baud', '--parity', '--mode', '--node', '--rate', '--seconds'],
  '--configure': ['--path', '--baud', '--parity', '--node'],
  '--simulate': ['--strength', '--format', '--settings', '--seed', '--noise', '--trouble'],
} as const

export type ActionName = keyof typeof actions

/** Short names for settings, which judge them. */
const keys = {
  '--path': 'sensor.path',
  '--baud': 'sensor.baudRate',
  '--parity': 'sensor.parity',
  '--mode': 'sensor.mode',
  '--node': 'sensor.node',
  '--rate': 'sensor.rateHz',
  '--strength': 'sensor.strength',
} as const

/** What the flags of this command alone allow, and the actions that need a word, to follow "allowed are". */
const allowed = {
  '--configure': 'commands of a WindSonic between quotes, such as "P3 M2"',
  '--simulate': 'paths that are free, such as /tmp/windsonic',
  '--seconds': 'numbers from 0.1 to 86400',
  '--format': 'polar, uv, nmea, tunnel',
  '--settings': 'words of a WindSonic between quotes, such as "U2 P3"',
  '--seed': 'whole numbers from 0',
  '--noise': 'shares from 0 to 1',
  '--trouble': 'troubles such as stall@30+9, separated by commas',
} as const

type OwnFlag = (typeof actions)[ActionName][number]

export interface SensorFlags {
  /** Null asks for help. */
  readonly action: ActionName | null
  /** The word after the action, empty where it takes none. */
  readonly object: string
  /** What was given to this command's flags but those that stand for settings. */
  readonly own: ReadonlyMap<string, string>
  /** The words for the configuration. */
  readonly others: readonly string[]
}

/** Throws ConfigError for a flag that there is not, or not with this action, or whose value is none. */
export function readSensorFlags(argv: readonly string[]): SensorFlags {
  if (argv.length === 0 || argv.some((word) => word === '--help' || word === '-h'))
    return { action: null, object: '', own: new Map(), others: [] }
  const given = argv.findLast(isActionIn)?.split('=')[0] ?? ''
  if (isAction(given)) return separate(argv, given)
  for (const word of argv) known(word, word.split('=')[0] ?? '')
  throw new ConfigError(`Say what to do: ${Object.keys(actions).join(', ')}; --help explains.`)
}

function separate(argv: readonly string[], action: ActionName): SensorFlags {
  const own = new Map<string, string>()
  const others: string[] = []
  let object = ''
  const words = argv.values()
  for (const word of words) {
    const [name = word, ...rest] = word.split('=')
    const value = () => (name === word ? valueAfter(name, words.next().value) : rest.join('='))
    if (isAction(name)) object = takesObject(check(name, action)) ? value() : ''
    else if (isSetting(name)) others.push(...settingFlag(check(name, action), value()))
    else if (isOwn(name)) own.set(check(name, action), value())
    else others.push(known(word, name))
  }
  return { action, object, own, others }
}

/** The configuration's flag and text for one of the short names. */
function settingFlag(name: keyof typeof keys, text: string): string[] {
  const key = configKeys.find((candidate) => candidate.key === keys[name])
  if (key === undefined) throw new TypeError(`${keys[name]} is no setting`)
  overrideFrom(key, text, name)
  return [key.flag, text]
}

/** Two actions at once, or a flag of another action, is a slip. */
function check<Name extends string>(name: Name, action: ActionName): Name {
  const may: readonly string[] = [action, ...actions[action]]
  if (may.includes(name)) return name
  throw new ConfigError(`${name} does not go with ${action}; --help lists what does.`)
}

function valueAfter(name: string, next: string | undefined): string {
  if (next !== undefined && !next.startsWith('--')) return next
  throw new ConfigError(`${name} needs a value after it${allowedAre(name)}.`)
}

function allowedAre(name: string): string {
  if (Object.hasOwn(allowed, name)) return `; allowed are ${allowed[name as keyof typeof allowed]}`
  const key = isSetting(name) && configKeys.find((candidate) => candidate.key === keys[name])
  return key ? `; allowed are ${key.allowed}` : ''
}

/** `--seconds is "soon"; allowed are …` */
export function notAllowed(name: keyof typeof allowed, given: string): ConfigError {
  return new ConfigError(`${name} is ${JSON.stringify(given)}; allowed are ${allowed[name]}.`)
}

/** A word for the configuration, which cannot suggest this command's flags: a slip in one of those is named here. */
function known(word: string, name: string): string {
  const own = [...Object.keys(actions), ...Object.keys(keys), ...Object.keys(allowed)]
  const names = [...own, ...configKeys.map(({ flag }) => flag), '--config', '--help']
  if (!name.startsWith('--') || names.includes(name)) return word
  throw new ConfigError(`There is no flag ${name}${suggestion(name, names, '--help lists them')}`)
}

const isActionIn = (word: string) => isAction(word.split('=')[0] ?? '')

function isAction(name: string): name is ActionName {
  return Object.hasOwn(actions, name)
}

function takesObject(action: ActionName): boolean {
  return Object.hasOwn(allowed, action)
}

function isSetting(name: string): name is keyof typeof keys {
  return Object.hasOwn(keys, name)
}

function isOwn(name: string): name is OwnFlag {
  return Object.hasOwn(allowed, name)
}
