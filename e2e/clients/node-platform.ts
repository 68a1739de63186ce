// Node as the platform of the window's transports, over connections that can stall and break.

import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import axios, { type AxiosAdapter, AxiosError } from 'axios'
import type { WebSocket } from 'ws'
import type { Platform } from '../../client/index.ts'
import type { HttpVersion } from '../../server/wire/modes.ts'
import { createSseReader } from '../../server/wire/sse-framing.ts'
import { connectHttp } from './http-client.ts'

/** The connections of one client. */
export interface NodePlatform extends Platform {
  /** Stops reading, also what opens later. */
  readonly pause: () => void
  readonly resume: () => void
  /** Breaks the connections without warning. */
  readonly cut: () => void
  /** Closes them once requests with `keepalive` are answered. */
  readonly close: () => void
}

/** `ca`: trusted certificate, PEM; null trusts any. `cookie`: `name=value`. */
export function createNodePlatform(
  version: HttpVersion,
  origin: string,
  ca: string | null,
  cookie?: string,
): NodePlatform {
  const http = connectHttp(version, origin, ca, cookie)
  const readings = new Set<Readable | WebSocket>()
  const leaving: Promise<unknown>[] = []
  let isPaused = false

  const adapter: AxiosAdapter = async (config) => {
    const { method = 'get', timeout = 0, data, responseType } = config
    const late = new AbortController()
    const timer = timeout > 0 ? setTimeout(() => late.abort(), timeout) : undefined
    try {
      const { status, body } = await http.ask({
        method: method.toUpperCase(),
        path: pathOf(axios.getUri(config)),
        headers: config.headers.toJSON() as Record<string, string>,
        body: data,
        signal: AbortSignal.any([config.signal as AbortSignal, late.signal]),
      })
      const isOk = status >= 200 && status < 300
      const content = isOk && responseType === 'stream' ? body : await textFrom(body)
      const response = { status, statusText: '', headers: {}, data: content, config }
      if (isOk) return response
      throw new AxiosError(`The server answered ${status}.`, undefined, config, null, response)
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

  /** Resolves at the body's end; rejects when it breaks. */
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

  function openEvents(address: string) {
    const source = new EventTarget() as EventSource
    const ending = new AbortController()
    const { signal } = ending
    const { push } = createSseReader(({ event, data }) => {
      if (!signal.aborted) source.dispatchEvent(new MessageEvent(event, { data }))
    })

    async function follow(): Promise<void> {
      const { data: body } = await axios.get<Readable>(address, { adapter, responseType: 'stream', signal })
      await read(body, push)
    }

    function fail(error?: unknown): void {
      if (!signal.aborted) source.dispatchEvent(new ErrorEvent('error', { error }))
    }

    follow().then(fail, fail)
    return Object.assign(source, { close: () => ending.abort() })
  }

  return {
    adapter,
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
