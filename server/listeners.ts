// The two ports: HTTP/2 (with HTTP/1.1 for a client that cannot) and HTTP/1.1 alone, both over TLS.

import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import http2, { type Http2SecureServer, type Http2ServerResponse } from 'node:http2'
import https, { type Server as HttpsServer } from 'node:https'
import type { App } from './app.ts'
import { answerBare, headersTooLarge } from './listeners/bare-answers.ts'
import {
  type AnyRequest,
  type Connections,
  type PortServer,
  trackConnections,
} from './listeners/connections.ts'
import { endLeftover } from './listeners/leftover.ts'
import { open, portOf } from './listeners/opening.ts'
import {
  http1Options,
  http2Options,
  type ListenerSettings,
  mostHeaderBytes,
  reserve,
  tlsOptions,
} from './listeners/settings.ts'
import { createTurningAway, headerBytes, tooManyConnections } from './listeners/turning-away.ts'
import { watchConnections } from './listeners/watch.ts'
import { takeWebSockets, takeWebSocketsOverHttp2 } from './listeners/websockets.ts'
import type { OriginRules } from './security/origins.ts'
import { processTimers } from './timers.ts'
import type { Timers } from './wire/time.ts'

export type { ListenerSettings } from './listeners/settings.ts'

export interface Listeners {
  /** The ports that were truly taken: 0 in the settings takes a free one. */
  readonly ports: { readonly '2': number; readonly '1.1': number }
  /** Takes no new connection, lets the open ones end, cuts what is left after `withinMs`. */
  readonly close: (withinMs: number) => Promise<void>
}

/** Rejects, naming the port, when one is taken or not permitted; then neither stays open. */
export async function listen(
  app: App,
  settings: ListenerSettings,
  origins: OriginRules,
  timers: Timers = processTimers,
): Promise<Listeners> {
  const secure = http2.createSecureServer({
    ...tlsOptions(settings),
    ...http1Options(settings),
    ...http2Options(settings),
  })
  const plain = https.createServer({ ...tlsOptions(settings), ...http1Options(settings) })
  const stop = serve(secure, plain, app, settings, origins, timers)
  try {
    await open(secure, settings.port, settings.host)
    await open(plain, settings.http1Port, settings.host)
  } catch (error) {
    secure.close()
    stop.watching()
    throw error
  }
  return { ports: { '2': portOf(secure), '1.1': portOf(plain) }, close: stop.serving }
}

interface Stopping {
  readonly watching: () => void
  readonly serving: Listeners['close']
}

function serve(
  secure: Http2SecureServer,
  plain: HttpsServer,
  app: App,
  settings: ListenerSettings,
  origins: OriginRules,
  timers: Timers,
): Stopping {
  const { maxConnections, streamsPerSession, heartbeatMs, bodySeconds, maxMessageBytes } = settings
  const servers: readonly PortServer[] = [secure, plain]
  const connections = trackConnections(servers, {
    maxConnections,
    now: timers.now,
    onSession(session, connection) {
      session.on('ping', () => watch.countControlFrame(connection))
      session.on('remoteSettings', () => watch.countControlFrame(connection))
    },
    onReset: (connection) => watch.countReset(connection),
  })
  const watch = watchConnections({
    connections: connections.all,
    timers,
    heartbeatMs,
    requestMs: bodySeconds * 1000,
    streamsPerSession,
  })
  const checkRoom = (request: AnyRequest) => {
    if (connections.of(request)?.isOverfull) throw tooManyConnections(maxConnections)
  }
  const sockets = { app, maxMessageBytes, origins, checkRoom }
  const answering = new WeakSet<object>()
  const onRequest = takeRequests({ app, connections, answering, maxConnections, origins, timers })
  for (const server of servers) {
    // Past the reserve nothing is said: the kernel's queue is emptied and that is all.
    server.maxConnections = maxConnections + reserve
    server.on('request', onRequest as RequestListener)
    takeWebSockets(server, sockets)
    answerBare(server, {
      bodySeconds,
      isSecure: connections.isSecure,
      isAnswering: (socket) => answering.has(socket),
    })
  }
  takeWebSocketsOverHttp2(secure, sockets)
  return {
    watching: watch.stop,
    async serving(withinMs) {
      await closeAll(secure, plain, connections, timers, withinMs)
      watch.stop()
    },
  }
}

interface Taking {
  readonly app: App
  readonly connections: Connections
  /** Sockets of HTTP/1.1 with a request under way. */
  readonly answering: WeakSet<object>
  readonly maxConnections: number
  readonly origins: OriginRules
  readonly timers: Timers
}

function takeRequests({ app, connections, answering, maxConnections, origins, timers }: Taking) {
  const answer = app.koa.callback()
  const turnAway = createTurningAway(origins, () => tooManyConnections(maxConnections))
  const turnBack = createTurningAway(origins, headersTooLarge)

  return (request: AnyRequest, response: ServerResponse | Http2ServerResponse): void => {
    // Of a session that was ended there may still be requests in what was read; nobody waits for their answers.
    if ('stream' in request && request.stream.session?.destroyed !== false) return
    const connection = connections.of(request)
    const [asked, answered] = [request as never, response as never]
    endLeftover(request, response as ServerResponse, timers)
    if (!('stream' in request)) {
      answering.add(request.socket)
      response.once('close', () => answering.delete(request.socket))
    }
    if (connection?.isOverfull) {
      response.once('finish', () => connection.session?.close())
      turnAway(asked, answered)
    } else if ('stream' in request && headerBytes(request) > mostHeaderBytes) turnBack(asked, answered)
    else answer(asked, answered)
  }
}

async function closeAll(
  secure: Http2SecureServer,
  plain: HttpsServer,
  connections: Connections,
  timers: Timers,
  withinMs: number,
): Promise<void> {
  const closed = Promise.all([secure, plain].map((server) => once(server, 'close')))
  // GOAWAY to every session: the open streams may end, no new one begins.
  secure.close()
  plain.close()
  const stopDeadline = timers.later(() => {
    for (const { socket } of [...connections.all()]) socket.destroy()
  }, withinMs)
  await closed
  stopDeadline()
}
