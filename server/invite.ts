// Entry point of `npm run invite`: makes a link that lets people in, and says what it allows and until when.

import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { type Config, ConfigError, type ConfigSources, loadConfig } from './config/config.ts'
import { configKeys } from './config/keys.ts'
import { suggestion } from './config/nearest.ts'
import { channelName, mostChannels, type Permission } from './security/grant.ts'
import { invitationLink, makeInvitation } from './security/invitation.ts'
import { loadKey } from './security/key.ts'
import { isOpenTo } from './security/openness.ts'

/** What each flag of this command allows, to follow "allowed are". */
const flags = {
  '--channels': `up to ${mostChannels} names of letters, digits, "-", "_" or ".", separated by commas (wind is always readable), or the word all alone`,
  '--may': 'read, write',
  '--hours': 'numbers from 0.01 to 8760',
  '--host-name': 'names and addresses, such as wind.example.org, or with a port, wind.example.org:443',
} as const

type FlagName = keyof typeof flags

const help = `Makes a link that lets people in, for as long as it runs; who has it may use it on several browsers.

  npm run invite                                    to write on the page main, for 24 hours
  npm run invite -- --channels main,notes --may read --hours 2
  npm run invite -- --channels all                  every page
  npm run invite -- --host-name wind.example.org    the name by which people reach this server

The flags of \`npm start\` name the server it is for: --config, --host, --port and so on.
To take back all links and sessions, delete access.key in the data folder and restart the server.
`

/** The text to print. Throws an Error whose message is one sentence: ConfigError for flags and config. */
export async function invite({ argv, env, cwd }: ConfigSources, now: number): Promise<string> {
  if (argv.some((word) => word === '--help' || word === '-h')) return help
  const { own, others } = separate(argv)
  const permission: Permission = { channels: channelsIn(own), may: mayIn(own) }
  const hours = hoursIn(own)
  const config = await loadConfig({ argv: others, env, cwd })
  const origin = originOf(config, own.get('--host-name'))
  const key = await loadKey(config, cwd)
  const expiresAt = now + hours * 3_600_000
  const token = await makeInvitation({ ...permission, expiresAt }, key)
  const lines = [
    `  ${invitationLink(origin, token)}`,
    '',
    `  Whoever opens it may ${inWords(permission)} until ${timeInWords(expiresAt)}.`,
    ...hints(config, own),
  ]
  return `\n${lines.join('\n')}\n\n`
}

function separate(argv: readonly string[]): { own: Map<FlagName, string>; others: string[] } {
  const own = new Map<FlagName, string>()
  const others: string[] = []
  const words = argv.values()
  for (const word of words) {
    const [name = word, ...rest] = word.split('=')
    if (isOwn(name)) own.set(name, name === word ? valueAfter(name, words.next().value) : rest.join('='))
    else others.push(checked(word, name))
  }
  return { own, others }
}

function isOwn(name: string): name is FlagName {
  return Object.hasOwn(flags, name)
}

function valueAfter(name: FlagName, next: string | undefined): string {
  if (next !== undefined && !next.startsWith('--')) return next
  throw new ConfigError(`${name} needs a value after it; allowed are ${flags[name]}.`)
}

/** A word for the config, which cannot suggest this command's flags: a slip in one of those is named here. */
function checked(word: string, name: string): string {
  const names = [...Object.keys(flags), ...configKeys.map(({ flag }) => flag), '--config', '--help']
  if (!name.startsWith('--') || names.includes(name)) return word
  throw new ConfigError(`There is no flag ${name}${suggestion(name, names, '--help lists them')}`)
}

type Own = ReadonlyMap<FlagName, string>

function notAllowed(name: FlagName, given: string): ConfigError {
  return new ConfigError(`${name} is ${JSON.stringify(given)}; allowed are ${flags[name]}.`)
}

function channelsIn(own: Own): Permission['channels'] {
  const given = own.get('--channels') ?? 'main'
  if (given === 'all') return 'all'
  const names = [...new Set(given.split(',').map((name) => name.trim()))]
  const isPage = (name: string) => channelName.safeParse(name).success && name !== 'wind' && name !== 'all'
  if (names.length > mostChannels || !names.every(isPage)) throw notAllowed('--channels', given)
  return names
}

function mayIn(own: Own): Permission['may'] {
  const given = own.get('--may') ?? 'write'
  if (given === 'read' || given === 'write') return given
  throw notAllowed('--may', given)
}

function hoursIn(own: Own): number {
  const given = own.get('--hours') ?? '24'
  const hours = /^\d+(\.\d+)?$/.test(given) ? Number(given) : 0
  if (hours >= 0.01 && hours <= 8760) return hours
  throw notAllowed('--hours', given)
}

function originOf({ host, http, port, http1Port }: Config, hostName: string | undefined): string {
  if (hostName !== undefined && !isHost(hostName)) throw notAllowed('--host-name', hostName)
  const name = hostName ?? (isWildcard(host) ? 'localhost' : host)
  if (/[^:]:\d+$/.test(name) && !isIPv6(name)) return `https://${name}`
  const own = { '2': port, '1.1': http1Port }[http]
  if (own === 0)
    throw new ConfigError('port is 0, which takes a free one; say with --port which one the server took.')
  return `https://${isIPv6(name) ? `[${name}]` : name}:${own}`
}

function isHost(text: string): boolean {
  const bracketed = isIPv6(text) ? `[${text}]` : text
  return /^[A-Za-z0-9.:[\]-]+$/.test(text) && URL.canParse(`https://${bracketed}`)
}

const isWildcard = (host: string) => host === '0.0.0.0' || host === '::'

function inWords({ channels, may }: Permission): string {
  const verb = may === 'write' ? 'read and write' : 'read, and not write,'
  if (channels === 'all') return `${verb} every page`
  return `${verb} the ${channels.length === 1 ? 'page' : 'pages'} ${new Intl.ListFormat('en').format(channels)}`
}

function timeInWords(at: number): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' }).format(at)
}

function hints(config: Config, own: Own): string[] {
  const isHere = isWildcard(config.host) && !own.has('--host-name')
  return [
    ...(isHere
      ? ['  localhost is right on this machine alone; --host-name puts the name that others use.']
      : []),
    ...(isOpenTo(config)
      ? [
          '  With this configuration access is open: everybody who reaches the server may read and write without a link.',
        ]
      : []),
  ]
}

if (import.meta.main) {
  try {
    const cwd = join(import.meta.dirname, '..')
    process.stdout.write(await invite({ argv: process.argv.slice(2), env: process.env, cwd }, Date.now()))
  } catch (error) {
    console.error(`No invitation was made. ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  }
}
