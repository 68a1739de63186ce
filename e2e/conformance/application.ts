// An application's servers, with their own routes and WebSockets, and Crosswind attached to them.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import { ensureCertificate } from '../../certs/certificate.ts'
import { type HttpVersion, httpVersions } from '../../protocol/modes.ts'
import { openPort } from '../../scripts/open-port.ts'
import { endsWithin } from '../../scripts/process.ts'
import { type CrosswindOptions, createCrosswind, serverOptions } from '../../server/index.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'

const sentence = (url: string | undefined) => `the application’s ${url}`
const answer = ((request, response) => response.end(sentence(request.url))) as RequestListener

export type Application = Awaited<ReturnType<typeof startApplication>>

/** HTTP/2 with HTTP/1.1, and HTTP/1.1 alone. By default everybody may use any channel. */
export async function startApplication(options: Partial<CrosswindOptions> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'crosswind-application-'))
  const tls = await ensureCertificate({ directory, now: new Date() })
  const crosswind = await createCrosswind({
    // The path at which the suites expect a server.
    path: '/api',
    channels: { '*': { kind: 'json' } },
    authorize: 'everyone',
    ...options,
  })
  const servers = {
    '2': createSecureServer({ ...serverOptions(), ...tls }, answer as never),
    '1.1': createServer({ ...serverOptions(), ...tls }, answer),
  }
  const sockets = new Set<Socket>()
  const echo = new WebSocketServer({ noServer: true })
  async function open(version: HttpVersion): Promise<number> {
    const server = servers[version]
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
    server.on('upgrade', (request, socket, head) =>
      echo.handleUpgrade(request, socket, head, (opened) =>
        opened.on('error', () => undefined).on('message', (text) => opened.send(String(text))),
      ),
    )
    crosswind.attach(server)
    return openPort(server)
  }
  const ports = { '2': await open('2'), '1.1': await open('1.1') }
  return {
    ports,
    origin: { '2': `https://localhost:${ports['2']}`, '1.1': `https://localhost:${ports['1.1']}` },
    ca: tls.cert,
    revoke: (user: string) => crosswind.revoke(user),
    async close() {
      await crosswind.close({ drainMs: 2000 })
      const closed = Object.values(servers).map((server) => once(server, 'close'))
      for (const server of Object.values(servers)) server.close()
      // Leaves time for the last responses to be sent.
      await endsWithin(Promise.all(closed), 500)
      for (const socket of sockets) socket.destroy()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const paceMs = 20

/** Requests the application’s own pages, and talks over its own WebSocket, until `finish`. */
export async function visitOwnRoutes({ origin, ca }: Pick<Application, 'origin' | 'ca'>) {
  const clients = httpVersions.map((version) => connectHttp(version, origin[version], ca))
  const socket = connectHttp('1.1', origin['1.1'], ca).openSocket('/own')
  await once(socket, 'open')
  const closed = once(socket, 'close').then(() => {
    if (!isOver) throw new Error('The application’s WebSocket was closed.')
  })
  let isOver = false
  let rounds = 0
  let slowestMs = 0
  async function visit(): Promise<void> {
    for (; !isOver; rounds += 1) {
      const startedAt = performance.now()
      for (const client of clients) {
        const { status, body } = await client.ask({ path: '/own' })
        assert.deepEqual([status, await textOf(body)], [200, sentence('/own')])
      }
      socket.send(String(rounds))
      const [text] = await once(socket, 'message')
      assert.equal(String(text), String(rounds))
      slowestMs = Math.max(slowestMs, performance.now() - startedAt)
      await delay(paceMs)
    }
  }
  const visited = Promise.race([visit(), closed])
  visited.catch(() => undefined)
  return {
    /** Rejects unless everything was answered; resolves to the number of answers and the slowest time, ms. */
    async finish() {
      isOver = true
      await visited
      for (const client of clients) client.close()
      socket.terminate()
      return { rounds, slowestMs }
    },
  }
}
