// Wire types: messages, channels, senders, cursors, frames, page settings (PROTOCOL.md).

import { cutText } from './graphemes.ts'
import type { ByHttp, Share, TransportName, WindowHttp } from './modes.ts'
import type { WindUnit } from './wind-units.ts'

// Messages

/** A new kind needs one line here and one schema in `hub/admission.ts`. */
export interface Bodies {
  edit: EditBody
  update: UpdateBody
  title: TitleBody
  versions: VersionsBody
  deletion: DeletionBody
  erasure: ErasureBody
  reading: ReadingBody
  sensor: SensorBody
  overview: OverviewBody
  probe: ProbeBody
  json: JsonBody
  revocation: RevocationBody
}

export type Kind = keyof Bodies

/** A message without a number. */
export interface Draft<K extends Kind = Kind> {
  /** Sender, "-", counter: `w3f9c-12`. */
  readonly id: string
  readonly channel: string
  readonly kind: K
  readonly from: string
  /**
   * Sender's clock, ms since the epoch, with fractions; `acceptedAt` is the same by the server's.
   */
  readonly at: number
  readonly body: Bodies[K]
}

export interface Message<K extends Kind = Kind> extends Draft<K> {
  /** Consecutive integers, assigned only by the log. */
  readonly seq: number
  readonly acceptedAt: number
}

export function isKind<K extends Kind>(message: Message, kind: K): message is Message<K> {
  return message.kind === kind
}

/**
 * Estimates a body's size in characters of JSON: only edits, updates, probes and names of versions
 * are large.
 */
export function estimateLength(body: Bodies[Kind]): number {
  if ('html' in body) return body.html.length
  if ('text' in body) return body.text.length
  if ('versions' in body) return body.versions.length * (mostTitleLength + 30)
  // A body that is kept as bytes knows its size.
  if ('data' in body) return 'size' in body ? Number(body.size) : JSON.stringify(body.data).length
  return 'update' in body ? body.update.length : 300
}

/** The whole content, as in the 2021 paper ("mirroring"). */
interface EditBody extends Written {
  /** Untrusted: clients sanitize it. */
  readonly html: string
}

interface Written {
  /** Only in a message that the server created from a text: identifies a repeat. */
  readonly digest?: string
}

/** A change of the shared document. */
export interface UpdateBody extends Written {
  /**
   * A Yjs update (version 1) in base64 (RFC 4648, 4). In a snapshot one update may hold the whole
   * document.
   */
  readonly update: string
  /** Who the sender is, as the application says: only in messages. */
  readonly user?: string
  /** Only in a snapshot: the document's Yjs clients by owner; see PROTOCOL.md. */
  readonly owners?: Readonly<Record<string, readonly number[]>>
}

/** The newest one names the document; if that is empty, the channel is its name. */
interface TitleBody {
  /** See `isTitle`. */
  readonly title: string
}

/** In UTF-16 units. */
export const mostTitleLength = 80

/**
 * A title is one line without spaces at its ends, control characters, or marks that reverse its
 * direction.
 */
export function isTitle(text: string): boolean {
  return text.length <= mostTitleLength && text === text.trim() && !titleExcludes.test(text)
}

const titleExcludes = /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]/u

/** Turns any text into a title. */
export function titleFrom(text: string): string {
  const line = text.replaceAll(new RegExp(titleExcludes, 'gu'), ' ').trim()
  return cutText(line, mostTitleLength).trim()
}

/**
 * Names versions of the shared document; a snapshot may have one message that joins the older ones.
 */
interface VersionsBody {
  readonly versions: readonly NamedVersion[]
}

export interface NamedVersion {
  /** The `acceptedAt` of the version's last update. */
  readonly at: number
  /** See `isTitle`. If empty, the version no longer has a name. */
  readonly name: string
}

/** Limit per document; above it the names set first are forgotten. */
export const mostNamedVersions = 500

/** In the log's order. The newest name of a version counts; repeats change nothing. */
export function joinVersions(bodies: readonly VersionsBody[]): VersionsBody {
  const names = new Map<number, string>()
  for (const { at, name } of bodies.flatMap(({ versions }) => versions)) {
    names.delete(at)
    names.set(at, name)
  }
  return { versions: Array.from(names, ([at, name]) => ({ at, name })).slice(-mostNamedVersions) }
}

/** The newest one counts. */
interface DeletionBody {
  /** False restores the document. */
  readonly deleted: boolean
}

/** How long after the `acceptedAt` of its deletion a document can be restored, ms. */
export const deletedForMs = 86_400_000

