// Servers for the load clients' tests.

import type { RequestListener } from 'node:http'
import https from 'node:https'
import type { TestContext } from 'node:test'
import tls from 'node:tls'
import { ensureCertificate } from '../../certs/certificate.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'

const { cert, key } = await ensureCertificate({ directory: temporaryFolder(), now: new Date() })

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
  const port = await openPort(server)
  t.after(() => {
    server.close()
    cut()
  })
  return `https://localhost:${port}`
}
