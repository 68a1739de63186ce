// Every setting: the source of defaults, checks, flags, variables, help and docs/settings.md.

import { z } from 'zod'
import { editorNames } from '../page/page-messages.ts'
import { shareNames, transportNames, windowHttpVersions } from '../wire/modes.ts'

/**
 * How a setting or flag is read from text; its meaning is the schema's description, one line
 * without a full stop.
 */
interface FieldNotes {
  readonly allowed: string
  /** The schema validates the result. */
  readonly fromText: (text: string) => unknown
}

export const fieldNotes = z.registry<FieldNotes>()

const numberFrom = (text: string) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)

/** A setting or flag; by default its text is its value. */
export function field<Schema extends z.ZodType>(
  schema: Schema,
  allowed: string,
  fromText: FieldNotes['fromText'] = (text) => text,
): Schema {
  fieldNotes.add(schema as z.ZodType, { allowed, fromText })
  return schema
}

/** Accepts a number for an equal text, and vice versa. */
export function choice<const Value extends string | number>(
  values: readonly Value[],
  initial: NoInfer<Value>,
) {
  const same = (given: unknown) => values.find((value) => String(value) === String(given)) ?? given
  return field(z.preprocess(same, z.literal([...values])).default(initial), values.join(', '))
}

export function quantity(from: number, to: number, initial: number) {
  const schema = z.number().min(from).max(to).default(initial)
  return field(schema, `numbers from ${from} to ${to}`, numberFrom)
}

function whole(from: number, to: number, initial: number) {
  const schema = z.int().min(from).max(to).default(initial)
  return field(schema, `whole numbers from ${from} to ${to}`, numberFrom)
}

function wholeOrAuto(from: number, to: number, initial: number) {
  const schema = z.union([z.literal('auto'), z.int().min(from).max(to)]).default(initial)
  return field(schema, `auto, or whole numbers from ${from} to ${to}`, numberFrom)
}

function text(allowed: string, initial: string, pattern = /./) {
  return field(z.string().regex(pattern).default(initial), allowed)
}

function orNull<Schema extends z.ZodType>(schema: Schema, allowed: string) {
  const fromText = (given: string) => (given === 'null' ? null : given)
  return field(schema.nullable().default(null), `${allowed}, or null`, fromText)
}

const path = () => orNull(z.string().min(1), 'paths')

/** Comma-separated in a flag. */
function list(items: z.ZodArray<z.ZodString>, initial: readonly string[], allowed: string) {
  const fromText = (given: string) => given.split(',').map((item) => item.trim())
  return field(items.default([...initial]), `${allowed}, separated by commas`, fromText)
}

/** RFC 6454. */
const isOrigin = (given: string) => URL.canParse(given) && new URL(given).origin === given

const isHost = (given: string) =>
  given === '*' || URL.parse(`https://${given}`)?.hostname === given.toLowerCase()

