// WebSocket, both ways: each frame is one JSON text (RFC 6455, through koa-websocket).

import type { WebSocket } from 'ws'
import { admitDraft, admitJoining, idOf } from '../hub/admission.ts'
import type { Framing } from '../hub/delivery.ts'
import type { Hub } from '../hub/hub.ts'
import { Refusal } from '../refusal.ts'
import { parseCursor } from '../wire/cursor.ts'
import { byeCodes, type DownFrame } from '../wire/frames.ts'
import { modeFor } from '../wire/modes.ts'
import type { ServerTransport } from './transport.ts'
import { parseJson, tooLarge } from './uplink.ts'

export const socketPath = '/api/socket'

/** Past this many bytes in the socket's own buffer the window's queue holds the rest. */
const fullBytes = 64 * 1024

const framing: Framing = { encode: (frame) => Buffer.from(JSON.stringify(frame)) }

export const websocket: ServerTransport = {
  name: 'websocket',
  mount({ router, onSocket, hub, limits }) {
    router.get(socketPath, () => {
      throw new Refusal(426, 'upgrade-required', 'A WebSocket is opened here, with an Upgrade header.')
    })
    onSocket(socketPath, (socket, query) => {
      try {
        join(socket, query, hub, limits.maxMessageBytes)
      } catch (error) {
        refuse(socket, error)
        socket.close(error instanceof Refusal && error.status === 503 ? 1013 : 1008)
      }
    })
  },
}

function join(socket: WebSocket, query: URLSearchParams, hub: Hub, maxMessageBytes: number): void {
  const asked = admitJoining(query)
  const mode = modeFor('websocket', '1.1')
  if (!mode) throw new Refusal(505, 'http-version', 'WebSocket is spoken over HTTP/1.1.')
  const write = (bytes: Buffer) => {
    const isFull = socket.bufferedAmount + bytes.length > fullBytes
    socket.send(bytes, { binary: false }, isFull ? () => window.drained() : undefined)
    return !isFull
  }
  const window = hub.join(
    {
      ...asked,
      id: asked.window,
      mode,
      framing,
      write,
      end(bye) {
        write(framing.encode(bye, null))
        socket.close(byeCodes[bye.code], bye.code)
      },
    },
    parseCursor(query.get('cursor')),
  )
  socket.once('close', () => hub.leave(window))
  socket.on('message', (data, isBinary) => {
    take(String(data), isBinary, hub, maxMessageBytes).then(
      (stored) => stored && answer(socket, stored),
      (error) => refuse(socket, error),
    )
  })
}

async function take(text: string, isBinary: boolean, hub: Hub, maxMessageBytes: number) {
  if (isBinary) throw new Refusal(415, 'wrong-type', 'Frames are JSON texts, not binary.')
  const frame = parseJson(text)
  const type = typeof frame === 'object' && frame !== null && 'type' in frame ? frame.type : undefined
  if (type === 'heartbeat') return null
  if (type === 'publish' && typeof frame === 'object' && frame !== null && 'message' in frame) {
    if (Buffer.byteLength(text) > maxMessageBytes) throw tooLarge(maxMessageBytes, idOf(frame.message))
    return hub.publish(admitDraft(frame.message))
  }
  throw new Refusal(400, 'bad-frame', 'A frame is {"type":"publish","message":{…}} or {"type":"heartbeat"}.')
}

function answer(socket: WebSocket, frame: DownFrame): void {
  socket.send(framing.encode(frame, null), { binary: false })
}

function refuse(socket: WebSocket, error: unknown): void {
  if (!(error instanceof Refusal)) console.error(error)
  const known =
    error instanceof Refusal ? error : new Refusal(500, 'internal', 'The server failed on that frame.')
  answer(socket, known.toJSON())
}
