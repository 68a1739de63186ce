// Every flood by its name. Each resolves, when the server has ended it, to how that was.

import {
  endlessBody,
  garbage,
  neverEndingHandshake,
  opcodes,
  refusedFrames,
  silentConnection,
  slowBody,
  slowHeaders,
  socketFlood,
  socketFrame,
  tricklingHandshake,
} from './bare-floods.ts'
import {
  emptyData,
  endlessBodyOverHttp2,
  endlessContinuation,
  hugeHeaders,
  joins,
  pings,
  pingsUnread,
  rapidReset,
  settingsAgain,
  settingsUnread,
  slowBodyOverHttp2,
  stoppedReader,
  thousandsOfStreams,
  zeroWindow,
} from './http2-floods.ts'

export interface Ports {
  readonly '2': number
  readonly '1.1': number
}

/** Now and then, ms. */
const slowMs = 100

type Flood = (ports: Ports) => Promise<unknown>

export const floods = {
  'rapid reset': (ports) => rapidReset(ports['2']),
  'thousands of streams': (ports) => thousandsOfStreams(ports['2']),
  'headers that never end': (ports) => endlessContinuation(ports['2']),
  'huge headers': (ports) => hugeHeaders(ports['2']),
  'SETTINGS, read': (ports) => settingsAgain(ports['2']),
  'SETTINGS, unread': (ports) => settingsUnread(ports['2']),
  'PING, read': (ports) => pings(ports['2']),
  'PING, unread': (ports) => pingsUnread(ports['2']),
  'DATA without data': (ports) => emptyData(ports['2']),
  'streams without a window': (ports) =>
    zeroWindow(ports['2'], '/api/stream?window=WINDOW&channels=main', 60),
  'pages without a window': (ports) => zeroWindow(ports['2'], '/', 200),
  'a reader that stops': (ports) => stoppedReader(ports['2'], 20),
  'a slow body, HTTP/2': (ports) => slowBodyOverHttp2(ports['2'], slowMs),
  'a slow body, HTTP/1.1': (ports) => slowBody(ports['1.1'], slowMs),
  'a body without an end, HTTP/2': (ports) => endlessBodyOverHttp2(ports['2']),
  'a body without an end, HTTP/1.1': (ports) => endlessBody(ports['1.1']),
  'slow headers, HTTP/1.1': (ports) => slowHeaders(ports['1.1'], slowMs),
  'slow headers, HTTP/1.1 on the port of HTTP/2': (ports) => slowHeaders(ports['2'], slowMs),
  'a handshake that never ends': (ports) => neverEndingHandshake(ports['2']),
  'a handshake that trickles': (ports) => tricklingHandshake(ports['1.1'], slowMs),
  'a silent session': (ports) => silentConnection(ports['2'], 'h2'),
  'a silent connection': (ports) => silentConnection(ports['1.1'], 'http/1.1'),
  garbage: (ports) => garbage(ports['2']),
  'WebSocket fragments': (ports) =>
    socketFlood(ports['1.1'], {
      first: socketFrame(opcodes.text, false, 'a'),
      again: socketFrame(opcodes.continuation, false, 'a'),
      isReading: true,
    }),
  'WebSocket pings, read': (ports) =>
    socketFlood(ports['1.1'], { again: socketFrame(opcodes.ping, true, ''), isReading: true }),
  'WebSocket pings, unread': (ports) =>
    socketFlood(ports['1.1'], { again: socketFrame(opcodes.ping, true, ''), isReading: false }),
  // Not ended but held back: to the pace that a window may have, a second's worth at once.
  'WebSocket frames that are none': (ports) => refusedFrames(ports['1.1'], 500),
  'a window that joins again and again': (ports) => joins(ports['2'], 4),
} as const satisfies Readonly<Record<string, Flood>>

export type FloodName = keyof typeof floods
