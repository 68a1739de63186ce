// The server's settings with their defaults. `npm start -- --help` describes each.

import { defineConfig } from './app/config/config.ts'

export default defineConfig({
  transport: 'sse', // default transport: 'sse', 'websocket', 'long-polling', 'polling' or 'streaming'
  http: '2', // default HTTP version: '2' or '1.1'

  host: 'localhost', // '0.0.0.0' and '::' accept other machines
  port: 8443, // HTTP/2, and HTTP/1.1 clients without it
  http1Port: 8444, // HTTP/1.1 only
  http3Port: 8445, // HTTP/3, with --http3
  workers: 1, // processes that serve windows; 'auto': one for each core
  logFormat: 'text', // format of the server's output: 'text' for people, 'json' for a log collector
  tls: {
    certFile: null, // your own certificate, PEM; null creates a local one in certs/
    keyFile: null, // its private key
  },
  allowedOrigins: [], // further web origins that may connect: ['https://editor.example']
  allowedHosts: [], // names of this server, such as ['editor.example'], checked on loopback addresses; ['*'] allows any

  access: 'auto', // who may connect: 'open', 'invited', or 'auto': open on a loopback address only
  accessKeyFile: null, // secret that signs invitations; null creates one in the data folder
  sessionMinutes: 720, // until an invited browser must renew its session

  broker: 'embedded', // the log in the server itself; 'nats': on NATS JetStream, for several servers; 'sqs': behind a queue
  storage: 'sqlite', // 'sqlite' survives a restart; 'memory' does not
  dataFolder: 'data', // folder of the log and the key
  reportsFolder: 'reports', // folder of the lab's reports, which /lab lists
  durability: 'process', // an acknowledged message survives a killed process; 'machine': also a power cut

  nats: {
    servers: ['127.0.0.1:4222'], // addresses of the servers of one cluster
    stream: 'crosswind', // servers with the same stream share their pages
    replicas: 0, // copies of a new stream; 0: 3 in a cluster of three servers or more
    credentialsFile: null, // credentials of a NATS user
  },
  sqs: {
    endpoint: null, // null: AWS; 'http://127.0.0.1:9324': another server with the SQS API
    region: 'us-east-1',
    queue: 'crosswind', // one queue for each server; its dead letters are in crosswind-dead
    visibilitySeconds: 10, // until a message that was received but not deleted arrives again
    maxReceives: 5, // receives without deletion, after which a message is a dead letter
  },

  mergeMs: 15, // a window collects its updates for this long
  share: 'auto', // windows of one browser share a connection over HTTP/1.1; 'browser': always; 'none': never
  polling: {
    intervalMs: 150, // pause between polls
    holdMs: 300, // longest time a long poll is held
  },

  heartbeatMs: 15_000, // interval of heartbeats
  drainMs: 5000, // time for windows to leave and requests to end when the server stops
  limits: {
    maxMessageBytes: 1_048_576, // largest message from a window
    maxWindows: 2000, // maximum number of windows
    maxConnections: 4000, // maximum number of connections
    maxChannels: 1000, // maximum number of channels in the log
    newChannelsPerHour: 100, // from one connection, and from all users of one invitation
    channelsPerWindow: 64, // maximum number of channels of one stream
    messagesPerSecond: 200, // from one window
    statesPerSecond: 20, // what a window shows of itself: presence
    stateBytes: 4096, // largest state on an application's channels
    stateBytesPerSecond: 8_388_608, // states sent to all readers; a channel gets half of it at most
    bodySeconds: 30, // for a complete request
    connectionBytes: 33_554_432, // in progress on one connection: incomplete uploads, unread answers
    unfinishedBytes: 134_217_728, // the same for all connections
    queueBytesPerWindow: 4_194_304, // unsent bytes of a slow window before its stream is closed
    streamsPerSession: 100, // of one HTTP/2 connection; limits its windows too
    logMessages: 10_000_000, // messages kept by a log on disk
    logBytes: 2_147_483_648, // their bytes
    memoryMessages: 100_000, // messages kept by a log in memory, or by a server of a shared log
    memoryBytes: 167_772_160, // their bytes
    logHours: 168, // and their age
    documentBytes: 16_777_216, // largest shared document; beyond it only deletions are stored
    documentSeconds: 5, // processor time to read or write one document; beyond it the document is not read
    documentMegabytes: 384, // memory for that
    outboxMessages: 2000, // messages that a window keeps while offline
    outboxBytes: 4_194_304, // their bytes
  },

  sensor: {
    source: 'simulated', // 'simulated', 'serial', 'recorded', 'remote' or 'none'
    path: null, // serial port of the WindSonic: '/dev/ttyUSB0'; `npm run sensor -- --list` shows them
    baudRate: 9600, // 2400, 4800, 9600, 19200 or 38400
    parity: 'none', // 'none', 'even' or 'odd'
    mode: 'continuous', // never writes to the sensor; 'polled': requests each reading
    node: 'Q', // node letter of a polled sensor
    rateHz: 4, // readings per second of the simulator, of a polled sensor, of a log without times
    strength: 'breeze', // simulated wind: 'calm', 'breeze', 'strong' or 'gale'
    file: null, // raw log to replay
    pace: 1, // replay speed: 10 is ten times as fast
  },
})
