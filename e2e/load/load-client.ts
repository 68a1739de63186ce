// Load clients: minimal receiving windows for each transport and peer.

import type { Duplex } from 'node:stream'
import type { Draft } from '../../server/wire/messages.ts'
import { type HttpVersion, modeFor, type TransportName } from '../../server/wire/modes.ts'
import { openTransport } from '../clients/client.ts'
import { type Browser, readUntil, webSocketFrame } from './lean-http.ts'

export const peerNames = ['ws', 'socket.io', 'http2', 'ws-stored', 'http2-stored'] as const
export type PeerName = (typeof peerNames)[number]

export const peerHttp: Readonly<Record<PeerName, HttpVersion>> = {
  ws: '1.1',
  'socket.io': '1.1',
  http2: '2',
  'ws-stored': '1.1',
  'http2-stored': '2',
}

export interface Target {
  readonly client: TransportName | PeerName
  readonly http: HttpVersion
  readonly origin: string
  readonly polling: { readonly intervalMs: number; readonly holdMs: number }
}

interface ClientSettings {
  readonly browser: Browser
  readonly query: URLSearchParams
  readonly onBytes: (bytes: Buffer) => void
  /** The connection ended without `close`, or a message was refused. */
  readonly onFailure: (why: string) => void
}

export interface LoadClient {
  readonly publish: (draft: Draft<'edit'>) => void
  readonly close: () => void
}

type Opener = (settings: ClientSettings, target: Target) => Promise<LoadClient>

/** A transport without one is measured with the window's own client. */
const leanOpeners: Readonly<Partial<Record<TransportName | PeerName, Opener>>> = {
  sse: openSse,
  websocket: openWebSocket,
  'long-polling': (settings, { polling }) => openPolling('/api/long-poll', 0, polling.holdMs, settings),
  polling: (settings, { polling }) => openPolling('/api/poll', polling.intervalMs, 0, settings),
  streaming: openStreaming,
  ws: openWsPeer,
  'socket.io': openSocketIoPeer,
  http2: openSse,
  'ws-stored': openWsPeer,
  'http2-stored': openSse,
}

/** Rejects when the server refuses. */
export function openClient(target: Target, settings: ClientSettings): Promise<LoadClient> {
  return (leanOpeners[target.client] ?? openWindow)(settings, target)
}

/** Over connections of its own, also in HTTP/2. */
export function openWindow(
  settings: Omit<ClientSettings, 'browser'>,
  { client, http, ...target }: Target,
): Promise<LoadClient> {
  const { query, onBytes, onFailure } = settings
  const mode = modeFor(client, http)
  return new Promise((resolve, reject) => {
    if (!mode) throw new Error(`There is no transport ${client}.`)
    const { send, beat, close } = openTransport({
      ...{ ...target, mode, query, ca: null },
      onFrame(frame) {
        if (frame.type === 'welcome') resolve({ publish, close })
        if (frame.type === 'heartbeat') beat()
        if (frame.type === 'message') onBytes(Buffer.from(JSON.stringify(frame)))
      },
      onClose({ sentence }) {
        reject(new Error(sentence))
        onFailure(sentence)
      },
    })
    const publish = (draft: Draft<'edit'>) =>
      void send(draft).catch((error) => onFailure(`a message was refused: ${error}`))
  })
}

async function openSse(settings: ClientSettings): Promise<LoadClient> {
  const stream = await settings.browser.stream(`/api/stream?${settings.query}`)
  return { publish: (draft) => postDraft(settings, draft), close: follow(stream, 'stream', settings) }
}

async function openStreaming(settings: ClientSettings): Promise<LoadClient> {
  const { browser, query, onFailure } = settings
  const close = follow(await browser.stream(`/api/streaming?${query}`), 'stream', settings)
  let upload: Duplex | null = null
  return {
    publish(draft) {
      // Only the author publishes.
      const path = `/api/streaming?window=${query.get('window')}&key=${query.get('key')}`
      upload ??= browser.upload(path, 'application/x-ndjson', (status) =>
        onFailure(`${path} was answered early: ${status}`),
      )
      upload.write(`${publishing(draft)}\n`)
    },
    close() {
      upload?.destroy()
      close()
    },
  }
}

