// Attacks on a server's memory, by name; each runs for a fixed time.

import http2 from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { defaultConfig } from '../../app/config/config.ts'
import { integrationBomb, UpdateWriter } from '../../server/document/testing.ts'
import { nameOf, newKey } from '../clients/client.ts'
import { webSocketFrame } from '../load/lean-http.ts'
import { calmName } from './calm-windows.ts'
import { contentOf } from './contract-client.ts'
import { pour, pourCopies, type Target } from './floods.ts'
import {
  connectTls,
  fieldBlock,
  frames,
  openRawHttp2,
  type RawHttp2,
  requestFields,
  settings,
  streamAt,
} from './raw-http2.ts'

/** Opens one attacking connection; `ended` resolves when the server closes it. */
type Attempt = (
  target: Target,
  attempt: number,
) => Promise<{ readonly ended: Promise<unknown>; close(): void }>

export async function attack(name: AttackName, target: Target, forMs: number): Promise<number> {
  const [atOnce, attempt]: Attack = attacks[name]
  const end = delay(forMs)
  const until = performance.now() + forMs
  let attempts = 0

  async function repeat(): Promise<void> {
    while (performance.now() < until) {
      attempts += 1
      const { ended, close } = await attempt(target, attempts)
      await Promise.race([ended, end])
      close()
      // Limits the reconnect rate, which is not under test.
      await delay(20)
    }
  }

  await Promise.all(Array.from({ length: atOnce }, repeat))
  return attempts
}

/** A channel with large content. */
const channel = 'attacked'
const onPage = `channels=${channel}`
const victim = calmName(0)

async function connect(port: number) {
  const socket = await connectTls(port)
  const ended = new Promise<void>((resolve) =>
    socket.destroyed ? resolve() : socket.once('close', () => resolve()),
  )
  return { socket, ended, close: () => void socket.destroy() }
}

/** Never reads the response. */
function pipelined(next: (isApplication: boolean) => string): Attempt {
  return async ({ '1.1': port, isApplication }) => {
    const { socket, ended, close } = await connect(port)
    socket.pause()
    pour(socket, () => Buffer.from(Array.from({ length: 50 }, () => next(isApplication)).join('')))
    return { ended, close }
  }
}

/** Asks the next question when the last is answered. */
function answered(next: (isApplication: boolean) => string): Attempt {
  return async ({ '1.1': port, isApplication }) => {
    const { socket, ended, close } = await connect(port)
    socket.on('data', () => socket.write(next(isApplication)))
    socket.write(next(isApplication))
    return { ended, close }
  }
}

