// One WebSocket, both ways.

import type { Draft } from '../../server/wire/envelope.ts'
import { byeCodes, type DownFrame, type Stored, type UpFrame } from '../../server/wire/frames.ts'
import {
  type Closing,
  now,
  type Opening,
  type OpenTransport,
  RefusedError,
  type WebTransport,
} from './transport.ts'

export const websocket: WebTransport = { name: 'websocket', open: openWebSocket }

interface Waiting {
  readonly resolve: (stored: Stored) => void
  readonly reject: (error: Error) => void
  /** Of the frame, in UTF-16 units. */
  readonly length: number
}

function openWebSocket({ origin, query, onFrame, onClose }: Opening): OpenTransport {
  const socket = new WebSocket(`${origin.replace(/^http/, 'ws')}/api/socket?${query}`)
  const waiting = new Map<string, Waiting>()
  let closing: Closing = {
    code: 'lost',
    sentence: 'The connection to the server was lost.',
    retryAfterMs: null,
  }

  socket.addEventListener('message', (event: MessageEvent<string>) => {
    const receivedAt = now()
    const frame: DownFrame = JSON.parse(event.data)
    settle(frame, waiting)
    closing = closingFrom(frame, waiting.size) ?? closing
    onFrame(frame, receivedAt)
  })
  socket.addEventListener('close', onEnd)

  function onEnd({ code }: CloseEvent): void {
    // 1009: a frame was beyond what the server reads at all. The largest one was it; the others go again.
    if (code === 1009) refuseLargest(waiting)
    abandon(waiting)
    onClose(closing)
  }

  return {
    send(draft: Draft) {
      return new Promise((resolve, reject) => {
        if (socket.readyState !== WebSocket.OPEN) return reject(new Error('The WebSocket is not open.'))
        const frame: UpFrame = { type: 'publish', message: draft }
        const text = JSON.stringify(frame)
        waiting.set(draft.id, { resolve, reject, length: text.length })
        socket.send(text)
      })
    },
    close() {
      socket.removeEventListener('close', onEnd)
      abandon(waiting)
      socket.close()
    },
  }
}

function settle(frame: DownFrame, waiting: Map<string, Waiting>): void {
  if (frame.type !== 'stored' && frame.type !== 'refused') return
  if (frame.id === null) return
  const sender = waiting.get(frame.id)
  waiting.delete(frame.id)
  if (frame.type === 'stored') sender?.resolve(frame)
  else sender?.reject(new RefusedError(frame.code, frame.message))
}

/** Why the server is about to close; null for frames that say nothing about it. */
function closingFrom(frame: DownFrame, unanswered: number): Closing | null {
  if (frame.type === 'bye' && frame.code in byeCodes) {
    return { code: frame.code, sentence: frame.message, retryAfterMs: frame.retryAfterMs }
  }
  const isAboutTheStream = frame.type === 'refused' && frame.id === null && unanswered === 0
  return isAboutTheStream ? { code: 'refused', sentence: frame.message, retryAfterMs: null } : null
}

function refuseLargest(waiting: Map<string, Waiting>): void {
  const [largest] = [...waiting].sort(([, one], [, other]) => other.length - one.length)
  if (!largest) return
  const [id, { reject }] = largest
  waiting.delete(id)
  reject(new RefusedError('too-large', 'The message is larger than the server takes.'))
}

function abandon(waiting: Map<string, Waiting>): void {
  for (const { reject } of waiting.values()) reject(new Error('The connection ended before the answer came.'))
  waiting.clear()
}
