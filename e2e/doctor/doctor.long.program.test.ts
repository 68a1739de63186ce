// The doctor against a real server, directly and behind typical proxies.

import assert from 'node:assert/strict'
import https from 'node:https'
import net from 'node:net'
import { pipeline } from 'node:stream'
import { after, before, test } from 'node:test'
import tls from 'node:tls'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { ensureCertificate } from '../../certs/certificate.ts'
import type { Timers } from '../../client/wire.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { diagnose, type Examination, examine } from './doctor.ts'

/** Longer than any working answer takes. */
const hangMs = 60_000

const folder = temporaryFolder()
let server: TestServer
/** Without a proxy. */
let base: Examination
before(async () => {
  server = await startTestServer({ heartbeatMs: 1000 })
  base = (await find(server.origin['2'])).examination
})
after(() => server.close())

const opened: (() => Promise<unknown>)[] = []
after(() => Promise.all(opened.map((close) => close())))

/** Ended by the test, never by the clock. */
class Patience implements Pick<Timers, 'later'> {
  readonly #ends = new Set<() => void>()

  readonly later = (run: () => void) => {
    this.#ends.add(run)
    return () => void this.#ends.delete(run)
  }

  end(): void {
    for (const run of this.#ends) run()
    this.#ends.clear()
  }
}

interface Change {
  readonly idleMs?: number
  readonly onStep?: (step: string) => void
  readonly patience?: Patience
}

async function find(
  url: string,
  { idleMs = 500, onStep = () => undefined, patience = new Patience() }: Change = {},
) {
  const options = { url, idleMs, patienceMs: hangMs }
  const examination = await examine(options, onStep, new AbortController().signal, patience)
  return { ...diagnose(examination), examination }
}

const said = (findings: readonly string[], words: RegExp) =>
  assert.ok(
    findings.some((finding) => words.test(finding)),
    `${words} is not in\n${findings.join('\n')}`,
  )

test("no proxy: every mode gets through, and the table's first is chosen", async () => {
  const { findings, choice, reason, examination } = await find(server.origin['2'])
  assert.deepEqual(
    examination.trials.filter(({ openMs, closing }) => openMs === null || closing !== null),
    [],
  )
  assert.equal(choice?.name, 'sse/2')
  assert.match(reason, /^it works in every browser, .* share one connection; it stayed open for /)
  for (const words of [
    /^HTTP\/2 arrives\.$/,
    /^Streams flow/,
    /^WebSockets get through/,
    /^Idle connections stay open/,
  ])
    said(findings, words)
  said(findings, /^All 8 simultaneous streams over HTTP\/1\.1 opened/)
  said(findings, /certificate \(/)
  // Both ends have one clock.
  said(findings, /^The clocks agree within \d+(\.\d)? ms/)
})

test('the doctor appears on no page but its own, and writes no message', async () => {
  const before = await countsOf(server)
  await find(server.origin['2'])
  assert.deepEqual(await countsOf(server), before)
})

async function countsOf({ origin }: TestServer): Promise<unknown> {
  const http = connectHttp('2', origin['2'], null)
  try {
    return JSON.parse(await textOf((await http.ask({ path: '/api/documents' })).body))
  } finally {
    http.close()
  }
}

test('HTTP/1.1 only: reports that HTTP/2 does not arrive, and chooses a WebSocket', async () => {
  const { findings, choice } = await find(server.origin['1.1'])
  said(findings, /^HTTP\/2 does not arrive/)
  assert.equal(choice?.name, 'websocket/1.1')
})

test('a proxy that buffers responses: reports that streams are held back', async () => {
  const patience = new Patience()
  const { findings, choice } = await find(await startBuffering(server, patience), { patience })
  said(findings, /^Streams are held back \(sse\/1\.1\W/)
  said(findings, /^WebSockets get through over websocket\/1\.1/)
  assert.equal(choice?.name, 'websocket/1.1')
})

test('a proxy that also blocks WebSockets: chooses long polling', async () => {
  const patience = new Patience()
  const url = await startBuffering(server, patience, { takesSockets: false })
  const { findings, choice, reason } = await find(url, { patience })
  said(findings, /^No WebSocket gets through/)
  assert.equal(choice?.name, 'long-polling/1.1')
  assert.match(reason, /^no stream gets through, so windows /)
})

test('a proxy that cuts idle connections: reports it for every stream', async () => {
  const slow = await startTestServer({ heartbeatMs: 60_000 })
  opened.push(() => slow.close())
  const { url, cut } = await startCutting(slow)
  const onStep = (step: string) => void (/idle/.test(step) && cut())
  const { findings, choice, examination } = await find(url, { idleMs: hangMs, onStep })
  const streams = examination.trials.filter(({ mode }) => mode.isPush)
  assert.deepEqual(
    streams.filter(({ cutAfterMs }) => cutAfterMs === null),
    [],
  )
  said(findings, /^Idle connections are cut after about /)
  assert.equal(choice?.name, 'sse/2')
})

test('a stream that opens but accepts nothing does not count as getting through', () => {
  const trials = base.trials.map((trial) =>
    trial.mode.uplink === 'streamed' ? { ...trial, roundTripMs: null, cutAfterMs: 3 } : trial,
  )
  const { findings } = diagnose({ ...base, trials })
  said(findings, /^Streams flow: sse\/2, sse\/1\.1\W.*Nothing sent over streaming\/2 arrives/)
  said(findings, /^Idle connections stay open/)
})

test('nothing there, or another service: one sentence', async () => {
  const free = await listen(net.createServer())
  await free.close()
  await assert.rejects(find(`https://localhost:${free.port}`), /Nothing answers over TLS at .*ECONNREFUSED/)
  await assert.rejects(find('https://[::1]:1'), /Nothing answers over TLS at .*\]:1: E(?!NOTFOUND)/)
  const other = await startOther()
  await assert.rejects(find(other), /There is no Crosswind at .*: \/api\/settings answered 404/)
})

test('a server by invitation: one sentence without the invitation; with it, examines its page', async () => {
  const invited = await startTestServer({ access: 'invited' })
  opened.push(() => invited.close())
  await assert.rejects(
    find(invited.origin['2']),
    /requires an invitation; give its whole link with --invitation/,
  )
  const invitation = await invited.invite({ channels: ['notes'], may: 'read' })
  const options = { url: invited.origin['2'], invitation, idleMs: 200, patienceMs: hangMs }
  const found = diagnose(await examine(options, () => undefined, new AbortController().signal))
  assert.equal(found.choice?.name, 'sse/2')
})

test('heartbeats are advised at half the time after which idle connections are cut', () => {
  const trials = base.trials.map((trial) => ({ ...trial, cutAfterMs: 10_000 }))
  said(diagnose({ ...base, trials }).findings, /after about 10 s .*--heartbeat-ms 5000/)
})

// Proxies

async function listen(proxy: net.Server): Promise<{ port: number; close: () => Promise<void> }> {
  const port = await openPort(proxy)
  const sockets = new Set<net.Socket>()
  proxy.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy()
      proxy.close(() => resolve())
    })
  opened.push(close)
  return { port, close }
}

