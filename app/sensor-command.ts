// Entry point of `npm run sensor`: lists, shows, configures and simulates.

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { SerialPort } from 'serialport'
import { z } from 'zod'
import { createSeededRandom } from '../protocol/time.ts'
import { processTimers, whenReaderIsGone } from '../scripts/process.ts'
import { configure } from '../sensor/command/configure.ts'
import { listen } from '../sensor/command/listen.ts'
import {
  inColumns,
  type ListedPort,
  type SensorContext,
  SensorFailure,
} from '../sensor/command/sensor-context.ts'
import { createSerialPort, type PortSettings } from '../sensor/serial-port.ts'
import { readFault } from '../sensor/simulator/faulty-line.ts'
import { openTerminal, type Terminal } from '../sensor/simulator/pseudo-terminal.ts'
import { WindSonic } from '../sensor/simulator/windsonic.ts'
import { messageCommands, questions, WindSonicSettings } from '../sensor/simulator/windsonic-settings.ts'
import { choice, field, quantity } from '../server/settings.ts'
import {
  type Config,
  ConfigError,
  type ConfigSources,
  loadConfig,
  readFlags,
  wantsHelp,
} from './config/config.ts'
import { configKeys } from './config/schema.ts'

const help = `Lists serial ports; reads, configures and simulates a WindSonic.

  npm run sensor -- --list                       lists the serial ports of this machine

  npm run sensor -- --listen                     prints what the sensor sends, for 10 seconds
    --seconds 60                                 for 60 seconds; Ctrl-C stops it
    --mode polled --node Q --rate 4              polls the sensor

  npm run sensor -- --configure "P3 M2"          sends commands, prints answers and settings;
                                                 D3 changes nothing
    --node Q                                     node letter of a polled sensor

  npm run sensor -- --simulate /tmp/windsonic    simulates a WindSonic on a pseudo-terminal
                                                 (needs socat)
    --strength gale                              calm, breeze, strong or gale
    --format uv                                  polar, uv, nmea or tunnel
    --settings "U2 P3"                           further settings, as in configuration mode
    --seed 7                                     repeats the same wind
    --noise 0.05                                 damages this share of the messages
    --trouble stall@30+9,blocked@60+5            faults, from the 30th second for 9 seconds:
                                                 stall, silence, cut, shifted, flipped, wrong-baud,
                                                 blocked, blocked-u or blocked-v

The port is that of the configuration, or --path /dev/ttyUSB0 --baud 9600 --parity none. One program
at a time can use it: stop the server first. Only --configure and --mode polled write to it.
The flags of \`npm start\` apply too: --config, --sensor-path and others.
`

/** Each action's flags. */
const actions = {
  list: [],
  listen: ['path', 'baud', 'parity', 'mode', 'node', 'rate', 'seconds'],
  configure: ['path', 'baud', 'parity', 'node'],
  simulate: ['strength', 'format', 'settings', 'seed', 'noise', 'trouble'],
} as const satisfies Record<string, readonly string[]>

type Action = keyof typeof actions

const flags = {
  list: z.boolean().default(false),
  listen: z.boolean().default(false),
  configure: text('commands of a WindSonic between quotes, such as "P3 M2"'),
  simulate: text('paths that are free, such as /tmp/windsonic'),
  seconds: quantity(0.1, 86_400, 10),
  format: choice(['polar', 'uv', 'nmea', 'tunnel'], 'polar'),
  settings: text('words of a WindSonic between quotes, such as "U2 P3"'),
  seed: text('whole numbers from 0', /^\d{1,10}$/),
  noise: quantity(0, 1, 0),
  trouble: text('troubles such as stall@30+9, separated by commas'),
  path: setting('sensor.path'),
  baud: setting('sensor.baudRate'),
  parity: setting('sensor.parity'),
  mode: setting('sensor.mode'),
  node: setting('sensor.node'),
  rate: setting('sensor.rateHz'),
  strength: setting('sensor.strength'),
}

type OwnFlags = ReturnType<typeof readFlags<typeof flags>>['own']

function text(allowed: string, pattern = /^/) {
  return field(z.string().regex(pattern).optional(), allowed)
}

/** A short flag for a setting: replaced by the setting's own flag with the value. */
function setting(key: string) {
  const known = configKeys.find((one) => one.key === key)
  if (known === undefined) throw new TypeError(`${key} is no setting`)
  const isAllowed = (given: string) => known.schema.safeParse(known.fromText(given)).success
  const given = z.string().refine(isAllowed)
  return field(given.transform((value) => `${known.flag}=${value}`).optional(), known.allowed)
}

