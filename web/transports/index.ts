// All transports of this page, by name.

import type { TransportName } from '../../server/wire/modes.ts'
import { sse } from './sse.ts'
import type { WebTransport } from './transport.ts'
import { websocket } from './websocket.ts'

export const transports: Readonly<Record<TransportName, WebTransport>> = { sse, websocket }
