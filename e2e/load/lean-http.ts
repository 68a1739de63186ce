// Minimal HTTP for load clients: hand-parsed TLS connections, shared HTTP/2 sessions.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http2 from 'node:http2'
import net from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import tls from 'node:tls'
import { connections, type HttpVersion } from '../../client/wire.ts'

/** Over HTTP/2, windows share a session; over HTTP/1.1, only idle connections. */
export interface Browser {
  readonly get: (path: string) => Promise<Answer>
  /** Over HTTP/1.1 uses an idle connection or opens one: posts do not queue. */
  readonly post: (path: string, type: string, body: string) => Promise<Answer>
  /** Resolves to the paused body of an open-ended response; rejects on another status than 200. */
  readonly stream: (path: string) => Promise<Duplex>
  /** Resolves to the paused bytes of an accepted WebSocket (RFC 6455, 4.1; RFC 8441, 4). */
  readonly upgrade: (path: string) => Promise<Duplex>
  /** A request with an endless body; `onAnswer` gets the status. Throws over HTTP/1.1. */
  readonly upload: (path: string, type: string, onAnswer: (status: unknown) => void) => Duplex
  /** Bytes received over all its connections so far, including TLS but not TCP and IP headers. */
  readonly receivedBytes: () => number
  readonly close: () => void
}

interface Answer {
  readonly status: number
  readonly body: Buffer
}

/** `sourceAddress`: which of this machine's addresses it connects from; default: the system's choice. */
export function openBrowser(origin: string, http: HttpVersion, sourceAddress?: string): Promise<Browser> {
  return connections[http].isShared
    ? openHttp2Browser(origin, sourceAddress)
    : Promise.resolve(openHttp1Browser(origin, sourceAddress))
}

/**
 * One server address and port can be joined from 28,000 Linux ports, of which other programs use
 * some.
 */
const windowsPerAddress = 10_000

/**
 * From 127.0.0.0/8, which on Linux is all local; other systems have only 127.0.0.1. Each server is
 * joined from addresses of its own: a socket bound to an address occupies its port towards all
 * servers, and for a minute after it closes.
 */
export function sourceAddress(window: number, origin: string): string | undefined {
  if (process.platform !== 'linux') return undefined
  const port = Number(new URL(origin).port)
  return `127.${port >> 8}.${port & 255}.${Math.floor(window / windowsPerAddress) + 1}`
}

interface Connected {
  readonly socket: tls.TLSSocket
  readonly receivedBytes: () => number
}

/** Does not verify the certificate: load clients only measure. */
async function connectTls(
  origin: string,
  protocol: 'h2' | 'http/1.1',
  localAddress: string | undefined,
): Promise<Connected> {
  const { hostname, port } = new URL(origin)
  // Below TLS, whose own count is of plaintext.
  const wire = net.connect({
    // By address: a thousand `localhost` look-ups would queue on four threads.
    host: hostname === 'localhost' ? '127.0.0.1' : hostname,
    port: Number(port),
    ...(localAddress !== undefined && { localAddress }),
  })
  const socket = tls.connect({
    socket: wire,
    servername: 'localhost',
    ALPNProtocols: [protocol],
    rejectUnauthorized: false,
  })
  wire.setNoDelay(true)
  wire.once('error', (error) => socket.destroy(error))
  // An open connection also closes, which is reported; a refused one may report it twice.
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  return { socket, receivedBytes: () => wire.bytesRead }
}

/**
 * Leaves the stream paused once `parse` finds what it needs; rejects if the stream breaks or closes
 * first.
 */
export function readUntil<Found>(stream: Readable, parse: (bytes: Buffer) => Found | null): Promise<Found> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0)
    const onClose = () => reject(new Error('The connection closed before the response was complete.'))
    const onBytes = (chunk: Buffer) => {
      bytes = bytes.length > 0 ? Buffer.concat([bytes, chunk]) : chunk
      const found = parse(bytes)
      if (found === null) return
      stream.off('data', onBytes).off('error', reject).off('close', onClose).pause()
      resolve(found)
    }
    if (stream.destroyed) onClose()
    stream.on('data', onBytes).once('error', reject).once('close', onClose).resume()
  })
}

