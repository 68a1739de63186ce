// What this server is told. Every setting stands here with its default; `npm start -- --help` says more about each.

import { defineConfig } from './server/config/config.ts'

export default defineConfig({
  transport: 'sse', // how messages travel: 'sse' or 'websocket'
  http: '2', // HTTP version below the transport: '2' or '1.1'

  host: 'localhost', // where to listen; '0.0.0.0' or '::' lets other machines in
  port: 8443, // HTTP/2, and HTTP/1.1 for a client that cannot
  http1Port: 8444, // HTTP/1.1 alone
  tls: {
    certFile: null, // a certificate of your own, PEM; null makes a local one in certs/
    keyFile: null, // and its key
  },
  allowedOrigins: [], // further web origins that may connect: ['https://editor.example']

  heartbeatMs: 15_000, // silence after which a sign of life is sent
  drainMs: 5000, // how long open requests may take to end when the server stops
  limits: {
    maxMessageBytes: 1_048_576, // largest message of a window
    maxWindows: 2000, // windows connected at a time
    queueBytesPerWindow: 4_194_304, // what may wait for a slow window before its stream is closed
    streamsPerSession: 250, // streams, and so windows, in one HTTP/2 connection
    logMessages: 10_000, // messages kept for windows that come back
    logBytes: 33_554_432, // and bytes
  },

  sensor: {
    source: 'simulated', // 'simulated', 'serial' or 'none'
    path: null, // serial port of the WindSonic: '/dev/ttyUSB0'
    baudRate: 9600, // 2400, 4800, 9600, 19200 or 38400
    rateHz: 4, // readings per second of the simulated sensor
  },
})