type Pair = { readonly key: string; readonly cert: string }
let pair: Promise<Pair> | undefined

/** A different certificate from the server's, as a proxy has. */
function certificate(): Promise<Pair> {
  pair ??= ensureCertificate({ directory: folder, now: new Date() })
  return pair
}

/**
 * Speaks HTTP/1.1 on both sides, and responds once the server's response has ended. Ends the
 * doctor's patience when it holds back a stream.
 */
async function startBuffering(
  { origin }: TestServer,
  patience: Patience,
  { takesSockets = true } = {},
): Promise<string> {
  const target = new URL(origin['1.1'])
  const proxy = https.createServer(await certificate(), (asked, answer) => {
    const { method, url: path, headers } = asked
    const request = https.request(
      target,
      { method, path, headers, rejectUnauthorized: false },
      async (response) => {
        try {
          const chunks: Buffer[] = []
          for await (const chunk of response) {
            chunks.push(chunk)
            if (response.headers['content-type']?.includes('event-stream')) patience.end()
          }
          answer.writeHead(response.statusCode ?? 500, response.headers).end(Buffer.concat(chunks))
        } catch {
          answer.destroy()
        }
      },
    )
    request.on('error', () => answer.destroy())
    answer.on('close', () => request.destroy())
    asked.pipe(request)
  })
  proxy.on('upgrade', (asked, socket, head) => {
    if (!takesSockets) {
      socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
      return
    }
    const lines = [`GET ${asked.url} HTTP/1.1`]
    for (let index = 0; index < asked.rawHeaders.length; index += 2)
      lines.push(`${asked.rawHeaders[index]}: ${asked.rawHeaders[index + 1]}`)
    const upstream = tls.connect({
      host: target.hostname,
      port: Number(target.port),
      rejectUnauthorized: false,
    })
    upstream.write(`${lines.join('\r\n')}\r\n\r\n`)
    upstream.write(head)
    connect(socket, upstream)
  })
  return `https://localhost:${(await listen(proxy)).port}`
}

/** Relays bytes, and ends all connections on command. */
async function startCutting({ origin }: TestServer) {
  const target = new URL(origin['2'])
  const sockets: net.Socket[] = []
  const proxy = net.createServer((socket) => {
    const upstream = net.connect(Number(target.port), '127.0.0.1')
    connect(socket, upstream)
    sockets.push(socket)
  })
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return { url: `https://localhost:${(await listen(proxy)).port}`, cut }
}

async function startOther(): Promise<string> {
  const other = https.createServer(await certificate(), (_asked, answer) => {
    answer.writeHead(404).end('no such page')
  })
  return `https://localhost:${(await listen(other)).port}`
}

/** Each ends with the other. */
function connect(one: NodeJS.ReadWriteStream, other: NodeJS.ReadWriteStream): void {
  const ignore = () => undefined
  pipeline(one, other, ignore)
  pipeline(other, one, ignore)
}
