// Clients without a browser: the window's transports in Node.

import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type { WebSocket } from 'ws'
import {
  askClock,
  HttpError,
  now,
  type Opening,
  type OpenTransport,
  openEventsBy,
  type Platform,
  type Send,
  transportsByName,
} from '../../client/transports.ts'
import type { Draft, HttpVersion } from '../../client/wire.ts'
import { connectHttp, type HttpClient } from './http-client.ts'

export interface NodeOpening extends Omit<Opening, 'base'> {
  /** Such as `https://localhost:8443`. */
  readonly origin: string
  /** Below it the server's endpoints are; default `/api`. */
  readonly path?: string
  /** Trusted certificate, PEM; null trusts any. */
  readonly ca: string | null
  /** Session cookie, `name=value`. */
  readonly cookie?: string | undefined
  /** Its connections; by default Node's own, which has no HTTP/3. */
  readonly http?: HttpClient | undefined
}

export interface NodeTransport
  extends Required<Omit<OpenTransport, 'outlivesPage'>>,
    Pick<NodePlatform, 'pause' | 'resume' | 'cut'> {}

/** The window's transport for that mode, over its own connections. */
export function openTransport({
  ca,
  cookie,
  origin,
  path = '/api',
  http,
  ...opening
}: NodeOpening): NodeTransport {
  const { mode } = opening
  const platform = createNodePlatform(http ?? connectHttp(mode.http as HttpVersion, origin, ca, cookie))
  const onClose: Opening['onClose'] = (closing) => {
    platform.close()
    opening.onClose(closing)
  }
  const base = origin + path
  const transport = transportsByName[mode.transport].open({ ...opening, base, onClose }, platform)
  const { pause, resume, cut } = platform
  return {
    ...transport,
    pause,
    resume,
    cut,
    askClock: transport.askClock ?? (() => askClock({ ...opening, base }, platform)),
    close() {
      transport.close()
      platform.close()
    },
  }
}

export function newKey(): string {
  return randomBytes(18).toString('base64url')
}

export function nameOf(key: string, suffix: string): string {
  return `${createHash('sha256').update(key).digest('base64url').slice(0, 22)}.${suffix}`
}

/** A title, which every document takes. */
export function draftOf(window: string, count: number, title: string, channel = 'main'): Draft<'title'> {
  return {
    id: `${window}-${count}`,
    channel,
    kind: 'title',
    from: window,
    at: 1_700_000_000_000.5,
    body: { title },
  }
}

/** The connections of one client. */
interface NodePlatform extends Platform {
  /** Stops reading, also from streams opened later. */
  readonly pause: () => void
  readonly resume: () => void
  /** Breaks the connections without warning. */
  readonly cut: () => void
  /** Closes them once requests with `keepalive` are answered. */
  readonly close: () => void
}

/** Node as the platform of the window's transports. */
export function createNodePlatform(http: HttpClient): NodePlatform {
  const readings = new Set<Readable | WebSocket>()
  const leaving: Promise<unknown>[] = []
  let isPaused = false

  const send: Send = async (method, address, text, { signal, timeoutMs }) => {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), timeoutMs)
    try {
      const { status, body } = await http.ask({
        method,
        path: pathOf(address),
        headers: text === null ? {} : { 'content-type': 'application/json' },
        body: text ?? undefined,
        signal: AbortSignal.any([signal, late.signal]),
      })
      return { status, text: await textFrom(body), receivedAt: now() }
    } finally {
      clearTimeout(timer)
    }
  }

  async function textFrom(body: Readable): Promise<string> {
    let text = ''
    await read(body, (chunk) => {
      text += chunk
    })
    return text
  }

  /** Resolves at the body's end; rejects if it breaks. */
  function read(body: Readable, onText: (text: string) => void): Promise<void> {
    hold(body)
    body.setEncoding('utf8').on('data', onText)
    return finished(body, { writable: false })
  }

  function hold(reading: Readable | WebSocket): void {
    readings.add(reading)
    reading.once('close', () => readings.delete(reading))
    if (isPaused) reading.pause()
  }

  const openEvents = openEventsBy(async (address, signal, onText) => {
    const { status, body } = await http.ask({ path: pathOf(address), signal })
    if (status !== 200) throw new HttpError({ status, text: await textFrom(body) })
    await read(body, onText)
  })

  return {
    send,
    openEvents,
    openSocket(address) {
      const socket = http.openSocket(pathOf(address))
      socket.on('error', () => undefined)
      socket.once('open', () => hold(socket))
      return socket as unknown as ReturnType<Platform['openSocket']>
    },
    async fetch(address, { method = 'GET', headers, body, signal, keepalive }) {
      const asked = http.ask({
        method,
        path: pathOf(address),
        headers: Object.fromEntries(new Headers(headers)),
        body: body ? Readable.fromWeb(body as ReadableStream) : undefined,
        signal: signal ?? undefined,
      })
      if (keepalive) leaving.push(asked)
      const answer = await asked
      hold(answer.body)
      // `Response` refuses a 204 with a body.
      const isEmpty = answer.status === 204
      if (isEmpty) answer.body.resume()
      const content = isEmpty ? null : (Readable.toWeb(answer.body) as globalThis.ReadableStream)
      return new Response(content, { status: answer.status })
    },
    pause() {
      isPaused = true
      for (const reading of readings) reading.pause()
    },
    resume() {
      isPaused = false
      for (const reading of readings) reading.resume()
    },
    cut: http.close,
    close: () => void Promise.allSettled(leaving).then(http.close),
  }
}

function pathOf(address: string): string {
  const { pathname, search } = new URL(address)
  return `${pathname}${search}`
}
