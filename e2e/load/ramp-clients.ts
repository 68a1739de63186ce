// Clients that ask and are answered: one for each transport of Crosswind, and for each peer.

import type { Duplex } from 'node:stream'
import type { TransportName } from '../../server/wire/modes.ts'
import { type Browser, webSocketFrame } from './lean-http.ts'
import { openClient, type Target } from './load-client.ts'

/** Engine.IO's and Socket.IO's own clients poll first and upgrade, unless told to open a WebSocket at once. */
export const answeringPeers = [
  'ws',
  'engine.io',
  'engine.io-websocket',
  'socket.io',
  'socket.io-websocket',
  'socketcluster',
] as const
export type AnsweringPeer = (typeof answeringPeers)[number]

export interface RampTarget extends Omit<Target, 'client'> {
  readonly client: TransportName | AnsweringPeer
  /** What Crosswind's clients read instead of asking for the time; null for the time. Peers know it from their start. */
  readonly fileChannel: string | null
}

interface PingSettings {
  readonly browser: Browser
  /** The window's name, key and channels; Crosswind's alone. */
  readonly query: URLSearchParams
  /** One answer has come, in the order of the questions. */
  readonly onPong: () => void
  /** The connection ended without `close`, or a question was refused; once. */
  readonly onEnd: (why: string) => void
}

export interface PingClient {
  readonly ping: () => void
  readonly close: () => void
}

type Opener = (settings: PingSettings, target: RampTarget) => Promise<PingClient>

const openers: Readonly<Record<TransportName | AnsweringPeer, Opener>> = {
  sse: openSse,
  websocket: openWebSocket,
  streaming: openStreaming,
  polling: openPolling,
  'long-polling': openPolling,
  ws: openWs,
  'engine.io': (settings) => openUpgraded('/engine.io/', engineIo, settings),
  'engine.io-websocket': (settings) => openAtOnce('/engine.io/', engineIo, settings),
  'socket.io': (settings) => openUpgraded('/socket.io/', socketIo, settings),
  'socket.io-websocket': (settings) => openAtOnce('/socket.io/', socketIo, settings),
  socketcluster: openSocketCluster,
}

/** Resolves when the server has greeted it. Rejects when the server refuses. */
export function openPingClient(target: RampTarget, settings: PingSettings): Promise<PingClient> {
  let hasEnded = false
  const onEnd = (why: string) => {
    if (!hasEnded) settings.onEnd(why)
    hasEnded = true
  }
  return openers[target.client]({ ...settings, onEnd }, target)
}

const question = () => JSON.stringify({ type: 'clock', at: performance.timeOrigin + performance.now() })

/** By a request of its own. */
function asking({ browser, query, onPong, onEnd }: PingSettings, { fileChannel }: RampTarget): () => void {
  const reading = new URLSearchParams(query)
  reading.set('channels', fileChannel ?? '')
  const path = fileChannel === null ? '/api/clock' : `/api/poll?${reading}&first=`
  return () => {
    browser.get(path).then(
      ({ status }) => (status === 200 ? onPong() : onEnd(`a question was answered ${status}`)),
      () => onEnd('a question was not answered'),
    )
  }
}

async function openSse(settings: PingSettings, target: RampTarget): Promise<PingClient> {
  const stream = await settings.browser.stream(`/api/stream?${settings.query}`)
  const close = await followEvents(stream, settings)
  return { ping: asking(settings, target), close }
}

/** A file cannot be asked for in a streamed body. */
async function openStreaming(settings: PingSettings, target: RampTarget): Promise<PingClient> {
  const { browser, query, onEnd } = settings
  const closeDown = await followEvents(await browser.stream(`/api/streaming?${query}`), settings)
  const path = `/api/streaming?window=${query.get('window')}&key=${query.get('key')}`
  const up = browser.upload(path, 'application/x-ndjson', (status) =>
    onEnd(`its upload was answered ${status}`),
  )
  return {
    ping: target.fileChannel === null ? () => void up.write(`${question()}\n`) : asking(settings, target),
    close() {
      up.destroy()
      closeDown()
    },
  }
}

async function openPolling(settings: PingSettings, target: RampTarget): Promise<PingClient> {
  const { browser, query, onEnd } = settings
  const client = target.client as TransportName
  const { close } = await openClient(
    { ...target, client },
    { browser, query, onBytes: () => undefined, onFailure: onEnd },
  )
  return { ping: asking(settings, target), close }
}

/** Resolves with the welcome. Answers in the stream are those of the clock. */
function followEvents(stream: Duplex, { onPong, onEnd }: PingSettings): Promise<() => void> {
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
    stream.on('data', (bytes: Buffer) => {
      const lines = (rest + bytes.toString('latin1')).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line === 'event: clock') onPong()
        else if (line === 'event: welcome') resolve(close)
        else if (line === 'event: bye') end('the server sent it away')
      }
    })
    stream.once('close', () => end('its stream ended'))
    stream.resume()
  })
}

interface Frame {
  readonly isText: boolean
  /** Its first bytes, 128 at most. */
  readonly start: string
}

