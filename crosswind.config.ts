// What this server is told. Every setting stands here with its default; `npm start -- --help` says more about each.

import { defineConfig } from './server/config/config.ts'

export default defineConfig({
  transport: 'sse', // how messages travel: 'sse', 'websocket', 'long-polling', 'polling' or 'streaming'
  http: '2', // HTTP version below the transport: '2' or '1.1'

  host: 'localhost', // where to listen; '0.0.0.0' or '::' lets other machines in
  port: 8443, // HTTP/2, and HTTP/1.1 for a client that cannot
  http1Port: 8444, // HTTP/1.1 alone
  tls: {
    certFile: null, // a certificate of your own, PEM; null makes a local one in certs/
    keyFile: null, // and its key
  },
  allowedOrigins: [], // further web origins that may connect: ['https://editor.example']

  access: 'auto', // who may come in: 'open', 'invited', or 'auto': open on this machine alone
  accessKeyFile: null, // the secret that signs invitations; null makes one in the data folder
  sessionMinutes: 720, // how long an invited browser stays in before it asks again

  storage: 'sqlite', // where the log is: 'sqlite' survives a restart, 'memory' is a pure relay
  dataFolder: 'data', // where the log and the key are kept
  durability: 'process', // an acknowledged message survives a killed server; 'machine': a power cut too

  share: 'none', // 'browser': the windows of one browser share a connection
  polling: {
    intervalMs: 150, // pause between polls
    holdMs: 300, // how long a long poll is held
  },

  heartbeatMs: 15_000, // silence after which a sign of life is sent
  drainMs: 5000, // in which a stopping server sends its windows away and lets requests end
  limits: {
    maxMessageBytes: 1_048_576, // largest message of a window
    maxWindows: 2000, // windows connected at a time
    maxConnections: 4000, // and connections
    maxChannels: 1000, // channels that the log keeps
    channelsPerWindow: 64, // channels of one stream
    messagesPerSecond: 200, // from one window
    bodySeconds: 30, // in which a request has to be complete
    queueBytesPerWindow: 4_194_304, // what may wait for a slow window before its stream is closed
    streamsPerSession: 250, // streams, and so windows, in one HTTP/2 connection
    logMessages: 100_000, // messages kept for windows that come back
    logBytes: 268_435_456, // their bytes
    logHours: 168, // and their age
    outboxMessages: 2000, // messages that a window keeps while it cannot send
    outboxBytes: 4_194_304, // and bytes
  },

  sensor: {
    source: 'simulated', // 'simulated', 'serial', 'recorded' or 'none'
    path: null, // serial port of the WindSonic: '/dev/ttyUSB0'; `npm run sensor -- --list` shows them
    baudRate: 9600, // 2400, 4800, 9600, 19200 or 38400
    parity: 'none', // 'none', 'even' or 'odd'
    mode: 'continuous', // the sensor sends by itself and is never written to; 'polled': it is asked
    node: 'Q', // the letter by which a polled sensor is asked
    rateHz: 4, // readings per second, where they are simulated, asked for, or of a log without times
    strength: 'breeze', // of the simulated wind: 'calm', 'breeze', 'strong' or 'gale'
    file: null, // raw log of a sensor that is replayed
    pace: 1, // how fast: 1 is its own pace, 10 is ten times as fast
  },
})
