// Wire types: messages, channels, senders, cursors, frames (PROTOCOL.md).

import type { Bodies, Draft, Kind, Message } from './bodies.ts'
import type { WindowHttp } from './modes.ts'

export type * from './bodies.ts'

// Messages

export function isKind<K extends Kind>(message: Message, kind: K): message is Message<K> {
  return message.kind === kind
}

/** Estimates a body's size in characters of JSON. */
export function estimateLength(body: Bodies[Kind]): number {
  // A body that is kept as bytes knows its size.
  if ('data' in body && 'size' in body) return Number(body.size)
  let length = 0
  for (const value of Object.values(body)) length += lengthOf(value)
  return length
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null ? JSON.stringify(value).length : maxNumberCharacters
}

const maxNumberCharacters = 24

/** A message of kind `json` as an application gets it. */
export interface JsonMessage<Data> {
  readonly id: string
  readonly channel: string
  readonly seq: number
  /** When it was published, by the sender's clock: ms since the epoch, with fractions. */
  readonly at: number
  /** When the server accepted it, by the server's clock. */
  readonly acceptedAt: number
  /** Keep it to continue after this message, also over another connection (`from`). */
  readonly cursor: string
  /** The sender's name. */
  readonly from: string
  /** The sender's user, as the application's `authorize` names it. */
  readonly user: string | undefined
  /**
   * Undefined if the message was erased: only on a channel that declares `changes`, whose type says so. A type given
   * by hand must say so itself.
   */
  readonly data: Data
  /** When its data was changed or erased, by the server's clock; absent if it never was. */
  readonly changedAt?: number
}

/** A change of an application's message. */
export interface DataChange<Data> extends JsonMessage<Data | undefined> {
  /** The number of the message that has this data from now on. Undefined `data`: it was erased. */
  readonly changes: number
}

/** A message that is not stored, as an application gets it; it cannot be erased. */
export type VolatileMessage<Data> = Omit<
  JsonMessage<Exclude<Data, undefined>>,
  'seq' | 'acceptedAt' | 'cursor' | 'changedAt'
>

// Channels

/** Largest channel name, in bytes of UTF-8. */
export const maxChannelBytes = 64

/** Requires NFC (UAX #15), so that names that look alike are equal. */
export function isChannelName(text: string): boolean {
  if (plainChannelName.test(text)) return true
  return channelLetters.test(text) && text === text.normalize('NFC') && fitsChannel(text)
}

/** Matches most names at a tenth of the cost. */
const plainChannelName = /* @__PURE__ */ new RegExp(`^[A-Za-z0-9_.-]{1,${maxChannelBytes}}$`)

const channelLetters = /^[\p{L}\p{M}\p{N}_.-]+$/u

function fitsChannel(name: string): boolean {
  // A UTF-16 unit has at most three bytes in UTF-8.
  if (name.length * 3 <= maxChannelBytes) return true
  return new TextEncoder().encode(name).length <= maxChannelBytes
}

// Senders: a proven name begins with the fingerprint of a secret key; a free name is only a label.

/** Random keys of at least 128 bits. */
export const keyPattern = /^[A-Za-z0-9_-]{22,64}$/

/** A fingerprint is the first 132 bits of a key's SHA-256 in base64url (RFC 4648, 5). */
export const fingerprintLength = 22

const provenPattern = /* @__PURE__ */ new RegExp(`^([A-Za-z0-9_-]{${fingerprintLength}})(?:\\.|$)`)

/** The fingerprint in a proven name; null for a free name. */
export function fingerprintIn(name: string): string | null {
  return provenPattern.exec(name)?.[1] ?? null
}

export function nameUnder(fingerprint: string, suffix: string): string {
  return `${fingerprint}.${suffix}`
}

/** A name with the same key as `name`; the free name `suffix` if `name` is free. */
export function nameBeside(name: string, suffix: string): string {
  const fingerprint = fingerprintIn(name)
  return fingerprint === null ? suffix : nameUnder(fingerprint, suffix)
}

/** Writes erasures; reserved, so that no client can use it. */
export const logName = 'log'

/**
 * The counter has no hyphen, so that no sender can create an id of another whose name begins with
 * its own.
 */
export function isIdOf(sender: string, id: string): boolean {
  return id.startsWith(`${sender}-`) && /^[A-Za-z0-9_.]+$/.test(id.slice(sender.length + 1))
}

// Cursors

/** Position in the log, `epoch:seq`, the same for every transport. */
export interface Cursor {
  /**
   * An epoch of the log, which begins at its start, or with its stream on NATS. 1 to 32 letters and
   * digits.
   */
  readonly epoch: string
  /** Last message received; 0 for none. */
  readonly seq: number
}

