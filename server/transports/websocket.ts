// WebSocket, both ways: each frame is one JSON text (RFC 6455 through koa-websocket; over HTTP/2, RFC 8441).

import type { WebSocket } from 'ws'
import { Refusal } from '../refusal.ts'
import { byeCodes } from '../wire/frames.ts'
import { enter } from './enter.ts'
import { createIntake } from './intake.ts'
import { jsonFraming } from './json-framing.ts'
import { socketFraming } from './socket-framing.ts'
import type { Mounting, ServerTransport, SocketOpening } from './transport.ts'

export const socketPath = '/api/socket'

/** For what a joining window is refused with; anything else is a query that does not fit, 1008. */
const closeCodes: Readonly<Record<number, number>> = { 500: 1011, 503: 1013 }

/** Past this many bytes in the socket's own buffer the window's queue holds the rest. */
const fullBytes = 64 * 1024

export const websocket: ServerTransport = {
  name: 'websocket',
  mount(mounting) {
    mounting.router.get(socketPath, () => {
      throw new Refusal(426, 'upgrade-required', 'A WebSocket is opened here, with an Upgrade header.')
    })
    mounting.onSocket(socketPath, (socket, opening) => {
      try {
        join(socket, opening, mounting)
      } catch (error) {
        const known = error instanceof Refusal ? error : unexpected(error)
        socket.send(jsonFraming.encode(known.toJSON(), null), { binary: false })
        socket.close(closeCodes[known.status] ?? 1008)
      }
    })
  },
}

function join(
  socket: WebSocket,
  { query, grant, http }: SocketOpening,
  { hub, limits, timers }: Mounting,
): void {
  const { visitor, cursor } = enter({ query, grant, transport: 'websocket', http, ...limits })
  const { _sender: sender } = socket as unknown as FrameWriting
  const write = (bytes: Buffer) => {
    if (socket.readyState !== socket.OPEN) return true
    const isFull = socket.bufferedAmount + bytes.length > fullBytes
    sender.sendFrame([bytes], isFull ? drained : undefined)
    return !isFull
  }
  const drained = () => window.drained()
  const window = hub.join(
    {
      ...visitor,
      framing: socketFraming,
      write,
      end(bye) {
        write(socketFraming.encode(bye, null))
        socket.close(byeCodes[bye.code], bye.code)
      },
    },
    cursor,
  )
  const intake = createIntake({
    hub,
    timers,
    grant,
    window: visitor.id,
    maxMessageBytes: limits.maxMessageBytes,
    answer: (frame) => socket.send(jsonFraming.encode(frame, null), { binary: false }),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  })
  socket.once('close', () => {
    intake.stop()
    hub.leave(window)
  })
  socket.on('message', (data, isBinary) => {
    if (isBinary) intake.refuse(new Refusal(415, 'wrong-type', 'Frames are JSON texts, not binary.'))
    else intake.take(String(data))
  })
}

/** How `ws` takes a frame that is made already; Socket.IO broadcasts this way (websockets/ws #617). */
interface FrameWriting {
  readonly _sender: { sendFrame(frame: readonly Buffer[], onWritten?: () => void): void }
}

function unexpected(error: unknown): Refusal {
  console.error(error)
  return new Refusal(500, 'internal', 'The server failed on this WebSocket; its terminal says why.')
}
