// The one real stream, under one name at the server: its connection, and the successor that takes over from it.

import type { DownFrame, Welcome } from '../../server/wire/frames.ts'
import type { Timers } from '../../server/wire/time.ts'
import { type Connection, openConnection } from '../link/connection.ts'
import type { Closing, Opening, OpenTransport, WebTransport } from '../transports/transport.ts'
import type { Windows } from './counts.ts'
import type { Send } from './drafts.ts'
import type { Asked } from './port.ts'

export interface StreamParts {
  readonly transport: WebTransport
  readonly timers: Timers
  /** Its name at the server: an opening takes the place of the one before. */
  readonly name: string
  /** A connection begins or takes over, or a poll had to begin anew; before the frames that follow. */
  readonly onWelcome: (welcome: Welcome, opened: Opened, send: Send) => void
  /** Of the connection in use; neither its welcome nor its farewell. */
  readonly onFrame: (frame: DownFrame) => void
  /** The connection ended while its successor is being opened: there is nothing to send over. */
  readonly onGap: () => void
  /** The successor did not open; the connection in use goes on. */
  readonly onNotOpened: (closing: Closing, opened: Opened) => void
  /** Nothing is left. */
  readonly onEnd: (closing: Closing) => void
  readonly withHeartbeat: () => Windows | undefined
}

export interface Opened {
  readonly channels: ReadonlySet<string>
  readonly cursor: string | null
}

export interface Stream {
  /** Opens a connection; the one in use goes on until this one is welcomed. Not while another is being opened. */
  readonly open: (asked: Asked, opened: Opened) => void
  readonly isOpening: () => boolean
  /** Number of the newest opening. */
  readonly opening: () => number
  /** What the connection in use carries, if it can be relied on: not after a silence that is longer than a heartbeat. */
  readonly carries: (channels: ReadonlySet<string>) => boolean
  readonly channels: () => ReadonlySet<string>
  readonly say: (windows: Windows) => void
  readonly close: () => void
}

interface Attempt extends Opened {
  readonly connection: Connection
  readonly say: OpenTransport['beat']
}

const nothing: ReadonlySet<string> = new Set()
const isWithin = (some: ReadonlySet<string>, all: ReadonlySet<string>) =>
  [...some].every((one) => all.has(one))

export function createStream(parts: StreamParts): Stream {
  let openings = 0
  let current: Attempt | null = null
  let next: Attempt | null = null

  function open(asked: Asked, opened: Opened): void {
    openings += 1
    const door = beatsThrough(parts.transport, parts.withHeartbeat)
    const connection = openConnection({
      transport: door.transport,
      timers: parts.timers,
      opening: openingOf(asked, opened),
      onFrame: (frame) => heard(attempt, frame),
      onClose: (closing) => ended(attempt, closing),
    })
    const attempt: Attempt = { ...opened, connection, say: (windows) => door.beat(windows) }
    next = attempt
  }

  function openingOf({ query, ...asked }: Asked, { channels, cursor }: Opened) {
    const own = new URLSearchParams(query)
    own.set('window', parts.name)
    own.set('opening', String(openings))
    own.set('channels', [...channels].join(','))
    if (cursor === null) own.delete('cursor')
    else own.set('cursor', cursor)
    return { ...asked, query: own }
  }

  function heard(attempt: Attempt, frame: DownFrame): void {
    if (attempt === next && frame.type === 'welcome') takeOver(attempt)
    if (attempt !== current) return
    if (frame.type === 'welcome') parts.onWelcome(frame, attempt, attempt.connection.send)
    else if (frame.type !== 'bye') parts.onFrame(frame)
  }

  function takeOver(attempt: Attempt): void {
    current?.connection.leave()
    current = attempt
    next = null
  }

  function ended(attempt: Attempt, closing: Closing): void {
    if (attempt === next) next = null
    else if (attempt === current) current = null
    else return
    if (next) parts.onGap()
    else if (current) parts.onNotOpened(closing, attempt)
    else parts.onEnd(closing)
  }

  const isFresh = ({ connection }: Attempt) => !connection.mode.isPush || !connection.isStale()

  return {
    open,
    isOpening: () => next !== null,
    opening: () => openings,
    carries: (channels) => current !== null && isFresh(current) && isWithin(channels, current.channels),
    channels: () => current?.channels ?? nothing,
    say: (windows) => current?.say(windows),
    close() {
      const open = [current, next]
      current = null
      next = null
      for (const attempt of open) attempt?.connection.leave()
    },
  }
}

/** The transport with its answers to heartbeats saying what is to be said with them, and a way to say it at any time. */
function beatsThrough(transport: WebTransport, withHeartbeat: StreamParts['withHeartbeat']) {
  let beat: OpenTransport['beat'] = () => undefined
  const through: WebTransport = {
    name: transport.name,
    open(opening: Opening) {
      const open = transport.open(opening)
      beat = open.beat
      return { ...open, beat: () => open.beat(withHeartbeat()) }
    },
  }
  return { transport: through, beat: (windows?: Windows) => beat(windows) }
}
