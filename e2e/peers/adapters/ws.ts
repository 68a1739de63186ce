// Only the WebSocket of `bare`: beside it, the two differ by chance alone.

import type { Host } from '../adapter.ts'
import { start as startBare } from './bare.ts'

export const start = (host: Host) => ({
  ...startBare(host),
  mode: 'websocket/1.1',
  version: host.versionOf('ws'),
})

export { open } from './bare.ts'
