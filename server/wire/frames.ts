// What goes down to a window besides and around messages. Over SSE `type` is the event's name; over
// WebSocket each frame is one JSON text; a poll's answer is a list of them.

import type { Draft, Message } from './envelope.ts'
import type { HttpVersion } from './modes.ts'

/** First frame of every stream. */
export interface Welcome {
  readonly type: 'welcome'
  readonly window: string
  /** Where the window stands once it has what follows; formatted, `epoch:seq`. */
  readonly cursor: string
  /** True: everything missed follows. False: a snapshot follows (the newest of each kind). */
  readonly recovered: boolean
  /** The HTTP version that the server saw, so that a window can show what is truly spoken. */
  readonly http: HttpVersion
  /** A heartbeat comes at least this often. */
  readonly heartbeatMs: number
}

export interface MessageFrame {
  readonly type: 'message'
  readonly message: Message
}

/** The acknowledgement: the log has it, under this number. Also the body of a POST's 200. */
export interface Stored {
  readonly type: 'stored'
  readonly id: string
  readonly seq: number
}

/** The opposite. With `retryAfterMs` it is worth another try; without, the code says (PROTOCOL.md). */
export interface Refused {
  readonly type: 'refused'
  readonly id: string | null
  readonly code: string
  readonly message: string
  readonly retryAfterMs?: number
}

/** Who else is here; sent when it changes. */
export interface Presence {
  readonly type: 'presence'
  /** Windows open on this window's first channel. */
  readonly windows: number
  /** The same for each channel that the stream carries windows of; there where one stream carries several. */
  readonly channels?: Readonly<Record<string, number>>
  /** How many connections of this browser are held open over HTTP/1.1. */
  readonly browserHttp1Streams: number
}

/** The server ends the stream; the window is to come back after a pause. */
export interface Bye {
  readonly type: 'bye'
  readonly code: ByeCode
  readonly message: string
  readonly retryAfterMs: number
}

/** Why a stream ended, with the WebSocket close code that says the same (RFC 6455, 7.4). Listed in PROTOCOL.md. */
export const byeCodes = {
  draining: 1012,
  failed: 1011,
  overflow: 4001,
  silent: 4002,
  expired: 4003,
  replaced: 4004,
} as const
export type ByeCode = keyof typeof byeCodes

/** A sign of life, down the stream. */
export interface Heartbeat {
  readonly type: 'heartbeat'
  /** Number of the newest message on the window's channels: a window that stands before it has missed something. */
  readonly newest: number
}

/** The server's time, for who asked: one exchange of two clocks (`clock/exchange.ts`). All ms since the epoch. */
export interface ClockAnswer {
  readonly type: 'clock'
  /** When the question left, by the clock of who asked; given back as it came. */
  readonly sent: number
  /** When the server took it. */
  readonly received: number
  /** When the server answered. */
  readonly at: number
}

export type DownFrame = Welcome | MessageFrame | Stored | Refused | Presence | Bye | Heartbeat | ClockAnswer

/** A sign of life, up: the answer to the server's. */
export interface Beat {
  readonly type: 'heartbeat'
  /** For a stream that carries several windows: how many, by their first channel. */
  readonly windows?: Readonly<Record<string, number>>
}

/** Asks for the server's time. */
export interface ClockQuestion {
  readonly type: 'clock'
  /** The window's clock as the question leaves, ms since the epoch. */
  readonly at: number
}

/** What a window sends up, over WebSocket and in a streamed body; over XHR the draft alone is the body. */
export type UpFrame = { readonly type: 'publish'; readonly message: Draft } | Beat | ClockQuestion

/** A poll's answer. */
export interface PollAnswer {
  /** Where to poll from next. */
  readonly cursor: string
  /** In order; a welcome is first where one was asked for, and where the cursor could not be recovered. */
  readonly frames: readonly DownFrame[]
}
