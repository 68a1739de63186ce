// EventSource down, one streaming `fetch` up with one JSON frame per line (Chromium, HTTP/2).

import type { UpFrame } from '../../protocol/messages.ts'
import { streamingModes } from '../../protocol/modes.ts'
import { pause } from '../browser-services.ts'
import { pick, postLeave } from './http.ts'
import { openStream } from './sse.ts'
import {
  browser,
  type ChosenTransport,
  type Closing,
  createAnswers,
  framesUp,
  lost,
  type Opening,
  type OpenTransport,
} from './transport.ts'

export const streaming: ChosenTransport = {
  name: 'streaming',
  modes: streamingModes,
  open: openStreaming,
  lacks: () => (canStream() ? null : unsupported.sentence),
}

const path = '/streaming'

/** A draining server also ends the uplink; wait this long for its `bye` on the stream. */
const byeWaitMs = 200

const unsupported: Closing = {
  code: 'unsupported',
  sentence: 'This browser cannot stream a request.',
  retryAfterMs: null,
}

function openStreaming(opening: Opening, platform = browser): OpenTransport {
  const answers = createAnswers()
  const body = new TextEncoderStream()
  const lines = body.writable.getWriter()
  const ending = new AbortController()

  const onFrame: Opening['onFrame'] = (frame, receivedAt) => {
    answers.handle(frame)
    // Acknowledgements arrive on the stream, so the uplink waits for the welcome.
    if (frame.type === 'welcome') upload().then(endSoon, endSoon)
    opening.onFrame(frame, receivedAt)
  }
  const closeStream = openStream(path, { ...opening, onFrame, onClose: end }, platform)
  if (!canStream()) queueMicrotask(() => end(unsupported))

  function upload(): Promise<unknown> {
    const { base, query } = opening
    const request: StreamedRequest = {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-ndjson' },
      duplex: 'half',
      body: body.readable,
      signal: ending.signal,
    }
    return platform.fetch(`${base}${path}?${pick(query, 'window')}`, request)
  }

  function end(closing: Closing): void {
    if (ending.signal.aborted) return
    close()
    opening.onClose(closing)
  }

  function endSoon(): void {
    pause(byeWaitMs, ending.signal).then(() => end(lost))
  }

  function close(): void {
    ending.abort()
    closeStream()
    answers.abandon()
  }

  function write(frame: UpFrame): number {
    const text = JSON.stringify(frame)
    lines.write(`${text}\n`).catch(() => undefined)
    return text.length
  }

  return {
    ...framesUp(answers, write),
    close(isForGood) {
      close()
      postLeave(opening, platform, isForGood)
    },
  }
}

/** Fetch, 5.4; missing in TypeScript's types. */
interface StreamedRequest extends RequestInit {
  readonly duplex: 'half'
}

/** The property came to browsers with request streams. */
const canStream = () => 'duplex' in Request.prototype
