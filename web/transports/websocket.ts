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
    const isTooLarge = code === 1009
    abandon(
      waiting,
      isTooLarge ? new RefusedError('too-large', 'The message is larger than the server takes.') : lost(),
    )
    onClose(closing)
  }

  return {
    send(draft: Draft) {
      return new Promise((resolve, reject) => {
        if (socket.readyState !== WebSocket.OPEN) return reject(new Error('The WebSocket is not open.'))
        waiting.set(draft.id, { resolve, reject })
        const frame: UpFrame = { type: 'publish', message: draft }
        socket.send(JSON.stringify(frame))
      })
    },
    close() {
      socket.removeEventListener('close', onEnd)
      abandon(waiting, lost())
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

function lost(): Error {
  return new Error('The connection ended before the answer came.')
}

function abandon(waiting: Map<string, Waiting>, error: Error): void {
  for (const { reject } of waiting.values()) reject(error)
  waiting.clear()
}
