// One WebSocket, both ways.

import type { DownFrame } from '../../protocol/messages.ts'
import { websocketModes } from '../../protocol/modes.ts'
import { now } from '../browser-services.ts'
import { pick, postLeave } from './http.ts'
import {
  browser,
  type ChosenTransport,
  type Closing,
  closingFrom,
  createAnswers,
  framesUp,
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
      if (ending.signal.aborted) return
      const receivedAt = now()
      const frame: DownFrame = JSON.parse(event.data)
      closing = closingFrom(frame, answers.size()) ?? lost
      answers.handle(frame)
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
    const isReachable = await touch(`${base}/clock?${pick(query)}`, ending.signal, platform)
    if (isReachable || ending.signal.aborted) connect()
    else onClose(lost)
  }

  const frames = framesUp(answers, (frame) => {
    const text = JSON.stringify(frame)
    // Before it opens, `send` throws; afterwards it drops the frame.
    if (socket?.readyState !== WebSocket.CONNECTING) socket?.send(text)
    return text.length
  })

  // After failures Chromium and Firefox delay WebSockets to that origin by up to 5 s and 60 s. During an
  // outage none may fail, so every opening after the first probes with a request.
  const isReopening = Number(query.get('opening')) > 1
  // A WebSocket joins an existing HTTP/2 connection but never opens one (RFC 8441).
  if (mode.joinsConnection || isReopening) void connectIfReachable()
  else connect()

  return {
    ...frames,
    async send(draft) {
      if (socket?.readyState !== WebSocket.OPEN) throw new Error('The WebSocket is not open.')
      return frames.send(draft)
    },
    outlivesPage: true,
    close(isForGood) {
      ending.abort()
      socket?.removeEventListener('close', onEnd)
      answers.abandon()
      closeOnceOpen(socket)
      postLeave(opening, platform, isForGood)
    },
  }
}

/** A request, or a socket that is left, waits so long for a connection. */
const connectWithinMs = 1000

/** If a socket is closed while it connects, Chromium prints its address, which has the key. */
function closeOnceOpen(socket: ReturnType<Platform['openSocket']> | null): void {
  const close = () => socket?.close()
  if (socket?.readyState === WebSocket.CONNECTING) {
    socket.addEventListener('open', close)
    // One that never opens would hold back the next (RFC 6455, 4.1).
    setTimeout(close, connectWithinMs)
  } else close()
}

/**
 * Makes the browser connect. True if no answer comes in time: the request may queue for a connection when a
 * WebSocket would not.
 */
async function touch(address: string, signal: AbortSignal, platform: Platform): Promise<boolean> {
  const deadline = AbortSignal.timeout(connectWithinMs)
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
