// Each frame one JSON text: over WebSocket, and in the answers to polls.

import type { Framing } from '../hub/delivery.ts'

export const jsonFraming: Framing = { encode: (frame) => Buffer.from(JSON.stringify(frame)) }
