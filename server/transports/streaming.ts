// Server-sent events down; up, one endless request body with one JSON frame per line.

import { Refusal } from '../../protocol/refusal.ts'
import { beatsMissed } from '../hub/heartbeats.ts'
import type { AnyRequest } from '../security/grants.ts'
import { grantOf } from '../security/middleware.ts'
import { aborted, bodyOf, connectionOf, maxBytesFor, tooLargeFor, whenAborted } from './body-reader.ts'
import { largestFrame, type Source, UnfinishedFrame, Valve } from './budget.ts'
import { InboundFrames } from './inbound-frames.ts'
import { mountStream } from './sse.ts'
import { admitOwner, type Mounting, queryOf, type ServerTransport } from './transport.ts'
import { mustBeOfType } from './uplink.ts'

/**
 * In heartbeat intervals. Silent clients are disconnected earlier; this ends requests without a
 * client.
 */
const longestSilence = beatsMissed * 2

/**
 * Acknowledged on the event stream: browsers expose a response only after the request (half
 * duplex).
 */
export const streaming: ServerTransport = (mounting) => {
  const { router, hub, timers, limits, heartbeatMs } = mounting
  mountStream('/api/streaming', 'streaming', mounting)

  router.post('/api/streaming', async (ctx) => {
    mustBeOfType(ctx.req, 'Lines', 'application/x-ndjson')
    const { window: name, fingerprint } = admitOwner(queryOf(ctx))
    const window = hub.streamOf(name)
    if (!window) {
      const sentence = `Window "${name}" has no open event stream for acknowledgements; open one first.`
      throw new Refusal('no-stream', sentence)
    }
    const grant = grantOf(ctx)
    grant.mustBeOf(window.identity.user ?? null)
    const stream = () => hub.streamOf(name)
    const source = new Valve(bodyOf(ctx.req))
    const connection = connectionOf(ctx.req)
    const excess = new AbortController()
    const onRefused = (refusal: Refusal) => excess.abort(refusal)
    const flow = { source, connection, onRefused }
    const inbound = new InboundFrames({ ...mounting, ...flow, grant, window, fingerprint, stream })
    let lines = 0
    try {
      await readLines(ctx.req, {
        ...mounting,
        maxBytes: largestFrame(maxBytesFor(grant, limits)),
        tooLarge: () => tooLargeFor(grant, limits),
        silenceMs: heartbeatMs * longestSilence,
        source,
        signal: excess.signal,
        onLine(line) {
          grant.mustLast(timers.now())
          lines += 1
          inbound.handle(line)
        },
      })
    } finally {
      inbound.stop()
    }
    ctx.body = { type: 'ended', lines }
  })
}

interface Lines extends Pick<Mounting, 'timers' | 'budget' | 'limits'> {
  readonly maxBytes: number
  readonly tooLarge: () => Refusal
  readonly silenceMs: number
  readonly source: Source
  readonly signal: AbortSignal
  readonly onLine: (line: string) => void
}

/**
 * Rejects for a line that is too long, too slow or too large for the budget, after `silenceMs`
 * without data, for an aborted body, with the reason of `signal`, and with errors of `onLine`.
 */
function readLines(
  request: AnyRequest,
  { timers, budget, limits, maxBytes, tooLarge, silenceMs, source, signal, onLine }: Lines,
): Promise<void> {
  return new Promise((resolve, reject) => {
    /** Pieces of the incomplete line. */
    let pieces: string[] = []
    const body = bodyOf(request)
    let heardAt = timers.now()
    let stopTimer = timers.later(look, silenceMs)
    const line = new UnfinishedFrame({
      budget,
      timers,
      connection: connectionOf(request),
      source,
      maxSeconds: limits.bodySeconds,
      onRefused: fail,
    })

    function look(): void {
      const leftMs = heardAt + silenceMs - timers.now()
      if (leftMs > 0) stopTimer = timers.later(look, leftMs)
      else fail(new Refusal('silent', 'This request was silent for too long.'))
    }

    function stop(): void {
      stopTimer()
      line.end()
    }

    function fail(error: unknown): void {
      stop()
      pieces = []
      body.off('data', take)
      // Discards the rest, so that the client reads the response.
      body.resume()
      reject(error)
    }

    function endLine(): void {
      const whole = pieces.join('')
      pieces = []
      if (whole.trim() !== '') onLine(whole)
    }

    function take(text: string): void {
      heardAt = timers.now()
      const [first = '', ...others] = text.split('\n')
      try {
        if (first !== '') pieces.push(first)
        for (const other of others) {
          endLine()
          if (other !== '') pieces.push(other)
        }
        const isNew = others.length > 0
        const added = isNew ? (others.at(-1)?.length ?? 0) : first.length
        if (line.add(added, isNew) > maxBytes) throw tooLarge()
      } catch (error) {
        fail(error)
      }
    }

    body.setEncoding('utf8').on('data', take)
    body.once('end', () => {
      stop()
      try {
        endLine()
        resolve()
      } catch (error) {
        reject(error)
      }
    })
    body.once('error', fail)
    whenAborted(body, () => fail(aborted()))
    signal.addEventListener('abort', () => fail(signal.reason))
  })
}