/** Throws ConfigError for wrong flags or config, SensorFailure otherwise. */
export async function runSensorCommand(
  { argv, env, cwd }: ConfigSources,
  context: SensorContext,
): Promise<void> {
  if (argv.length === 0 || wantsHelp(argv)) return help.trimEnd().split('\n').forEach(context.print)
  const { own, settings } = readFlags(argv, flags)
  const action = actionIn(argv)
  const commands = action === 'configure' ? commandsIn(own.configure ?? '') : []
  const aliases = [own.path, own.baud, own.parity, own.mode, own.node, own.rate, own.strength]
  const short = aliases.filter((flag) => flag !== undefined)
  const { sensor } = await loadConfig({ argv: [...settings, ...short], env, cwd })
  switch (action) {
    case 'list':
      return listPorts(context)
    case 'simulate':
      return simulate(own, sensor.strength, context)
    case 'configure':
      return configure({ port: portIn(sensor), node: sensor.node, commands }, context)
    case 'listen': {
      const { mode, node, rateHz } = sensor
      const polling = mode === 'polled' ? { node, rateHz } : null
      return listen({ port: portIn(sensor), polling, forSeconds: own.seconds }, context)
    }
  }
}

/** Rejects a second action, and flags of another one. */
function actionIn(argv: readonly string[]): Action {
  const given = argv.filter((word) => word.startsWith('--')).map((word) => word.slice(2).split('=')[0] ?? '')
  const names = Object.keys(actions) as Action[]
  const action = names.findLast((name) => given.includes(name))
  if (action === undefined)
    throw new ConfigError(`Say what to do: ${names.map((name) => `--${name}`).join(', ')}; --help explains.`)
  const allowed: readonly string[] = [action, ...actions[action]]
  const stray = Object.keys(flags).find((name) => given.includes(name) && !allowed.includes(name))
  if (stray === undefined) return action
  throw new ConfigError(`--${stray} does not go with --${action}; --help lists what does.`)
}

/**
 * Splits `"P3 M2"` into `['P3', 'M2']`. Throws ConfigError for an unknown word, and for what the
 * dialogue sends itself.
 */
function commandsIn(words: string): string[] {
  const known = `there are ${messageCommands.join(', ')}, U1 to U5, O1, O2, L1, L2, P1, P2, P3, P20, P21, B1 to B5, F1 to F3, H1, H2, NA to NZ, K50 to K5000, E, T, S, C, and the questions ${questions.join(', ')}`
  const commands = words
    .toUpperCase()
    .split(/[\s,]+/)
    .filter((word) => word !== '')
  if (commands.length === 0) throw new ConfigError(`--configure needs commands, such as "P3 M2"; ${known}.`)
  for (const word of commands) {
    if (word === 'Q' || word.startsWith('*'))
      throw new ConfigError(`"${word}" is sent automatically, at the right moment; leave it out.`)
    if (!questions.includes(word) && WindSonicSettings.factory.changedBy(word) === null)
      throw new ConfigError(`"${word}" is not a WindSonic command; ${known}.`)
  }
  return commands
}

function portIn({ path, baudRate, parity }: Config['sensor']): PortSettings {
  if (path !== null) return { path, baudRate, parity }
  throw new ConfigError(
    'No port is given; name one, such as --path /dev/ttyUSB0, or set sensor.path (--list shows the ports).',
  )
}

/** Ports with a known maker come first. */
async function listPorts({ print, listPorts }: SensorContext): Promise<void> {
  const ports = await listPorts().catch((error: unknown) => {
    throw new SensorFailure(
      `The ports of this machine cannot be listed (${messageOf(error)}); name yours with --path.`,
    )
  })
  const text = ports.length === 0 ? noPort : tableOf(ports.toSorted(byKnownMaker))
  for (const line of ['', ...text, '']) print(line)
}

const noPort = [
  '  There is no serial port. Plug the converter in and look again; on Linux it is called /dev/ttyUSB0 or',
  '  /dev/ttyACM0, on macOS /dev/tty.usbserial-…, on Windows COM3.',
]

function tableOf(ports: readonly ListedPort[]): string[] {
  const rows = ports.map(({ path, manufacturer: maker = '–', serialNumber = '–' }) => [
    path,
    maker,
    serialNumber,
  ])
  const first = ports[0]?.path
  return [
    ...inColumns([['path', 'maker', 'serial number'], ...rows]),
    '',
    `  See what one sends:          npm run sensor -- --listen --path ${first}`,
    `  Show it in every window:     npm start -- --sensor-source serial --sensor-path ${first}`,
  ]
}

