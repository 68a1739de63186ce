// Run first on a new Node: each test fails where Node no longer does what `node-internals.ts` relies on.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2, { type ServerHttp2Session } from 'node:http2'
import https from 'node:https'
import net, { type Socket } from 'node:net'
import { getPriority } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { before, type TestContext, test } from 'node:test'
import tls, { type TLSSocket } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { ensureCertificate } from '../certs/certificate.ts'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { openPort } from '../scripts/open-port.ts'
import { codeOf, codes } from './log/tables.ts'
import {
  createHttp2Server,
  Handshakes,
  limitUpgrades,
  type PortServer,
  socketOf,
  trackRequests,
} from './node-internals.ts'

const directory = temporaryFolder()
let pair: { readonly cert: string; readonly key: string }
before(async () => {
  pair = await ensureCertificate({ directory, now: new Date() })
})

/** Makes what Node no longer ends fail under its own name. */
const timeout = 20_000

const usual = { headersTimeout: 60_000, requestTimeout: 60_000, connectionsCheckingInterval: 30_000 }

/** The two kinds of ports; `options` beside certificate and key. */
const kinds = {
  'HTTP/2': (options: object): PortServer =>
    createHttp2Server({ ...usual, ...options, ...pair, allowHTTP1: true }),
  'HTTP/1.1': (options: object): PortServer => https.createServer({ ...options, ...pair }),
}

/** Opens a port that passes its sockets to `server`. */
async function listenFor(
  t: TestContext,
  server: PortServer,
  pass: (socket: Socket) => void = (socket) => void server.emit('connection', socket),
): Promise<number> {
  const acceptor = net.createServer(pass)
  t.after(() => {
    server.close()
    acceptor.close()
  })
  return openPort(acceptor)
}

async function connect(t: TestContext, port: number, protocol = 'http/1.1'): Promise<TLSSocket> {
  const socket = tls.connect({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ALPNProtocols: [protocol],
  })
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

for (const [kind, create] of Object.entries(kinds)) {
  test(`${kind}: handshakes at the same time lead each to the socket on which they began`, {
    timeout,
  }, async (t) => {
    const server = create({})
    const handshakes = new Handshakes<Socket>()
    const { promise, resolve } = Promise.withResolvers<void>()
    const found: (readonly [found: number | undefined, expected: number | undefined])[] = []
    server.on('secureConnection', (secure: TLSSocket) => {
      found.push([handshakes.finished()?.remotePort, secure.remotePort])
      if (found.length === 5) resolve()
    })
    const port = await listenFor(t, server, (socket) => handshakes.begin(server, socket, socket))
    await Promise.all([promise, ...Array.from({ length: 5 }, () => connect(t, port))])
    for (const [carrier, expected] of found) assert.equal(carrier, expected)
  })

  test(`${kind}: a server that does not listen ends requests that never end`, { timeout }, async (t) => {
    const server = create({ headersTimeout: 1, requestTimeout: 1, connectionsCheckingInterval: 1 })
    trackRequests(server)
    const socket = await connect(t, await listenFor(t, server))
    socket.write('GET / HTTP/1.1\r\n')
    assert.match(String(await once(socket, 'data')), /^HTTP\/1\.1 408 /)
    await once(socket, 'close')
  })
}

test('a server that does not listen closes idle connections', { timeout }, async (t) => {
  const server = https.createServer(pair, (_request, response) => response.end('answer'))
  trackRequests(server)
  const socket = await connect(t, await listenFor(t, server))
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(socket, 'data')
  const closed = once(socket, 'close')
  server.closeIdleConnections()
  await closed
})

test('a session leads to the socket that it reads', async (t) => {
  const server = http2.createSecureServer(pair)
  const secure = once(server, 'secureConnection')
  const session = once(server, 'session')
  const port = await listenFor(t, server)
  await connect(t, port, 'h2')
  const [[expected], [opened]] = (await Promise.all([secure, session])) as [[TLSSocket], [ServerHttp2Session]]
  assert.equal(socketOf(opened), expected)
  expected.destroy()
})

for (const [kind, create] of Object.entries({ ...kinds, 'HTTP/1.1 without TLS': () => http.createServer() }))
  test(`${kind}: an upgrade that is not accepted is a request`, async (t) => {
    const server = create({})
    server.on('request', (_request: unknown, response: http.ServerResponse) => response.end('a request'))
    server.on('upgrade', (_request: unknown, socket: Socket) => socket.end('an upgrade'))
    limitUpgrades(server, ({ url }) => url === '/ours')
    t.after(() => server.close())
    const port = await openPort(server)
    for (const [path, expected] of [
      ['/ours', /^an upgrade$/],
      ['/theirs', /^HTTP\/1\.1 200 .*a request/s],
    ] as const) {
      const socket = 'setSecureContext' in server ? await connect(t, port) : net.connect(port, '127.0.0.1')
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: other\r\n\r\n`,
      )
      let answer = ''
      for await (const text of socket.setEncoding('utf8')) answer += text
      assert.match(answer, expected)
    }
  })

/** Runs a script that has the module's exports in `own` and Node's `os`, in a thread; resolves to what it prints. */
async function runInThread(script: string): Promise<{ readonly output: string; readonly errors: string }> {
  const module = JSON.stringify(new URL('node-internals.ts', import.meta.url))
  const thread = new Worker(`import(${module}).then((own) => { ${script} })`, {
    eval: true,
    stdout: true,
    stderr: true,
  })
  const printed = Promise.all([thread.stdout, thread.stderr].map((stream) => stream.toArray()))
  await once(thread, 'exit')
  const [output = '', errors = ''] = (await printed).map((parts) => Buffer.concat(parts).toString())
  return { output, errors }
}

test('warnings are printed by a listener that can be replaced', async () => {
  const warn = "process.emitWarning('as expected')"
  assert.match((await runInThread(warn)).errors, /Warning: as expected/)
  const replaced = `own.replaceWarnings(({ message }) => console.log(message)); ${warn}`
  assert.deepEqual(await runInThread(replaced), { output: 'as expected\n', errors: '' })
})

test('a thread has a priority of its own', {
  skip: process.platform === 'linux' ? false : 'only on Linux',
}, async () => {
  const own = getPriority()
  const { output } = await runInThread(
    "own.lowerThreadPriority(5); console.log(require('node:os').getPriority())",
  )
  assert.equal(Number(output), Math.min(19, own + 5))
  assert.equal(getPriority(), own)
})

test('an error of SQLite has its result code', () => {
  const database = new DatabaseSync(':memory:')
  database.exec('CREATE TABLE one (a); PRAGMA max_page_count = 2')
  try {
    database.exec('INSERT INTO one VALUES (zeroblob(1000000))')
    assert.fail('It had room.')
  } catch (error) {
    assert.equal(codeOf(error), codes.full)
  }
  database.close()
})
