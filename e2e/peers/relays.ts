// `node relays.ts NAME [ADDRESS] [FAULT] [HOST]`: relays with pages to measure, without log or checks.

import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import http2, { type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import https from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { JsMsg } from '@nats-io/jetstream'
import { WebSocketServer } from 'ws'
import { ensureCertificate } from '../../certs/certificate.ts'
import { readFigures } from '../../server/process.ts'
import { addedMsOf, faultOf } from './peers.ts'

const here = import.meta.dirname
const { cert, key } = await ensureCertificate({ directory: join(here, '../../certs'), now: new Date() })

/** The server's channels, for the lab's stamps. */
const diagnostics = {
  arrived: channel('crosswind:arrived'),
  admitted: channel('crosswind:admitted'),
  committing: channel('crosswind:committing'),
  told: channel('crosswind:told'),
}

/**
 * Its server for HTTP/2, and for HTTP/1.1 if different. `address`: of a remote server; `fault`: see
 * peers.ts.
 */
type Start = (address: string, fault: string) => readonly Server[] | Promise<readonly Server[]>

/** Each starts a relay. */
const relays: Readonly<Record<string, Start>> = {
  ws: () => socketRelay((draft) => ({ message: draft })),

  /**
   * Socket.IO's defaults. The page sends objects; the bench sends text, which is relayed unchanged.
   */
  async 'socket.io'() {
    const socketIo = await import('socket.io')
    const server = httpsServer(
      answerPage(
        'socket.io',
        () => io.engine.clientsCount,
        shipped('socket.io-client/dist/socket.io.esm.min.js'),
      ),
    )
    const io = new socketIo.Server(server)
    io.on('connection', (socket) => {
      socket.on('message', (message: object | string) =>
        io.emit('message', typeof message === 'string' ? message : accepted(message)),
      )
    })
    return [server]
  },

  /** Engine.IO's defaults, and a loop over the sockets, since it has no broadcast. */
  async 'engine.io'() {
    const engineIo = await import('engine.io')
    const sockets = new Set<import('engine.io').Socket>()
    const server = httpsServer(
      answerPage('engine.io', () => sockets.size, shipped('engine.io-client/dist/engine.io.esm.min.js')),
    )
    engineIo.attach(server, {}).on('connection', (socket: import('engine.io').Socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('message', (draft) => {
        const message = acceptedText(String(draft))
        for (const client of sockets) client.send(message)
      })
    })
    return [server]
  },

  /** SocketCluster's defaults: windows publish to a channel and subscribe to it. */
  async socketcluster() {
    const { attach } = await import('socketcluster-server')
    const server = httpsServer(
      answerPage(
        'socketcluster',
        () => cluster.clientsCount,
        shipped('socketcluster-client/socketcluster-client.min.js'),
      ),
    )
    const cluster = attach(server)
    cluster.setMiddleware(cluster.MIDDLEWARE_INBOUND, async (actions) => {
      for await (const action of actions) {
        if (action.type === action.PUBLISH_IN) action.allow({ data: accepted(action.data) })
        else action.allow()
      }
    })
    return [server]
  },

  centrifugo: async (address) => pageServers('centrifugo', { address }, await bundled('centrifuge')),
  mercure: (address) => pageServers('mercure', { address, token: process.env.MERCURE_JWT ?? null }),
  hocuspocus: async (address) =>
    pageServers('hocuspocus', { address }, await bundled('@hocuspocus/provider')),

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

  /** With pages, over event streams and WebSocket, for the keystrokes scenario. */
  bare(_address, fault) {
    const streams = new Set<ServerResponse>()
    const sockets = new WebSocketServer({ noServer: true })
    const answerRest = answerPage('bare', () => streams.size + sockets.clients.size)

    /** `source` is the connection that it came from. */
    function relay(draft: string, source: object): void {
      const [, id = ''] = /"id":"([^"]+)"/.exec(draft) ?? []
      diagnostics.admitted.publish({ id, source })
      const message = acceptedText(draft)
      spoil(id, () => send(message, id))
    }

    const spoil = createFault(fault)

    function send(message: string, id: string): void {
      diagnostics.committing.publish([{ draft: { id } }])
      for (const stream of streams) stream.write(`data: ${message}\n\n`)
      for (const socket of sockets.clients) socket.send(message)
      diagnostics.told.publish([{ draft: { id } }])
    }

    function answer(request: IncomingMessage, response: ServerResponse): void {
      diagnostics.arrived.publish(request)
      const path = pathOf(request)
      if (path === '/stream') listen(response)
      else if (path === '/messages') receive(request, response)
      else answerRest(request, response)
    }

    function listen(response: ServerResponse): void {
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
      response.flushHeaders()
      streams.add(response)
      response.on('close', () => streams.delete(response))
    }

    function receive(request: IncomingMessage, response: ServerResponse): void {
      whenRead(request, (draft) => {
        relay(draft, request)
        response.end('{}')
      })
    }

    const servers = bothServers(answer)
    for (const server of servers) {
      server.on('upgrade', (request, socket, head) => {
        sockets.handleUpgrade(request, socket, head, (client) =>
          client.on('message', (data) => {
            diagnostics.arrived.publish(client)
            relay(String(data), client)
          }),
        )
      })
    }
    return servers
  },
}