export function formatCursor({ epoch, seq }: Cursor): string {
  return `${epoch}:${seq}`
}

/** Null for invalid text: the client starts from a snapshot. */
export function parseCursor(text: string | null | undefined): Cursor | null {
  const [, epoch, seq] = cursorPattern.exec(text ?? '') ?? []
  return epoch === undefined ? null : { epoch, seq: Number(seq) }
}

const cursorPattern = /^([A-Za-z0-9]{1,32}):(\d{1,15})$/

// Frames. SSE: `type` is the event name. WebSocket: one JSON text each. Polling: a list in the
// response.

export type DownFrame =
  | Welcome
  | { readonly type: 'message'; readonly message: Message }
  | { readonly type: 'volatile'; readonly message: Draft }
  | Stored
  | Refused
  | Presence
  | AwarenessFrame
  | Bye
  | { readonly type: 'omitted'; readonly count: number }
  | Heartbeat
  | ClockAnswer

export interface Welcome {
  readonly type: 'welcome'
  readonly window: string
  /** The client's user, as the application names it; absent if it names none. */
  readonly user?: string | undefined
  /** Those of the stream's channels to which the client may not write; absent if there are none. */
  readonly readOnly?: readonly string[] | undefined
  readonly cursor: string
  readonly recovered: boolean
  /** HTTP version of the window's requests: a proxy names it by `Via` (RFC 9110, 7.6.3). */
  readonly http: WindowHttp
  readonly heartbeatMs: number
  /** The server's clock, ms since the epoch. */
  readonly at: number
  /** Largest state that a window may show on an application's channel, bytes of JSON in UTF-8. */
  readonly stateBytes: number
}

/** Acknowledges a draft. `seq` is 0 for a volatile one, which was not stored. */
export interface Stored {
  readonly type: 'stored'
  readonly id: string
  readonly seq: number
}

export interface Refused {
  readonly type: 'refused'
  readonly id: string | null
  readonly code: string
  readonly message: string
  readonly retryAfterMs?: number
}

export interface Presence {
  readonly type: 'presence'
  readonly windows: number
  readonly channels?: Readonly<Record<string, number>>
  readonly browserHttp1Streams: number
}

/** Changes of the windows shown on a channel; never in the log. */
export interface AwarenessFrame<State = unknown> {
  readonly type: 'awareness'
  readonly channel: string
  /** A null state means that the window has gone. */
  readonly windows: readonly {
    readonly window: string
    /** The client's user, as the application names it. */
    readonly user?: string
    readonly state: State | null
  }[]
  /** The frame lists all windows of the channel: any other has gone. */
  readonly whole?: true
}

/** Maximum number of windows shown on a channel; the newest are shown. */
export const maxShownWindows = 200

/** A null state leaves. `window` and `channel` default to the stream's name and first channel. */
export interface AwarenessReport {
  readonly state: unknown
  readonly window?: string
  readonly channel?: string
}

export interface Bye {
  readonly type: 'bye'
  readonly code: ByeCode
  readonly message: string
  readonly retryAfterMs: number
}

/** With their WebSocket close codes (RFC 6455, 7.4). */
export const byeCodes = {
  draining: 1012,
  failed: 1011,
  overflow: 4001,
  silent: 4002,
  expired: 4003,
  replaced: 4004,
} as const
export type ByeCode = keyof typeof byeCodes

/** See `clock-estimate.ts`. */
export interface ClockAnswer {
  readonly type: 'clock'
  readonly sent: number
  readonly received: number
  readonly at: number
}

/** `newest`: the highest number on the client's channels. `at`: the server's clock, ms since the epoch. */
export interface Heartbeat {
  readonly type: 'heartbeat'
  readonly newest: number
  readonly at: number
}

/** Used over WebSocket and in a streamed body; over XHR the body is just the draft. */
export type UpFrame =
  | { readonly type: 'publish'; readonly message: Draft }
  | ({ readonly type: 'heartbeat' } & BeatReport)
  | { readonly type: 'clock'; readonly at: number }
  | ({ readonly type: 'awareness' } & AwarenessReport)

/** `at`: of the server's heartbeat that it answers. `windows`: see `Client#carries`. */
export interface BeatReport {
  readonly at?: number | undefined
  readonly windows?: Readonly<Record<string, number>> | undefined
}

export interface PollAnswer {
  readonly cursor: string
  readonly frames: readonly DownFrame[]
}

export interface Polling {
  /** Pause between a response and the next poll. */
  readonly intervalMs: number
  /** Longest hold of a long poll. */
  readonly holdMs: number
}