interface ResponseHead {
  readonly status: number
  /** Body bytes; 0 without a header. */
  readonly length: number
  /** Its body is chunked, without a length (RFC 9112, 7.1), as Crosswind's large ones are. */
  readonly isChunked: boolean
  /** Body bytes that arrived with the head. */
  readonly rest: Buffer
}

/** Null while incomplete. */
export function parseHead(bytes: Buffer): ResponseHead | null {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return null
  const head = bytes.toString('latin1', 0, end)
  const [, length = '0'] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? []
  return {
    status: Number(head.split(' ', 2)[1]),
    length: Number(length),
    isChunked: /\r\ntransfer-encoding: *chunked/i.test(head),
    rest: bytes.subarray(end + 4),
  }
}

/** The body without its framing; null while incomplete. Does not support trailers. */
function joinChunks(bytes: Buffer): Buffer | null {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return null
    const length = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const start = line + 2
    if (!(bytes.length >= start + length + 2)) return null
    if (length === 0) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(start, start + length))
    at = start + length + 2
  }
}

function parseAnswer(bytes: Buffer): Answer | null {
  const head = parseHead(bytes)
  if (!head) return null
  if (head.isChunked) {
    const body = joinChunks(head.rest)
    return body && { status: head.status, body }
  }
  if (head.rest.length < head.length) return null
  return { status: head.status, body: head.rest.subarray(0, head.length) }
}

function openHttp1Browser(origin: string, sourceAddress?: string): Browser {
  const { host } = new URL(origin)
  const idle: tls.TLSSocket[] = []
  const all = new Set<Connected>()

  async function connect(): Promise<tls.TLSSocket> {
    const connected = await connectTls(origin, 'http/1.1', sourceAddress)
    all.add(connected)
    return connected.socket
  }

  async function ask(request: string): Promise<Answer> {
    const socket = idle.pop() ?? (await connect())
    socket.write(request)
    const answer = await readUntil(socket, parseAnswer)
    idle.push(socket)
    return answer
  }

  async function begin(path: string, expected: number, ...headers: readonly string[]): Promise<Duplex> {
    const socket = await connect()
    socket.write([`GET ${path} HTTP/1.1`, `Host: ${host}`, ...headers, '\r\n'].join('\r\n'))
    const { status, rest } = await readUntil(socket, parseHead)
    if (status !== expected) {
      socket.destroy()
      throw new Error(`${path} answered ${status}`)
    }
    if (rest.length > 0) socket.unshift(rest)
    return socket
  }

  return {
    get: (path) => ask(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
    post(path, type, body) {
      const length = Buffer.byteLength(body)
      return ask(
        `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${body}`,
      )
    },
    stream: (path) => begin(path, 200),
    upgrade: (path) =>
      begin(
        path,
        101,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      ),
    upload() {
      throw new Error('A streamed request needs HTTP/2.')
    },
    receivedBytes: () => all.values().reduce((sum, { receivedBytes }) => sum + receivedBytes(), 0),
    close() {
      for (const { socket } of all) socket.destroy()
    },
  }
}

/**
 * Chromium's values (net/http/http_network_session.cc), so that flow control does not limit the
 * measurement.
 */
const streamWindowBytes = 6 * 1024 * 1024
const sessionWindowBytes = 15 * 1024 * 1024

async function openHttp2Browser(origin: string, sourceAddress?: string): Promise<Browser> {
  const { socket, receivedBytes } = await connectTls(origin, 'h2', sourceAddress)
  const session = http2.connect(origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: streamWindowBytes },
  })
  session.on('error', () => undefined)
  // The server's first SETTINGS announce WebSocket support.
  await Promise.all([once(session, 'connect'), once(session, 'remoteSettings')])
  session.setLocalWindowSize(sessionWindowBytes)

  function request(headers: http2.OutgoingHttpHeaders, endStream: boolean): http2.ClientHttp2Stream {
    return session.request(headers, { endStream }).on('error', () => undefined)
  }

  function ask(headers: http2.OutgoingHttpHeaders, body?: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const stream = request(headers, body === undefined)
      const chunks: Buffer[] = []
      let status = 0
      if (body !== undefined) stream.end(body)
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.once('response', (answered) => {
        status = Number(answered[':status'])
      })
      stream.once('end', () => resolve({ status, body: Buffer.concat(chunks) }))
      stream.once('close', () => reject(new Error('The stream closed before the response was complete.')))
    })
  }

  function begin(headers: http2.OutgoingHttpHeaders, endStream: boolean): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const stream = request(headers, endStream)
      stream.once('response', ({ ':status': status }) => {
        if (Number(status) === 200) return resolve(stream)
        reject(new Error(`${headers[':path']} answered ${status}`))
        stream.destroy()
      })
      stream.once('close', () => reject(new Error(`${headers[':path']} was closed unanswered`)))
    })
  }

  const upgrade = { ':method': 'CONNECT', ':protocol': 'websocket', 'sec-websocket-version': '13' }
  return {
    get: (path) => ask({ ':path': path }),
    post: (path, type, body) => ask({ ':method': 'POST', ':path': path, 'content-type': type }, body),
    stream: (path) => begin({ ':path': path }, true),
    upgrade: (path) => begin({ ...upgrade, ':path': path }, false),
    upload(path, type, onAnswer) {
      const stream = request({ ':method': 'POST', ':path': path, 'content-type': type }, false)
      return stream.once('response', ({ ':status': status }) => onAnswer(status))
    },
    receivedBytes,
    close: () => session.destroy(),
  }
}

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9 } as const

