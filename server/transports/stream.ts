// The way down by server-sent events (WHATWG HTML, 9.2), for every transport that has it.

import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import type { ParameterizedContext } from 'koa'
import type { Framing } from '../hub/delivery.ts'
import { grantOf } from '../security/let-in.ts'
import type { TransportName } from '../wire/modes.ts'
import { formatEvent } from '../wire/sse-framing.ts'
import { enter, httpVersionOf } from './enter.ts'
import type { Mounting } from './transport.ts'

export const sseFraming: Framing = {
  encode(frame, cursor) {
    const { type, ...rest } = frame
    const data = frame.type === 'message' ? JSON.stringify(frame.message) : JSON.stringify(rest)
    return Buffer.from(formatEvent({ event: type, ...(cursor === null ? {} : { id: cursor }), data }))
  },
}

/** Answers `GET path` with a stream of events, as a window in that transport's mode. */
export function mountStream(
  path: string,
  transport: TransportName,
  { router, hub, limits }: Pick<Mounting, 'router' | 'hub' | 'limits'>,
): void {
  router.get(path, (ctx) => {
    ctx.set(streamHeaders)
    if (ctx.method === 'HEAD') {
      ctx.status = 200
      return
    }
    const { visitor, cursor } = enter({
      query: ctx.URL.searchParams,
      grant: grantOf(ctx),
      transport,
      http: httpVersionOf(ctx),
      channelsPerWindow: limits.channelsPerWindow,
      cursorText: ctx.get('Last-Event-ID'),
    })
    const { res } = ctx
    const down = bytesDown(res)
    const window = hub.join(
      {
        ...visitor,
        framing: sseFraming,
        write: (bytes) => down.write(bytes),
        end(bye) {
          startStream(ctx)
          res.end(sseFraming.encode(bye, null))
        },
      },
      cursor,
    )
    startStream(ctx)
    down.on('drain', window.drained)
    res.once('close', () => hub.leave(window))
  })
}

/**
 * What the events are written to. Over HTTP/2 the stream itself: Node's answer in front of it only checks again what is
 * known. Over HTTP/1.1 the answer without chunks, which ends with its connection (RFC 9112, 6.3).
 */
function bytesDown(response: ServerResponse): Pick<Writable, 'write' | 'on'> {
  if ('stream' in response) return response.stream as Writable
  response.removeHeader('Transfer-Encoding')
  return response
}

const streamHeaders = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // no-transform keeps middlemen from compressing, which would hold events back.
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
}

/** Takes the answer out of Koa's hands and sends its headers at once: unsent, they look like a hang. Again is the same. */
function startStream(ctx: ParameterizedContext): void {
  if (ctx.respond === false) return
  ctx.respond = false
  ctx.res.statusCode = 200
  const response: ServerResponse = ctx.res
  response.flushHeaders()
}
