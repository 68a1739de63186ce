// All transports of this server. A new one is a row in `wire/modes.ts`, a file here and a file in `web/transports`.

import { longPolling } from './long-polling.ts'
import { polling } from './polling.ts'
import { sse } from './sse.ts'
import { streaming } from './streaming.ts'
import type { ServerTransport } from './transport.ts'
import { websocket } from './websocket.ts'

export const transports: readonly ServerTransport[] = [sse, websocket, longPolling, polling, streaming]
