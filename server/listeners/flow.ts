// Whether what waits for a connection's reader moves.

import type { ServerHttp2Stream } from 'node:http2'
import type { Connection } from './connections.ts'

export interface Flow {
  readonly look: (now: number) => void
  /** When bytes last moved, or none waited, ms since the epoch. */
  readonly movedAt: () => number
  readonly waits: () => boolean
  /** Streams whose bytes have waited since before that time, with nothing of them taken. */
  readonly stuckStreams: (since: number) => ServerHttp2Stream[]
}

/** Less than this is PINGs and acknowledgements; what windows get goes in records of up to 16 KiB (RFC 8446, 5.1). */
const noiseBytes = 4096

interface Waiting {
  bytes: number
  movedAt: number
}

export function createFlow(connection: Connection, openedAt: number): Flow {
  const { socket, streams } = connection
  const waitingStreams = new Map<ServerHttp2Stream, Waiting>()
  let sentBytes = socket.bytesWritten
  let windowBytes: number | undefined
  let movedAt = openedAt
  let waits = false

  function lookAtStreams(now: number): void {
    for (const stream of waitingStreams.keys()) if (!streams.has(stream)) waitingStreams.delete(stream)
    for (const stream of streams) {
      const bytes = stream.bufferSize
      const known = waitingStreams.get(stream)
      if (bytes === 0) waitingStreams.delete(stream)
      else if (!known || bytes < known.bytes) waitingStreams.set(stream, { bytes, movedAt: now })
      else known.bytes = bytes
    }
  }

  /** Bytes that the kernel took, or a window that was used or given. */
  function hasMoved(): boolean {
    const nowWindowBytes = connection.session?.state.remoteWindowSize
    const moved = socket.bytesWritten - sentBytes > noiseBytes || nowWindowBytes !== windowBytes
    sentBytes = socket.bytesWritten
    windowBytes = nowWindowBytes
    return moved
  }

  return {
    look(now) {
      lookAtStreams(now)
      waits = connection.session ? waitingStreams.size > 0 : (connection.secure?.writableLength ?? 0) > 0
      if (hasMoved() || !waits) movedAt = now
    },
    movedAt: () => movedAt,
    waits: () => waits,
    stuckStreams: (since) =>
      Array.from(waitingStreams, ([stream, waiting]) => (waiting.movedAt < since ? stream : null)).filter(
        (stream) => stream !== null,
      ),
  }
}