const group = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).prefault({} as never)

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
  allowedOrigins: list(
    z.array(z.string().refine(isOrigin)),
    [],
    'origins such as https://editor.example:8443',
  ).describe('Further web origins that may connect, such as that of a proxy'),
  allowedHosts: list(
    z.array(z.string().refine(isHost)),
    [],
    'host names such as editor.example, or *',
  ).describe(
    'Names by which clients may reach this server, besides its addresses, localhost, the name of its machine and the hosts of allowedOrigins; * allows any; by default names are checked only on a loopback address',
  ),
  access: choice(['auto', 'open', 'invited'], 'auto').describe(
    'Who may connect: everyone (open) or invited browsers; auto is open on a loopback address, otherwise invited',
  ),
  accessKeyFile: path().describe(
    'File of the secret that signs invitations; null creates one in the data folder',
  ),
  sessionMinutes: whole(1, 525_600, 720).describe('Minutes until an invited browser must renew its session'),
  broker: choice(['embedded', 'nats', 'sqs'], 'embedded').describe(
    'Where the log is: in the server, on NATS JetStream (for several servers), or in the server behind an Amazon SQS queue',
  ),
  storage: choice(['sqlite', 'memory'], 'sqlite').describe(
    "Storage of the server's own log: a file that survives a restart, or memory, as in the paper",
  ),
  nats: group({
    servers: list(
      z.array(z.string().regex(/^[^\s,]+$/)).min(1),
      ['127.0.0.1:4222'],
      'addresses such as nats1.example:4222',
    ).describe('NATS servers of one cluster'),
    stream: text('names of letters, digits, "-" and "_"', 'crosswind', /^[\w-]{1,64}$/).describe(
      'Stream of the log; servers with the same stream share their documents',
    ),
    replicas: choice([0, 1, 3, 5], 0).describe(
      'Copies of a new stream; 0 makes 3 in a cluster of three servers or more, otherwise 1',
    ),
    credentialsFile: path().describe('Credentials of a NATS user (.creds); null connects without'),
  }).describe('NATS JetStream, as broker'),
  sqs: group({
    endpoint: orNull(z.url({ protocol: /^https?$/ }), 'URLs such as http://127.0.0.1:9324').describe(
      'Another server with the SQS API; null is AWS',
    ),
    region: text('names of letters, digits and "-"', 'us-east-1', /^[a-z\d-]{1,32}$/).describe(
      'AWS region of the queue',
    ),
    queue: text('names of up to 75 letters, digits, "-" and "_"', 'crosswind', /^[\w-]{1,75}$/).describe(
      'Queue of one server, created if missing; its dead-letter queue has the suffix -dead',
    ),
    visibilitySeconds: whole(1, 43_200, 10).describe(
      'Time after which a message that was received but not deleted is received again, s',
    ),
    maxReceives: whole(1, 1000, 5).describe(
      'Receives without deletion after which a message is a dead letter',
    ),
  }).describe('Amazon SQS, as broker'),
  dataFolder: text('paths', 'data').describe('Folder of the log and of the invitation key'),
  reportsFolder: text('paths', 'reports').describe("Folder of the lab's reports, which /lab lists"),
  durability: choice(['process', 'machine'], 'process').describe(
    'What an acknowledged message survives: a killed process, or also a power cut (machine), at the cost of a disk write before each acknowledgement',
  ),
  editor: choice(editorNames, 'shared').describe(
    'Editor: shared merges concurrent edits; mirror sends the whole content at each key, and the last edit wins, as in the 2021 paper',
  ),
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
  heartbeatMs: whole(1000, 60_000, 15_000).describe('Interval of heartbeats, ms'),
  drainMs: whole(0, 60_000, 5000).describe(
    'Time for windows to leave and requests to end when the server stops, ms',
  ),
  limits: group({
    maxMessageBytes: whole(1024, 67_108_864, 1_048_576).describe('Largest message from a window, bytes'),
    maxWindows: whole(1, 100_000, 2000).describe('Maximum number of windows'),
    maxConnections: whole(1, 200_000, 4000).describe('Maximum number of connections'),
    maxChannels: whole(1, 1_000_000, 1000).describe('Maximum number of channels in the log'),
    newChannelsPerHour: whole(1, 1_000_000, 100).describe(
      'New channels an hour from one connection and from one invitation; of the last quarter of maxChannels, from all clients together',
    ),
    channelsPerWindow: whole(1, 1000, 64).describe('Maximum number of channels of one stream'),
    messagesPerSecond: whole(1, 1_000_000, 200).describe(
      'Messages per second from one window; beyond it streams are slowed and POSTs refused (429)',
    ),
    statesPerSecond: whole(1, 1000, 20).describe(
      'Window states (presence) per second from one window; beyond it streams are slowed and POSTs refused (429)',
    ),
    stateBytes: whole(256, 65_536, 4096).describe("Largest window state on an application's channels, bytes"),
    stateBytesPerSecond: whole(65_536, 1_073_741_824, 8_388_608).describe(
      'Window states sent to all readers, bytes per second; a channel gets half at most, a user a quarter, a window an eighth; beyond it only the newest state is sent, later',
    ),
    bodySeconds: whole(1, 600, 30).describe(
      'Time limit for a complete request, and for the validation of a message by an application, s',
    ),
    connectionBytes: whole(65_536, 1_073_741_824, 33_554_432).describe(
      'Unfinished bytes of one connection: incomplete uploads and frames, unread answers, and apart from them messages in validation; a single larger item is accepted',
    ),
    unfinishedBytes: whole(65_536, 17_179_869_184, 134_217_728).describe(
      'The same for all connections of a process; over it the largest item of the largest connection is refused',
    ),
    queueBytesPerWindow: whole(1024, 1_073_741_824, 4_194_304).describe(
      'Unsent bytes of a slow window before its stream is closed',
    ),
    streamsPerSession: whole(1, 10_000, 100).describe(
      'Maximum number of streams of one HTTP/2 connection, and of windows of any connection',
    ),
    logMessages: whole(1, 1_000_000_000, 10_000_000).describe(
      'Messages kept by a log on disk, shared out by channel and by writer',
    ),
    logBytes: whole(1024, 1_099_511_627_776, 2_147_483_648).describe(
      'Bytes of content kept by a log on disk, shared out in the same way; the file has some 150 bytes more for each message',
    ),
    memoryMessages: whole(1, 10_000_000, 100_000).describe(
      'Messages kept by a log in memory, and by a server of a NATS stream, in place of logMessages if that is more',
    ),
    memoryBytes: whole(1024, 17_179_869_184, 167_772_160).describe(
      'Bytes of content kept by a log in memory, and by a server of a NATS stream, in place of logBytes if that is more',
    ),
    logHours: whole(1, 87_600, 168).describe(
      'Hours that messages are kept; the newest content is kept permanently',
    ),
    documentBytes: whole(1024, 1_073_741_824, 16_777_216).describe(
      'Largest shared document, bytes without deleted text; beyond it only deletions are stored',
    ),
    documentSeconds: whole(1, 600, 5).describe(
      'Processor time to read or write one document, s; beyond it the document is not read',
    ),
    documentMegabytes: whole(64, 16_384, 384).describe('Memory to read or write one document, MB'),
    outboxMessages: whole(1, 100_000, 2000).describe('Messages that a window keeps while offline'),
    outboxBytes: whole(1024, 67_108_864, 4_194_304).describe('Bytes that a window keeps while offline'),
  }).describe('Limits of one server'),
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

