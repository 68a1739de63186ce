// Floods below and beside HTTP/2: sockets that never get as far, HTTP/1.1 that never comes to its end, WebSockets.

import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { WebSocket } from 'ws'

const host = '127.0.0.1'

/** The first bytes of a handshake (RFC 8446, 5.1: a record of 512 bytes is announced), and then silence. */
export async function neverEndingHandshake(port: number): Promise<string> {
  const socket = net.connect({ port, host })
  socket.write(Buffer.from([22, 3, 1, 2, 0]))
  return endOf(socket)
}

/** A handshake whose bytes keep coming, one now and then. */
export async function tricklingHandshake(port: number, everyMs: number): Promise<string> {
  const socket = net.connect({ port, host })
  socket.write(Buffer.from([22, 3, 1, 2, 0, 1]))
  return endOf(socket, trickle(socket, everyMs, Buffer.alloc(1)))
}

/** Bytes that are nothing at all, for as long as they are taken. */
export async function garbage(port: number): Promise<string> {
  const socket = net.connect({ port, host })
  socket.write(Buffer.alloc(4096, 'garbage '))
  return endOf(socket)
}

/** TLS, and then not a word. */
export async function silentConnection(port: number, protocol: 'h2' | 'http/1.1'): Promise<string> {
  return endOf(await connectTls(port, protocol))
}

/** A header now and then, and never the last one (slowloris). */
export async function slowHeaders(port: number, everyMs: number): Promise<string> {
  const socket = await connectTls(port, 'http/1.1')
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n')
  return endOf(socket, trickle(socket, everyMs, Buffer.from('x-slow: 1\r\n')))
}

/** A body of which a byte comes now and then. */
export async function slowBody(port: number, everyMs: number): Promise<string> {
  const socket = await connectTls(port, 'http/1.1')
  const lines = [
    'POST /api/messages HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    'Content-Length: 5000',
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n{`)
  return endOf(socket, trickle(socket, everyMs, Buffer.from(' ')))
}

/** A body that is refused for its size and goes on for ever. */
export async function endlessBody(port: number): Promise<string> {
  const socket = await connectTls(port, 'http/1.1')
  const lines = ['POST /api/messages HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
  socket.write(`${lines.join('\r\n')}\r\nTransfer-Encoding: chunked\r\n\r\n`)
  const chunk = Buffer.from(`4000\r\n${'x'.repeat(0x4000)}\r\n`)
  pour(socket, () => chunk)
  return endOf(socket)
}

export async function headerLines(port: number, count: number): Promise<string> {
  const socket = await connectTls(port, 'http/1.1')
  const more = Array.from({ length: count }, (_, index) => `x-${index}: ${'y'.repeat(100)}`)
  socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n${more.join('\r\n')}\r\n\r\n`)
  return endOf(socket)
}

async function connectTls(port: number, protocol: string): Promise<tls.TLSSocket> {
  const socket = tls.connect({ port, host, ALPNProtocols: [protocol], rejectUnauthorized: false })
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('secureConnect', resolve).once('close', resolve))
  return socket
}

function trickle(socket: net.Socket, everyMs: number, bytes: Buffer): NodeJS.Timeout {
  return setInterval(() => socket.writable && socket.write(bytes), everyMs)
}

/** Writes for as long as the other side takes it. */
export function pour(socket: net.Socket, next: () => Buffer): void {
  const more = () => {
    while (socket.writable) if (!socket.write(next())) return
  }
  socket.on('drain', more)
  more()
}

/** Resolves, when the connection has ended, to what was answered before. */
async function endOf(socket: net.Socket, timer?: NodeJS.Timeout): Promise<string> {
  let answer = ''
  socket.on('error', () => undefined)
  socket.setEncoding('latin1').on('data', (text) => {
    answer += text
  })
  if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve))
  clearInterval(timer)
  return answer
}

/** The frames of RFC 6455, section 5.2, masked with zeros so that the text is as it stands. */
export function socketFrame(opcode: number, isLast: boolean, text: string): Buffer {
  const payload = Buffer.from(text)
  return Buffer.concat([
    Buffer.from([(isLast ? 0x80 : 0) | opcode, 0x80 | payload.length, 0, 0, 0, 0]),
    payload,
  ])
}

export const opcodes = { continuation: 0, text: 1, ping: 9 } as const

/** Pours frames that are refused, until that many were; resolves to the ms that it took. */
export async function refusedFrames(port: number, count: number): Promise<number> {
  const { socket, bare } = await openSocket(port)
  const startedAt = performance.now()
  const many = Buffer.concat(Array.from({ length: 1000 }, () => socketFrame(opcodes.text, true, '{')))
  pour(bare, () => many)
  let refused = 0
  await new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      if (String(data).includes('refused')) refused += 1
      if (refused === count) resolve()
    })
    socket.once('close', () => resolve())
  })
  socket.terminate()
  return performance.now() - startedAt
}

/** Opens a WebSocket and pours frames into it; resolves to the code that it was closed with, 1006 for none. */
export async function socketFlood(
  port: number,
  frames: { readonly first?: Buffer; readonly again: Buffer; readonly isReading: boolean },
): Promise<number> {
  const { socket, bare } = await openSocket(port)
  const closed = once(socket, 'close')
  if (!frames.isReading) bare.pause()
  const many = Buffer.concat(Array.from({ length: 1000 }, () => frames.again))
  if (frames.first) bare.write(frames.first)
  pour(bare, () => many)
  if (!frames.isReading) {
    // Unread bytes would hide the end of the connection from this side.
    bare.once('error', () => socket.terminate())
  }
  const [code] = await closed
  return code
}

/** A window's WebSocket with its bare connection: the library would not send such frames. */
async function openSocket(port: number): Promise<{ socket: WebSocket; bare: net.Socket }> {
  const address = `wss://localhost:${port}/api/socket?window=flood&channels=flood`
  const socket = new WebSocket(address, { rejectUnauthorized: false })
  socket.on('error', () => undefined)
  await once(socket, 'open')
  return { socket, bare: (socket as unknown as { _socket: net.Socket })._socket }
}
