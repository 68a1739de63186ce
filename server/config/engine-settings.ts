// The settings of any server: what it accepts, where it stores, and its limits.

import { z } from 'zod'
import { ConfigError, checked } from './checking.ts'
import { choice, group, type Immutable, keysOf, list, orNull, path, text, whole } from './fields.ts'

/** RFC 6454. */
const isOrigin = (given: string) => URL.canParse(given) && new URL(given).origin === given

const isHost = (given: string) =>
  given === '*' || URL.parse(`https://${given}`)?.hostname === given.toLowerCase()

export const engineShape = {
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
  durability: choice(['process', 'machine'], 'process').describe(
    'What an acknowledged message survives: a killed process, or also a power cut (machine), at the cost of a disk write before each acknowledgement',
  ),
  heartbeatMs: whole(1000, 60_000, 15_000).describe('Interval of heartbeats, ms'),
  limits: group({
    maxMessageBytes: whole(1024, 67_108_864, 1_048_576).describe('Largest message from a window, bytes'),
    maxWindows: whole(1, 100_000, 2000).describe('Maximum number of windows'),
    maxConnections: whole(1, 200_000, 4000).describe('Maximum number of connections'),
    maxChannels: whole(1, 1_000_000, 1000).describe('Maximum number of channels in the log'),
    newChannelsPerHour: whole(1, 1_000_000, 100).describe(
      'New channels an hour from one connection, and from one user or account; of the last quarter of maxChannels, from all clients together',
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
      'Messages kept by a log in memory, and by a server of a shared log, in place of logMessages if that is more',
    ),
    memoryBytes: whole(1024, 17_179_869_184, 167_772_160).describe(
      'Bytes of content kept by a log in memory, and by a server of a shared log, in place of logBytes if that is more',
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
}

const engineSchema = z.strictObject(engineShape)

export type EngineSettings = Immutable<z.output<typeof engineSchema>>

export const defaultEngine: EngineSettings = engineSchema.parse({})

const engineKeys = keysOf(engineSchema)

/** Settings from a program. `from` names their origin. Throws a `ConfigError` with one sentence. */
export function checkEngine(given: unknown, from: string): EngineSettings {
  const settings = checked(engineSchema, engineKeys, given, from, '; docs/settings.md lists them.')
  const [misfit] = misfitsOfLimits(settings.limits, () => from)
  if (misfit) throw new ConfigError(misfit)
  return settings
}

/** Yields sentences about limits that conflict. `originOf` names a setting's origin. */
export function* misfitsOfLimits(
  limits: EngineSettings['limits'],
  originOf: (key: string) => string,
): Generator<string> {
  const from = (key: string) => `(from ${originOf(key)})`
  for (const key of ['queueBytesPerWindow', 'logBytes', 'memoryBytes'] as const)
    if (limits[key] < limits.maxMessageBytes)
      yield `limits.${key} is ${limits[key]} ${from(`limits.${key}`)}; it must hold a message of limits.maxMessageBytes, ${limits.maxMessageBytes} ${from('limits.maxMessageBytes')}.`
}
