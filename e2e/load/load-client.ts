// Load clients: minimal windows for each transport and other systems, which publish and ping.

import type { Duplex } from 'node:stream'
import { type Draft, type HttpVersion, modeFor, type TransportName } from '../../client/wire.ts'
import { openTransport } from '../clients/client.ts'
import { type Browser, readFrames, webSocketFrame } from './lean-http.ts'

/**
 * Engine.IO's and Socket.IO's own clients poll first and then upgrade, unless told to open a
 * WebSocket at once.
 */
export const answeringPeers = [
  'ws',
  'engine.io',
  'engine.io-websocket',
  'socket.io',
  'socket.io-websocket',
  'socketcluster',
] as const
export type AnsweringPeer = (typeof answeringPeers)[number]

/** `http2`: event streams and posts of a bare relay. */
type ClientName = TransportName | AnsweringPeer | 'http2'

export const relayNames = ['ws', 'socket.io', 'http2', 'ws-stored', 'http2-stored'] as const
export type RelayName = (typeof relayNames)[number]

/** The clients for each relay of `e2e/peers`. */
export const relayClients: Readonly<Record<RelayName, Pick<Target, 'client' | 'http'>>> = {
  ws: { client: 'ws', http: '1.1' },
  'socket.io': { client: 'socket.io-websocket', http: '1.1' },
  http2: { client: 'http2', http: '2' },
  'ws-stored': { client: 'ws', http: '1.1' },
  'http2-stored': { client: 'http2', http: '2' },
}

export interface Target {
  readonly client: ClientName
  readonly http: HttpVersion
  readonly origin: string
  readonly polling: { readonly intervalMs: number; readonly holdMs: number }
  /**
   * Content that Crosswind's clients read as their ping; null to request the time instead. Peers
   * are told at their start.
   */
  readonly fileChannel?: string | null
}

interface ClientSettings {
  readonly browser: Browser
  /** The window's name, key and channels; only for Crosswind. */
  readonly query: URLSearchParams
  /** Everything received. */
  readonly onBytes?: (bytes: Buffer) => void
  /** One answer arrived, in the order of the pings. If absent, answers are not looked for. */
  readonly onPong?: () => void
  /** The connection ended without `close`, or something was refused; called once. */
  readonly onEnd: (why: string) => void
}

export interface LoadClient {
  readonly publish: (draft: Draft<'title'>) => void
  readonly ping: () => void
  readonly close: () => void
}

type Opener = (settings: ClientSettings, target: Target) => Promise<LoadClient>

/** A transport without one is measured with the window's own client. */
const leanOpeners: Readonly<Partial<Record<ClientName, Opener>>> = {
  sse: openSse,
  http2: openSse,
  websocket: openWebSocket,
  'long-polling': (settings, target) =>
    openPolling('/api/long-poll', 0, target.polling.holdMs, settings, target),
  polling: (settings, target) => openPolling('/api/poll', target.polling.intervalMs, 0, settings, target),
  streaming: openStreaming,
  ws: (settings) => openDialogue('/', plainSocket, settings),
  'engine.io': (settings) => openUpgraded('/engine.io/', engineIo, settings),
  'engine.io-websocket': (settings) => openAtOnce('/engine.io/', engineIo, settings),
  'socket.io': (settings) => openUpgraded('/socket.io/', socketIo, settings),
  'socket.io-websocket': (settings) => openAtOnce('/socket.io/', socketIo, settings),
  socketcluster: (settings) => openDialogue('/socketcluster/', socketCluster, settings),
}

/** Resolves when the server has greeted it. Rejects if the server refuses. */
export function openClient(target: Target, settings: ClientSettings): Promise<LoadClient> {
  let hasEnded = false
  const onEnd = (why: string) => {
    if (!hasEnded) settings.onEnd(why)
    hasEnded = true
  }
  return (leanOpeners[target.client] ?? openOwnClient)({ ...settings, onEnd }, target)
}