type Immutable<Value> = Value extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
    : Value

export type Config = Immutable<z.output<typeof configSchema>>

type Partly<Value> = Value extends readonly unknown[] ? Value : Partial<Value>

/** Gives a config file its types: `export default defineConfig({ … })`. */
export const defineConfig = (config: { readonly [Key in keyof Config]?: Partly<Config[Key]> }) => config

export const defaultConfig: Config = configSchema.parse({})

export interface ConfigKey extends FieldNotes {
  /** As in the config file, `sensor.baudRate`. */
  readonly key: string
  readonly meaning: string
  readonly path: readonly string[]
  readonly flag: string
  readonly variable: string
  readonly initial: unknown
  readonly schema: z.ZodType
  /** The description of its group; null at the top level. */
  readonly group: string | null
}

export const configKeys: readonly ConfigKey[] = keysOf(configSchema, [], null)

function keysOf(object: z.ZodObject, parents: readonly string[], group: string | null): ConfigKey[] {
  return Object.entries(object.shape).flatMap(([name, schema]) => {
    const path = [...parents, name]
    if (!(schema instanceof z.ZodType)) throw new TypeError(`${path.join('.')} is not a zod schema`)
    const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema
    if (inner instanceof z.ZodObject) return keysOf(inner, path, schema.description ?? name)
    const notes = fieldNotes.get(schema)
    if (notes === undefined) throw new TypeError(`${path.join('.')} has no notes`)
    const flag = flagOf(path)
    const variable = `CROSSWIND_${flag.slice(2).replaceAll('-', '_').toUpperCase()}`
    const initial = schema.parse(undefined)
    const { description: meaning = '' } = schema
    return [{ ...notes, meaning, key: path.join('.'), path, flag, variable, initial, schema, group }]
  })
}

/** `--sensor-baud-rate` for `['sensor', 'baudRate']`. */
export function flagOf(path: readonly string[]): string {
  const kebabCase = (name: string) => name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)
  return `--${path.map(kebabCase).join('-')}`
}

const helpHead = `Crosswind keeps every open window in step, over a transport of your choice.

  npm start                               starts with the settings of crosswind.config.ts
  npm start -- --transport websocket      a flag overrides variable and file
  CROSSWIND_PORT=9443 npm start           a variable overrides the file
  npm start -- --open                     also opens the page in the browser
  npm start -- --http3                    also serves HTTP/3, by Caddy in front
  npm start -- --config other.config.ts   reads another file
  npm start -- --help                     prints this text

Each setting with its default, its flag and its variable:`

export function configHelp(): string {
  const sections = Map.groupBy(configKeys, ({ group }) => group).entries()
  const texts = sections.map(([group, keys]) => [...(group ? [group] : []), ...keys.map(helpFor)].join('\n'))
  return `${[helpHead, ...texts].join('\n\n')}\n`
}

/** Names on the left, meaning on the right. */
function helpFor({ key, initial, flag, variable, meaning, allowed }: ConfigKey): string {
  const left = [`  ${key} = ${shown(initial)}`, `    ${flag}`, `    ${variable}`]
  const right = [meaning, `Allowed: ${allowed}`].flatMap((text) => text.match(/\S.{0,55}(?= |$)/g) ?? [])
  const rows = left.concat(Array(Math.max(0, right.length - left.length)).fill(''))
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
