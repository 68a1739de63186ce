// One connection over one transport, from its first frame to its end, with a silence watchdog.

import type { Beat, DownFrame } from '../server/wire/messages.ts'
import type { Timers } from '../server/wire/time.ts'
import type { Closing, Opening, WebTransport } from './transports/transport.ts'

/** Until the welcome. */
const firstSilenceMs = 20_000
const firstHeartbeatMs = 15_000
/** Allows two late heartbeats; a broken path can look open for minutes. */
const heartbeatsMissed = 2.5

export type Connection = ReturnType<typeof openConnection>

/** No `opening.onFrame` follows the end; one `opening.onClose` reports it, unless `leave` was called. */
export function openConnection(
  transport: WebTransport,
  opening: Opening,
  timers: Timers,
  windowsToReport: () => Beat['windows'] = () => undefined,
) {
  let isOver = false
  let heartbeatMs = firstHeartbeatMs
  let silenceMs = firstSilenceMs
  let heardAt = timers.now()
  let stopWatchdog = timers.later(checkSilence, silenceMs)
  const { send, beat, askClock, sendAwareness, close } = transport.open({
    ...opening,
    onFrame: take,
    onClose: closed,
  })

  /** Runs at the deadline only, so that frames set no timers. */
  function checkSilence(): void {
    const leftMs = heardAt + silenceMs - timers.now()
    if (leftMs > 0) stopWatchdog = timers.later(checkSilence, leftMs)
    else abandon('silent', 'Nothing was heard from the server for too long.')
  }

  function take(frame: DownFrame, receivedAt: number): void {
    if (isOver) return
    // A clock answer may arrive on a separate request, so it does not prove that the stream lives.
    if (frame.type !== 'clock') heardAt = timers.now()
    if (frame.type === 'welcome') watchAtPace(frame.heartbeatMs)
    // Answered on arrival: background windows get timers once a minute, and the server would time out.
    if (frame.type === 'heartbeat') beat(windowsToReport())
    opening.onFrame(frame, receivedAt)
  }

  function watchAtPace(givenMs: number): void {
    heartbeatMs = givenMs
    stopWatchdog()
    // Polls have request timeouts, and empty responses emit no frame.
    if (!opening.mode.isPush) return
    silenceMs = givenMs * heartbeatsMissed
    stopWatchdog = timers.later(checkSilence, silenceMs)
  }

  function end(): void {
    isOver = true
    stopWatchdog()
  }

  function closed(closing: Closing): void {
    if (isOver) return
    end()
    opening.onClose(closing)
  }

  function abandon(code: Closing['code'], sentence: string): void {
    if (isOver) return
    close()
    closed({ code, sentence, retryAfterMs: null })
  }

  return {
    mode: opening.mode,
    send,
    beat,
    askClock,
    sendAwareness,
    abandon,
    /** Silent for more than a heartbeat, as a live poll without messages is; reopening it is cheap. */
    isStale: () => timers.now() - heardAt > heartbeatMs,
    /** Pending sends may still be answered. */
    leave() {
      if (isOver) return
      end()
      close()
    },
  }
}