/**
 * A document without content may be erased to make room for a new one after this time without
 * messages, ms.
 */
export const emptyForMs = 3_600_000

/** Whether the newest message of a kind means that its channel has content. */
export function hasContent(message: Message): boolean {
  if (isKind(message, 'edit')) return message.body.html !== ''
  return !isKind(message, 'title') && !isKind(message, 'deletion')
}

/**
 * Only the log writes it. If the channel's previous message is not newer than `head`, the log
 * erases the channel and its overview.
 */
interface ErasureBody {
  /** The newest number on the channel. */
  readonly head: number
}

export type SensorSource = 'simulated' | 'serial' | 'recorded'

/** WindSonic formats (commands M1 to M5 and M12 to M16, manual 1405-PS-0019). */
export type FrameFormat = 'polar' | 'uv' | 'nmea' | 'tunnel'

export interface Axes {
  readonly u: number
  readonly v: number | null
}

export interface ReadingBody {
  readonly source: SensorSource
  readonly format: FrameFormat
  /** The checksummed text: `Q,229,002.74,M,00,`, or `IIMWV,284,R,001.26,K,A`. */
  readonly raw: string
  readonly node: string | null
  readonly state: 'measured' | 'calm' | 'fault'
  /** An integer unless computed from axes. */
  readonly directionDegrees: number | null
  /** In `unit`, not negative. */
  readonly speed: number | null
  readonly unit: WindUnit
  readonly speedMetresPerSecond: number | null
  readonly axes: Axes | null
  readonly status: string
}

export interface SensorBody {
  readonly source: SensorSource
  readonly state: 'connected' | 'silent' | 'garbled' | 'unplugged'
  readonly sentence: string
  readonly note?: string
}

/** Statistics of a page's edits, and the wind. */
export interface OverviewBody {
  /** Null while the document takes the server too long to read. */
  readonly words: number | null
  readonly characters: number | null
  readonly editsLastMinute: number
  readonly editsEachSecond: readonly number[]
  readonly edits: number
  readonly countedSince: number
  /** Null before the sensor's first message. */
  readonly wind: WindOverview | null
}

export interface WindOverview {
  readonly source: SensorSource
  readonly state: ReadingBody['state'] | null
  readonly status: string | null
  readonly readingAt: number | null
  readonly trouble: string | null
  readonly meanMetresPerSecond: number | null
  readonly meanDirectionDegrees: number | null
  readonly meanCoversSeconds: number
  readonly gustMetresPerSecond: number | null
  readonly gustCoversSeconds: number
}

/** A measurement's own message. Belongs to no page. */
interface ProbeBody {
  readonly text: string
}

/** What an application sends, on the channels that it has declared for it. */
interface JsonBody {
  readonly data: unknown
  /** Who the sender is, as the application says: only in messages. */
  readonly user?: string | undefined
  /** Of what was sent, if the application has changed it: identifies a repeat. */
  readonly digest?: string | undefined
}

/** Only an application's servers write it, on a channel that no client can name. */
interface RevocationBody {
  readonly revoked: readonly Revoked[]
}

/** Permits of this user from before no longer count. */
export interface Revoked {
  readonly user: string
  /** Of the message, if several were joined: its number and its `acceptedAt`. */
  readonly seq?: number
  readonly at?: number
}

/** A message of kind `json` as an application gets it. */
export interface JsonMessage<Data> {
  readonly id: string
  readonly channel: string
  readonly seq: number
  /** Keep it to continue after this message, with another connection too (`from`). */
  readonly cursor: string
  /** The sender's name. */
  readonly from: string
  /** Who the sender is, as the application's `authorize` says. */
  readonly user: string | undefined
  readonly data: Data
}

/** Longest interval between overviews while a channel has readers, ms. */
export const longestPauseMs = 5000

// Channels

/** The page at `/`. */
export const mainChannel = 'main'

/** Written only by the sensor's source. */
export const windChannel = 'wind'

/**
 * Accepts only probes, from readers too. Has its own cursors, so a stream cannot combine it with
 * other channels.
 */
export const probesChannel = 'probes'

/** Senders of the wind and of overviews. */
export const sensorName = 'sensor'
export const overviewName = 'overview'

/** Largest channel name, in bytes of UTF-8. */
export const mostChannelBytes = 64

/** Requires NFC (UAX #15), so that names that look alike are equal. */
export function isChannelName(text: string): boolean {
  if (plainChannelName.test(text)) return true
  return channelLetters.test(text) && text === text.normalize('NFC') && fitsChannel(text)
}