/** The window's own client, over its own connections, also in HTTP/2. */
export function openOwnClient(
  settings: Pick<ClientSettings, 'query' | 'onBytes' | 'onPong' | 'onEnd'>,
  { client, http, ...target }: Target,
): Promise<LoadClient> {
  const { query, onBytes, onPong, onEnd } = settings
  const mode = modeFor(client, http)
  return new Promise((resolve, reject) => {
    if (!mode) throw new Error(`There is no transport ${client}.`)
    const { send, beat, askClock, close } = openTransport({
      ...target,
      mode,
      query,
      ca: null,
      onFrame(frame) {
        if (frame.type === 'welcome') resolve({ publish, ping: askClock, close })
        if (frame.type === 'heartbeat') beat({})
        if (frame.type === 'clock') onPong?.()
        if (frame.type === 'message') onBytes?.(Buffer.from(JSON.stringify(frame)))
      },
      onClose({ sentence }) {
        reject(new Error(sentence))
        onEnd(sentence)
      },
    })
    const publish = (draft: Draft<'title'>) =>
      void send(draft).catch((error) => onEnd(`a message was refused: ${error}`))
  })
}

const question = () => JSON.stringify({ type: 'clock', at: performance.timeOrigin + performance.now() })
const publishing = (message: Draft<'title'>) => JSON.stringify({ type: 'publish', message })

/** Uses a separate request. */
function asking(
  { browser, query, onPong, onEnd }: ClientSettings,
  { fileChannel = null }: Target,
): () => void {
  const reading = new URLSearchParams(query)
  reading.set('channels', fileChannel ?? '')
  const path = fileChannel === null ? '/api/clock' : `/api/poll?${reading}&first=`
  return () => {
    browser.get(path).then(
      ({ status }) => (status === 200 ? onPong?.() : onEnd(`a question was answered ${status}`)),
      () => onEnd('a question was not answered'),
    )
  }
}

function posting({ browser, query, onEnd }: ClientSettings): (draft: Draft<'title'>) => void {
  return (draft) => {
    browser.post(`/api/messages?key=${query.get('key')}`, 'application/json', JSON.stringify(draft)).then(
      ({ status, body }) => status !== 200 && onEnd(`a message was refused: ${status} ${body}`),
      (error) => onEnd(String(error)),
    )
  }
}

async function openSse(settings: ClientSettings, target: Target): Promise<LoadClient> {
  const close = await follow(await settings.browser.stream(`/api/stream?${settings.query}`), settings)
  return { publish: posting(settings), ping: asking(settings, target), close }
}

/** A file cannot be requested in a streamed body. */
async function openStreaming(settings: ClientSettings, target: Target): Promise<LoadClient> {
  const { browser, query, onPong, onEnd } = settings
  const close = await follow(await browser.stream(`/api/streaming?${query}`), settings)
  const path = `/api/streaming?window=${query.get('window')}&key=${query.get('key')}`
  let upload: Duplex | null = null
  const open = () =>
    browser.upload(path, 'application/x-ndjson', (status) => onEnd(`its upload was answered ${status}`))
  // Without pings most windows send nothing.
  if (onPong) upload = open()
  const say = (text: string) => {
    upload ??= open()
    upload.write(`${text}\n`)
  }
  return {
    publish: (draft) => say(publishing(draft)),
    ping: target.fileChannel == null ? () => say(question()) : asking(settings, target),
    close() {
      upload?.destroy()
      close()
    },
  }
}

/**
 * Reads until the returned function is called. If answers are looked for, resolves with the
 * welcome, and answers in the stream are clock frames. Otherwise resolves at once and parses no
 * events, to stay cheap beside the measured server.
 */
function follow(stream: Duplex, { onBytes, onPong, onEnd }: ClientSettings): Promise<() => void> {
  return new Promise((resolve, reject) => {
    let isClosed = false
    let rest = ''
    const close = () => {
      isClosed = true
      stream.destroy()
    }
    const end = (why: string) => {
      reject(new Error(why))
      if (!isClosed) onEnd(why)
    }
    const readEvents = (bytes: Buffer) => {
      const lines = (rest + bytes.toString('latin1')).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line === 'event: clock') onPong?.()
        else if (line === 'event: welcome') resolve(close)
        else if (line === 'event: bye') end('the server closed the stream')
      }
    }
    if (onBytes) stream.on('data', onBytes)
    if (onPong) stream.on('data', readEvents)
    else resolve(close)
    stream.once('close', () => end('its stream ended'))
    stream.resume()
  })
}