/** One frame (RFC 6455, 5.2), masked with zeros, which leave the text unchanged. */
export function webSocketFrame(text: string, type: keyof typeof opcodes = 'text', isLast = true): Buffer {
  const payload = Buffer.from(text)
  const { length } = payload
  const head = Buffer.alloc(length < 126 ? 6 : length <= 0xffff ? 8 : 14)
  head[0] = (isLast ? 0x80 : 0) | opcodes[type]
  head[1] = 0x80 | (length < 126 ? length : length <= 0xffff ? 126 : 127)
  if (head[1] === 0xfe) head.writeUInt16BE(length, 2)
  if (head[1] === 0xff) head.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([head, payload])
}

/** How much of a frame is kept. */
const maxStart = 128

/**
 * Reads unmasked frames (RFC 6455, 5.2) without keeping long ones. `start`: a frame's first bytes,
 * 128 at most.
 */
export function readFrames(
  onFrame: (start: string, isText: boolean) => void,
  onClose: () => void,
): (bytes: Buffer) => void {
  let head: Buffer = Buffer.alloc(0)
  let opcode = 0
  let left = 0
  let isInPayload = false
  let start = ''

  function take(bytes: Buffer): Buffer {
    if (!isInPayload) {
      head = head.length > 0 ? Buffer.concat([head, bytes]) : bytes
      const short = (head[1] ?? 0) & 0x7f
      const headLength = short === 127 ? 10 : short === 126 ? 4 : 2
      if (head.length < headLength) return Buffer.alloc(0)
      opcode = (head[0] ?? 0) & 0x0f
      left = short === 127 ? Number(head.readBigUInt64BE(2)) : short === 126 ? head.readUInt16BE(2) : short
      bytes = head.subarray(headLength)
      head = Buffer.alloc(0)
      start = ''
      isInPayload = true
    }
    const part = bytes.subarray(0, left)
    if (start.length < maxStart) start += part.toString('latin1', 0, maxStart - start.length)
    left -= part.length
    if (left > 0) return Buffer.alloc(0)
    isInPayload = false
    if (opcode === opcodes.close) onClose()
    else if (opcode <= opcodes.binary) onFrame(start, opcode === opcodes.text)
    return bytes.subarray(part.length)
  }

  return (bytes) => {
    for (let rest = take(bytes); rest.length > 0; rest = take(rest));
  }
}
