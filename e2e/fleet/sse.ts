// Server-sent events down, over either HTTP version; POST up, or one request with a streamed body.

import { PassThrough, type Readable } from 'node:stream'
import type { Draft } from '../../server/wire/envelope.ts'
import type { DownFrame, UpFrame } from '../../server/wire/frames.ts'
import { createSseReader } from '../../server/wire/sse-framing.ts'
import { createAnswers } from '../../web/transports/answers.ts'
import { type Closing, lost, now } from '../../web/transports/transport.ts'
import { asClosing, closingOf } from './answers.ts'
import { connectHttp, type HttpClient } from './http.ts'
import { createPoster } from './poster.ts'
import type { FleetOpening, FleetTransport, OpenFleetTransport } from './transport.ts'

export const openSse: OpenFleetTransport = (opening) => {
  const down = openDown('/api/stream', opening)
  const poster = createPoster(down.http, opening)
  return {
    send: poster.send,
    beat: poster.beat,
    askClock: poster.askClock,
    close: down.close,
    cut: down.cut,
    pause: down.pause,
    resume: down.resume,
  }
}

/** A server that goes ends the way up too: its farewell, down the stream, is to be heard first. */
const farewellMs = 200

const streamingPath = '/api/streaming'

export const openStreaming: OpenFleetTransport = (opening) => {
  const answers = createAnswers()
  const body = new PassThrough()
  const down = openDown(streamingPath, {
    ...opening,
    onFrame(frame, receivedAt) {
      answers.take(frame)
      if (frame.type === 'welcome') sendUp()
      opening.onFrame(frame, receivedAt)
    },
    onClose(closing) {
      answers.abandon()
      opening.onClose(closing)
    },
  })

  function sendUp(): void {
    const path = `${streamingPath}?window=${opening.query.get('window')}`
    const headers = { 'content-type': 'application/x-ndjson' }
    // Its answer comes when it ends: then the way up is gone.
    down.http.ask({ method: 'POST', path, headers, body }).then(endSoon, endSoon)
  }

  function endSoon(): void {
    setTimeout(down.end, farewellMs)
  }

  function say(frame: UpFrame | unknown): number {
    const text = JSON.stringify(frame)
    body.write(`${text}\n`)
    return text.length
  }

  return {
    send: (draft: Draft) => answers.expect(draft, say({ type: 'publish', message: draft })),
    beat: (windows) => void say({ type: 'heartbeat', ...(windows && { windows }) }),
    askClock: () => void say({ type: 'clock', at: now() }),
    close() {
      answers.abandon()
      down.close()
    },
    cut: down.cut,
    pause: down.pause,
    resume: down.resume,
  }
}

interface Down extends Pick<FleetTransport, 'close' | 'cut' | 'pause' | 'resume'> {
  readonly http: HttpClient
  readonly end: () => void
}

function openDown(path: string, { mode, origin, ca, cookie, query, onFrame, onClose }: FleetOpening): Down {
  const http = connectHttp(mode.http, origin, ca, cookie)
  let stream: Readable | null = null
  let closing: Closing = lost
  let hasEnded = false

  function end(): void {
    if (hasEnded) return
    hasEnded = true
    http.close()
    onClose(closing)
  }

  async function read(): Promise<void> {
    const { status, body } = await http.ask({ path: `${path}?${query}` })
    if (status !== 200) {
      closing = await asClosing(status, body)
      return end()
    }
    stream = body
    const reader = createSseReader(({ event, data }) => {
      const receivedAt = now()
      const frame = parseFrame(event, data)
      closing = closingOf(frame) ?? closing
      if (!hasEnded) onFrame(frame, receivedAt)
    })
    body.setEncoding('utf8').on('data', reader.push)
    body.once('close', end)
  }

  read().catch(end)
  return {
    http,
    end,
    close() {
      hasEnded = true
      http.close()
    },
    cut: http.close,
    pause: () => void stream?.pause(),
    resume: () => void stream?.resume(),
  }
}

function parseFrame(event: string, data: string): DownFrame {
  const content = JSON.parse(data)
  return event === 'message' ? { type: 'message', message: content } : { type: event, ...content }
}