const publishing = (message: Draft<'edit'>) => JSON.stringify({ type: 'publish', message })

/** Reads until the returned function is called. */
function follow(stream: Duplex, what: string, { onBytes, onFailure }: ClientSettings): () => void {
  let isClosed = false
  stream.on('data', onBytes)
  stream.once('close', () => !isClosed && onFailure(`its ${what} ended`))
  stream.resume()
  return () => {
    isClosed = true
    stream.destroy()
  }
}

async function openPolling(
  path: string,
  pauseMs: number,
  holdMs: number,
  settings: ClientSettings,
): Promise<LoadClient> {
  const { browser, query, onBytes, onFailure } = settings
  const hold = holdMs > 0 ? `&hold=${holdMs}` : ''
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  let place = '&first='

  async function poll(): Promise<void> {
    const { status, body } = await browser.get(`${path}?${query}${place}${hold}`)
    if (status !== 200) throw new Error(`${path} answered ${status}: ${body}`)
    onBytes(body)
    place = `&cursor=${cursorOf(body)}`
    if (isClosed) return
    if (pauseMs > 0) timer = setTimeout(pollOn, pauseMs)
    else pollOn()
  }

  function pollOn(): void {
    poll().catch((error) => !isClosed && onFailure(String(error)))
  }

  await poll()
  return {
    publish: (draft) => postDraft(settings, draft),
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

/** Reads the leading `{"cursor":"…",` without parsing the rest. */
function cursorOf(body: Buffer): string {
  const start = body.toString('latin1', 0, 80)
  const match = /^\{"cursor":"([^"]+)"/.exec(start)
  if (!match?.[1]) throw new Error(`A poll's answer does not begin with its cursor: ${start}`)
  return match[1]
}

function postDraft({ browser, query, onFailure }: ClientSettings, draft: Draft<'edit'>): void {
  browser.post(`/api/messages?key=${query.get('key')}`, 'application/json', JSON.stringify(draft)).then(
    ({ status, body }) => status !== 200 && onFailure(`a message was refused: ${status} ${body}`),
    (error) => onFailure(String(error)),
  )
}

async function openWebSocket(settings: ClientSettings): Promise<LoadClient> {
  return socketClient(await settings.browser.upgrade(`/api/socket?${settings.query}`), settings, publishing)
}

async function openWsPeer(settings: ClientSettings): Promise<LoadClient> {
  return socketClient(await settings.browser.upgrade('/'), settings, (draft) => JSON.stringify(draft))
}

/**
 * Socket.IO 5 over Engine.IO 4 (socket.io/docs/v4/socket-io-protocol): `40` joins, `42[…]` is an event, `2` a ping,
 * `3` a pong.
 */
async function openSocketIoPeer(settings: ClientSettings): Promise<LoadClient> {
  const socket = await settings.browser.upgrade('/socket.io/?EIO=4&transport=websocket')
  socket.write(webSocketFrame('40'))
  // No events arrive before it.
  await readUntil(socket, (bytes) => bytes.includes('40{"sid"') || null)
  const wrapped = (draft: Draft<'edit'>) => `42${JSON.stringify(['message', JSON.stringify(draft)])}`
  const { publish, close } = socketClient(socket, settings, wrapped)
  // The server closes clients without pongs, but accepts unsolicited ones.
  const pongs = setInterval(() => socket.write(webSocketFrame('3')), 15_000)
  return {
    publish,
    close() {
      clearInterval(pongs)
      close()
    },
  }
}

function socketClient(
  socket: Duplex,
  settings: ClientSettings,
  textOf: (draft: Draft<'edit'>) => string,
): LoadClient {
  return {
    publish: (draft) => void socket.write(webSocketFrame(textOf(draft))),
    close: follow(socket, 'WebSocket', settings),
  }
}
