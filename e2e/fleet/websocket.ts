// One WebSocket, both ways, over HTTP/1.1 or as a stream of HTTP/2 (RFC 8441).

import { once } from 'node:events'
import http2 from 'node:http2'
import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import type { DownFrame, UpFrame } from '../../server/wire/frames.ts'
import { closingFrom, createAnswers } from '../../web/transports/answers.ts'
import { lost, now } from '../../web/transports/transport.ts'
import type { FleetOpening, OpenFleetTransport } from './transport.ts'

export const openWebSocket: OpenFleetTransport = (opening) => {
  const answers = createAnswers()
  let socket: WebSocket | null = null
  let hasEnded = false
  let closing = lost

  function attach(opened: WebSocket): void {
    socket = opened
    if (hasEnded) opened.terminate()
    opened.on('error', () => undefined)
    opened.on('message', (data) => {
      const receivedAt = now()
      const frame: DownFrame = JSON.parse(String(data))
      closing = closingFrom(frame, answers.size()) ?? closing
      answers.take(frame)
      if (!hasEnded) opening.onFrame(frame, receivedAt)
    })
    opened.once('close', end)
  }

  function end(): void {
    answers.abandon()
    if (hasEnded) return
    hasEnded = true
    opening.onClose(closing)
  }

  function say(frame: UpFrame | unknown): number {
    const text = JSON.stringify(frame)
    socket?.send(text)
    return text.length
  }

  connect(opening).then(attach, end)
  return {
    async send(draft) {
      if (socket?.readyState !== WebSocket.OPEN) throw new Error('The WebSocket is not open.')
      return answers.expect(draft, say({ type: 'publish', message: draft }))
    },
    beat(windows) {
      if (socket?.readyState === WebSocket.OPEN) say({ type: 'heartbeat', ...(windows && { windows }) })
    },
    askClock() {
      if (socket?.readyState === WebSocket.OPEN) say({ type: 'clock', at: now() })
    },
    pause: () => socket?.pause(),
    resume: () => socket?.resume(),
    cut: () => socket?.terminate(),
    close() {
      hasEnded = true
      answers.abandon()
      socket?.close()
      socket?.terminate()
    },
  }
}

async function connect({ mode, origin, query, ca, cookie }: FleetOpening): Promise<WebSocket> {
  const path = `/api/socket?${query}`
  const headers = cookie === undefined ? {} : { cookie }
  if (mode.joinsConnection) return connectOverHttp2(origin, path, ca, headers)
  return new WebSocket(`${origin.replace(/^http/, 'ws')}${path}`, { ca, headers })
}

/** What of `ws` makes a WebSocket of any stream; its types name only what it does with sockets of its own. */
interface Lending {
  _isServer: boolean
  setSocket(stream: Duplex, head: Buffer, options: { maxPayload: number; skipUTF8Validation: boolean }): void
}

/** The constructor as `ws` itself calls it; its types leave out what follows the null. */
const Lent = WebSocket as unknown as new (address: null, protocols: undefined, options: object) => WebSocket

/** Largest frame taken from a server, bytes. */
const maxPayload = 64 * 1024 * 1024

async function connectOverHttp2(
  origin: string,
  path: string,
  ca: string,
  headers: Readonly<Record<string, string>>,
): Promise<WebSocket> {
  const session = http2.connect(origin, { ca })
  session.on('error', () => undefined)
  const settings = await remoteSettings(session)
  if (!settings.enableConnectProtocol) throw new Error('The server takes no WebSocket over HTTP/2.')
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':path': path,
    'sec-websocket-version': '13',
    ...headers,
  })
  stream.on('error', () => undefined)
  stream.once('close', () => session.destroy())
  const [answered] = await once(stream, 'response')
  if (answered[':status'] !== 200) {
    session.destroy()
    throw new Error(`The WebSocket was refused: ${answered[':status']}.`)
  }
  const socket = new Lent(null, undefined, {})
  const lending = socket as unknown as Lending
  lending._isServer = false
  lending.setSocket(stream, Buffer.alloc(0), { maxPayload, skipUTF8Validation: false })
  return socket
}

function remoteSettings(session: http2.ClientHttp2Session): Promise<http2.Settings> {
  return new Promise((resolve, reject) => {
    session.once('remoteSettings', resolve)
    session.once('close', () => reject(new Error('The connection ended before it began.')))
  })
}