/** A machine's built-in ports have no maker; a USB converter has one. */
function byKnownMaker(a: ListedPort, b: ListedPort): number {
  const rank = ({ manufacturer }: ListedPort) => (manufacturer === undefined ? 1 : 0)
  return rank(a) - rank(b) || a.path.localeCompare(b.path, 'en', { numeric: true })
}

/** Continuous messages by format. */
const messages = { polar: 'M2', uv: 'M1', nmea: 'M5', tunnel: 'M12' }

/** The buffer of a 16550, the usual serial port chip. */
const portBufferBytes = 16

/**
 * Simulates a sensor that always measures; output is dropped while the path is closed. Any baud
 * rate works. Resolves after the signal. Rejects with SensorFailure if no pseudo-terminal can be
 * created.
 */
async function simulate(
  { simulate: path = '', format, settings = '', seed, noise, trouble }: OwnFlags,
  strength: Config['sensor']['strength'],
  { print, timers, random, signal }: SensorContext,
): Promise<void> {
  const configuration = `${messages[format]} ${settings}`
  const faults = asConfigError(() => trouble?.split(',').map((one) => readFault(one.trim())) ?? [])
  const initial = asConfigError(() => WindSonicSettings.parse(configuration))
  const ended = Promise.withResolvers<void>()
  let terminal: Terminal | null = null
  const sensor = new WindSonic({
    configuration,
    strength,
    faults,
    noise,
    timers,
    random: seed === undefined ? random : createSeededRandom(Number(seed)),
    isPoweredUp: true,
    pieceBytes: portBufferBytes,
    onBytes: (bytes) => terminal?.write(bytes),
  })
  try {
    const onInput = (bytes: Uint8Array) => sensor.write(bytes)
    terminal = await openTerminal({ path, timers, onInput, onFailure: ended.reject })
    signal.addEventListener('abort', () => ended.resolve(), { once: true })
    if (signal.aborted) ended.resolve()
    const polled = initial.message.isPolled ? ' --sensor-mode polled' : ''
    const inFile = `sensor: { source: 'serial', path: '${path}'${polled && ", mode: 'polled'"} }`
    const lines = [
      '',
      `  A simulated WindSonic is on ${path}: ${strength}, ${initial.list()}`,
      '  Programs that open it cannot tell it from a real one.',
      '',
      `  See what it sends:          npm run sensor -- --listen --path ${path}${polled && ' --mode polled'}`,
      `  Show it in every window:    npm start -- --sensor-source serial --sensor-path ${path}${polled}`,
      `  The same in the config:     ${inFile}`,
      '',
      '  Ctrl-C ends it.',
      '',
    ]
    for (const line of lines) print(line)
    await ended.promise
  } catch (error) {
    throw new SensorFailure(messageOf(error))
  } finally {
    sensor.stop()
    await terminal?.close()
  }
}

function asConfigError<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw new ConfigError(messageOf(error))
  }
}

/** Many containers have no udevadm; there, converters are recognised only by name. */
async function listDevices(error: unknown): Promise<ListedPort[]> {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  const names = await readdir('/dev')
  return names
    .filter((name) => /^tty(?:USB|ACM|AMA)\d+$/.test(name))
    .map((name) => ({ path: `/dev/${name}` }))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Signals closer together count as one: a process group gets it, and npm forwards it too. */
const sameSignalMs = 500

interface SignalOptions {
  readonly process: { on(signal: NodeJS.Signals, listener: () => void): unknown }
  /** Monotonic, in ms. */
  readonly now: () => number
  exit(): void
}

/** A second signal exits at once. */
export function endBySignal({ process, now, exit }: SignalOptions): AbortSignal {
  const ending = new AbortController()
  let firstAt: number | null = null

  function onSignal(): void {
    if (firstAt !== null && now() - firstAt > sameSignalMs) exit()
    firstAt ??= now()
    ending.abort()
  }

  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
  return ending.signal
}

if (import.meta.main) {
  whenReaderIsGone()
  try {
    await runSensorCommand(
      { argv: process.argv.slice(2), env: process.env, cwd: join(import.meta.dirname, '..') },
      {
        print: (line) => process.stdout.write(`${line}\n`),
        timers: processTimers,
        random: Math.random,
        listPorts: () => SerialPort.list().catch(listDevices),
        createPort: createSerialPort,
        signal: endBySignal({ process, now: () => performance.now(), exit: () => process.exit(1) }),
      },
    )
  } catch (error) {
    const isExpected = error instanceof ConfigError || error instanceof SensorFailure
    console.error(isExpected ? error.message : error)
    process.exitCode = 1
  }
}
