// A client for each mode of the table.

import type { TransportName } from '../../server/wire/modes.ts'
import { openLongPolling, openPolling } from './poll.ts'
import { openSse, openStreaming } from './sse.ts'
import type { OpenFleetTransport } from './transport.ts'
import { openWebSocket } from './websocket.ts'

export const fleetTransports: Readonly<Record<TransportName, OpenFleetTransport>> = {
  sse: openSse,
  websocket: openWebSocket,
  'long-polling': openLongPolling,
  polling: openPolling,
  streaming: openStreaming,
}
