// A client for each mode of the table.

import type { Mode } from '../../server/wire/modes.ts'
import type { OpenClient } from './client.ts'
import { sseClient } from './sse-client.ts'
import { websocketClient } from './websocket-client.ts'

export function clientFor({ transport, http }: Mode): OpenClient {
  return { sse: sseClient(http), websocket: websocketClient }[transport]
}
