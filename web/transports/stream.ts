// The way down by server-sent events, for every transport that has it.

import type { DownFrame } from '../../server/wire/frames.ts'
import { lost, now, type Opening } from './transport.ts'

const frameTypes = [
  'welcome',
  'message',
  'presence',
  'bye',
  'heartbeat',
  'stored',
  'refused',
  'clock',
] as const

/** Returns the way to close it. `onClose` comes once, after a farewell or a loss. */
export function openStream(
  path: string,
  { origin, query, onFrame, onClose }: Pick<Opening, 'origin' | 'query' | 'onFrame' | 'onClose'>,
): () => void {
  // Credentials go to both of the server's ports.
  const source = new EventSource(`${origin}${path}?${query}`, { withCredentials: true })

  for (const type of frameTypes) {
    source.addEventListener(type, (event: MessageEvent<string>) => {
      const receivedAt = now()
      const frame = parseFrame(type, event.data)
      onFrame(frame, receivedAt)
      if (frame.type !== 'bye') return
      source.close()
      onClose({ code: frame.code, sentence: frame.message, retryAfterMs: frame.retryAfterMs })
    })
  }
  source.addEventListener('error', () => {
    // The browser's own retry gives up on a 5xx and forgets the cursor: the link opens anew instead.
    source.close()
    onClose(lost)
  })
  return () => source.close()
}

function parseFrame(type: (typeof frameTypes)[number], data: string): DownFrame {
  const content = JSON.parse(data)
  return type === 'message' ? { type, message: content } : { type, ...content }
}
