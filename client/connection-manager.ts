// Keeps a link connected: opens, resumes, retries, renews the session, falls back and returns.

import type { DownFrame, Welcome } from '../server/wire/messages.ts'
import type { HttpVersion, Mode } from '../server/wire/modes.ts'
import { type Clock, nothingPlanned, type Random, retryPauseMs, type Timers } from '../server/wire/time.ts'
import type { Connection } from './connection.ts'
import { createFallback, type Fall } from './fallback.ts'
import type { Closing, Opening } from './transports/transport.ts'

export interface ConnectionState {
  readonly state: 'opening' | 'open' | 'waiting'
  /** Such as `sse/2`. */
  readonly mode: string
  readonly wished: string
  /** Why `mode` differs from `wished`; null if equal or not open. */
  readonly fall: Fall | null
  /** HTTP version seen by the server; null until open. */
  readonly spokenHttp: HttpVersion | null
  /** Null when open. */
  readonly reason: string | null
  /** Ms since the epoch; null when none is planned. */
  readonly retryAt: number | null
  readonly repairs: number
}

export interface ConnectionManagerParts {
  readonly mode: Mode
  readonly timers: Timers
  readonly random: Random
  readonly connect: (mode: Mode, on: Pick<Opening, 'onFrame' | 'onClose'>) => Connection
  /** False when this browser is no longer invited; rejects when the server is unreachable. */
  readonly renewSession: () => Promise<boolean>
  readonly onState: (state: ConnectionState) => void
  readonly onOpen: (connection: Connection, welcome: Welcome) => void
  readonly onLost: () => void
  /** Frames of the connection in use only. */
  readonly onFrame: (frame: DownFrame, receivedAt: number) => void
}

/** After `restored` (from the back-forward cache) no connection is alive. */
export type WakeUp = 'online' | 'visible' | 'resumed' | 'restored'

const uninvited: Closing = {
  code: 'uninvited',
  sentence: 'This browser is not invited any more; open your link once more, or ask for a new one.',
  retryAfterMs: null,
}

const offlineSentence = 'This browser is offline.'

/** EventSource and WebSocket report refusals as losses: then the session is checked. */
const lossesBeforeSessionCheck = 2

