// `node relays.ts NAME [ADDRESS]`: relays for load clients, without log or checks.

import { mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import http2, { type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type https from 'node:https'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsMsg } from '@nats-io/jetstream'
import { WebSocketServer } from 'ws'
import { accepted } from './adapter.ts'
import { answerFigures, cert, httpsServer, key, open, sayReady, whenRead } from './serving.ts'

/** Its server for HTTP/2, and for HTTP/1.1 if different. `address`: of its broker. */
type Start = (address: string) => readonly Server[] | Promise<readonly Server[]>

/** Each starts a relay. */
const relays: Readonly<Record<string, Start>> = {
  ws: () => socketRelay((draft) => ({ message: draft })),

  /** With its defaults. */
  async 'socket.io'() {
    const socketIo = await import('socket.io')
    const server = figuresServer(() => io.engine.clientsCount)
    const io = new socketIo.Server(server)
    io.on('connection', (socket) => {
      socket.on('message', (message: string) => io.emit('message', message))
    })
    return [server]
  },

  http2: () => streamRelay((draft) => ({ message: draft })),

  /** With the minimum that a log needs: see `createStore`. */
  'ws-stored': () => socketRelay(storing()),
  'http2-stored': () => streamRelay(storing()),

  /**
   * Publish and subscribe without broker or log, for Crosswind's own load clients: a message goes
   * to all subscribers of its channel.
   */
  channels: () =>
    channelServers((deliver) => (draft) => {
      deliver(draft.channel, JSON.stringify(accepted(draft)))
      return null
    }),

  /** Like `channels`, with the minimum that a log needs: see `createStore`. */
  'channels-file'() {
    const store = createStore()
    return channelServers((deliver) => (draft) => {
      const { message, answer } = store(draft)
      deliver(draft.channel, message)
      return answer
    })
  },

  /**
   * Like `channels`, through a NATS stream at `address`: a sender is answered once JetStream has
   * the message.
   */
  async 'channels-nats'(address) {
    const [{ connect }, { jetstream, jetstreamManager, StorageType }] = await Promise.all([
      import('@nats-io/transport-node'),
      import('@nats-io/jetstream'),
    ])
    const connection = await connect({ servers: address })
    const manager = await jetstreamManager(connection)
    await manager.streams.add({ name: 'relay', subjects: ['relay.>'], storage: StorageType.File })
    const stream = jetstream(connection)
    const consumer = await stream.consumers.get('relay')
    return channelServers((deliver) => {
      const callback = (received: JsMsg) =>
        deliver(
          received.subject.slice('relay.'.length),
          received.string().replace('{', `{"seq":${received.seq},`),
        )
      void consumer.consume({ callback })
      return async (draft) => {
        const { seq } = await stream.publish(`relay.${draft.channel}`, JSON.stringify(accepted(draft)))
        return storedAnswer(draft, seq)
      }
    })
  },
}

/** Returns the message that all receive for a draft, and the answer that its sender receives in addition. */
type Take = (draft: string) => { readonly message: string; readonly answer?: string }

function storing(): Take {
  const store = createStore()
  return (draft) => store(JSON.parse(draft))
}

/** Message and answer reach the sender in one write. */
function socketRelay(take: Take): readonly Server[] {
  const server = figuresServer(() => sockets.clients.size)
  const sockets = new WebSocketServer({ server, perMessageDeflate: false })
  sockets.on('connection', (socket, { socket: connection }) => {
    socket.on('error', () => undefined)
    socket.on('message', (draft) => {
      const { message, answer } = take(String(draft))
      if (answer !== undefined) connection.cork()
      for (const client of sockets.clients) client.send(message)
      if (answer === undefined) return
      socket.send(answer)
      connection.uncork()
    })
  })
  return [server]
}

/**
 * Each POST goes to all event streams. A stored draft is answered in the next turn, as Crosswind
 * does (docs/decisions/016).
 */
function streamRelay(take: Take): readonly Server[] {
  const streams = new Set<ServerHttp2Stream>()
  const server = streamServer(
    (stream, draft) => {
      const { message, answer } = take(draft)
      const event = Buffer.from(`data: ${message}\n\n`)
      for (const listening of streams) listening.write(event)
      if (answer === undefined) respond(stream, '{}')
      else setImmediate(respond, stream, answer)
    },
    (stream) => {
      streams.add(stream)
      return () => streams.delete(stream)
    },
  )
  return [server, figuresServer(() => streams.size)]
}

function respond(stream: ServerHttp2Stream, answer: string): void {
  stream.respond({ ':status': 200, 'content-type': 'application/json' })
  stream.end(answer)
}

/** `listen` receives a stream of events, and returns how to end it. */
function streamServer(
  receive: (stream: ServerHttp2Stream, draft: string) => void,
  listen: (stream: ServerHttp2Stream, path: string) => () => void,
): http2.Http2SecureServer {
  // The stream limit of the server under test.
  const server = http2.createSecureServer({ cert, key, settings: { maxConcurrentStreams: 250 } })
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => undefined)
    if (headers[':method'] === 'POST') return whenRead(stream, (draft) => receive(stream, draft))
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' })
    stream.once('close', listen(stream, headers[':path'] ?? '/'))
  })
  return server
}