async function openPolling(
  path: string,
  pauseMs: number,
  holdMs: number,
  settings: ClientSettings,
  target: Target,
): Promise<LoadClient> {
  const { browser, query, onBytes, onEnd } = settings
  const hold = holdMs > 0 ? `&hold=${holdMs}` : ''
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  let place = '&first='

  async function poll(): Promise<void> {
    const { status, body } = await browser.get(`${path}?${query}${place}${hold}`)
    if (status !== 200) throw new Error(`${path} answered ${status}: ${body}`)
    onBytes?.(body)
    place = `&cursor=${cursorOf(body)}`
    if (isClosed) return
    if (pauseMs > 0) timer = setTimeout(pollOn, pauseMs)
    else pollOn()
  }

  function pollOn(): void {
    poll().catch((error) => !isClosed && onEnd(String(error)))
  }

  await poll()
  return {
    publish: posting(settings),
    ping: asking(settings, target),
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
  if (!match?.[1]) throw new Error(`A poll's response does not begin with its cursor: ${start}`)
  return match[1]
}

type Send = (text: string) => void

/** The messages exchanged over a WebSocket. */
interface Dialogue {
  /** Null if the server sends the greeting unprompted, or none. */
  readonly opening: string | null
  readonly question: () => string
  readonly textOf: (draft: Draft<'title'>) => string
  /**
   * `start`: the frame's first bytes. Returns `opened` at the greeting, `pong` at an answer; sends
   * required replies itself.
   */
  readonly take: (start: string, isText: boolean, send: Send) => 'opened' | 'pong' | undefined
}

async function openDialogue(
  path: string,
  { opening, question, textOf, take }: Dialogue,
  { browser, onBytes, onPong, onEnd }: ClientSettings,
): Promise<LoadClient> {
  const socket = await browser.upgrade(path)
  const send: Send = (text) => void socket.write(webSocketFrame(text))
  return new Promise((resolve, reject) => {
    let isClosed = false
    const client: LoadClient = {
      publish: (draft) => send(textOf(draft)),
      ping: () => send(question()),
      close() {
        isClosed = true
        socket.destroy()
      },
    }
    const end = (why: string) => {
      reject(new Error(why))
      if (!isClosed) onEnd(why)
    }
    const read = readFrames(
      (start, isText) => {
        const taken = take(start, isText, send)
        if (taken === 'pong') onPong?.()
        else if (taken === 'opened') resolve(client)
      },
      () => end('the server closed it'),
    )
    if (onBytes) socket.on('data', onBytes)
    socket.on('data', read)
    socket.once('close', () => end('its WebSocket ended'))
    if (opening === null) resolve(client)
    else if (opening !== '') send(opening)
    socket.resume()
  })
}

/** A file is requested over a second connection: no frame asks for stored content. */
async function openWebSocket(settings: ClientSettings, target: Target): Promise<LoadClient> {
  const dialogue: Dialogue = {
    opening: '',
    question,
    textOf: publishing,
    take(start) {
      if (start.startsWith('{"type":"clock"')) return 'pong'
      return start.startsWith('{"type":"welcome"') ? 'opened' : undefined
    },
  }
  // A channel relay sends no greeting.
  const greets = settings.onPong ? dialogue : { ...dialogue, opening: null }
  const client = await openDialogue(`/api/socket?${settings.query}`, greets, settings)
  return target.fileChannel == null ? client : { ...client, ping: asking(settings, target) }
}

/** Every message is an answer. */
const plainSocket: Dialogue = {
  opening: null,
  question: () => 'ping',
  textOf: (draft) => JSON.stringify(draft),
  take: () => 'pong',
}

/** Over Engine.IO 4: `0…` opens, `2` is the server's ping, `4…` a message, a binary frame a buffer. */
interface EngineProtocol extends Pick<Dialogue, 'textOf'> {
  /** Null: the first packet is the whole greeting. */
  readonly joining: string | null
  readonly question: string
  readonly isJoined: (packet: string) => boolean
  readonly isPong: (packet: string) => boolean
}

const engineIo: EngineProtocol = {
  joining: null,
  question: '4ping',
  textOf: (draft) => `4${JSON.stringify(draft)}`,
  isJoined: (packet) => packet.startsWith('0'),
  isPong: (packet) => packet.startsWith('4'),
}

/**
 * Socket.IO 5 (socket.io/docs/v4/socket-io-protocol): `40` joins, `42[…]` is an event, `451-[…]` one whose buffer follows in a
 * binary frame.
 */
const socketIo: EngineProtocol = {
  joining: '40',
  question: '42["ping"]',
  textOf: (draft) => `42${JSON.stringify(['message', JSON.stringify(draft)])}`,
  isJoined: (packet) => packet.startsWith('40'),
  isPong: (packet) => packet.startsWith('42'),
}

const serverPing = '2'
const webSocketQuery = '?EIO=4&transport=websocket'

function openAtOnce(path: string, protocol: EngineProtocol, settings: ClientSettings): Promise<LoadClient> {
  const { joining, question, textOf, isJoined, isPong } = protocol
  const dialogue: Dialogue = {
    opening: '',
    question: () => question,
    textOf,
    take(start, isText, send) {
      if (!isText || isPong(start)) return 'pong'
      if (isJoined(start)) return 'opened'
      if (start === serverPing) send('3')
      else if (start.startsWith('0') && joining !== null) send(joining)
      return undefined
    },
  }
  return openDialogue(`${path}${webSocketQuery}`, dialogue, settings)
}

/**
 * As the clients do (engine.io-client, socket.js and transports/websocket.js): a handshake by GET,
 * Socket.IO's join by POST, a held GET, and a parallel WebSocket, which takes over after a probe.
 */
async function openUpgraded(
  path: string,
  { joining, question, textOf, isJoined, isPong }: EngineProtocol,
  settings: ClientSettings,
): Promise<LoadClient> {
  const { browser } = settings
  const polling = `${path}?EIO=4&transport=polling`
  const greeting = await requireBody(browser.get(polling))
  const [, id] = /"sid":"([^"]+)"/.exec(greeting) ?? []
  if (id === undefined) throw new Error(`${path} did not greet`)
  const poll = () => requireBody(browser.get(`${polling}&sid=${id}`))
  if (joining !== null) {
    const joined = poll()
    await requireBody(browser.post(`${polling}&sid=${id}`, 'text/plain;charset=UTF-8', joining))
    if (!isJoined(await joined)) throw new Error(`${path} did not let it join`)
  }
  // The server answers it with an empty packet when it is probed.
  const held = poll()
  held.catch(() => undefined)
  const dialogue: Dialogue = {
    opening: '2probe',
    question: () => question,
    textOf,
    take(start, isText, send) {
      if (!isText || isPong(start)) return 'pong'
      if (start === '3probe') {
        void held.then(() => send('5'))
        return 'opened'
      }
      if (start === serverPing) send('3')
      return undefined
    },
  }
  const client = await openDialogue(`${path}${webSocketQuery}&sid=${id}`, dialogue, settings)
  await held
  return client
}

async function requireBody(asked: ReturnType<Browser['get']>): Promise<string> {
  const { status, body } = await asked
  if (status !== 200) throw new Error(`a handshake was answered ${status}`)
  return body.toString('latin1')
}

/** SocketCluster 20, protocol 2: a handshake answered under its number, then events; an empty text is the server's ping. */
const socketCluster: Dialogue = {
  opening: '{"event":"#handshake","data":{"authToken":null},"cid":1}',
  question: () => '{"event":"ping"}',
  textOf: (data) => JSON.stringify({ event: '#publish', data: { channel: data.channel, data } }),
  take(start, _isText, send) {
    if (start === '') send('')
    else if (start.startsWith('{"event":"pong"')) return 'pong'
    else if (start.includes('"rid":1')) return 'opened'
    return undefined
  },
}
