// Every setting of the page's server: the source of defaults, checks, flags, variables, help and
// docs/settings.md.

import { z } from 'zod'
import { shareNames, transportNames, windowHttpVersions } from '../../protocol/modes.ts'
import {
  type ConfigKey,
  choice,
  engineShape as engine,
  group,
  type Immutable,
  keysOf,
  path,
  quantity,
  text,
  whole,
  wholeOrAuto,
} from '../../server/settings.ts'

export const configSchema = z.strictObject({
  transport: choice(transportNames, 'sse').describe('Default transport; each window can choose another'),
  http: choice(windowHttpVersions, '2').describe(
    'Default HTTP version; 3 needs a front that serves it, and windows without it use 2',
  ),
  host: text('names and addresses of this machine', 'localhost').describe(
    'Address to listen on: localhost is 127.0.0.1; 0.0.0.0 and :: accept other machines',
  ),
  port: whole(0, 65535, 8443).describe(
    'Port for HTTP/2, and for HTTP/1.1 clients without HTTP/2; 0 picks a free port',
  ),
  http1Port: whole(0, 65535, 8444).describe('Port for HTTP/1.1 only; 0 picks a free port'),
  http3Port: whole(1, 65535, 8445).describe(
    'Port for HTTP/3, with --http3; there also HTTP/2 and HTTP/1.1 for clients without it',
  ),
  workers: wholeOrAuto(1, 64, 1).describe(
    'Processes that serve windows; auto is one per core; several need one more for the log and the sensor',
  ),
  logFormat: choice(['text', 'json'], 'text').describe(
    'Output as sentences for people, or as one JSON object per line for a log collector',
  ),
  tls: group({
    certFile: path().describe(
      'PEM file of the certificate with its chain; null creates a local one in certs/',
    ),
    keyFile: path().describe("PEM file of the certificate's private key"),
  }).describe('Your own certificate'),
  allowedOrigins: engine.allowedOrigins,
  allowedHosts: engine.allowedHosts,
  access: choice(['auto', 'open', 'invited'], 'auto').describe(
    'Who may connect: everyone (open) or invited browsers; auto is open on a loopback address, otherwise invited',
  ),
  accessKeyFile: path().describe(
    'File of the secret that signs invitations; null creates one in the data folder',
  ),
  sessionMinutes: whole(1, 525_600, 720).describe('Minutes until an invited browser must renew its session'),
  broker: engine.broker,
  storage: engine.storage,
  nats: engine.nats,
  sqs: engine.sqs,
  dataFolder: text('paths', 'data').describe('Folder of the log and of the invitation key'),
  reportsFolder: text('paths', 'reports').describe("Folder of the lab's reports, which /lab lists"),
  durability: engine.durability,
  mergeMs: whole(0, 1000, 15).describe(
    'Time for which a window collects its updates of the shared document, ms; 0 sends each one',
  ),
  share: choice(shareNames, 'auto').describe(
    'Modes in which the windows of one browser share a connection: those that carry only a few windows over HTTP/1.1 (auto), all (browser) or none',
  ),
  polling: group({
    intervalMs: whole(10, 60_000, 150).describe('Pause between polls, ms, as in the 2012 paper'),
    holdMs: whole(0, 25_000, 300).describe('Longest time a long poll is held, ms, as in the 2012 paper'),
  }).describe('Polling'),
  heartbeatMs: engine.heartbeatMs,
  drainMs: whole(0, 60_000, 5000).describe(
    'Time for windows to leave and requests to end when the server stops, ms',
  ),
  limits: engine.limits,
  sensor: group({
    source: choice(['simulated', 'serial', 'recorded', 'remote', 'none'], 'simulated').describe(
      'Source of readings: the simulator, a WindSonic on a serial port, its raw log (recorded), or another server of the NATS stream (remote)',
    ),
    path: path().describe('Serial port of the WindSonic, such as /dev/ttyUSB0'),
    baudRate: choice([2400, 4800, 9600, 19200, 38400], 9600).describe('Bit rate of the serial port'),
    parity: choice(['none', 'even', 'odd'], 'none').describe('Parity of the serial port, with 8 data bits'),
    mode: choice(['continuous', 'polled'], 'continuous').describe(
      'Whether the WindSonic sends by itself and is never written to (continuous), or the server requests each reading (polled: M3, M4)',
    ),
    node: text('letters from A to Z', 'Q', /^[A-Z]$/).describe('Node letter of a polled WindSonic'),
    // The silence detector assumes the WindSonic's slowest rate, one reading in 4 s.
    rateHz: quantity(0.25, 100, 4).describe(
      'Readings per second of the simulator, of a log without times, and of a polled sensor (at most 7)',
    ),
    strength: choice(['calm', 'breeze', 'strong', 'gale'], 'breeze').describe(
      'Strength of the simulated wind',
    ),
    file: path().describe('Raw log to replay'),
    pace: quantity(1, 1000, 1).describe('Replay speed of a log; 1 is its own speed'),
  }).describe('The wind sensor'),
})

