// One WebSocket, both ways.

import type { DownFrame, UpFrame } from '../../server/wire/frames.ts'
import { closingFrom, createAnswers } from './answers.ts'
import { type Closing, lost, now, type Opening, type OpenTransport, type WebTransport } from './transport.ts'

export const websocket: WebTransport = { name: 'websocket', open: openWebSocket }

function openWebSocket({ origin, mode, query, onFrame, onClose }: Opening): OpenTransport {
  const answers = createAnswers()
  const ending = new AbortController()
  let socket: WebSocket | null = null
  let closing: Closing = lost

  function connect(): void {
    if (ending.signal.aborted) return
    socket = new WebSocket(`${origin.replace(/^http/, 'ws')}/api/socket?${query}`)
    socket.addEventListener('message', (event: MessageEvent<string>) => {
      const receivedAt = now()
      const frame: DownFrame = JSON.parse(event.data)
      closing = closingFrom(frame, answers.size()) ?? closing
      answers.take(frame)
      onFrame(frame, receivedAt)
    })
    socket.addEventListener('close', onEnd)
  }

  function onEnd({ code }: Pick<CloseEvent, 'code'>): void {
    // 1009: a frame was beyond what the server reads at all. The largest one was it; the others go again.
    if (code === 1009) answers.refuseLargest()
    answers.abandon()
    onClose(closing)
  }

  function say(frame: UpFrame): number {
    const text = JSON.stringify(frame)
    socket?.send(text)
    return text.length
  }

  const isOpen = () => socket?.readyState === WebSocket.OPEN

  // A browser opens no HTTP/2 connection for a WebSocket; it takes one that is there (RFC 8441).
  if (mode.joinsConnection) touch(origin, ending.signal).then(connect)
  else connect()

  return {
    async send(draft) {
      if (!isOpen()) throw new Error('The WebSocket is not open.')
      return answers.expect(draft, say({ type: 'publish', message: draft }))
    },
    beat(windows) {
      if (isOpen()) say({ type: 'heartbeat', ...(windows && { windows }) })
    },
    askClock() {
      if (isOpen()) say({ type: 'clock', at: now() })
    },
    close() {
      ending.abort()
      socket?.removeEventListener('close', onEnd)
      answers.abandon()
      socket?.close()
    },
  }
}

/** Has the browser connect to that origin. That it cannot shows when the WebSocket opens. */
async function touch(origin: string, signal: AbortSignal): Promise<void> {
  try {
    await fetch(`${origin}/healthz`, { credentials: 'include', cache: 'no-store', signal })
  } catch {
    return
  }
}
