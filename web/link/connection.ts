// One opening of one transport, from its first frame to its one end, with a watch over its silence.

import type { DownFrame } from '../../server/wire/frames.ts'
import type { Mode } from '../../server/wire/modes.ts'
import type { Timers } from '../../server/wire/time.ts'
import type { Closing, Opening, OpenTransport, WebTransport } from '../transports/transport.ts'
import { createWatchdog } from './watchdog.ts'

export interface ConnectionParts {
  readonly transport: WebTransport
  readonly opening: Omit<Opening, 'onFrame' | 'onClose'>
  readonly timers: Timers
  /** Never before `openConnection` has returned, nor after the end. */
  readonly onFrame: Opening['onFrame']
  /** Once, unless it was left. */
  readonly onClose: (closing: Closing) => void
}

export interface Connection {
  readonly mode: Mode
  readonly send: OpenTransport['send']
  readonly askClock: OpenTransport['askClock']
  /** Nothing was heard for more than a heartbeat. A poll is not heard when its answer is empty: asking anew is cheap. */
  readonly isStale: () => boolean
  /** Ends a connection that has not ended by itself; `onClose` is told. */
  readonly abandon: (closing: Pick<Closing, 'code' | 'sentence'>) => void
  /** Ends it without a word. What was sent over it may still be answered. */
  readonly leave: () => void
}

/** Until the server has said how often it beats. */
const firstSilenceMs = 20_000
const firstHeartbeatMs = 15_000
/** Two beats may be late before a stream counts as dead. */
const beatsMissed = 2.5

export function openConnection(parts: ConnectionParts): Connection {
  const { timers, opening } = parts
  let isOver = false
  let heartbeatMs = firstHeartbeatMs
  let heardAt = timers.now()
  const watchdog = createWatchdog(timers, firstSilenceMs, () =>
    abandon({ code: 'silent', sentence: 'Nothing was heard from the server for too long.' }),
  )
  const transport = parts.transport.open({ ...opening, onFrame: take, onClose: closed })

  function take(frame: DownFrame, receivedAt: number): void {
    if (isOver) return
    // Where the time was asked for by a request, its answer says nothing of whether the stream lives.
    if (frame.type !== 'clock') {
      heardAt = timers.now()
      watchdog.feed()
    }
    if (frame.type === 'welcome') welcomed(frame.heartbeatMs)
    // Answered as it comes, not by a timer of its own: a window in the background has its timers held back
    // to one a minute, and the server would think it gone.
    if (frame.type === 'heartbeat') transport.beat()
    parts.onFrame(frame, receivedAt)
  }

  function welcomed(givenMs: number): void {
    heartbeatMs = givenMs
    // Each question of a poll has a time limit of its own, and an empty answer is not heard here.
    if (opening.mode.isPush) watchdog.allow(givenMs * beatsMissed)
    else watchdog.stop()
  }

  function closed(closing: Closing): void {
    if (isOver) return
    end()
    parts.onClose(closing)
  }

  function end(): void {
    isOver = true
    watchdog.stop()
  }

  function abandon({ code, sentence }: Pick<Closing, 'code' | 'sentence'>): void {
    if (isOver) return
    transport.close()
    closed({ code, sentence, retryAfterMs: null })
  }

  return {
    mode: opening.mode,
    send: transport.send,
    askClock: transport.askClock,
    isStale: () => timers.now() - heardAt > heartbeatMs,
    abandon,
    leave() {
      if (isOver) return
      end()
      transport.close()
    },
  }
}
