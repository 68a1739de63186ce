// Looks after every connection: ends those that are dead, stuck, or open for nothing.

import { constants } from 'node:http2'
import { beatsMissed } from '../hub/pulse.ts'
import type { Timers } from '../wire/time.ts'
import type { Connection } from './connections.ts'
import { createFlow, type Flow } from './flow.ts'
import { keepAliveMs } from './settings.ts'

export interface Watching {
  readonly connections: () => Iterable<Connection>
  readonly timers: Timers
  readonly heartbeatMs: number
  /** Time for a handshake and a first request. */
  readonly requestMs: number
  readonly streamsPerSession: number
}

export interface Watch {
  /** A frame came that asks for an answer and carries nothing: PING, SETTINGS. */
  readonly countControlFrame: (connection: Connection) => void
  /** A stream was taken back. What nghttp2 counts too, but it goes on to the end of what it has read: 64 KiB of them. */
  readonly countReset: (connection: Connection) => void
  readonly stop: () => void
}

/** A PING may be answered this late; the next one is sent a beat after the answer. */
const beatsForAnswer = 1.5
/** One stream among others that flow: nothing at all came through for this long. */
const beatsForStream = 10
/** Each look permits that many: a client sends a PING now and then, SETTINGS once. */
const controlFramesPerLook = 100

/** What is remembered of a connection from one look to the next. */
interface Seen {
  readonly flow: Flow
  askedAt: number
  /** What had come from it when it was asked; null when it has answered. */
  bytesWhenAsked: number | null
  controlFrames: number
  resets: number
  leavingSince: number | null
}

/** Starts looking, four times a beat; one timer for all. */
export function watchConnections(watching: Watching): Watch {
  const { connections, timers, heartbeatMs, requestMs, streamsPerSession } = watching
  const { now } = timers
  const seen = new WeakMap<Connection, Seen>()
  const lookMs = Math.min(heartbeatMs, requestMs) / 4
  let stopTimer = timers.later(lookAround, lookMs)

  function seenOf(connection: Connection): Seen {
    const known = seen.get(connection)
    if (known) return known
    const made: Seen = {
      flow: createFlow(connection, now()),
      askedAt: now(),
      bytesWhenAsked: null,
      controlFrames: 0,
      resets: 0,
      leavingSince: null,
    }
    seen.set(connection, made)
    return made
  }

  function lookAround(): void {
    for (const connection of [...connections()]) look(connection, seenOf(connection))
    stopTimer = timers.later(lookAround, lookMs)
  }

  function look(connection: Connection, known: Seen): void {
    known.controlFrames = 0
    known.resets = 0
    if (isOverdue(connection) || isStuck(known) || hasLeft(connection, known)) cut(connection)
    else if (connection.session) lookAtSession(connection, known)
  }

  /** Neither TLS nor a request within the time that a request may take. */
  function isOverdue({ secure, session, streams, idleSince, openedAt }: Connection): boolean {
    const hasBegun = secure && (!session || streams.size > 0 || idleSince !== null)
    return !hasBegun && now() - openedAt > requestMs
  }

  function isStuck({ flow }: Seen): boolean {
    flow.look(now())
    return now() - flow.movedAt() > heartbeatMs * beatsMissed
  }

  /** This side has said its last word; the other has a beat to hang up. */
  function hasLeft({ secure, session, streams }: Connection, known: Seen): boolean {
    const isLeaving = session
      ? session.destroyed || (session.closed && streams.size === 0)
      : secure?.writableEnded
    known.leavingSince = isLeaving ? (known.leavingSince ?? now()) : null
    return known.leavingSince !== null && now() - known.leavingSince > heartbeatMs
  }

  function lookAtSession(connection: Connection, known: Seen): void {
    const { session, streams, idleSince } = connection
    if (!session || session.closed || session.destroyed) return
    for (const stream of known.flow.stuckStreams(now() - heartbeatMs * beatsForStream)) {
      stream.close(constants.NGHTTP2_CANCEL)
    }
    if (streams.size === 0 && idleSince !== null && now() - idleSince > keepAliveMs) session.close()
    else if (hasAnswered(connection, known)) ask(connection, known)
    // A PING behind bytes that wait says nothing of the other side: then it counts that they move.
    else if (now() - known.askedAt > heartbeatMs * beatsForAnswer && !known.flow.waits()) cut(connection)
  }

  /** Whatever came since is an answer: what it said is not the question. */
  function hasAnswered({ socket }: Connection, known: Seen): boolean {
    if (known.bytesWhenAsked !== null && socket.bytesRead > known.bytesWhenAsked) known.bytesWhenAsked = null
    return known.bytesWhenAsked === null
  }

  function ask({ session, socket }: Connection, known: Seen): void {
    if (now() - known.askedAt < heartbeatMs) return
    known.askedAt = now()
    known.bytesWhenAsked = socket.bytesRead
    session?.ping(() => undefined)
  }

  return {
    countControlFrame(connection) {
      const known = seenOf(connection)
      known.controlFrames += 1
      if (known.controlFrames > controlFramesPerLook) calm(connection)
    },
    countReset(connection) {
      const known = seenOf(connection)
      known.resets += 1
      if (known.resets > streamsPerSession) calm(connection)
    },
    stop: () => stopTimer(),
  }
}

function calm({ session }: Connection): void {
  if (!session || session.destroyed) return
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  session.destroy()
}

/** The bare socket: what is above it would wait for the other side to take what was written. */
function cut({ socket }: Connection): void {
  socket.destroy()
}