export type Config = Immutable<z.output<typeof configSchema>>

type Partly<Value> = Value extends readonly unknown[] ? Value : Partial<Value>

/** Gives a config file its types: `export default defineConfig({ … })`. */
export const defineConfig = (config: { readonly [Key in keyof Config]?: Partly<Config[Key]> }) => config

export const defaultConfig: Config = configSchema.parse({})

export const configKeys: readonly ConfigKey[] = keysOf(configSchema)

const helpHead = `Crosswind keeps every open window in step, over a transport of your choice.

  npm start                               starts with the settings of crosswind.config.ts
  npm start -- --transport websocket      a flag overrides variable and file
  CROSSWIND_PORT=9443 npm start           a variable overrides the file
  npm start -- --open                     also opens the page in the browser
  npm start -- --invite                   lets other devices in, by invitation
  npm start -- --http3                    also serves HTTP/3, by Caddy in front
  npm start -- --config other.config.ts   reads another file
  npm start -- --help all                 prints every setting`

/** Those that people change first, in this order. */
const usualKeys = [
  'transport',
  'http',
  'port',
  'http1Port',
  'host',
  'access',
  'sensor.source',
  'sensor.path',
  'sensor.strength',
  'dataFolder',
]

/** The settings that people change first, or all with their variables. */
export function configHelp(areAll = false): string {
  return `${[helpHead, ...(areAll ? allSettings() : usualSettings())].join('\n\n')}\n`
}

function usualSettings(): readonly string[] {
  const usual = usualKeys.flatMap((name) => configKeys.filter(({ key }) => key === name))
  const rows = usual.map(({ flag, initial, meaning, allowed }) =>
    inColumns([`  ${flag} ${shown(initial)}`], meaning, allowed),
  )
  return [['The settings that people change first, each with its default:', ...rows].join('\n')]
}

function allSettings(): readonly string[] {
  const sections = Map.groupBy(configKeys, ({ group }) => group).entries()
  const texts = sections.map(([group, keys]) => [...(group ? [group] : []), ...keys.map(helpFor)].join('\n'))
  return ['Each setting with its default, its flag and its variable:', ...texts]
}

function helpFor({ key, initial, flag, variable, meaning, allowed }: ConfigKey): string {
  return inColumns([`  ${key} = ${shown(initial)}`, `    ${flag}`, `    ${variable}`], meaning, allowed)
}

/** Names on the left, meaning on the right. */
function inColumns(left: readonly string[], meaning: string, allowed: string): string {
  const right = [meaning, `Allowed: ${allowed}`].flatMap((text) => text.match(/\S.{0,55}(?= |$)/g) ?? [])
  const rows = [...left, ...Array(Math.max(0, right.length - left.length)).fill('')]
  return rows.map((names, row) => `${names.padEnd(44)}${right[row] ?? ''}`.trimEnd()).join('\n')
}

const shown = (initial: unknown) => (typeof initial === 'string' ? initial : JSON.stringify(initial))

/** The Markdown table of docs/settings.md. */
export function configTable(): string {
  const row = ({ key, initial, meaning, allowed }: ConfigKey) =>
    `| \`${key}\` | \`${shown(initial)}\` | ${meaning} | ${allowed.replace(/(whole )?numbers from /, '')} |\n`
  return `| key | default | meaning | allowed |\n|---|---|---|---|\n${configKeys.map(row).join('')}`
}

if (import.meta.main) process.stdout.write(configTable())
