// All transports of this server. A new one is a row in `wire/modes.ts`, a file here and a file in `web/transports`.

import { sse } from './sse.ts'
import type { ServerTransport } from './transport.ts'
import { websocket } from './websocket.ts'

export const transports: readonly ServerTransport[] = [sse, websocket]
