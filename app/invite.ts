// Entry point of `npm run invite`: creates an invitation link.

import { get } from 'node:https'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { z } from 'zod'
import { isChannelName, maxChannelBytes } from '../protocol/messages.ts'
import type { ByHttp } from '../protocol/modes.ts'
import { isWildcard, originFor } from '../scripts/addresses.ts'
import { whenReaderIsGone } from '../scripts/process.ts'
import { choice, field, quantity } from '../server/settings.ts'
import { invitationLink, isOpenTo, loadKey, makeInvitation, maxChannels, type Permission } from './access.ts'
import {
  type Config,
  ConfigError,
  type ConfigSources,
  loadConfig,
  readFlags,
  wantsHelp,
} from './config/config.ts'
import { mainChannel, probesChannel, windChannel } from './shared/page-messages.ts'

const help = `Prints an invitation link. Until it expires, it admits every browser that opens it.

  npm run invite                                    may write on the page main, for 24 hours
  npm run invite -- --channels main,notes --may read --hours 2
  npm run invite -- --channels all                  every page
  npm run invite -- --host-name wind.example.org    name by which other machines reach the server

The flags of \`npm start\` tell which server it is for: --config, --host, --port and others.
To revoke all links and sessions, delete access.key in the data folder and restart the server.
`

const isPage = (name: string) => isChannelName(name) && ![windChannel, probesChannel, 'all'].includes(name)

const flags = {
  channels: field(
    z
      .string()
      .prefault(mainChannel)
      .transform((text) =>
        text === 'all' ? text : [...new Set(text.split(',').map((name) => name.trim().normalize('NFC')))],
      )
      .refine((names) => names === 'all' || (names.length <= maxChannels && names.every(isPage))),
    `up to ${maxChannels} names of letters and digits of any script, "-", "_" or ".", each of ${maxChannelBytes} bytes at most, separated by commas (wind is always readable), or the word all alone`,
  ),
  may: choice(['read', 'write'], 'write'),
  hours: quantity(0.01, 8760, 24),
  hostName: field(
    z.string().refine(isHost).optional(),
    'names and addresses, such as wind.example.org, or with a port, wind.example.org:443',
  ),
}

function isHost(text: string): boolean {
  const bracketed = isIPv6(text) ? `[${text}]` : text
  return /^[A-Za-z0-9.:[\]-]+$/.test(text) && URL.canParse(`https://${bracketed}`)
}

/**
 * Returns the text to print. Throws an Error with one sentence: ConfigError for flags and config.
 * `ask` resolves to the status with which the server at an origin answers this invitation; null if
 * none answers.
 */
export async function invite(
  { argv, env, cwd }: ConfigSources,
  now: number,
  ask: (origin: string, token: string) => Promise<number | null>,
): Promise<string> {
  if (wantsHelp(argv)) return help
  const { own, settings } = readFlags(argv, flags)
  const config = await loadConfig({ argv: settings, env, cwd })
  const origin = originOf(config, own.hostName)
  const expiresAt = now + own.hours * 3_600_000
  const key = await loadKey(config, cwd)
  const token = await makeInvitation({ channels: own.channels, may: own.may, expiresAt }, key)
  // Over HTTP/1.1, which node:https supports.
  const asked = originFor(config.host, config.http1Port)
  const status = await ask(asked, token)
  if (status === 401) throw new Error(`The server at ${asked} has another key: ${sameFlags}.`)
  const until = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' }).format(expiresAt)
  const lines = [
    `  ${invitationLink(origin, token)}`,
    '',
    `  Anyone who opens it may ${inWords(own)} until ${until}.`,
  ]
  if (isWildcard(config.host) && own.hostName === undefined)
    lines.push('  localhost is correct only on this machine; set the name for others with --host-name.')
  if (isOpenTo(config))
    lines.push(
      '  With this configuration access is open: everyone who reaches the server may read and write without a link.',
    )
  // Without https://, by which scripts find the link.
  if (status === null) lines.push(`  No server answers at ${URL.parse(asked)?.host}: ${sameFlags}.`)
  return `\n${lines.join('\n')}\n\n`
}

const sameFlags =
  'give the same flags as when it was started (--port, --http1-port, --data-folder, --config and others)'

/** Resolves within two seconds. On this machine the server's certificate need not be trusted. */
function askServer(origin: string, token: string): Promise<number | null> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${token}` }
    const options = { headers, rejectUnauthorized: false, timeout: 2000 }
    const asking = get(`${origin}/api/documents`, options, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? null)
    })
    asking.on('timeout', () => asking.destroy(new Error('Nothing answered.')))
    asking.on('error', () => resolve(null))
  })
}

function originOf({ host, http, port, http1Port }: Config, hostName: string | undefined): string {
  const name = hostName ?? host
  if (/[^:]:\d+$/.test(name) && !isIPv6(name)) return `https://${name}`
  const ports: ByHttp<number> = { '2': port, '1.1': http1Port }
  const own = ports[http] ?? port
  if (own !== 0) return originFor(name, own)
  throw new ConfigError("port is 0, which selects a free one; give the server's actual port with --port.")
}

function inWords({ channels, may }: Permission): string {
  const verb = may === 'write' ? 'read and write' : 'read, and not write,'
  if (channels === 'all') return `${verb} every page`
  return `${verb} the ${channels.length === 1 ? 'page' : 'pages'} ${new Intl.ListFormat('en').format(channels)}`
}

if (import.meta.main) {
  whenReaderIsGone()
  try {
    const cwd = join(import.meta.dirname, '..')
    const sources = { argv: process.argv.slice(2), env: process.env, cwd }
    process.stdout.write(await invite(sources, Date.now(), askServer))
  } catch (error) {
    console.error(`No invitation was made. ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  }
}