export function createConnectionManager(parts: ConnectionManagerParts) {
  const { timers, random } = parts
  const fallback = createFallback(parts.mode, timers.now, random)
  const retry = createRetry(timers.now, random)
  let current: Connection | null = null
  /** A better mode, promoted on its welcome. */
  let probe: Connection | null = null
  let stopRetry = nothingPlanned
  let stopProbe = nothingPlanned
  let isOffline = false
  let isClosed = false
  let losses = 0
  let repairs = 0
  let lastState: ConnectionState | null = null

  function connect(mode: Mode): Connection {
    const connection: Connection = parts.connect(mode, {
      onFrame: (frame, receivedAt) => take(connection, frame, receivedAt),
      onClose: (closing) => (connection === probe ? probeFailed() : ended(closing)),
    })
    return connection
  }

  function open(): void {
    stopRetry()
    current = connect(fallback.mode())
    report('opening')
  }

  function take(connection: Connection, frame: DownFrame, receivedAt: number): void {
    // The probe resumes from the cursor, so no message is lost or repeated.
    if (frame.type === 'welcome' && connection === probe) {
      current?.leave()
      current = takeProbe()
    }
    if (connection !== current) return
    isOffline = false
    if (frame.type === 'welcome') welcomed(connection, frame)
    parts.onFrame(frame, receivedAt)
  }

  function welcomed(connection: Connection, welcome: Welcome): void {
    losses = 0
    retry.opened()
    fallback.opened(connection.mode)
    parts.onOpen(connection, welcome)
    report('open', { spokenHttp: welcome.http })
    planProbe()
  }

  function ended(closing: Closing): void {
    current = null
    parts.onLost()
    current = takeProbe()
    // The server may have replaced this stream by the probe's.
    if (current) {
      fallback.adopt(current.mode)
      report('opening')
      return
    }
    stopProbing()
    if (closing.code === 'expired') renew(closing)
    else if (closing.code === 'refused' || closing.code === 'uninvited') waitLong(closing)
    else wait(closing)
  }

  function wait(closing: Closing): void {
    const { code, sentence } = closing
    const isAtOnce = fallback.closed(isOffline ? 'offline' : code)
    if (isOffline) {
      waitFor(retry.longPauseMs(), offlineSentence)
      return
    }
    losses += 1
    if (isAtOnce) retry.startOver()
    waitFor(retry.pauseMs(isAtOnce ? { code, retryAfterMs: 0 } : closing), sentence)
    if (losses !== lossesBeforeSessionCheck) return
    parts.renewSession().then(
      (isInvited) => !isInvited && isWaiting() && waitLong(uninvited),
      // Unreachable, which is already known.
      () => undefined,
    )
  }

  function waitLong({ code, sentence, retryAfterMs }: Closing): void {
    fallback.closed(code)
    waitFor(Math.max(retry.longPauseMs(), retryAfterMs ?? 0), sentence)
  }

  function waitFor(delayMs: number, reason: string): void {
    stopRetry()
    stopRetry = timers.later(open, delayMs)
    report('waiting', { reason, retryAt: timers.now() + delayMs })
  }

  function renew(closing: Closing): void {
    fallback.closed(closing.code)
    report('waiting', { reason: closing.sentence })
    parts.renewSession().then(
      (isInvited) => {
        if (!isWaiting()) return
        // The pause grows from the second time on, to prevent a loop.
        if (isInvited) waitFor(retry.pauseMs({ ...closing, retryAfterMs: 0 }), closing.sentence)
        else waitLong(uninvited)
      },
      () => isWaiting() && wait({ ...closing, code: 'lost' }),
    )
  }

  const isWaiting = () => current === null && !isClosed

  function planProbe(): void {
    stopProbing()
    const pauseMs = fallback.probePauseMs()
    if (pauseMs !== null) stopProbe = timers.later(() => tryMode(fallback.wished()), pauseMs)
  }

  function tryMode(better: Mode | null): void {
    if (better) {
      probe = connect(better)
      return
    }
    fallback.probeFailed()
    planProbe()
  }

  function probeFailed(): void {
    tryMode(fallback.betterAfter(takeProbe()?.mode ?? fallback.mode()))
    if (lastState?.state === 'open' && lastState.fall !== fallback.fall())
      report('open', { spokenHttp: lastState.spokenHttp })
  }

  function takeProbe(): Connection | null {
    const taken = probe
    probe = null
    return taken
  }

  function stopProbing(): void {
    stopProbe()
    takeProbe()?.leave()
  }

  function reopen(): void {
    leave()
    open()
  }

  function leave(): void {
    stopProbing()
    fallback.left()
    current?.leave()
    current = null
    parts.onLost()
  }

  function report(state: ConnectionState['state'], change: Partial<ConnectionState> = {}): void {
    lastState = {
      state,
      mode: (current?.mode ?? fallback.mode()).name,
      wished: fallback.wished().name,
      fall: state === 'open' ? fallback.fall() : null,
      spokenHttp: null,
      reason: null,
      retryAt: null,
      repairs,
      ...change,
    }
    parts.onState(lastState)
  }

  open()
  return {
    switchMode(next: Mode): void {
      if (isClosed) return
      leave()
      fallback.choose(next)
      retry.startOver()
      open()
    },
    retryNow(): void {
      if (isWaiting()) open()
    },
    /** The query changed: reopens from the cursor. */
    resubscribe(): void {
      if (current !== null) reopen()
    },
    /** The stream lost a message: reopens from the cursor. */
    repair(): void {
      repairs += 1
      reopen()
    },
    wake(by: WakeUp): void {
      if (isClosed) return
      if (by === 'online') isOffline = false
      if (current === null) open()
      else if (by === 'restored' || current.isStale()) reopen()
    },
    offline(): void {
      isOffline = true
      if (isWaiting()) waitFor(retry.longPauseMs(), offlineSentence)
    },
    /**
     * Closing, or entering the back-forward cache: a cached page may keep its stream open but frozen, and
     * the server would count the window as present until the silence limit.
     */
    hide: leave,
    close(): void {
      isClosed = true
      stopRetry()
      leave()
    },
  }
}

/** Server unreachable: in the end one request per client in 2.25 s on average, the next within `longestMs`. */
const away = { firstMs: 250, longestMs: 3000 }

const busy = { firstMs: 250, longestMs: 15_000 }

/** A connection that ends sooner counts as never opened, to prevent flapping. */
const steadyMs = 5000

/** For refused, uninvited or offline clients: an early retry is useless. */
const longMs = 60_000

function createRetry(now: Clock, random: Random) {
  /** Consecutive failures of each kind: an outage after a busy spell is retried soon. */
  let failures = { away: 0, busy: 0 }
  let openedAt: number | null = null

  function startOver(): void {
    failures = { away: 0, busy: 0 }
    openedAt = null
  }

  return {
    startOver,
    opened() {
      openedAt = now()
    },
    /** Ms. The first failure's `retryAfterMs` is used as is; later ones can only lengthen the pause. */
    pauseMs({ code, retryAfterMs }: Pick<Closing, 'code' | 'retryAfterMs'>): number {
      const livedMs = openedAt === null ? null : now() - openedAt
      openedAt = null
      // The server ended an open stream and named the pause: not a failure.
      if (retryAfterMs !== null && livedMs !== null) return retryAfterMs
      if (livedMs !== null && livedMs >= steadyMs) startOver()
      const isBusy = retryAfterMs !== null && code !== 'draining'
      const before = isBusy ? failures.busy : failures.away
      const ownMs = retryPauseMs(before, isBusy ? busy : away, random)
      failures = isBusy ? { ...failures, busy: before + 1 } : { away: before + 1, busy: 0 }
      if (retryAfterMs === null) return ownMs
      return before === 0 ? retryAfterMs : Math.max(retryAfterMs, ownMs)
    },
    /** 30 to 60 s. */
    longPauseMs: () => longMs * (0.5 + random() / 2),
  }
}