function posted(
  next: () => { readonly path: string; readonly body?: string; readonly type?: string },
): Attempt {
  return async ({ '2': port }) => {
    const session = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
    session.on('error', () => undefined)
    const postNext = (): void => {
      if (session.destroyed || session.closed) return
      const { path, body = '', type = 'application/json' } = next()
      const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': type })
      stream.on('error', () => undefined)
      stream.once('close', postNext).resume().end(body)
    }
    for (let count = 0; count < 50; count += 1) postNext()
    return {
      ended: new Promise((resolve) => session.once('close', resolve)),
      close: () => session.destroy(),
    }
  }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

function post(path: string, body: string, type = 'application/json'): string {
  const length = Buffer.byteLength(body)
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${length}`
  return `${head}\r\n\r\n${body}`
}

let smallOnes = 0

function small(isApplication: boolean, from: string): string {
  smallOnes += 1
  const content = contentOf(isApplication, '')
  return JSON.stringify({ id: `${from}-${smallOnes}`, channel, from, at: 1, ...content })
}

const maxText = defaultConfig.limits.maxMessageBytes - 1000
/** A JSON message that takes twenty times its size in memory once it is parsed. */
const manyObjects = `[${'{},'.repeat(maxText / 3 - 1)}{}]`
const longContent = JSON.stringify(contentOf(false, 'x'.repeat(maxText))).slice(1, -1)

/** Written as text: to serialize it each time would slow the attacker. */
function large(isApplication: boolean): string {
  const from = random(8)
  const content = isApplication ? `"kind":"json","body":{"data":${manyObjects}}` : longContent
  return `{"id":"${from}-1","channel":"${channel}","from":"${from}","at":1,${content}}`
}

/** Ten messages, each of a sender of its own. */
function smallOnManyChannels(isApplication: boolean): string {
  const lines = Array.from({ length: 10 }, () => {
    const from = random(8)
    const channel = `flooded${Math.floor(Math.random() * 150)}`
    return JSON.stringify({ id: `${from}-1`, channel, from, at: 1, ...contentOf(isApplication, 'x') })
  })
  return lines.join('\n')
}

/** Held open, and read, until the server closes it. */
const heldStream: Attempt = async ({ '1.1': port }, attempt) => {
  const { socket, ended, close } = await connect(port)
  socket.write(get(`/api/stream?window=h${attempt}&channels=held`))
  socket.resume()
  return { ended, close }
}

const encoded = (update: Uint8Array) => Buffer.from(update).toString('base64')

/** Claims a million structs of one client; built once, so that the attacker keeps its pace. */
const malformed = encoded(Uint8Array.from([1, 0xc0, 0x84, 0x3d, 1, 0, ...new Uint8Array(3000).fill(1)]))

function update(from: string, bytes: string, id = `${from}-${random(8)}`): string {
  return JSON.stringify({ id, channel, kind: 'update', from, at: 1, body: { update: bytes } })
}

/** 30,000 letters: half a minute of every reader's processor time, if stored. */
const bomb = encoded(integrationBomb(30_000))

function letterOf(client: number): string {
  const writer = new UpdateWriter()
  writer.text(client, 0, 'x', null, null)
  return encoded(writer.end())
}

const randomClient = () => Math.floor(Math.random() * 2 ** 31)

const spaces = `# a${' '.repeat(110_000)}b`

function put(path: string, body: string): string {
  const head = `PUT ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/markdown\r\nContent-Length: ${body.length}`
  return `${head}\r\n\r\n${body}`
}

const title = (isApplication: boolean, channel: string, from: string) =>
  JSON.stringify({ id: `${from}-1`, channel, from, at: 1, ...contentOf(isApplication, 'x') })

const random = (length: number) =>
  Array.from({ length }, () => Math.floor(Math.random() * 36).toString(36)).join('')

function upgradeTo(path: string): string {
  return [
    `GET ${path} HTTP/1.1`,
    'Host: localhost',
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  ].join('\r\n')
}

function webSocket(frame: Buffer, isReading = false): Attempt {
  return openedWebSocket(isReading, (socket) => pourCopies(socket, frame))
}

function openedWebSocket(
  isReading: boolean,
  attack: (socket: TLSSocket, isApplication: boolean) => void,
): Attempt {
  return async ({ '1.1': port, isApplication }, attempt) => {
    const { socket, ended, close } = await connect(port)
    socket.write(`${upgradeTo(`/api/socket?window=a${attempt}&${onPage}`)}\r\n\r\n`)
    await Promise.race([new Promise((resolve) => socket.once('data', resolve)), ended])
    if (isReading) socket.resume()
    else socket.pause()
    attack(socket, isApplication)
    return { ended, close }
  }
}

const published = (message: string) => webSocketFrame(`{"type":"publish","message":${message}}`)

/** Each frame shows another window of the attacker's key. */
const inventedWindows: Attempt = async ({ '1.1': port }) => {
  const { socket, ended, close } = await connect(port)
  const key = newKey()
  const path = `/api/socket?window=${nameOf(key, 's1')}&key=${key}&${onPage}`
  socket.write(`${upgradeTo(path)}\r\n\r\n`)
  await Promise.race([new Promise((resolve) => socket.once('data', resolve)), ended])
  socket.resume()
  pour(socket, () =>
    Buffer.concat(
      Array.from({ length: 50 }, () => {
        const state = { client: 1, name: '<b>', anchor: 'AAAA', head: 'AAAA' }
        return webSocketFrame(JSON.stringify({ type: 'awareness', window: nameOf(key, random(12)), state }))
      }),
    ),
  )
  return { ended, close }
}

/** Shows a large state anew, and reads what all the others show. */
const largeStates: Attempt = async ({ '1.1': port }) => {
  const { socket, ended, close } = await connect(port)
  const key = newKey()
  const path = `/api/socket?window=${nameOf(key, 'w1')}&key=${key}&${onPage}`
  socket.write(`${upgradeTo(path)}\r\n\r\n`)
  await Promise.race([new Promise((resolve) => socket.once('data', resolve)), ended])
  socket.resume()
  pour(socket, () => webSocketFrame(JSON.stringify({ type: 'awareness', state: random(4000) })))
  return { ended, close }
}

const emptyBinary = webSocketFrame('', 'binary')
const clockRequest = webSocketFrame('{"type":"clock","at":1}')

/** Grants responses no flow-control window. */
function unreadStreams(path: (index: number) => string): Attempt {
  return async ({ '2': port }) => {
    const raw = await openRawHttp2(port, settings.initialWindowSize(0))
    for (let index = 0; index < 200; index += 1) await raw.send(frames.request(streamAt(index), path(index)))
    return raw
  }
}

/** Sends DATA up to the server's flow-control window. */
async function pourData(raw: RawHttp2, stream: number, data: Buffer): Promise<void> {
  for (let sent = 0; sent + data.length <= 65_535; sent += data.length) {
    await raw.send(frames.data(stream, data))
  }
}

const extendedConnect: Attempt = async ({ '2': port }, attempt) => {
  const raw = await openRawHttp2(port, settings.initialWindowSize(0))
  const fields = fieldBlock([
    // Pseudo-fields first (RFC 9113, section 8.3).
    [':protocol', 'websocket'],
    ...requestFields(`/api/socket?window=x${attempt}&${onPage}`, 'CONNECT'),
    ['sec-websocket-version', '13'],
  ])
  await raw.send(frames.headers(1, fields, { endsStream: false }))
  await raw.answered(1)
  await pourData(raw, 1, Buffer.concat(Array.from({ length: 2000 }, () => emptyBinary)))
  return raw
}

/** An unread downlink and a streamed body of refused lines. */
const streamedBody: Attempt = async ({ '2': port }, attempt) => {
  const raw = await openRawHttp2(port, settings.initialWindowSize(0))
  await raw.send(frames.request(1, `/api/streaming?window=s${attempt}&${onPage}`))
  await raw.answered(1)
  const type = ['content-type', 'application/x-ndjson'] as const
  const up = fieldBlock(requestFields(`/api/streaming?window=s${attempt}`, 'POST', type))
  await raw.send(frames.headers(3, up, { endsStream: false }))
  await pourData(raw, 3, Buffer.from('{}\n'.repeat(4000)))
  return raw
}

/**
 * Bodies, and lines of streamed ones, that lack their last byte; when one is refused, the next
 * follows.
 */
const almostWhole = Buffer.alloc(defaultConfig.limits.maxMessageBytes - 1, ' ')
const notJson = String(almostWhole)

function unfinished(count: number, path: (attempt: number, index: number) => string, type: string): Attempt {
  return async ({ '2': port }, attempt) => {
    const session = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
    session.on('error', () => undefined)
    const begin = (index: number): void => {
      if (session.destroyed || session.closed) return
      const stream = session.request({
        ':method': 'POST',
        ':path': path(attempt, index),
        'content-type': type,
      })
      stream.on('error', () => undefined)
      stream
        .once('close', () => begin(index))
        .resume()
        .write(almostWhole)
    }
    for (let index = 0; index < count; index += 1) begin(index)
    return {
      ended: new Promise((resolve) => session.once('close', resolve)),
      close: () => session.destroy(),
    }
  }
}

/** Just below the maximum frame size. */
const almostFrame = webSocketFrame(' '.repeat(defaultConfig.limits.maxMessageBytes * 2)).subarray(0, -1)

const unfinishedFrame: Attempt = async ({ '1.1': port }, attempt) => {
  const { socket, ended, close } = await connect(port)
  socket.write(`${upgradeTo(`/api/socket?window=f${attempt}&${onPage}`)}\r\n\r\n`)
  await Promise.race([new Promise((resolve) => socket.once('data', resolve)), ended])
  socket.resume().write(almostFrame)
  return { ended, close }
}

type Attack = readonly [concurrentConnections: number, attempt: Attempt]

export const attacks = {
  'empty binary frames over WebSocket, answers unread': [8, webSocket(emptyBinary)],
  'empty binary frames over WebSocket, answers read': [2, webSocket(emptyBinary, true)],
  'empty binary frames over WebSocket on HTTP/2': [8, extendedConnect],
  'questions for the time over WebSocket, answers unread': [8, webSocket(clockRequest)],
  'large messages': [8, answered((isApplication) => post('/api/messages', large(isApplication)))],
  'large messages over WebSocket': [
    8,
    openedWebSocket(true, (socket, isApplication) => pour(socket, () => published(large(isApplication)))),
  ],
  'small messages on many channels': [
    40,
    answered((isApplication) =>
      post('/api/messages', smallOnManyChannels(isApplication), 'application/x-ndjson'),
    ),
  ],
  'more connections than the server holds': [defaultConfig.limits.maxConnections + 500, heldStream],
  'states of invented windows over WebSocket': [4, inventedWindows],
  'large states of ninety windows over WebSocket': [90, largeStates],
  'PINGs over WebSocket, answers read': [2, webSocket(webSocketFrame('', 'ping'), true)],
  'a streamed body, answers unread': [8, streamedBody],
  'POSTs sent ahead, answers unread': [
    8,
    pipelined((isApplication) => post('/api/messages', small(isApplication, 'attacker'))),
  ],
  'polls sent ahead, answers unread': [8, pipelined(() => get(`/api/poll?window=p&${onPage}&first`))],
  'long polls sent ahead, answers unread': [8, pipelined(() => get(`/api/long-poll?window=p&${onPage}`))],
  'pages sent for ahead, answers unread': [8, pipelined(() => get(`/d/${channel}`))],
  'polls over HTTP/2 without a window': [2, unreadStreams(() => `/api/poll?window=p&${onPage}&first`)],
  'pages over HTTP/2 without a window': [10, unreadStreams(() => `/d/${channel}`)],
  'bodies that lack their last byte': [10, unfinished(240, () => '/api/messages', 'application/json')],
  'texts that lack their last byte': [
    10,
    unfinished(
      240,
      (attempt, index) => `/api/documents/${channel}?id=a${attempt}-${index}&from=a${attempt}`,
      'text/plain',
    ),
  ],
  'frames over WebSocket that lack their last byte': [100, unfinishedFrame],
  'streams over HTTP/2 without a window': [
    2,
    unreadStreams((index) => `/api/stream?window=${random(12)}${index}&${onPage}`),
  ],
  'leave requests of invented names': [
    4,
    posted(() => ({ path: `/api/leave?window=${random(8000)}&opening=9` })),
  ],
  'leave requests of invented names, sent ahead': [
    4,
    pipelined(() => post(`/api/leave?window=${random(8000)}&opening=9`, '')),
  ],
  'polls of invented names, sent ahead': [
    4,
    pipelined(() => get(`/api/poll?window=${random(40)}&channels=${random(60)}`)),
  ],
  'malformed updates, sent ahead': [4, pipelined(() => post('/api/messages', update('attacker', malformed)))],
  'updates that take long to integrate, sent ahead': [
    4,
    pipelined(() => post('/api/messages', update('attacker', bomb))),
  ],
  'updates of invented authors, sent ahead': [
    4,
    pipelined(() => post('/api/messages', update(random(20), letterOf(randomClient())))),
  ],
  'updates under an id that is taken, sent ahead': [
    4,
    pipelined(() => post('/api/messages', update('attacker', letterOf(randomClient()), 'attacker-1'))),
  ],
  'bodies that are no JSON, sent ahead': [4, pipelined(() => post('/api/messages', notJson))],
  'texts of spaces, sent ahead': [
    4,
    pipelined(() => put(`/api/documents/${channel}?id=a-${random(8)}&from=a`, spaces)),
  ],
  'titles of new documents, sent ahead': [
    4,
    pipelined((isApplication) => post('/api/messages', title(isApplication, random(8), random(8)))),
  ],
  'messages of invented senders, sent ahead': [
    4,
    pipelined((isApplication) => post('/api/messages', small(isApplication, random(40)))),
  ],
  'heartbeats in another window’s name': [
    4,
    posted(() => ({
      path: `/api/heartbeat?window=${victim}`,
      body: JSON.stringify({ type: 'heartbeat', windows: { [random(40)]: 4712 } }),
    })),
  ],
  'leave requests in another window’s name': [
    4,
    posted(() => ({ path: `/api/leave?window=${victim}&opening=9` })),
  ],
  'streamed bodies in another window’s name': [
    4,
    posted(() => ({
      path: `/api/streaming?window=${victim}`,
      body: `{"type":"publish","message":{"id":"${victim}-${Math.ceil(Math.random() * 5000)}"}}\n`,
      type: 'application/x-ndjson',
    })),
  ],
} as const satisfies Readonly<Record<string, Attack>>

/** Attacks that involve shared documents; the others do not depend on what is shown. */
export const onDocuments: ReadonlySet<AttackName> = new Set([
  'updates that take long to integrate, sent ahead',
  'updates of invented authors, sent ahead',
  'updates under an id that is taken, sent ahead',
  'texts of spaces, sent ahead',
  'polls sent ahead, answers unread',
  'pages sent for ahead, answers unread',
  'polls over HTTP/2 without a window',
  'pages over HTTP/2 without a window',
  'streams over HTTP/2 without a window',
])

/** Attacks on things that an application's server lacks: pages, their texts and their documents. */
export const onPages: ReadonlySet<AttackName> = new Set([
  'pages sent for ahead, answers unread',
  'pages over HTTP/2 without a window',
  'texts that lack their last byte',
  'texts of spaces, sent ahead',
  'malformed updates, sent ahead',
  'updates that take long to integrate, sent ahead',
  'updates of invented authors, sent ahead',
  'updates under an id that is taken, sent ahead',
])

/** Attacks on resources that all clients share by default: the log, and the connections. */
export const onShares: ReadonlySet<AttackName> = new Set([
  'large messages',
  'large messages over WebSocket',
  'small messages on many channels',
  'more connections than the server holds',
])

export type AttackName = keyof typeof attacks
