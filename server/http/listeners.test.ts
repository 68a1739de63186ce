// Closing cuts every connection in time, even one whose source port was reused.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import net from 'node:net'
import { before, test } from 'node:test'
import tls from 'node:tls'
import Koa from 'koa'
import websockify from 'koa-websocket'
import { testConfig } from '../../app/testing.ts'
import { ensureCertificate } from '../../certs/certificate.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { processTimers } from '../../scripts/process.ts'
import { RateLimit } from '../hub/rate-limit.ts'
import { output } from '../output.ts'
import { Budget } from '../transports/budget.ts'
import type { Connections } from './connections.ts'
import { type ListenerSettings, listen } from './listeners.ts'
import { fittingConnections, reserve } from './open-files.ts'
import { createRequestHandler, healthPath } from './requests.ts'
import { createConnectHandler, createUpgradeHandler } from './websockets.ts'

const directory = temporaryFolder()
let settings: ListenerSettings

before(async () => {
  const { cert, key } = await ensureCertificate({ directory, now: new Date() })
  settings = { ...testConfig, ...testConfig.limits, cert, key }
})

/** Listens with an application that neither reads nor answers requests. */
async function listenDeaf(more: Partial<ListenerSettings> = {}) {
  const { promise: asked, resolve } = Promise.withResolvers<IncomingMessage>()
  const koa = websockify(new Koa())
  koa.use((ctx) => {
    resolve(ctx.req)
    return new Promise(() => undefined)
  })
  const app = {
    koa,
    socketPaths: new Set<string>(),
    authorizeSocket: async () => undefined,
    handleMessage: () => Promise.reject(new Error('not asked')),
    takes: () => true,
    webSockets: () => 0,
    penalties: new RateLimit(100, Date.now),
    budget: new Budget(testConfig.limits, processTimers),
  }
  const origins = { path: '/api', ports: () => [], allowedOrigins: [], allowedHosts: [] }
  const all = { ...settings, ...more }
  const handlersFor = (connections: Connections) => {
    const parts = { app, connections, settings: all, origins }
    return {
      handleRequest: createRequestHandler(parts),
      handleUpgrade: createUpgradeHandler(parts),
      handleConnect: createConnectHandler(parts),
    }
  }
  return { listeners: await listen(handlersFor, all), asked }
}

async function connect(port: number, localPort?: number) {
  const bare = net.connect({ port, host: '127.0.0.1', ...(localPort !== undefined && { localPort }) })
  const secure = tls.connect({ socket: bare, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
  for (const socket of [bare, secure]) socket.on('error', () => undefined)
  await once(bare, 'connect')
  await once(secure, 'secureConnect')
  return { bare, secure }
}

for (const version of ['1.1', '2'] as const) {
  test(`port of HTTP/${version}: a connection whose end Node has not seen, and a new one from the same source port`, {
    timeout: 20_000,
  }, async (t) => {
    const { listeners, asked } = await listenDeaf()
    t.after(() => listeners.close(0))
    const port = listeners.ports[version]
    // Below the ports of other outgoing connections, one of which could take it in between.
    const localPort = 20_000 + Math.floor(Math.random() * 10_000)
    const first = await connect(port, localPort)
    first.secure.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n')
    first.secure.write(Buffer.alloc(1_000_000))
    const request = await asked
    // Once its buffer is full, the server stops reading the connection, and does not see it end.
    while (request.readableLength < request.readableHighWaterMark) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    first.bare.resetAndDestroy()
    await once(first.bare, 'close')
    const second = await connect(port, localPort)
    await listeners.close(50)
    if (!request.socket.destroyed) await once(request.socket, 'close')
    second.bare.destroy()
  })
}

test('closing does not wait for connections without TLS', { timeout: 20_000 }, async () => {
  const { listeners } = await listenDeaf()
  const silent = net.connect({ port: listeners.ports['2'], host: '127.0.0.1' })
  silent.on('error', () => undefined)
  await once(silent, 'connect')
  // A second open connection shows that the first was accepted.
  const { bare } = await connect(listeners.ports['2'])
  bare.destroy()
  await listeners.close(600_000)
  assert.equal((await once(silent, 'close')).length, 1)
})

test('where the system allows too few open files, the server accepts fewer connections and says so', {
  timeout: 20_000,
}, async (t) => {
  const incidents = () => output.incidents()['connections-limited'] ?? 0
  const before = incidents()
  const maxConnections = fittingConnections(testConfig.limits.maxConnections, 165)
  assert.equal(incidents(), before + 1)
  const { listeners } = await listenDeaf({ maxConnections })
  t.after(() => listeners.close(0))
  const first = await connect(listeners.ports['1.1'])
  const second = await connect(listeners.ports['2'])
  second.secure.write('GET /api/clock HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [answer] = await once(second.secure, 'data')
  assert.match(String(answer), /^HTTP\/1\.1 503 .*The server holds 1 connections, as many as it can/s)
  first.bare.destroy()
})

for (const [what, open] of [
  ['without TLS', async (port: number) => ({ bare: net.connect({ port, host: '127.0.0.1' }) })],
  ['that ask for nothing', (port: number) => connect(port)],
] as const)
  test(`the oldest of many connections ${what} gives way, and the server can still be asked for its health`, {
    timeout: 20_000,
  }, async (t) => {
    const { listeners, asked } = await listenDeaf({ maxConnections: 1 })
    t.after(() => listeners.close(0))
    const held = await connect(listeners.ports['2'])
    const idle: net.Socket[] = []
    for (let count = 0; count < reserve; count += 1) {
      const { bare } = await open(listeners.ports[count % 2 === 0 ? '2' : '1.1'])
      bare.on('error', () => undefined)
      idle.push(bare)
    }
    const [oldest] = idle
    assert.ok(oldest)
    const cut = once(oldest, 'close')
    const last = await connect(listeners.ports['1.1'])
    last.secure.write(`GET ${healthPath} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    assert.equal((await asked).url, healthPath)
    await cut
    assert.equal(held.bare.destroyed, false)
    for (const one of [...idle, held.bare, last.bare]) one.destroy()
  })

test('pairs of requests that a connection sends ahead leave no listeners on it', {
  timeout: 20_000,
}, async (t) => {
  const { listeners } = await listenDeaf()
  t.after(() => listeners.close(0))
  const warnings: string[] = []
  const note = ({ name }: Error) => void warnings.push(name)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  const { bare, secure } = await connect(listeners.ports['1.1'])
  const request = 'POST /api/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n'
  for (let pair = 0; pair < 15; pair += 1) {
    secure.write(request.repeat(2))
    let answers = ''
    while (answers.split('HTTP/1.1 500').length < 3) answers += String(await once(secure, 'data'))
  }
  bare.destroy()
  assert.deepEqual(warnings, [])
})
