// Hostile clients: broken inputs with the required answers, and floods.

import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import tls from 'node:tls'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { WebSocket } from 'ws'
import { BusyError } from '../../client/transports.ts'
import { connections, type HttpVersion, modeNamed } from '../../client/wire.ts'
import { draftOf, nameOf, newKey, openTransport } from '../clients/client.ts'
import { connectHttp, type HttpRequest, textOf } from '../clients/http-client.ts'
import type { ServerUnderTest } from './resilience-server.ts'

type Target = Pick<ServerUnderTest, 'ports' | 'origin' | 'ca'>

/** Resolves to the answer; rejects if the server is unreachable. */
type Send = (target: Target) => Promise<string>

const answerWithinMs = 4000

/** Resolves to the outcome in words, or to null if the server was unreachable. */
export async function sendBroken(name: string, target: Target): Promise<string | null> {
  const [wanted, send] = brokenInputs[name] ?? []
  const late = delay(answerWithinMs, null, { ref: false })
  const got = await Promise.race([send?.(target) ?? null, late]).catch(() => null)
  return got === null || got === wanted ? got : `${got}, wanted ${wanted}`
}

function garbage(http: HttpVersion): Send {
  return async ({ ports }) => {
    const socket = net.connect(ports[http], '127.0.0.1')
    await once(socket, 'connect')
    socket.on('error', () => undefined)
    socket.write(Buffer.alloc(2048, 'garbage '))
    await new Promise((resolve) => socket.once('close', resolve))
    return 'closed'
  }
}

function halfRequest(http: HttpVersion, words: string): Send {
  return async ({ ports, ca }) => {
    const address = { port: ports[http], host: '127.0.0.1', servername: 'localhost' }
    const socket = tls.connect({ ...address, ca, ALPNProtocols: [connections[http].alpn] })
    await once(socket, 'secureConnect')
    socket.on('error', () => undefined)
    socket.write(words)
    await delay(50)
    socket.destroy()
    return 'left'
  }
}

function request(http: HttpVersion, asking: HttpRequest): Send {
  return async ({ origin, ca }) => {
    const client = connectHttp(http, origin[http], ca)
    try {
      const { status, body } = await client.ask(asking)
      const { code, frames } = JSON.parse(await textOf(body))
      return `${status} ${code ?? `recovered ${frames?.[0]?.recovered}`}`
    } finally {
      client.close()
    }
  }
}

function post(http: HttpVersion, body: string): Send {
  const headers = { 'content-type': 'application/json' }
  return request(http, { method: 'POST', path: '/api/messages', headers, body })
}

function title(change: object): string {
  return JSON.stringify({ ...draftOf('broken', 1, '', 'broken'), ...change })
}

function poll(http: HttpVersion, cursor: string): Send {
  return request(http, { path: `/api/poll?${page}&cursor=${cursor}` })
}

function socketSays(frame: string | Buffer): Send {
  return async ({ origin, ca }) => {
    const address = `${origin['1.1'].replace(/^http/, 'ws')}/api/socket?${page}`
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
    return got
  }
}

const page = 'window=broken&channels=broken'
/** The run's server accepts 64 KiB. */
const tooLarge = { title: 'x'.repeat(65_537) }

/** On its own channel, so that accepted input does not affect the counts. */
export const brokenInputs: Readonly<Record<string, readonly [wanted: string, send: Send]>> = {
  'garbage on the port of HTTP/2': ['closed', garbage('2')],
  'garbage on the port of HTTP/1.1': ['closed', garbage('1.1')],
  'half a request, HTTP/1.1': ['left', halfRequest('1.1', 'POST /api/messages HTTP/1.1\r\nHost: loc')],
  'half a preface, HTTP/2': ['left', halfRequest('2', 'PRI * HTTP/2.0\r\n\r\nS')],
  'no JSON, HTTP/2': ['400 not-json', post('2', '{"id":')],
  'no JSON, HTTP/1.1': ['400 not-json', post('1.1', 'title!')],
  'another shape': ['400 bad-shape', post('2', title({ body: { title: 7 } }))],
  'the sensor’s channel': ['403 read-only-channel', post('1.1', title({ channel: 'wind' }))],
  'a message too large': ['413 too-large', post('2', title({ body: tooLarge }))],
  'a cursor that is none': ['200 recovered false', poll('2', 'nonsense')],
  'a cursor of another log': ['200 recovered false', poll('1.1', 'another:1')],
  'a cursor far ahead': ['200 recovered false', poll('2', 'ahead:999999999999999')],
  'a query without a window': ['400 bad-query', request('1.1', { path: '/api/poll?channels=broken' })],
  'a socket that says no JSON': ['not-json', socketSays('{"type":')],
  'a socket that speaks binary': ['wrong-type', socketSays(Buffer.from([0, 1, 2]))],
  'a socket that says nothing known': ['bad-frame', socketSays('{"type":"dance"}')],
}

interface FloodOrder extends Pick<ServerUnderTest, 'origin' | 'ca'> {
  readonly mode: string
  readonly lastsMs: number
  readonly window: string
}

const graceMs = 5000

let lastFlood: Promise<unknown> = Promise.resolve()

/** One at a time, each in its own thread. Resolves to the outcome in words. */
export function flood(order: FloodOrder): Promise<string> {
  const outcome = lastFlood.then(async () => {
    const worker = new Worker(import.meta.filename, { workerData: order })
    worker.on('error', () => undefined)
    // The program may end first.
    worker.unref()
    const signal = AbortSignal.timeout(order.lastsMs + graceMs)
    const [words] = await once(worker, 'message', { signal }).catch((error) => [
      signal.aborted ? 'no end in time' : String(error),
    ])
    await worker.terminate()
    return words
  })
  lastFlood = outcome
  return outcome
}

/** Far more than a well-behaved client has. */
const underWay = 256

async function sendAll({ mode: name, origin, ca, lastsMs, window }: FloodOrder): Promise<string> {
  const mode = modeNamed(name)
  if (!mode) throw new Error(`There is no mode ${name}.`)
  let sent = 0
  let stored = 0
  let heldBack = 0
  let failed = 0
  let isOver = false
  const key = newKey()
  const open = Promise.withResolvers<void>()
  const transport = openTransport({
    mode,
    origin: origin[mode.http],
    ca,
    query: new URLSearchParams({ window: nameOf(key, window), key, channels: 'flood' }),
    polling: { intervalMs: 50, holdMs: 300 },
    onFrame: (frame) => frame.type === 'welcome' && open.resolve(),
    onClose() {
      isOver = true
      open.resolve()
    },
  })
  await open.promise
  const until = performance.now() + lastsMs

  async function sendOn(): Promise<void> {
    while (!isOver && performance.now() < until) {
      sent += 1
      try {
        await transport.send(draftOf(window, sent, 'x'.repeat(80), 'flood'))
        stored += 1
      } catch (error) {
        if (error instanceof BusyError) heldBack += 1
        else failed += 1
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
  }

  await Promise.race([Promise.all(Array.from({ length: underWay }, sendOn)), delay(lastsMs + 200)])
  isOver = true
  transport.close()
  return `${sent} sent, ${stored} stored, ${heldBack} held back, ${failed} cut off`
}

// In the thread of a flood.
parentPort?.postMessage(await sendAll(workerData))
