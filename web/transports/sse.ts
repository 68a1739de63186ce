// EventSource down, XHR up.

import type { DownFrame } from '../../server/wire/frames.ts'
import { now, type Opening, type OpenTransport, type WebTransport } from './transport.ts'
import { createXhrUplink } from './xhr-uplink.ts'

const frameTypes = ['welcome', 'message', 'presence', 'bye', 'heartbeat'] as const

export const sse: WebTransport = { name: 'sse', open: openSse }

function openSse({ origin, query, onFrame, onClose }: Opening): OpenTransport {
  const source = new EventSource(`${origin}/api/stream?${query}`)
  const uplink = createXhrUplink(origin)

  for (const type of frameTypes) {
    source.addEventListener(type, (event: MessageEvent<string>) => {
      const receivedAt = now()
      const frame = parseFrame(type, event.data)
      onFrame(frame, receivedAt)
      if (frame.type !== 'bye') return
      close()
      onClose({ code: frame.code, sentence: frame.message, retryAfterMs: frame.retryAfterMs })
    })
  }
  source.addEventListener('error', () => {
    // The browser's own retry gives up on a 5xx and forgets the cursor: the link opens anew instead.
    close()
    onClose({ code: 'lost', sentence: 'The connection to the server was lost.', retryAfterMs: null })
  })

  function close(): void {
    source.close()
    uplink.close()
  }
  return { send: uplink.send, close }
}

function parseFrame(type: (typeof frameTypes)[number], data: string): DownFrame {
  const content = JSON.parse(data)
  return type === 'message' ? { type, message: content } : { type, ...content }
}
