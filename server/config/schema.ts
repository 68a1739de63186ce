// Every setting there is: the one place from which defaults, checks, flags, variables, help and README follow.

import { z } from 'zod'
import { httpVersions, transportNames } from '../wire/modes.ts'
import { choice, fieldNotes, group, originList, path, quantity, text, whole } from './fields.ts'

/** The one letter by which a sensor is asked. */
function nodeLetter(meaning: string) {
  const notes = { meaning, allowed: 'letters from A to Z', fromText: (given: string) => given }
  return z
    .string()
    .regex(/^[A-Z]$/)
    .default('Q')
    .register(fieldNotes, notes)
}

export const configSchema = z.strictObject({
  transport: choice(transportNames, 'sse', 'How messages travel, unless a window chooses for itself'),
  http: choice(httpVersions, '2', 'The HTTP version below the transport'),
  host: text(
    'names and addresses of this machine',
    'localhost',
    'Where to listen: localhost is 127.0.0.1, 0.0.0.0 or :: let other machines in',
  ),
  port: whole(0, 65535, 8443, 'Port of HTTP/2, and of HTTP/1.1 for a client that cannot; 0 takes a free one'),
  http1Port: whole(0, 65535, 8444, 'Port of HTTP/1.1 alone; 0 takes a free one'),
  tls: group('A certificate of your own', {
    certFile: path('PEM file of the certificate, with its chain; null makes a local one in certs/'),
    keyFile: path('PEM file of its private key'),
  }),
  allowedOrigins: originList('Web origins that may connect, besides the server itself, behind a proxy, say'),
  access: choice(
    ['auto', 'open', 'invited'],
    'auto',
    'Who may come in: everyone, or who was invited (npm run invite); auto is open on this machine alone, invited on any other address',
  ),
  accessKeyFile: path('File of the secret that signs invitations; null makes one in the data folder'),
  sessionMinutes: whole(1, 525_600, 720, 'How long an invited browser stays in before it has to ask again'),
  storage: choice(
    ['sqlite', 'memory'],
    'sqlite',
    'Where the log is: in a file that survives a restart, or in memory as in the paper',
  ),
  dataFolder: text('paths', 'data', 'Where the log and the key of invitations are kept'),
  durability: choice(
    ['process', 'machine'],
    'process',
    'What an acknowledged message survives: a killed server, or a power cut too, at the price of a disk write before each answer',
  ),
  share: choice(
    ['none', 'browser'],
    'none',
    'Whether the windows of one browser share a connection, so that HTTP/1.1 carries any number of them',
  ),
  polling: group('How windows ask that poll', {
    intervalMs: whole(10, 60_000, 150, 'Pause between polls, in ms (150 in the 2012 paper)'),
    holdMs: whole(0, 25_000, 300, 'How long a long poll is held, in ms (300 in the 2012 paper)'),
  }),
  heartbeatMs: whole(1000, 60_000, 15_000, 'Silence, in ms, after which a sign of life is sent'),
  drainMs: whole(
    0,
    60_000,
    5000,
    'Time, in ms, in which a stopping server sends its windows away and lets open requests end',
  ),
  limits: group('What one server takes on', {
    maxMessageBytes: whole(1024, 67_108_864, 1_048_576, 'Largest message a window may send, in bytes'),
    maxWindows: whole(1, 100_000, 2000, 'Windows connected at a time'),
    maxConnections: whole(1, 200_000, 4000, 'Connections open at a time'),
    maxChannels: whole(1, 1_000_000, 1000, 'Channels that the log keeps the content of'),
    channelsPerWindow: whole(1, 1000, 64, 'Channels that one stream may carry'),
    messagesPerSecond: whole(
      1,
      1_000_000,
      200,
      'Messages a second from one window; more are held back over a stream, refused (429) over POST',
    ),
    bodySeconds: whole(1, 600, 30, 'Time in which a request has to be complete'),
    queueBytesPerWindow: whole(
      1024,
      1_073_741_824,
      4_194_304,
      'Bytes that may wait for a slow window before its stream is closed',
    ),
    streamsPerSession: whole(1, 10_000, 250, 'Streams, and so windows, in one HTTP/2 connection'),
    logMessages: whole(1, 10_000_000, 100_000, 'Messages kept for windows that come back'),
    logBytes: whole(1024, 17_179_869_184, 268_435_456, 'Bytes kept for windows that come back'),
    logHours: whole(1, 87_600, 168, 'Hours for which messages are kept; the newest content always is'),
    outboxMessages: whole(1, 100_000, 2000, 'Messages that a window keeps while it cannot send'),
    outboxBytes: whole(1024, 67_108_864, 4_194_304, 'Bytes that a window keeps while it cannot send'),
  }),
  sensor: group('The wind sensor', {
    source: choice(
      ['simulated', 'serial', 'recorded', 'none'],
      'simulated',
      'Where the readings come from: made up, a WindSonic on a serial port, or a raw log of one',
    ),
    path: path('The serial port that a WindSonic is connected to, such as /dev/ttyUSB0'),
    baudRate: choice([2400, 4800, 9600, 19200, 38400], 9600, 'Bits per second of the serial port'),
    parity: choice(['none', 'even', 'odd'], 'none', 'Parity of the serial port, beside 8 data bits'),
    mode: choice(
      ['continuous', 'polled'],
      'continuous',
      'Whether the WindSonic sends by itself (M2, say), and is never written to, or is asked (M3, M4)',
    ),
    node: nodeLetter('The letter that a polled WindSonic answers to'),
    // One reading in 4 s is the slowest that a WindSonic has, and what tells silence is made for that.
    rateHz: quantity(
      0.25,
      100,
      4,
      'Readings per second of the simulated sensor and of a log without times; how often a polled one is asked, at most 7 times',
    ),
    strength: choice(['calm', 'breeze', 'strong', 'gale'], 'breeze', 'How hard the simulated wind blows'),
    file: path('The raw log of a WindSonic that is replayed'),
    pace: quantity(1, 1000, 1, 'How fast a log is replayed; 1 is its own pace'),
  }),
})

type Immutable<Value> = Value extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
    : Value

type Partly<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]?: Partly<Value[Key]> }
    : Value

/** The configuration, checked and complete. */
export type Config = Immutable<z.output<typeof configSchema>>

/** What a config file may say: any part of it. */
export type ConfigInput = Partly<Config>

/** Gives a config file its types: `export default defineConfig({ … })`. */
export const defineConfig = (config: ConfigInput): ConfigInput => config

/** What holds where nothing is said. */
export const defaultConfig: Config = configSchema.parse({})
