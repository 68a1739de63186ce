// The same relay on Socket.IO 4: WebSocket alone, everything else as it comes.

import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Server } from 'socket.io'
import { ensureCertificate } from '../../../certs/certificate.ts'
import { readFigures } from '../../../server/monitor/figures.ts'

const { cert, key } = await ensureCertificate({
  directory: join(import.meta.dirname, '../../../certs'),
  now: new Date(),
})
const server = https.createServer({ cert, key, keepAliveTimeout: 75_000 }, (request, response) => {
  if (request.url !== '/api/figures') response.writeHead(404).end()
  else response.end(JSON.stringify(readFigures(io.engine.clientsCount)))
})
const io = new Server(server, { transports: ['websocket'] })
io.on('connection', (socket) => {
  socket.on('message', (text: string) => io.emit('message', text))
})

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.send?.({ type: 'ready', ports: { '2': port, '1.1': port } })
})
process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
