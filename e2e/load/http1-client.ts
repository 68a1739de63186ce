// HTTP/1.1 for polls and posts: one question at a time on a connection that stays open.

import type { TLSSocket } from 'node:tls'
import { connectTls, parseHead } from './tls-line.ts'

export interface Answered {
  readonly status: number
  readonly body: Buffer
}

export interface Http1Client {
  readonly get: (path: string) => Promise<Answered>
  /** Posts do not wait for each other: each takes a free connection, or a new one. */
  readonly post: (path: string, type: string, body: string) => Promise<Answered>
  readonly close: () => void
}

interface Line {
  readonly ask: (request: string) => Promise<Answered>
  readonly close: () => void
}

export function createHttp1Client(origin: string): Http1Client {
  const { host } = new URL(origin)
  const free: Line[] = []
  const all = new Set<Line>()

  async function ask(request: string): Promise<Answered> {
    const line = free.pop() ?? (await open())
    const answered = await line.ask(request)
    free.push(line)
    return answered
  }

  async function open(): Promise<Line> {
    const line = createLine(await connectTls(origin, 'http/1.1'))
    all.add(line)
    return line
  }

  return {
    get: (path) => ask(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
    post(path, type, body) {
      const length = Buffer.byteLength(body)
      return ask(
        `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${body}`,
      )
    },
    close() {
      for (const line of all) line.close()
    },
  }
}

function createLine(socket: TLSSocket): Line {
  let bytes: Buffer = Buffer.alloc(0)
  let waiting: PromiseWithResolvers<Answered> | null = null

  socket.on('data', (chunk: Buffer) => {
    bytes = bytes.length > 0 ? Buffer.concat([bytes, chunk]) : chunk
    const answered = wholeAnswer(bytes)
    if (!answered) return
    bytes = Buffer.alloc(0)
    waiting?.resolve(answered)
    waiting = null
  })
  socket.on('error', () => undefined)
  socket.once('close', () => waiting?.reject(new Error('The connection closed before the answer was there.')))

  return {
    ask(request) {
      waiting = Promise.withResolvers()
      if (socket.destroyed) waiting.reject(new Error('The connection was closed while it was not used.'))
      else socket.write(request)
      return waiting.promise
    },
    close: () => void socket.destroy(),
  }
}

/** Null while something is missing. Crosswind gives every whole answer its length; without one it has no body. */
export function wholeAnswer(bytes: Buffer): Answered | null {
  const head = parseHead(bytes)
  if (!head) return null
  const length = Number(head.headers.get('content-length') ?? 0)
  return head.rest.length < length ? null : { status: head.status, body: head.rest.subarray(0, length) }
}
