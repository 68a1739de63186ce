// One WebSocket, both ways.

import type { DownFrame, UpFrame } from '../../server/wire/messages.ts'
import { websocketModes } from '../../server/wire/modes.ts'
import { now } from '../browser-services.ts'
import { pick, postLeave } from './http.ts'
import {
  browser,
  type ChosenTransport,
  type Closing,
  closingFrom,
  createAnswers,
  lost,
  type Opening,
  type OpenTransport,
  type Platform,
} from './transport.ts'

export const websocket: ChosenTransport = { name: 'websocket', modes: websocketModes, open: openWebSocket }

function openWebSocket(opening: Opening, platform = browser): OpenTransport {
  const { base, mode, query, onFrame, onClose } = opening
  const answers = createAnswers()
  const ending = new AbortController()
  let socket: ReturnType<Platform['openSocket']> | null = null
  let closing: Closing = lost

  function connect(): void {
    if (ending.signal.aborted) return
    socket = platform.openSocket(`${base.replace(/^http/, 'ws')}/socket?${query}`)
    socket.addEventListener('message', (event: MessageEvent<string>) => {
      const receivedAt = now()
      const frame: DownFrame = JSON.parse(event.data)
      closing = closingFrom(frame, answers.size()) ?? lost
      answers.take(frame)
      onFrame(frame, receivedAt)
    })
    socket.addEventListener('close', onEnd)
  }

  function onEnd({ code }: Pick<CloseEvent, 'code'>): void {
    // 1009: a frame exceeded the server's size limit; all but the largest are resent.
    if (code === 1009) answers.refuseLargest()
    answers.abandon()
    onClose(closing)
  }

  async function connectIfReachable(): Promise<void> {
    const isReachable = await touch(`${base}/clock?${pick(query, 'key')}`, ending.signal, platform)
    if (isReachable || ending.signal.aborted) connect()
    else onClose(lost)
  }

  function write(frame: UpFrame): number {
    const text = JSON.stringify(frame)
    socket?.send(text)
    return text.length
  }

  const isOpen = () => socket?.readyState === WebSocket.OPEN

  // After failures Chromium and Firefox delay WebSockets to that origin by up to 5 s and 60 s. During an
  // outage none may fail, so every opening after the first probes with a request.
  const isReopening = Number(query.get('opening')) > 1
  // A WebSocket joins an existing HTTP/2 connection but never opens one (RFC 8441).
  if (mode.joinsConnection || isReopening) void connectIfReachable()
  else connect()

  return {
    async send(draft) {
      if (!isOpen()) throw new Error('The WebSocket is not open.')
      return answers.expect(draft, write({ type: 'publish', message: draft }))
    },
    outlivesPage: true,
    beat(windows) {
      if (isOpen()) write({ type: 'heartbeat', ...(windows && { windows }) })
    },
    askClock() {
      if (isOpen()) write({ type: 'clock', at: now() })
    },
    sendAwareness(report) {
      if (isOpen()) write({ type: 'awareness', ...report })
    },
    close(isForGood = false) {
      ending.abort()
      socket?.removeEventListener('close', onEnd)
      answers.abandon()
      socket?.close()
      if (isForGood) postLeave(opening, platform, isForGood)
    },
  }
}

/**
 * A request may queue for a connection when a WebSocket would not; then the WebSocket is tried
 * anyway.
 */
const touchWithinMs = 1000

/** Makes the browser connect. */
async function touch(address: string, signal: AbortSignal, platform: Platform): Promise<boolean> {
  const deadline = AbortSignal.timeout(touchWithinMs)
  try {
    await platform.fetch(address, {
      cache: 'no-store',
      signal: AbortSignal.any([signal, deadline]),
    })
    return true
  } catch {
    return deadline.aborted
  }
}
