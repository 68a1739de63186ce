// What goes down to a window besides and around messages. Over SSE `type` is the event's name; over
// WebSocket each frame is one JSON text.

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

/** The opposite, for good: sending it again will not help. */
export interface Refused {
  readonly type: 'refused'
  readonly id: string | null
  readonly code: string
  readonly message: string
}

/** Who else is here; sent when it changes. */
export interface Presence {
  readonly type: 'presence'
  /** Windows open on this channel. */
  readonly windows: number
  /** Of them, how many of this browser hold an HTTP/1.1 connection open. */
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
  overflow: 4001,
  failed: 1011,
} as const
export type ByeCode = keyof typeof byeCodes

export interface Heartbeat {
  readonly type: 'heartbeat'
}

export type DownFrame = Welcome | MessageFrame | Stored | Refused | Presence | Bye | Heartbeat

/** What a WebSocket window sends up; over XHR the draft alone is the body. */
export type UpFrame = { readonly type: 'publish'; readonly message: Draft } | Heartbeat
