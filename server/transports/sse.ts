// Server-sent events down, one POST for each message up.

import { mountStream } from './stream.ts'
import type { ServerTransport } from './transport.ts'

export const sse: ServerTransport = {
  name: 'sse',
  mount: (mounting) => mountStream('/api/stream', 'sse', mounting),
}
