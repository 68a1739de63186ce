// A TLS connection for HTTP/1.1, read by hand: the head of an answer, then the bytes after it.

import { once } from 'node:events'
import tls from 'node:tls'

/** Load clients measure; they do not check whom they measure. */
export async function connectTls(origin: string, protocol: 'h2' | 'http/1.1'): Promise<tls.TLSSocket> {
  const { hostname, port } = new URL(origin)
  const socket = tls.connect({
    // By address: a thousand look-ups of `localhost` would go through four threads.
    host: hostname === 'localhost' ? '127.0.0.1' : hostname,
    port: Number(port),
    servername: 'localhost',
    ALPNProtocols: [protocol],
    rejectUnauthorized: false,
  })
  socket.setNoDelay(true)
  await once(socket, 'secureConnect')
  return socket
}

export interface Head {
  readonly status: number
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** What came with it and is no longer part of it. */
  readonly rest: Buffer
}

/** Null while the head is not complete. */
export function parseHead(bytes: Buffer): Head | null {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return null
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: new Map(headers),
    rest: bytes.subarray(end + 4),
  }
}

/** Resolves with the answer's head; rejects when the connection closes before. Then the socket is paused. */
export function readHead(socket: tls.TLSSocket): Promise<Head> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const onClose = () => reject(new Error('The connection closed before the answer began.'))
    const onBytes = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      const head = parseHead(bytes)
      if (!head) return
      socket.off('data', onBytes).off('close', onClose).pause()
      resolve(head)
    }
    socket.on('data', onBytes).once('close', onClose)
  })
}