/** What all receive for a draft, and what its sender receives in addition. */
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

/** Runs `send` as often and as late as the fault requires. */
function createFault(fault: string): (id: string, send: () => void) => void {
  const addedMs = addedMsOf(fault)
  let held: (() => void) | null = null
  return (id, send) => {
    if (fault === '') return send()
    if (fault !== 'faults') return runAt(performance.now() + addedMs, send)
    const doing = faultOf(id)
    if (doing === 'reordered') {
      held = send
      return
    }
    if (doing !== 'lost') send()
    if (doing === 'duplicated') send()
    held?.()
    held = null
  }
}

/**
 * Timers are late by up to a millisecond, so the last one is awaited in turns of the event loop.
 */
function runAt(at: number, run: () => void): void {
  const restMs = at - performance.now()
  if (restMs <= 0) run()
  else if (restMs > 2) setTimeout(runAt, restMs - 2, at, run)
  else setImmediate(runAt, at, run)
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

/** `acceptedAt` separates uplink from downlink in the report. */
const accepted = (draft: object) => ({ acceptedAt: performance.timeOrigin + performance.now(), ...draft })

const acceptedText = (draft: string) =>
  draft.replace('{', `{"acceptedAt":${performance.timeOrigin + performance.now()},`)

/** A file that a package ships for browsers. */
const shipped = (file: string) => readFileSync(join(here, '../../node_modules', file))

/** Bundles a package that ships no file for browsers. */
async function bundled(name: string): Promise<string> {
  const { build } = await import('vite')
  const built = await build({
    ...{ configFile: false, logLevel: 'silent' },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: {
      write: false,
      lib: { entry: fileURLToPath(import.meta.resolve(name)), formats: ['es'], fileName: 'client' },
    },
  })
  const [output] = [built].flat()
  if (!output || !('output' in output)) throw new Error(`${name} was not bundled.`)
  return output.output[0].code
}

/**
 * Serves the measured page of a peer. `facts`: what the page needs to know besides the peer's name.
 */
function answerPage(
  name: string,
  windows: () => number,
  client?: string | Buffer,
  facts?: object,
): RequestListener {
  const files = new Map([
    ['/', { type: 'text/html', body: readFileSync(join(here, 'bare-page.html')) }],
    ['/page.js', { type: 'text/javascript', body: readFileSync(join(here, 'bare-page.js')) }],
    ['/transports.js', { type: 'text/javascript', body: readFileSync(join(here, 'transports.js')) }],
    ['/client.js', { type: 'text/javascript', body: client ?? '' }],
    ['/peer.json', { type: 'application/json', body: JSON.stringify({ name, ...facts }) }],
  ])
  return (request, response) => {
    const file = files.get(pathOf(request))
    if (!file) return answerFigures(request, response, windows())
    response.writeHead(200, {
      'Content-Type': `${file.type}; charset=utf-8`,
      // Isolation gives the page the same fine clock as Crosswind's.
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Embedder-Policy': 'require-corp',
    })
    response.end(file.body)
  }
}

const pathOf = ({ url = '/' }: IncomingMessage) => url.split('?', 1)[0] ?? '/'

/** For a remote peer: this process serves only its page. */
function pageServers(name: string, facts: object, client?: string): readonly Server[] {
  return bothServers(answerPage(name, () => 0, client, facts))
}

function bothServers(answer: RequestListener) {
  // The compatibility API of `http2` mirrors HTTP/1.1's.
  const compatible = answer as unknown as (
    request: http2.Http2ServerRequest,
    response: http2.Http2ServerResponse,
  ) => void
  return [http2.createSecureServer({ cert, key, allowHTTP1: true }, compatible), httpsServer(answer)] as const
}

function httpsServer(answer: RequestListener): https.Server {
  return https.createServer({ cert, key, keepAliveTimeout: 75_000 }, answer)
}

function figuresServer(windows: () => number): https.Server {
  return httpsServer((request, response) => answerFigures(request, response, windows()))
}

function answerFigures(request: IncomingMessage, response: ServerResponse, windows: number): void {
  if (request.url === '/api/figures') response.end(JSON.stringify(readFigures(windows)))
  else response.writeHead(404).end()
}

/** Ignores a request that was cut. */
function whenRead(request: Readable, run: (body: string) => void): void {
  text(request)
    .then(run)
    .catch(() => undefined)
}

async function open(server: Server): Promise<number> {
  server.on('connection', (socket: Socket) => socket.setNoDelay(true)).listen(0, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const [name = '', address = '', fault = '', host = '127.0.0.1'] = process.argv.slice(2)
const start = relays[name]
if (!start) throw new Error(`There is no relay "${name}"; there are ${Object.keys(relays).join(', ')}.`)
const [first, second = first] = await Promise.all((await start(address, fault)).map(open))
process.send?.({ type: 'ready', ports: { '2': first, '1.1': second } })
process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
