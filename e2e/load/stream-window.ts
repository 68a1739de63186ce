// Server-sent events, up by posts (`sse`) or in one long request (`streaming`).

import type { ClientHttp2Stream } from 'node:http2'
import type { Readable } from 'node:stream'
import type { Draft } from '../../server/wire/envelope.ts'
import { connectTls, readHead } from './tls-line.ts'
import type { OpenWindow, WindowOpening } from './window.ts'

export const openSseWindow: OpenWindow = async (opening) => {
  const close = await openDown('/api/stream', opening)
  return {
    publish: (draft) => postDraft(opening, draft),
    close,
  }
}

export const openStreamingWindow: OpenWindow = async (opening) => {
  const close = await openDown('/api/streaming', opening)
  let up: ClientHttp2Stream | null = null
  return {
    publish(draft) {
      // Only the author's window opens it: the others have nothing to say.
      up ??= openUp(opening)
      up.write(`${JSON.stringify({ type: 'publish', message: draft })}\n`)
    },
    close() {
      up?.destroy()
      close()
    },
  }
}

/** The uplink of all modes that post. */
export function postDraft({ browser, onFailure }: WindowOpening, draft: Draft<'edit'>): void {
  browser.post('/api/messages', 'application/json', JSON.stringify(draft)).then(
    ({ status, body }) => status !== 200 && onFailure(`a message was refused: ${status} ${body}`),
    (error) => onFailure(String(error)),
  )
}

/** Returns the way to close it. */
async function openDown(path: string, opening: WindowOpening): Promise<() => void> {
  const asked = `${path}?${opening.query}`
  const stream = opening.browser.session ? await over2(opening, asked) : await over1(opening, asked)
  let isClosed = false
  stream.on('data', opening.onBytes).on('error', () => undefined)
  stream.once('close', () => !isClosed && opening.onFailure('its stream ended'))
  stream.resume()
  return () => {
    isClosed = true
    stream.destroy()
  }
}

function over2({ browser }: WindowOpening, path: string): Promise<Readable> {
  return new Promise((resolve, reject) => {
    const stream = browser.session?.request({ ':path': path })
    stream?.once('response', ({ ':status': status }) =>
      status === 200 ? resolve(stream) : reject(new Error(`${path} answered ${status}`)),
    )
    stream?.once('error', reject)
    stream?.once('close', () => reject(new Error(`${path} was closed unanswered`)))
  })
}

async function over1({ browser }: WindowOpening, path: string): Promise<Readable> {
  const socket = await connectTls(browser.origin, 'http/1.1')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${new URL(browser.origin).host}\r\n\r\n`)
  const { status, rest } = await readHead(socket)
  if (status !== 200) throw new Error(`${path} answered ${status}`)
  if (rest.length > 0) socket.unshift(rest)
  return socket
}

function openUp({ browser, query, onFailure }: WindowOpening): ClientHttp2Stream {
  const { session } = browser
  if (!session) throw new Error('A streamed request needs HTTP/2.')
  const path = `/api/streaming?window=${query.get('window')}`
  const up = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/x-ndjson' })
  up.on('error', () => undefined)
  up.once('response', ({ ':status': status }) => onFailure(`${path} was answered early: ${status}`))
  return up
}
