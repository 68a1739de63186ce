// Server-sent events down (WHATWG HTML, 9.2), one POST per message up.

import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import type { ParameterizedContext } from 'koa'
import type { TransportName } from '../../protocol/modes.ts'
import { formatEvent } from '../../protocol/sse-framing.ts'
import { bytesHeldBy, type Framing, HeldDeliveries } from '../hub/delivery.ts'
import { cut } from './answers.ts'
import { connectionOf } from './body-reader.ts'
import { admit, type Mounting, openingIn, type ServerTransport } from './transport.ts'

export const sse: ServerTransport = (mounting) => mountStream('/api/stream', 'sse', mounting)

export const sseFraming: Framing = {
  encode(frame, cursor, message) {
    const { type, ...rest } = frame
    // JSON contains no line ends, at which an event would have to be split.
    if (message !== undefined) return Buffer.from(`event: message\nid: ${cursor}\ndata: ${message}\n\n`)
    const data = frame.type === 'message' ? JSON.stringify(frame.message) : JSON.stringify(rest)
    return Buffer.from(formatEvent({ event: type, id: cursor ?? '', data }))
  },
}

export function mountStream(
  path: string,
  transport: TransportName,
  { router, hub, limits, budget }: Mounting,
): void {
  router.get(path, (ctx) => {
    ctx.set(streamHeaders)
    if (ctx.method === 'HEAD') {
      ctx.status = 200
      return
    }
    const { identity, cursor } = admit(openingIn(ctx), transport, limits, ctx.get('Last-Event-ID'))
    const { res } = ctx
    const down = bytesDown(res)
    const replay = budget.open(connectionOf(ctx.req), () => cut(ctx))
    const held = new HeldDeliveries((bytes) => replay.set(bytes))
    const window = hub.join(
      {
        ...identity,
        holds(deliveries) {
          // Over HTTP/1.1 the bytes are encrypted for each client.
          if ('stream' in res) held.set(deliveries)
          else replay.set(bytesHeldBy(deliveries))
          return !replay.isOver
        },
        framing: sseFraming,
        sink: down,
        end(bye) {
          startStream(ctx)
          res.end(sseFraming.encode(bye, null))
        },
      },
      cursor,
    )
    startStream(ctx)
    down.on('drain', () => window.drained())
    res.once('close', () => {
      held.set([])
      replay.end()
      hub.leave(window)
    })
  })
}

const streamHeaders = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // no-transform: compression by proxies would delay events.
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
}

/**
 * HTTP/2: the stream, which skips the checks of Node's response. HTTP/1.1: the response, unchunked,
 * ended by the connection (RFC 9112, 6.3).
 */
function bytesDown(response: ServerResponse): Pick<Writable, 'write' | 'on'> {
  if ('stream' in response) return response.stream as Writable
  response.removeHeader('Transfer-Encoding')
  return response
}

/** Sends headers at once, bypassing Koa: without them the stream looks stuck. Idempotent. */
function startStream(ctx: ParameterizedContext): void {
  if (ctx.respond === false) return
  ctx.respond = false
  const response: ServerResponse = ctx.res
  response.statusCode = 200
  response.flushHeaders()
}
