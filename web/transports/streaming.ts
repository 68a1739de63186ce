// EventSource down, one `fetch` with a streamed body up: a JSON line a frame (Chromium, over HTTP/2).

import type { UpFrame } from '../../server/wire/frames.ts'
import { createAnswers } from './answers.ts'
import { openStream } from './stream.ts'
import { type Closing, lost, now, type Opening, type OpenTransport, type WebTransport } from './transport.ts'

export const streaming: WebTransport = { name: 'streaming', open: openStreaming }

const path = '/api/streaming'

/** A server that goes ends the way up too: its farewell, down the stream, is to be heard first. */
const farewellMs = 200

function openStreaming(opening: Opening): OpenTransport {
  const answers = createAnswers()
  const body = createBody()
  const ending = new AbortController()
  let hasClosed = false

  function close(): void {
    hasClosed = true
    ending.abort()
    closeStream()
    answers.abandon()
  }

  function closed(closing: Closing): void {
    if (hasClosed) return
    close()
    opening.onClose(closing)
  }

  function endSoon(): void {
    setTimeout(() => closed(lost), farewellMs)
  }

  function say(frame: UpFrame): number {
    const text = JSON.stringify(frame)
    body.write(`${text}\n`)
    return text.length
  }

  const closeStream = openStream(path, {
    ...opening,
    onFrame(frame, receivedAt) {
      answers.take(frame)
      // The acknowledgements come down the stream: before it there is no use in sending.
      if (frame.type === 'welcome') send(opening, body.stream, ending.signal).then(endSoon, endSoon)
      opening.onFrame(frame, receivedAt)
    },
    onClose: closed,
  })
  if (!canStream()) queueMicrotask(() => closed(unsupported))

  return {
    send: (draft) => answers.expect(draft, say({ type: 'publish', message: draft })),
    beat: (windows) => void say({ type: 'heartbeat', ...(windows && { windows }) }),
    askClock: () => void say({ type: 'clock', at: now() }),
    close,
  }
}

const unsupported: Closing = {
  code: 'unsupported',
  sentence: 'This browser cannot stream a request.',
  retryAfterMs: null,
}

/** `duplex` is in the standard (Fetch, 5.4) and not yet in TypeScript's list. */
interface StreamedRequest extends RequestInit {
  readonly duplex: 'half'
}

function send({ origin, query }: Opening, body: ReadableStream, signal: AbortSignal): Promise<Response> {
  const request: StreamedRequest = {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-ndjson' },
    credentials: 'include',
    duplex: 'half',
    body,
    signal,
  }
  return fetch(`${origin}${path}?window=${query.get('window')}`, request)
}

function createBody() {
  const utf8 = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null
  const stream = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given
    },
    cancel() {
      controller = null
    },
  })
  return { stream, write: (text: string) => controller?.enqueue(utf8.encode(text)) }
}

/** A browser that cannot takes the stream for a text, gives it a type, and never asks for `duplex`. */
function canStream(): boolean {
  let wasAsked = false
  const request: StreamedRequest = {
    method: 'POST',
    body: new ReadableStream(),
    get duplex(): 'half' {
      wasAsked = true
      return 'half'
    },
  }
  const hasType = new Request(location.origin, request).headers.has('Content-Type')
  return wasAsked && !hasType
}
