// Server-sent events down (WHATWG HTML, 9.2), one POST for each message up.

import type { ServerResponse } from 'node:http'
import type { ParameterizedContext } from 'koa'
import { admitJoining } from '../hub/admission.ts'
import type { Framing } from '../hub/delivery.ts'
import { Refusal } from '../refusal.ts'
import { parseCursor } from '../wire/cursor.ts'
import { type HttpVersion, modeFor } from '../wire/modes.ts'
import { formatEvent } from '../wire/sse-framing.ts'
import type { ServerTransport } from './transport.ts'
import { mountUplink } from './uplink.ts'

const framing: Framing = {
  encode(frame, cursor) {
    const { type, ...rest } = frame
    const data = frame.type === 'message' ? JSON.stringify(frame.message) : JSON.stringify(rest)
    return Buffer.from(formatEvent({ event: type, ...(cursor === null ? {} : { id: cursor }), data }))
  },
}

export const sse: ServerTransport = {
  name: 'sse',
  mount({ router, hub, limits }) {
    mountUplink({ router, hub, limits })

    router.get('/api/stream', (ctx) => {
      ctx.set(streamHeaders)
      if (ctx.method === 'HEAD') {
        ctx.status = 200
        return
      }
      const asked = admitJoining(ctx.URL.searchParams)
      const cursor = parseCursor(ctx.get('Last-Event-ID') || ctx.URL.searchParams.get('cursor'))
      const mode = modeFor('sse', httpVersionOf(ctx))
      if (!mode)
        throw new Refusal(505, 'http-version', 'Server-sent events are spoken over HTTP/1.1 and HTTP/2.')
      const window = hub.join(
        {
          ...asked,
          id: asked.window,
          mode,
          framing,
          write: (bytes) => ctx.res.write(bytes),
          end(bye) {
            ctx.res.end(framing.encode(bye, null))
          },
        },
        cursor,
      )
      startStream(ctx)
      ctx.res.on('drain', window.drained)
      ctx.res.once('close', () => hub.leave(window))
    })
  },
}

const streamHeaders = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // no-transform keeps middlemen from compressing, which would hold events back.
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
}

/** Takes the answer out of Koa's hands and sends its headers at once: unsent, they look like a hang. */
function startStream(ctx: ParameterizedContext): void {
  ctx.respond = false
  ctx.res.statusCode = 200
  const response: ServerResponse = ctx.res
  response.flushHeaders()
}

function httpVersionOf(ctx: ParameterizedContext): HttpVersion {
  return ctx.req.httpVersionMajor === 2 ? '2' : '1.1'
}
