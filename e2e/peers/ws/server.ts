// The barest relay there is on `ws`: what one client sends, all receive. No log, no checks, no framework.

import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { WebSocketServer } from 'ws'
import { ensureCertificate } from '../../../certs/certificate.ts'
import { readFigures } from '../../../server/monitor/figures.ts'

const { cert, key } = await ensureCertificate({
  directory: join(import.meta.dirname, '../../../certs'),
  now: new Date(),
})
const server = https.createServer({ cert, key, keepAliveTimeout: 75_000 }, (request, response) => {
  if (request.url !== '/api/figures') response.writeHead(404).end()
  else response.end(JSON.stringify(readFigures(wss.clients.size)))
})
const wss = new WebSocketServer({ server, perMessageDeflate: false })
wss.on('connection', (socket) => {
  socket.on('error', () => undefined)
  socket.on('message', (message) => {
    const text = String(message)
    for (const client of wss.clients) client.send(text)
  })
})

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.send?.({ type: 'ready', ports: { '2': port, '1.1': port } })
})
process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
