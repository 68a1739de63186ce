// A window's link to the log: stores each draft once and delivers each message once, both in order.

import {
  type ClockReading,
  combine,
  createClockEstimate,
  exchangePauseMs,
} from '../server/wire/clock-estimate.ts'
import {
  type AwarenessFrame,
  type AwarenessState,
  type Bodies,
  type ClockAnswer,
  type DownFrame,
  formatCursor,
  type Kind,
  type Message,
  type Polling,
  type Presence,
  parseCursor,
  type Welcome,
} from '../server/wire/messages.ts'
import type { HttpVersion, Mode } from '../server/wire/modes.ts'
import { nothingPlanned, type Random, type Timers } from '../server/wire/time.ts'
import { openConnection } from './connection.ts'
import {
  type ConnectionManagerParts,
  type ConnectionState,
  createConnectionManager,
  type WakeUp,
} from './connection-manager.ts'
import { createOutbox, type OutboxParts } from './outbox.ts'
import type { Opening, OpenTransport, Transports } from './transports/transport.ts'

export interface LinkState extends ConnectionState {
  readonly clock: ClockReading | null
}

export interface LinkParts extends OutboxParts, Pick<ConnectionManagerParts, 'mode' | 'renewSession'> {
  readonly transports: Transports
  readonly originFor: (http: HttpVersion) => string
  readonly polling: Polling
  readonly key: string
  /** The page's own first. */
  readonly channels: readonly string[]
  /** Cursor of the embedded state; null for none. */
  readonly cursor: string | null
  readonly onState: (state: LinkState) => void
  /**
   * Delivers each message of the log once, in order. `dueAt` estimates its arrival without an interruption;
   * it differs from `receivedAt` only during catch-up. This window's clock, ms since the epoch.
   */
  readonly onMessage: (message: Message, receivedAt: number, dueAt: number) => void
  /** The log was replaced: sequence numbers restart. */
  readonly onNewLog: () => void
  readonly onPresence: (presence: Presence) => void
  /** Changes of the windows shown; an empty `whole` when the connection is lost. */
  readonly onAwareness: (frame: AwarenessFrame) => void
}

export type Link = ReturnType<typeof createLink>

export function createLink(parts: LinkParts) {
  const { timers, window, key } = parts
  const outbox = createOutbox(parts)
  let position = parseCursor(parts.cursor)
  /** Of the log when the stream opened: up to here, messages catch up. */
  let endSeq = 0
  let { channels } = parts
  let openings = 0
  let isClosed = false
  let state: ConnectionState | null = null
  let reading: ClockReading | null = null
  /** The last known one: a new stream has no clock reading yet. */
  let offsetMs = 0

  const clock = createLinkClock(timers, parts.random, (next) => {
    if (next === reading) return
    reading = next
    offsetMs = next?.offsetMs ?? offsetMs
    reportState()
  })

  const awareness = createAwarenessSender(timers)

  const { repair, resubscribe, ...manager } = createConnectionManager({
    ...parts,
    connect,
    onState(next) {
      state = next
      reportState()
    },
    onOpen({ mode, send, abandon, askClock, sendAwareness }, welcome) {
      enterLog(welcome)
      // All unacknowledged drafts must be resent in order.
      const onBroken = () => abandon('lost', 'A message could not be sent; connecting anew.')
      // XHR uplinks send one at a time anyway: what waits here can be merged.
      const isAlone = mode.uplink === 'xhr' && parts.mergesWaiting
      outbox.connected(send, onBroken, isAlone ? 1 : undefined)
      reading = null
      clock.askOver(askClock)
      awareness.sendOver((state) => sendAwareness({ state }))
    },
    onLost() {
      outbox.disconnected()
      awareness.sendOver(null)
      parts.onAwareness({ type: 'awareness', channel: channels[0] ?? '', windows: [], whole: true })
      // Reported with the next state.
      reading = null
      clock.askOver(undefined)
    },
    onFrame: take,
  })

  function connect(mode: Mode, on: Pick<Opening, 'onFrame' | 'onClose'>) {
    openings += 1
    const query = new URLSearchParams({ window, key, channels: channels.join(), opening: String(openings) })
    if (position) query.set('cursor', formatCursor(position))
    const opening = { origin: parts.originFor(mode.http), mode, query, polling: parts.polling, ...on }
    return openConnection(parts.transports[mode.transport], opening, timers)
  }

  function enterLog({ cursor, recovered }: Pick<Welcome, 'cursor' | 'recovered'>): void {
    const { epoch, seq } = parseCursor(cursor) ?? { epoch: '', seq: 0 }
    endSeq = seq
    if (epoch === position?.epoch) return
    if (recovered && position) {
      position = { ...position, epoch }
      return
    }
    const isReplaced = position !== null
    position = { epoch, seq: 0 }
    if (isReplaced) parts.onNewLog()
  }

  function take(frame: DownFrame, receivedAt: number): void {
    if (frame.type === 'presence') parts.onPresence(frame)
    else if (frame.type === 'awareness') parts.onAwareness(frame)
    else if (frame.type === 'clock') clock.take(frame, receivedAt)
    else if (frame.type === 'message') takeMessage(frame.message, receivedAt)
    // Streams keep order: a message missing before the heartbeat is lost.
    else if (frame.type === 'heartbeat' && frame.newest > (position?.seq ?? 0)) repair()
  }

  function takeMessage(message: Message, receivedAt: number): void {
    const { seq } = message
    if (!position || seq <= position.seq) return
    position = { ...position, seq }
    parts.onMessage(message, receivedAt, seq <= endSeq ? whenDue(message, receivedAt, offsetMs) : receivedAt)
  }

  function reportState(): void {
    if (state && !isClosed) parts.onState({ ...state, clock: reading })
  }

  return {
    ...manager,
    /** Sends a message, now or once connected. Null when the outbox is full: publish it again later. */
    publish: <K extends Kind>(channel: string, kind: K, body: Bodies[K]) =>
      outbox.publish(channel, kind, body, position && formatCursor(position)),
    /** Sends drafts of closed windows under their own ids. */
    adopt: outbox.adopt,
    /** Position in the log; null before the first connection. */
    cursor: () => position && formatCursor(position),
    /** Replaces the channels; a new one delivers messages from now on only. */
    read(next: readonly string[]): void {
      if (next.join() === channels.join()) return
      channels = next
      resubscribe()
    },
    save: outbox.save,
    /** What this window shows of itself: sent on change, at most ten times a second, and after each reconnect. */
    setAwareness: awareness.set,
    /** Stops clock comparison until `wake('visible')`. */
    rest: clock.rest,
    wake(by: WakeUp): void {
      manager.wake(by)
      clock.wake(by)
      // The server forgets polling windows that the browser slowed down.
      awareness.repeat()
    },
    close(): void {
      isClosed = true
      awareness.sendOver(null)
      outbox.close()
      manager.close()
    },
  }
}

