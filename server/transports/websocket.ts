// WebSocket, both ways: each frame is one JSON text (RFC 6455; over HTTP/2, RFC 8441).

import type { WebSocket } from 'ws'
import { byeCodes } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { counted } from '../http/refusals.ts'
import { bytesHeldBy, type Framing } from '../hub/delivery.ts'
import { output } from '../output.ts'
import { maxBytesFor } from './body-reader.ts'
import { largestFrame, UnfinishedFrame, Valve } from './budget.ts'
import { InboundFrames } from './inbound-frames.ts'
import {
  admit,
  frameText,
  jsonFraming,
  type Mounting,
  type ServerTransport,
  type SocketOpening,
} from './transport.ts'

const socketPath = '/api/socket'

/** Close codes by status of a refusal; 1008 for others. */
const closeCodes: Readonly<Record<number, number>> = { 500: 1011, 503: 1013 }

const internal = new Refusal(
  'internal',
  "The server failed on this WebSocket; the server's terminal shows why.",
)

const notText = new Refusal('wrong-type', 'Frames must be JSON text, not binary.')

/** Above this, messages wait in the client's queue. */
const fullBytes = 64 * 1024

export const websocket: ServerTransport = (mounting) => {
  mounting.router.get(socketPath, () => {
    throw new Refusal('upgrade-required', 'Open this address as a WebSocket, with an Upgrade header.')
  })
  mounting.onSocket(socketPath, (socket, opening) => {
    try {
      join(socket, opening, mounting)
    } catch (error) {
      const refusal = error instanceof Refusal ? error : internal
      if (refusal !== error) output.incident('websocket-failed', 'A WebSocket could not be opened', error)
      socket.send(jsonFraming.encode(counted(refusal).toJSON(), null), { binary: false })
      socket.close(closeCodes[refusal.status] ?? 1008)
    }
  })
}

/** Sends a pre-encoded frame; used by Socket.IO broadcasts (websockets/ws #617). */
interface FrameWriting {
  readonly _sender: { sendFrame(frame: readonly Buffer[], onWritten?: () => void): void }
}

function join(socket: WebSocket, opening: SocketOpening, mounting: Mounting): void {
  const { hub, limits, timers, budget } = mounting
  const { identity, cursor, fingerprint } = admit(opening, 'websocket', limits)
  const { _sender: sender } = socket as unknown as FrameWriting
  /**
   * Non-null while a frame is handled: its answer and the resulting frames for its own window are sent
   * in one write.
   */
  let gathered: Buffer[] | null = null
  let gatheredBytes = 0
  const write = (bytes: Buffer) => {
    if (socket.readyState !== socket.OPEN) return true
    const isFull = socket.bufferedAmount + gatheredBytes + bytes.length > fullBytes
    if (gathered) {
      gathered.push(bytes)
      gatheredBytes += bytes.length
    } else sender.sendFrame([bytes], isFull ? drained : undefined)
    return !isFull
  }
  const drained = () => window.drained()
  const flush = () => {
    const frames = gathered ?? []
    gathered = null
    gatheredBytes = 0
    const bytes = frames.length > 1 ? Buffer.concat(frames) : frames[0]
    if (!bytes || socket.readyState !== socket.OPEN) return
    sender.sendFrame([bytes], socket.bufferedAmount + bytes.length > fullBytes ? drained : undefined)
  }
  const replay = budget.open(opening.connection, () => socket.terminate())
  const window = hub.join(
    {
      ...identity,
      // The bytes are encrypted for each client.
      holds(deliveries) {
        replay.set(bytesHeldBy(deliveries))
        return !replay.isOver
      },
      framing: socketFraming,
      sink: { write },
      end(bye) {
        flush()
        write(socketFraming.encode(bye, null))
        socket.close(byeCodes[bye.code], bye.code)
      },
    },
    cursor,
  )
  const { grant, connection, source } = opening
  const stream = () => window
  const flow = {
    budget,
    timers,
    connection,
    source: new Valve(socket),
    // Without a Close frame, for which `ws` would keep the received bytes until the peer closes
    // too.
    onRefused: () => socket.terminate(),
  }
  const inbound = new InboundFrames({ ...mounting, ...flow, grant, window, fingerprint, stream })
  const frame = new UnfinishedFrame({ ...flow, maxSeconds: limits.bodySeconds })
  let hasEnded = false
  // Runs after `ws`, which reports whole frames while it reads.
  source.on('data', (chunk: Buffer) => {
    // `ws` keeps nothing more, and the peer should see why it was closed.
    if (socket.readyState !== socket.OPEN) return frame.end()
    const bytes = frame.add(chunk.length, hasEnded)
    if (!hasEnded && bytes > largestFrame(maxBytesFor(grant, limits))) socket.terminate()
    hasEnded = false
  })
  socket.once('close', () => {
    replay.end()
    frame.end()
    inbound.stop()
    hub.leave(window)
  })
  socket.on('message', (data, isBinary) => {
    hasEnded = true
    gathered = []
    try {
      inbound.handle(isBinary ? notText : String(data))
    } finally {
      flush()
    }
  })
  let ping: Buffer | null = null
  const answerPing = () => {
    if (socket.readyState === socket.OPEN && socket.bufferedAmount <= fullBytes) socket.pong(ping)
    ping = null
  }
  // Answers only the newest of several pending PINGs (RFC 6455, 5.5.3); all count.
  socket.on('ping', (data) => {
    hasEnded = true
    const isFirst = ping === null
    ping = data
    inbound.handle(isFirst ? answerPing : null)
  })
  socket.on('pong', () => {
    hasEnded = true
    inbound.handle(null)
  })
}

/** One unmasked frame (RFC 6455, 5.2): servers do not mask, so all clients get the same bytes. */
export const socketFraming: Framing = {
  encode(frame, _cursor, message) {
    const text = frameText(frame, message)
    const length = Buffer.byteLength(text)
    const headLength = length < 126 ? 2 : length <= 0xffff ? 4 : 10
    const bytes = Buffer.allocUnsafe(headLength + length)
    bytes[0] = wholeText
    bytes[1] = length < 126 ? length : length <= 0xffff ? 126 : 127
    if (headLength === 4) bytes.writeUInt16BE(length, 2)
    if (headLength === 10) bytes.writeBigUInt64BE(BigInt(length), 2)
    bytes.write(text, headLength)
    return bytes
  },
}

const wholeText = 0x81
