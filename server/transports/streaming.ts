// Server-sent events down; up, one endless request body with a JSON frame per line.

import type { IncomingMessage } from 'node:http'
import { beatsMissed } from '../hub/hub.ts'
import { Refusal } from '../refusal.ts'
import { mustLast } from '../security/access.ts'
import { grantOf } from '../security/middleware.ts'
import type { Timers } from '../wire/time.ts'
import { aborted, tooLarge } from './bodies.ts'
import { mountStream } from './sse.ts'
import { admitOwner, queryOf, type ServerTransport } from './transport.ts'
import { createInboundFrames, mustBeOfType } from './uplink.ts'

/** Heartbeats. Silent clients are disconnected earlier; this ends requests without a client. */
const longestSilence = beatsMissed * 2

/** Acknowledged on the event stream: browsers expose a response only after the request (half duplex). */
export const streaming: ServerTransport = (mounting) => {
  const { router, hub, timers, limits, heartbeatMs } = mounting
  mountStream('/api/streaming', 'streaming', mounting)

  router.post('/api/streaming', async (ctx) => {
    mustBeOfType(ctx, 'Lines', 'application/x-ndjson')
    const { window: name, fingerprint } = admitOwner(queryOf(ctx))
    const window = hub.streamOf(name)
    if (!window) {
      const sentence = `No event stream of window "${name}" is open, down which to acknowledge; open that first.`
      throw new Refusal(409, 'no-stream', sentence)
    }
    const grant = grantOf(ctx)
    const stream = () => hub.streamOf(name)
    const inbound = createInboundFrames({ ...mounting, grant, window, fingerprint, stream, source: ctx.req })
    let lines = 0
    try {
      await readLines(ctx.req, timers, limits.maxMessageBytes * 2, heartbeatMs * longestSilence, (line) => {
        mustLast(grant, timers.now())
        lines += 1
        inbound.take(line)
      })
    } finally {
      inbound.stop()
    }
    ctx.body = { type: 'ended', lines }
  })
}

/** Rejects for a line that is too long, `silenceMs` without data, an aborted body, and what `onLine` throws. */
function readLines(
  request: IncomingMessage,
  timers: Timers,
  mostBytes: number,
  silenceMs: number,
  onLine: (line: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let rest = ''
    let heardAt = timers.now()
    let stopTimer = timers.later(look, silenceMs)

    function look(): void {
      const leftMs = heardAt + silenceMs - timers.now()
      if (leftMs > 0) stopTimer = timers.later(look, leftMs)
      else fail(new Refusal(408, 'silent', 'Nothing came in this request for too long.'))
    }

    function fail(error: unknown): void {
      stopTimer()
      request.removeAllListeners('data')
      // Discards the rest, so that the client reads the response.
      request.resume()
      reject(error)
    }

    request.setEncoding('utf8').on('data', (text: string) => {
      heardAt = timers.now()
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      try {
        for (const line of lines) if (line.trim() !== '') onLine(line)
        if (rest.length > mostBytes) throw tooLarge(mostBytes / 2)
      } catch (error) {
        fail(error)
      }
    })
    request.once('end', () => {
      stopTimer()
      if (rest.trim() !== '') onLine(rest)
      resolve()
    })
    request.once('error', fail)
    request.once('aborted', () => fail(aborted()))
  })
}