interface ChannelDraft {
  readonly id: string
  readonly channel: string
}

type Answer = string | null | Promise<string>

/**
 * Gets a function that delivers to a channel's subscribers; returns one that takes a draft to them
 * and resolves to its sender's answer, null for none.
 */
type Medium = (deliver: (channel: string, message: string) => void) => (draft: ChannelDraft) => Answer

function channelServers(medium: Medium): readonly Server[] {
  const subscribers = new Map<string, Set<(message: string) => void>>()
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  const publish = medium((channel, message) => {
    for (const take of subscribers.get(channel) ?? []) take(message)
  })

  /** Returns the function that ends it. */
  function subscribe(path: string, take: (message: string) => void): () => void {
    const channel = new URL(path, 'https://localhost').searchParams.get('channels') ?? ''
    const all = subscribers.getOrInsertComputed(channel, () => new Set())
    all.add(take)
    return () => {
      all.delete(take)
      if (all.size === 0) subscribers.delete(channel)
    }
  }

  const server = streamServer(
    (stream, draft) => whenAnswered(publish(JSON.parse(draft)) ?? '{}', (answer) => respond(stream, answer)),
    (stream, path) => subscribe(path, (message) => stream.write(`data: ${message}\n\n`)),
  )
  const socketServer = figuresServer(() => subscribers.size)
  socketServer.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (client) => {
      client.on('error', () => undefined)
      client.on('message', (text) => {
        socket.cork()
        whenAnswered(publish(JSON.parse(String(text)).message), (answer) => client.send(answer))
        socket.uncork()
      })
      client.once(
        'close',
        subscribe(request.url ?? '/', (message) => client.send(message)),
      )
    })
  })
  return [server, socketServer]
}

function whenAnswered(answer: Answer, say: (answer: string) => void): void {
  if (typeof answer === 'string') say(answer)
  else void answer?.then(say)
}

/**
 * Numbers a draft, writes it to a file, and answers: the minimum that a log does, without any
 * checks.
 */
function createStore() {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-relay-'))
  const file = openSync(join(folder, 'log'), 'a')
  process.once('exit', () => rmSync(folder, { recursive: true }))
  let seq = 0
  return (draft: { readonly id: string }) => {
    seq += 1
    const message = JSON.stringify({ ...draft, seq, acceptedAt: performance.timeOrigin + performance.now() })
    writeSync(file, `${message}\n`)
    return { message, answer: storedAnswer(draft, seq) }
  }
}

const storedAnswer = ({ id }: { readonly id: string }, seq: number) =>
  JSON.stringify({ type: 'stored', id, seq })

function figuresServer(windows: () => number): https.Server {
  return httpsServer((request, response) => answerFigures(request, response, windows()))
}

const [name = '', address = ''] = process.argv.slice(2)
const start = relays[name]
if (!start) throw new Error(`There is no relay "${name}"; there are ${Object.keys(relays).join(', ')}.`)
const [first = 0, second] = await Promise.all((await start(address)).map((server) => open(server)))
sayReady(first, second)
