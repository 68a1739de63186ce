// The connection's life: opens, resumes, waits, renews the session, falls to another mode and climbs back.

import type { DownFrame, Welcome } from '../../server/wire/frames.ts'
import type { Mode } from '../../server/wire/modes.ts'
import type { Random } from '../../server/wire/random.ts'
import { nothingPlanned, type Timers } from '../../server/wire/time.ts'
import type { Closing } from '../transports/transport.ts'
import { createClimb } from './climb.ts'
import type { Connection } from './connection.ts'
import { createLadder } from './ladder.ts'
import type { LinkState, WakeUp } from './link-state.ts'
import { createRetry } from './retry.ts'

/** What a connection's life knows of the link. */
export type LifeState = Omit<LinkState, 'clock'>

export interface LifeParts {
  readonly mode: Mode
  readonly timers: Timers
  readonly random: Random
  readonly connect: (
    mode: Mode,
    on: {
      readonly onFrame: (frame: DownFrame, receivedAt: number) => void
      readonly onClose: (closing: Closing) => void
    },
  ) => Connection
  readonly onState: (state: LifeState) => void
  /** A stream has begun: there is something to send over. */
  readonly onOpen: (connection: Connection, welcome: Welcome) => void
  readonly onLost: () => void
  /** Of the connection in use alone. */
  readonly onFrame: (frame: DownFrame, receivedAt: number) => void
  /** False when this browser is not invited any more; rejects when the server could not be asked. */
  readonly renewSession: () => Promise<boolean>
}

export interface Life {
  readonly switchMode: (mode: Mode) => void
  readonly retryNow: () => void
  /** What is asked of the server has changed: opens anew from the cursor, if there is something open. */
  readonly askAnew: () => void
  /** Something is missing of what the stream should have brought: opens anew from the cursor. */
  readonly repair: () => void
  readonly wake: (by: WakeUp) => void
  readonly offline: () => void
  /** The page goes, perhaps to come back. */
  readonly hide: () => void
  readonly close: () => void
}

const uninvited: Closing = {
  code: 'uninvited',
  sentence: 'This browser is not invited any more; open your link once more, or ask for a new one.',
  retryAfterMs: null,
}

const offlineSentence = 'This browser is offline.'

/** A stream that is refused looks lost to EventSource and WebSocket: after so many the session is asked for. */
const lossesBeforeAsking = 2

export function createLife(parts: LifeParts): Life {
  const { timers } = parts
  const ladder = createLadder(parts.mode, timers.now, parts.random)
  const retry = createRetry(timers.now, parts.random)
  const climb = createClimb({ ladder, timers, connect })
  let main: Connection | null = null
  let stopRetry = nothingPlanned
  let isOffline = false
  let isEnded = false
  let losses = 0
  let repairs = 0

  function connect(mode: Mode): Connection {
    const connection: Connection = parts.connect(mode, {
      onFrame: (frame, receivedAt) => heard(connection, frame, receivedAt),
      onClose: (closing) => (climb.isProbe(connection) ? climb.failed() : ended(closing)),
    })
    return connection
  }

  function open(): void {
    stopRetry()
    main = connect(ladder.mode())
    tell('opening')
  }

  function heard(connection: Connection, frame: DownFrame, receivedAt: number): void {
    if (frame.type === 'welcome' && climb.isProbe(connection)) changeOver()
    if (connection !== main) return
    isOffline = false
    if (frame.type === 'welcome') welcomed(connection, frame)
    parts.onFrame(frame, receivedAt)
  }

  /** The better mode has opened: it takes over, from the cursor, so that nothing is lost and nothing comes twice. */
  function changeOver(): void {
    main?.leave()
    main = climb.take()
  }

  function welcomed(connection: Connection, welcome: Welcome): void {
    losses = 0
    retry.opened()
    ladder.opened(connection.mode)
    parts.onOpen(connection, welcome)
    tell('open', { spokenHttp: welcome.http })
    climb.plan()
  }

  function ended(closing: Closing): void {
    lose()
    main = climb.take()
    // The server let the newer stream take this one's place, or it was about to be left anyway.
    if (main) {
      ladder.adopt(main.mode)
      tell('opening')
      return
    }
    climb.stop()
    if (closing.code === 'expired') renew(closing)
    else if (closing.code === 'refused' || closing.code === 'uninvited') waitLong(closing)
    else wait(closing)
  }

  function lose(): void {
    main = null
    parts.onLost()
  }

  function wait({ code, sentence, retryAfterMs }: Closing): void {
    const isFree = ladder.closed(isOffline ? 'offline' : code)
    if (isOffline) {
      waitFor(retry.longPauseMs(), offlineSentence)
      return
    }
    losses += 1
    if (isFree) retry.startOver()
    waitFor(retry.pauseMs(isFree ? 0 : retryAfterMs), sentence)
    if (losses === lossesBeforeAsking) askForSession()
  }

  function waitLong({ code, sentence, retryAfterMs }: Closing): void {
    ladder.closed(code)
    waitFor(Math.max(retry.longPauseMs(), retryAfterMs ?? 0), sentence)
  }

  function waitFor(delayMs: number, reason: string): void {
    stopRetry()
    stopRetry = timers.later(open, delayMs)
    tell('waiting', { reason, retryAt: timers.now() + delayMs })
  }

  function renew(closing: Closing): void {
    ladder.closed(closing.code)
    tell('waiting', { reason: closing.sentence })
    parts.renewSession().then(
      (isInvited) => {
        if (!isWaiting()) return
        // One that is renewed and has ended all the same does not turn in circles: the pause grows from the second on.
        if (isInvited) waitFor(retry.pauseMs(0), closing.sentence)
        else waitLong(uninvited)
      },
      () => isWaiting() && wait({ ...closing, code: 'lost' }),
    )
  }

  function askForSession(): void {
    parts.renewSession().then(
      (isInvited) => !isInvited && isWaiting() && waitLong(uninvited),
      // No answer: the server is down, which is known already.
      () => undefined,
    )
  }

  const isWaiting = () => main === null && !isEnded

  /** Not a failure: opens anew from the cursor, in the same mode. */
  function reopen(): void {
    leave()
    open()
  }

  function leave(): void {
    climb.stop()
    ladder.left()
    main?.leave()
    lose()
  }

  function tell(state: LifeState['state'], change: Partial<LifeState> = {}): void {
    parts.onState({
      state,
      mode: (main?.mode ?? ladder.mode()).name,
      wished: ladder.wished().name,
      fall: ladder.fall(),
      spokenHttp: null,
      reason: null,
      retryAt: null,
      repairs,
      ...change,
    })
  }

  open()
  return {
    switchMode(next) {
      if (isEnded) return
      leave()
      ladder.choose(next)
      retry.startOver()
      open()
    },
    retryNow() {
      if (isWaiting()) open()
    },
    askAnew() {
      if (main !== null) reopen()
    },
    repair() {
      repairs += 1
      reopen()
    },
    wake(by) {
      if (isEnded) return
      if (by === 'online') isOffline = false
      if (main === null) open()
      else if (by === 'restored' || main.isStale()) reopen()
    },
    offline() {
      isOffline = true
      if (isWaiting()) waitFor(retry.longPauseMs(), offlineSentence)
    },
    hide() {
      // A browser may keep the page for coming back to, its stream open and frozen: the server would count it as here
      // until it was silent for too long.
      if (main) leave()
    },
    close() {
      isEnded = true
      stopRetry()
      leave()
    },
  }
}