const opcodes = { text: 1, close: 8 } as const
const mostStart = 128

/** Reads unmasked frames (RFC 6455, 5.2) without keeping long ones. */
export function createFrameReader(
  onFrame: (frame: Frame) => void,
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
    if (start.length < mostStart) start += part.toString('latin1', 0, mostStart - start.length)
    left -= part.length
    if (left > 0) return Buffer.alloc(0)
    isInPayload = false
    if (opcode === opcodes.close) onClose()
    else if (opcode <= 2) onFrame({ isText: opcode === opcodes.text, start })
    return bytes.subarray(part.length)
  }

  return (bytes) => {
    for (let rest = take(bytes); rest.length > 0; rest = take(rest));
  }
}

type Send = (text: string) => void

interface Dialogue {
  /** Null where the server greets by itself. */
  readonly opening: string | null
  readonly question: () => string
  /** `opened` at the greeting, `pong` at an answer; what it has to answer it sends itself. */
  readonly take: (frame: Frame, send: Send) => 'opened' | 'pong' | undefined
}

async function openDialogue(
  path: string,
  { opening, question, take }: Dialogue,
  settings: PingSettings,
): Promise<PingClient> {
  const { browser, onPong, onEnd } = settings
  const socket = await browser.upgrade(path)
  const send: Send = (text) => void socket.write(webSocketFrame(text))
  return new Promise((resolve, reject) => {
    let isClosed = false
    const client = {
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
    const read = createFrameReader(
      (frame) => {
        const taken = take(frame, send)
        if (taken === 'pong') onPong()
        else if (taken === 'opened') resolve(client)
      },
      () => end('the server closed it'),
    )
    socket.on('data', read)
    socket.once('close', () => end('its WebSocket ended'))
    if (opening === null) resolve(client)
    else if (opening !== '') send(opening)
    socket.resume()
  })
}

/** A file is read by a request, over a second connection: no frame asks for stored content. */
async function openWebSocket(settings: PingSettings, target: RampTarget): Promise<PingClient> {
  const dialogue: Dialogue = {
    opening: '',
    question,
    take({ start }) {
      if (start.startsWith('{"type":"clock"')) return 'pong'
      return start.startsWith('{"type":"welcome"') ? 'opened' : undefined
    },
  }
  const client = await openDialogue(`/api/socket?${settings.query}`, dialogue, settings)
  return target.fileChannel === null ? client : { ...client, ping: asking(settings, target) }
}

/** Every message is an answer. */
function openWs(settings: PingSettings): Promise<PingClient> {
  return openDialogue('/', { opening: null, question: () => 'ping', take: () => 'pong' }, settings)
}

/** Over Engine.IO 4: `0…` opens, `2` is the server's ping, `4…` a message, a binary frame a buffer. */
interface EngineProtocol {
  /** Null: the first packet is the whole greeting. */
  readonly joining: string | null
  readonly question: string
  readonly isJoined: (packet: string) => boolean
  readonly isPong: (packet: string) => boolean
}

const engineIo: EngineProtocol = {
  joining: null,
  question: '4ping',
  isJoined: (packet) => packet.startsWith('0'),
  isPong: (packet) => packet.startsWith('4'),
}

/** Socket.IO 5: `40` joins, `42[…]` is an event, `451-[…]` one whose buffer follows in a binary frame. */
const socketIo: EngineProtocol = {
  joining: '40',
  question: '42["ping"]',
  isJoined: (packet) => packet.startsWith('40'),
  isPong: (packet) => packet.startsWith('42'),
}

const serverPing = '2'
const webSocketQuery = '?EIO=4&transport=websocket'

function openAtOnce(
  path: string,
  { joining, question, isJoined, isPong }: EngineProtocol,
  settings: PingSettings,
): Promise<PingClient> {
  const dialogue: Dialogue = {
    opening: '',
    question: () => question,
    take({ isText, start }, send) {
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
 * As the clients do (engine.io-client, socket.js and transports/websocket.js): a handshake by GET, Socket.IO's joining by
 * POST, a held GET, and a WebSocket beside it, which takes over after a probe.
 */
async function openUpgraded(
  path: string,
  { joining, question, isJoined, isPong }: EngineProtocol,
  settings: PingSettings,
): Promise<PingClient> {
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
  // The server answers it with a packet that says nothing, when it is probed.
  const held = poll()
  held.catch(() => undefined)
  const dialogue: Dialogue = {
    opening: '2probe',
    question: () => question,
    take({ isText, start }, send) {
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
function openSocketCluster(settings: PingSettings): Promise<PingClient> {
  const dialogue: Dialogue = {
    opening: '{"event":"#handshake","data":{"authToken":null},"cid":1}',
    question: () => '{"event":"ping"}',
    take({ start }, send) {
      if (start === '') send('')
      else if (start.startsWith('{"event":"pong"')) return 'pong'
      else if (start.includes('"rid":1')) return 'opened'
      return undefined
    },
  }
  return openDialogue('/socketcluster/', dialogue, settings)
}
