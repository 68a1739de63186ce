// Servers for the load clients' tests.

import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import tls from 'node:tls'
import { ensureCertificate } from '../../certs/certificate.ts'

const directory = await mkdtemp(join(tmpdir(), 'crosswind-load-'))
const { cert, key } = await ensureCertificate({ directory, now: new Date() })
await rm(directory, { recursive: true })

export async function startHttps(t: TestContext, onRequest: RequestListener) {
  const server = https.createServer({ cert, key }, onRequest)
  return { server, origin: await listen(t, server, () => server.closeAllConnections()) }
}

export async function startTls(t: TestContext, onSocket: (socket: tls.TLSSocket) => void): Promise<string> {
  const sockets = new Set<tls.TLSSocket>()
  const server = tls.createServer({ cert, key, ALPNProtocols: ['http/1.1'] }, (socket) => {
    sockets.add(socket.on('error', () => undefined))
    onSocket(socket)
  })
  return listen(t, server, () => {
    for (const socket of sockets) socket.destroy()
  })
}

async function listen(t: TestContext, server: tls.Server, cut: () => void): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    cut()
  })
  return `https://localhost:${(server.address() as AddressInfo).port}`
}
