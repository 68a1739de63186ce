// `node pong-servers.ts NAME [BYTES] [WORKERS]`: peers that answer pings, for scenario capacity.

import cluster from 'node:cluster'
import { once } from 'node:events'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { WebSocketServer } from 'ws'
import { ensureCertificate } from '../../certs/certificate.ts'

const [name = '', bytes = '0', workers = '1'] = process.argv.slice(2)

/** The answer to a ping: as in the thesis the number of pings so far, or this many bytes. */
const file = Number(bytes) > 0 ? Buffer.alloc(Number(bytes), 'x') : null
let pings = 0
const nextPong = () => {
  pings += 1
  return file ?? pings
}

/** Each attaches one peer to the server, with its defaults; none compresses by default. */
const attach: Readonly<Record<string, (server: https.Server) => Promise<void>>> = {
  async ws(server) {
    new WebSocketServer({ server }).on('connection', (socket) => {
      socket.on('error', () => undefined)
      socket.on('message', () => socket.send(nextPong()))
    })
  },
  async 'engine.io'(server) {
    const engineIo = await import('engine.io')
    engineIo.attach(server, {}).on('connection', (socket: import('engine.io').Socket) => {
      socket.on('message', () => {
        const pong = nextPong()
        socket.send(typeof pong === 'number' ? String(pong) : pong)
      })
    })
  },
  async 'socket.io'(server) {
    const { Server } = await import('socket.io')
    new Server(server).on('connection', (socket) => {
      socket.on('ping', () => socket.emit('pong', nextPong()))
    })
  },
  async socketcluster(server) {
    const { attach } = await import('socketcluster-server')
    const sockets = attach(server)
    void (async () => {
      for await (const { socket } of sockets.listener('connection'))
        void (async () => {
          for await (const _ of socket.receiver('ping')) socket.transmit('pong', nextPong())
        })()
    })()
  },
}

const start = attach[name]
if (!start) throw new Error(`There is no peer "${name}"; there are ${Object.keys(attach).join(', ')}.`)
if (cluster.isPrimary && Number(workers) > 1) {
  // Node's own round robin. Workers share nothing: a client has only one connection.
  const began = Array.from({ length: Number(workers) }, () => once(cluster.fork(), 'message'))
  const [[ready] = []] = await Promise.all(began)
  process.send?.(ready)
} else {
  const { cert, key } = await ensureCertificate({
    directory: join(import.meta.dirname, '../../certs'),
    now: new Date(),
  })
  const server = https.createServer({ cert, key })
  server.on('connection', (socket: Socket) => socket.setNoDelay(true))
  await start(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  process.send?.({ type: 'ready', ports: { '2': port, '1.1': port } })
}
process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
