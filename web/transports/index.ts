// All transports of this page, by name.

import type { TransportName } from '../../server/wire/modes.ts'
import { longPolling } from './long-polling.ts'
import { polling } from './polling.ts'
import { sse } from './sse.ts'
import { streaming } from './streaming.ts'
import type { WebTransport } from './transport.ts'
import { websocket } from './websocket.ts'

export const transports: Readonly<Record<TransportName, WebTransport>> = {
  sse,
  websocket,
  'long-polling': longPolling,
  polling,
  streaming,
}
