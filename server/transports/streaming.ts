// Server-sent events down, one request up whose body goes on for as long as the window lives: a JSON line a frame.
// A browser shows an answer only when the request has ended (half duplex), so the acknowledgements go down the stream.

import type { IncomingMessage } from 'node:http'
import { beatsMissed } from '../hub/pulse.ts'
import { Refusal } from '../refusal.ts'
import { grantOf } from '../security/let-in.ts'
import type { Timers } from '../wire/time.ts'
import { mustBeCovered } from './enter.ts'
import { createIntake } from './intake.ts'
import { tooLarge } from './json.ts'
import { mountStream } from './stream.ts'
import type { ServerTransport } from './transport.ts'

/** In heartbeats. A window that falls silent is let go before, by name; this ends a request that no window stands behind. */
const longestSilence = beatsMissed * 2

export const streaming: ServerTransport = {
  name: 'streaming',
  mount(mounting) {
    const { router, hub, timers, limits, heartbeatMs } = mounting
    mountStream('/api/streaming', 'streaming', mounting)

    router.post('/api/streaming', async (ctx) => {
      if (ctx.request.type !== 'application/x-ndjson') {
        const sentence = `Lines are sent as application/x-ndjson, not as ${ctx.get('Content-Type') || 'nothing named'}.`
        throw new Refusal(415, 'wrong-type', sentence)
      }
      const window = ctx.URL.searchParams.get('window') ?? ''
      if (!hub.hasStream(window)) {
        const sentence = `No event stream of window "${window.slice(0, 48)}" is open, down which to acknowledge; open that first.`
        throw new Refusal(409, 'no-stream', sentence)
      }
      mustBeCovered(grantOf(ctx), hub.channelsOf(window))
      let lines = 0
      const intake = createIntake({
        hub,
        timers,
        grant: grantOf(ctx),
        window,
        maxMessageBytes: limits.maxMessageBytes,
        answer: (frame) => void hub.tell(window, frame),
        pause: () => void ctx.req.pause(),
        resume: () => void ctx.req.resume(),
      })
      try {
        await readLines(ctx.req, timers, limits.maxMessageBytes * 2, heartbeatMs * longestSilence, (line) => {
          lines += 1
          intake.take(line)
        })
      } finally {
        intake.stop()
      }
      ctx.body = { type: 'ended', lines }
    })
  },
}

/** Rejects when a line is too long, when none came for `silenceMs`, and when the body is cut off. */
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
      // What still comes is let go, so that the answer can be read.
      request.resume()
      reject(error)
    }

    request.setEncoding('utf8').on('data', (text: string) => {
      heardAt = timers.now()
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line.trim() !== '') onLine(line)
      if (rest.length > mostBytes) fail(tooLarge(mostBytes / 2))
    })
    request.once('end', () => {
      stopTimer()
      if (rest.trim() !== '') onLine(rest)
      resolve()
    })
    request.once('error', fail)
    request.once('aborted', () => fail(new Refusal(400, 'aborted', 'The request ended before its body did.')))
  })
}
