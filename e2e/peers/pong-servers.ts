// `node pong-servers.ts NAME [BYTES] [WORKERS]`: peers that answer pings, for scenario capacity.

import cluster from 'node:cluster'
import { once } from 'node:events'
import type https from 'node:https'
import { WebSocketServer } from 'ws'
import { httpsServer, open, sayReady } from './serving.ts'

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
  sayReady(ready.ports['2'])
} else {
  const server = httpsServer()
  await start(server)
  sayReady(await open(server))
}