/**
 * Estimates when a catch-up or embedded message would have arrived without the interruption: this window's
 * clock, ms since the epoch, at most `receivedAt`. `offsetMs` is server clock minus this window's.
 */
export function whenDue(
  { acceptedAt }: Pick<Message, 'acceptedAt'>,
  receivedAt: number,
  offsetMs = 0,
): number {
  return Math.min(receivedAt, acceptedAt - offsetMs)
}

const awarenessPauseMs = 100

function createAwarenessSender(timers: Timers) {
  let newest: AwarenessState | null = null
  let sent: AwarenessState | null = null
  let send: ((state: AwarenessState | null) => void) | null = null
  let freeAt = 0
  let stopTimer = nothingPlanned

  function sendSoon(): void {
    stopTimer()
    if (!send || newest === sent) return
    const waitMs = freeAt - timers.now()
    if (waitMs > 0) {
      stopTimer = timers.later(sendSoon, waitMs)
      return
    }
    freeAt = timers.now() + awarenessPauseMs
    sent = newest
    send(newest)
  }

  function repeat(): void {
    sent = null
    sendSoon()
  }

  return {
    repeat,
    /** Null while there is no connection. */
    sendOver(next: typeof send): void {
      send = next
      repeat()
    },
    /** `isKnown`: the others have derived it, so that only a new connection sends it. */
    set(state: AwarenessState | null, isKnown = false): void {
      if (isKnown && sent === newest) sent = state
      newest = state
      sendSoon()
    },
  }
}

/** Timeout of a clock request. Only one is pending at a time, so that none pile up in a slow browser. */
const clockTimeoutMs = 20_000

/**
 * Compares this window's clock with the server's over the connection in use, while the window is visible.
 * `onReading`: each reading holds until the next; null when the clock is unknown.
 */
function createLinkClock(timers: Timers, random: Random, onReading: (reading: ClockReading | null) => void) {
  const estimate = createClockEstimate()
  let ask: OpenTransport['askClock']
  let isResting = false
  let begunAt = 0
  let pauseMs = 0
  let askedAt: number | null = null
  let stopTimer = nothingPlanned

  function restart(): void {
    stopTimer()
    estimate.forget()
    askedAt = null
    if (!ask || isResting) return
    begunAt = timers.now()
    plan()
  }

  function plan(): void {
    pauseMs = exchangePauseMs(timers.now() - begunAt, random)
    stopTimer = timers.later(askNext, pauseMs)
  }

  function askNext(): void {
    const now = timers.now()
    const isAwaiting = askedAt !== null && now - askedAt < clockTimeoutMs
    plan()
    // Extends the last reading, since this request may get no answer.
    report()
    if (isAwaiting) return
    askedAt = now
    ask?.()
  }

  function report(): void {
    const now = timers.now()
    const [current, atNext] = [estimate.at(now), estimate.at(now + pauseMs)]
    if (current && atNext) onReading(combine(current, atNext))
  }

  return {
    /** Begins after a pause, so that queued messages go first; undefined ends. Does not call `onReading`. */
    askOver(next: OpenTransport['askClock']): void {
      ask = next
      restart()
    },
    rest(): void {
      isResting = true
      restart()
      onReading(null)
    },
    /** The device may have slept. */
    wake(by: WakeUp): void {
      if (by === 'visible') isResting = false
      restart()
      onReading(null)
    },
    take({ sent, received, at }: ClockAnswer, returnedAt: number): void {
      if (!ask || isResting || ![sent, received, at].every(Number.isFinite)) return
      // Ignores requests from before the restart: the clock may have jumped since.
      if (sent < begunAt) return
      askedAt = null
      estimate.take({ sentAt: sent, receivedAt: received, answeredAt: at, returnedAt })
      report()
    },
  }
}
