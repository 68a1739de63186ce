// Input that is broken, or nonsense: each is sent as it stands, and the answer is held against the one that it deserves.

import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { WebSocket } from 'ws'
import { connections, type HttpVersion } from '../../server/wire/modes.ts'
import { connectHttp, textOf } from '../fleet/http.ts'
import type { Ports } from '../lab/server-process.ts'

export interface Target {
  readonly ports: Ports
  readonly origin: Readonly<Record<HttpVersion, string>>
  readonly ca: string
  /** Of the server; what is larger is to be refused. */
  readonly maxMessageBytes: number
}

/** What came back, in a word or two, and what should have. */
export interface Answered {
  readonly got: string
  readonly wanted: string
}

type BrokenInput = (target: Target) => Promise<Answered>

const withinMs = 4000
const tlsPort = (ports: Ports, http: HttpVersion) => ({ port: ports[http], host: '127.0.0.1' })

const garbage =
  (http: HttpVersion): BrokenInput =>
  async ({ ports }) => {
    const socket = net.connect(tlsPort(ports, http))
    socket.on('error', () => undefined)
    socket.write(Buffer.alloc(2048, 'garbage '))
    return { got: await endOf(socket), wanted: 'closed' }
  }

/** The head of a request, and then nobody is there any more. */
const halfRequest =
  (http: HttpVersion, words: string): BrokenInput =>
  async ({ ports, ca }) => {
    const protocol = connections[http].alpn
    const socket = tls.connect({
      ...tlsPort(ports, http),
      ca,
      servername: 'localhost',
      ALPNProtocols: [protocol],
    })
    socket.on('error', () => undefined)
    await Promise.race([once(socket, 'secureConnect'), once(socket, 'close')])
    const wasUp = socket.authorized
    socket.write(words)
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.destroy()
    return { got: wasUp ? 'left' : 'unreachable', wanted: 'left' }
  }

const post =
  (http: HttpVersion, wanted: string, bodyOf: (target: Target) => string): BrokenInput =>
  async (target) => {
    const headers = { 'content-type': 'application/json' }
    return ask(target, http, wanted, { method: 'POST', path: '/api/messages', headers, body: bodyOf(target) })
  }

const get =
  (http: HttpVersion, wanted: string, path: string): BrokenInput =>
  (target) =>
    ask(target, http, wanted, { path })

async function ask(
  { origin, ca }: Target,
  http: HttpVersion,
  wanted: string,
  asking: Parameters<ReturnType<typeof connectHttp>['ask']>[0],
): Promise<Answered> {
  const client = connectHttp(http, origin[http], ca)
  try {
    const { status, body } = await client.ask(asking)
    return { got: `${status} ${codeIn(await textOf(body))}`, wanted }
  } finally {
    client.close()
  }
}

/** A refusal's code, or whether a poll was recovered. */
function codeIn(text: string): string {
  const { code, frames } = JSON.parse(text)
  return code ?? `recovered ${frames?.[0]?.recovered}`
}

const socketSays =
  (wanted: string, frame: string | Buffer): BrokenInput =>
  async ({ origin, ca }) => {
    const address = `${origin['1.1'].replace(/^http/, 'ws')}/api/socket?window=broken&channels=broken`
    const socket = new WebSocket(address, { ca })
    socket.on('error', () => undefined)
    const answered = new Promise<string>((resolve) => {
      socket.on('message', (data) => {
        const { type, code } = JSON.parse(String(data))
        if (type === 'refused') resolve(code)
      })
      socket.once('close', (code) => resolve(`closed ${code}`))
    })
    socket.once('open', () => socket.send(frame))
    const got = await answered
    socket.terminate()
    return { got, wanted }
  }

const draft = { id: 'broken-1', channel: 'broken', kind: 'edit', from: 'broken', at: 0, body: { html: '' } }
const page = 'window=broken&channels=broken'

/** Nobody's messages are on its channel: whatever gets through does no harm to the counts. */
export const brokenInputs: Readonly<Record<string, BrokenInput>> = {
  'garbage on the port of HTTP/2': garbage('2'),
  'garbage on the port of HTTP/1.1': garbage('1.1'),
  'half a request, HTTP/1.1': halfRequest('1.1', 'POST /api/messages HTTP/1.1\r\nHost: loc'),
  'half a preface, HTTP/2': halfRequest('2', 'PRI * HTTP/2.0\r\n\r\nS'),
  'no JSON, HTTP/2': post('2', '400 not-json', () => '{"id":'),
  'no JSON, HTTP/1.1': post('1.1', '400 not-json', () => 'edit!'),
  'another shape': post('2', '400 bad-shape', () => JSON.stringify({ ...draft, body: { html: 7 } })),
  'the sensor’s channel': post('1.1', '403 read-only-channel', () =>
    JSON.stringify({ ...draft, channel: 'wind' }),
  ),
  'a message too large': post('2', '413 too-large', ({ maxMessageBytes }) =>
    JSON.stringify({ ...draft, body: { html: 'x'.repeat(maxMessageBytes + 1) } }),
  ),
  'a cursor that is none': get('2', '200 recovered false', `/api/poll?${page}&cursor=nonsense`),
  'a cursor of another log': get('1.1', '200 recovered false', `/api/poll?${page}&cursor=another:1`),
  'a cursor far ahead': get('2', '200 recovered false', `/api/poll?${page}&cursor=ahead:999999999999999`),
  'a query without a window': get('1.1', '400 bad-query', '/api/poll?channels=broken'),
  'a socket that says no JSON': socketSays('not-json', '{"type":'),
  'a socket that speaks binary': socketSays('wrong-type', Buffer.from([0, 1, 2])),
  'a socket that says nothing known': socketSays('bad-frame', '{"type":"dance"}'),
}

/** Never rejects: a server that is down at that moment is an answer too. */
export async function sendBroken(name: string, target: Target): Promise<Answered> {
  const send = brokenInputs[name]
  if (!send) throw new Error(`There is no broken input named ${JSON.stringify(name)}.`)
  return withinTime(send(target)).catch((error: NodeJS.ErrnoException) => ({
    got: `unreachable (${error.code ?? error.message})`,
    wanted: '',
  }))
}

function withinTime(answer: Promise<Answered>): Promise<Answered> {
  const { promise, reject } = Promise.withResolvers<Answered>()
  const timer = setTimeout(() => reject(new Error('no answer in time')), withinMs)
  return Promise.race([answer, promise]).finally(() => clearTimeout(timer))
}

async function endOf(socket: net.Socket): Promise<string> {
  const isRefused = await new Promise((resolve) => {
    socket.once('connect', () => socket.once('close', () => resolve(false)))
    socket.once('error', () => resolve(socket.bytesWritten === 0))
  })
  return isRefused ? 'unreachable' : 'closed'
}