/** Matches most names at a tenth of the cost. */
const plainChannelName = /* @__PURE__ */ new RegExp(`^[A-Za-z0-9_.-]{1,${mostChannelBytes}}$`)

const channelLetters = /^[\p{L}\p{M}\p{N}_.-]+$/u

function fitsChannel(name: string): boolean {
  // A UTF-16 unit has at most three bytes in UTF-8.
  if (name.length * 3 <= mostChannelBytes) return true
  return new TextEncoder().encode(name).length <= mostChannelBytes
}

const overviewPrefix = 'overview.'

/** Null if the page's name is too long. */
export function overviewChannel(page: string): string | null {
  const channel = overviewPrefix + page
  return fitsChannel(channel) ? channel : null
}

/** Null for any other channel. */
export function pageOfOverview(channel: string): string | null {
  return channel.startsWith(overviewPrefix) ? channel.slice(overviewPrefix.length) : null
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
  /** One life of the log; changes when contents are lost. 1 to 32 letters and digits. */
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
  | Stored
  | Refused
  | Presence
  | AwarenessFrame
  | Bye
  | { readonly type: 'omitted'; readonly count: number }
  | { readonly type: 'heartbeat'; readonly newest: number }
  | ClockAnswer

export interface Welcome {
  readonly type: 'welcome'
  readonly window: string
  readonly cursor: string
  readonly recovered: boolean
  /** Of the window's requests: a proxy names it by `Via` (RFC 9110, 7.6.3). */
  readonly http: WindowHttp
  readonly heartbeatMs: number
  /** Largest state that a window may show on an application's channel, bytes of JSON in UTF-8. */
  readonly stateBytes: number
}

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
    /** Who the client is, as the application says. */
    readonly user?: string
    readonly state: State | null
  }[]
  /** The frame lists all windows of the channel: any other has gone. */
  readonly whole?: true
}

/** What a window shows about itself on a page; on an application's channels it is any JSON. */
export interface AwarenessState {
  /** Yjs client id; 0 for none. */
  readonly client: number
  /** Chosen by the user, at most `mostNameCharacters`; may be empty. */
  readonly name: string
  /** Ends of the selection: encoded Yjs relative positions in base64; null for none. */
  readonly anchor: string | null
  readonly head: string | null
}

/** UTF-16 units. */
export const mostNameCharacters = 40

/** Maximum number of windows shown on a channel; the newest are shown. */
export const mostShownWindows = 200

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

/** Used over WebSocket and in a streamed body; over XHR the body is just the draft. */
export type UpFrame =
  | { readonly type: 'publish'; readonly message: Draft }
  | Beat
  | { readonly type: 'clock'; readonly at: number }
  | ({ readonly type: 'awareness' } & AwarenessReport)

export interface Beat {
  readonly type: 'heartbeat'
  readonly windows?: Readonly<Record<string, number>>
}

export interface PollAnswer {
  readonly cursor: string
  readonly frames: readonly DownFrame[]
}

// Settings embedded in the page (`<script type="application/json">`)

export interface PageSettings {
  readonly transport: TransportName
  readonly http: WindowHttp
  readonly ports: ByHttp<number>
  readonly polling: Polling
  readonly editor: EditorName
  /** Time for which a window collects its updates of the shared document, ms; 0 sends each. */
  readonly mergeMs: number
  /** Whether a browser's tabs share a connection. */
  readonly share: Share
  readonly hasSensor: boolean
  readonly limits: {
    readonly maxMessageBytes: number
    /** Limits of the client's queue while it cannot send. */
    readonly outboxMessages: number
    readonly outboxBytes: number
  }
}

/** `shared`: concurrent edits converge. `mirror`: the last one wins, as in the 2021 paper. */
export const editorNames = ['shared', 'mirror'] as const
export type EditorName = (typeof editorNames)[number]

export interface Polling {
  /** Pause between a response and the next poll. */
  readonly intervalMs: number
  /** Longest hold of a long poll. */
  readonly holdMs: number
}

export interface PageStart extends PageSettings {
  readonly channel: string
  /** The cursor after `messages`, from which the stream resumes. */
  readonly cursor: string
  /** The newest of each kind on the page's channels. */
  readonly messages: readonly Message[]
  /** Whether the client may write to the page's channel. */
  readonly mayWrite: boolean
  /** Expiry unless renewed, ms since the epoch; null for open access. */
  readonly sessionEndsAt: number | null
}
