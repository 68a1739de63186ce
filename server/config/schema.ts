// Every setting there is: the one place from which defaults, checks, flags, variables, help and README follow.

import { z } from 'zod'
import { httpVersions, transportNames } from '../wire/modes.ts'
import { choice, group, originList, path, quantity, text, whole } from './fields.ts'

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
  heartbeatMs: whole(1000, 60_000, 15_000, 'Silence, in ms, after which a sign of life is sent'),
  drainMs: whole(0, 60_000, 5000, 'How long, in ms, open requests may take to end when the server stops'),
  limits: group('What one server takes on', {
    maxMessageBytes: whole(1024, 67_108_864, 1_048_576, 'Largest message a window may send, in bytes'),
    maxWindows: whole(1, 100_000, 2000, 'Windows connected at a time'),
    queueBytesPerWindow: whole(
      1024,
      1_073_741_824,
      4_194_304,
      'Bytes that may wait for a slow window before its stream is closed',
    ),
    streamsPerSession: whole(1, 10_000, 250, 'Streams, and so windows, in one HTTP/2 connection'),
    logMessages: whole(1, 10_000_000, 10_000, 'Messages kept for windows that come back'),
    logBytes: whole(1024, 17_179_869_184, 33_554_432, 'Bytes kept for windows that come back'),
  }),
  sensor: group('The wind sensor', {
    source: choice(['simulated', 'serial', 'none'], 'simulated', 'Where the readings come from'),
    path: path('The serial port that a WindSonic is connected to, such as /dev/ttyUSB0'),
    baudRate: choice([2400, 4800, 9600, 19200, 38400], 9600, 'Bits per second of the serial port'),
    rateHz: quantity(0.1, 100, 4, 'Readings per second of the simulated sensor'),
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
