// The contract of an ordered log: what it promises, and how it refuses.

import type { Cursor, Draft, Kind, Message } from '../../protocol/messages.ts'
import { isRefusal, Refusal } from '../../protocol/refusal.ts'
import type { Clock, Random } from '../../protocol/time.ts'
import type { Keep, TypeOf } from '../channels/channel-type.ts'
import { jsonOfBody } from './kept-json.ts'

export interface Bounds {
  /** Number of messages kept for clients that resume. */
  readonly messages: number
  /** Size of bodies as JSON; the newest message is always kept. */
  readonly bytes: number
  /** Counted from `acceptedAt`. */
  readonly ageMs: number
}

export const hourMs = 3_600_000

export const boundsFrom = ({ messages = Infinity, bytes = Infinity, hours = Infinity }: Keep): Bounds => ({
  messages,
  bytes,
  ageMs: Math.round(hours * hourMs),
})

/** Limits of the newest messages that a log keeps in memory, parsed. */
export type Memory = Omit<Bounds, 'ageMs'>

export type Identified = Pick<Draft, 'channel' | 'id' | 'from'>

/** Ids and senders contain no spaces. */
export const keyOf = ({ id, from, channel }: Identified) => `${id} ${from} ${channel}`

/** Compares two drafts with the same key. A repeat also has the sender's timestamp. */
export function isRepeat(draft: Draft, known: Draft): boolean {
  const { kind, at, body } = known
  return draft.kind === kind && draft.at === at && jsonOfBody(draft.body) === jsonOfBody(body)
}

/** Snapshots are subject only to `maxChannels`. */
export interface LogLimits extends Bounds {
  /** Maximum number of channels. */
  readonly maxChannels: number
}

export interface Snapshot {
  /**
   * The newest of each channel and kind, in order. Of a cumulative kind (`KindRules`), all messages: a
   * base that joins the older ones, with the envelope of its newest, and those after it.
   */
  readonly messages: readonly Message[]
  readonly head: Cursor
}

export interface CatchUp extends Snapshot {
  /** True: `messages` follow the cursor, up to `reached`. False: a snapshot. */
  readonly recovered: boolean
  /**
   * Cursor after `messages`, even if empty. Before `head` if portions remain: continue reading from
   * it.
   */
  readonly reached: Cursor
}

export interface OldestContent {
  readonly base: Message | null
  readonly messages: readonly Message[]
  readonly after: Cursor
}

/** A portion of one channel. */
export interface Earlier {
  /** In order. */
  readonly messages: readonly Message[]
  /** Whether the log holds no earlier ones. */
  readonly isOldest: boolean
  readonly head: Cursor
}

export interface ChannelFigures {
  readonly name: string
  /** The newest number. */
  readonly head: number
  /** How many messages are held, and the size of their bodies as JSON. */
  readonly messages: number
  readonly bytes: number
}

/** `text` is the message as JSON, if the log already has it. */
export type OnMessage = (message: Message, cursor: string, text?: string) => void

/** Reports errors that do not stop the log, such as a follower's. Must not throw. */
export type OnFailure = (error: unknown) => void

/** Runs `run` once, at once or later. */
export type Defer = (run: () => void) => void

/** A server's log as an application may use it. Messages must not be changed: they are the log's own. */
export interface ReadableLog {
  /**
   * Waits until a pending message is stored. Null if the log holds no message with that id, sender
   * and channel.
   */
  readonly find: (wanted: Identified) => Promise<Message | null>
  /** Returns a portion after the cursor, or a snapshot if the log does not reach back to it. */
  readonly read: (cursor: Cursor | null, channels: ReadonlySet<string>) => Promise<CatchUp>
  readonly snapshot: (channels: ReadonlySet<string>) => Promise<Snapshot>
  /**
   * The newest messages that a channel holds before a number, of one kind or, by default, of all: at most `limit`,
   * and at most a portion. Without changes, which the messages show, erasures, and cumulative kinds, which are read
   * as a whole. The oldest portions have the messages that stay as the newest of their kinds. Rejects with an
   * `Error` if one of them, or the message before it, is missing or damaged.
   */
  readonly readBefore: (channel: string, before: number, limit: number, kind?: Kind) => Promise<Earlier>
  /**
   * A number after which `read` begins with the channel's oldest message of this time or later, ms
   * since the epoch. Assumes that times grow with numbers.
   */
  readonly numberAt: (channel: string, at: number) => Promise<number>
  /** Channels whose names have a prefix and whose newest number is below `before`, newest first. */
  readonly channels: (prefix: string, before: number, limit: number) => Promise<readonly ChannelFigures[]>
  /**
   * The oldest content that the log has of a cumulative kind: a base of the erased messages (null
   * if none were erased), the messages after it, and the cursor from which `read` returns the later
   * ones.
   */
  readonly oldest: (channel: string, kind: Kind) => Promise<OldestContent>
  /** Returns the unsubscribe function. */
  readonly follow: (onMessage: OnMessage) => () => void
  /** The newest number of each channel, as seen by followers; live. */
  readonly heads: () => ReadonlyMap<string, number>
}

export interface Log extends ReadableLog {
  /**
   * Stores a draft, notifies followers in order, then returns its number: synchronously if it is
   * stored within the call, else as a promise. Idempotent: while the log holds a draft or has it
   * pending, the same draft (`id`, sender, channel) has the same number; one that is only in a base
   * is stored again. Never throws; rejects with a `Refusal` (`id-taken`, `too-many-channels`, what the
   * channel's type refuses, `log-unavailable`, `log-full`, `draining`) or the store's error. A rejected draft is not stored, except that with `log-unavailable` it may be.
   */
  readonly append: (draft: Draft, acceptedAt: number) => number | Promise<number>
  /** Completes pending appends, then closes the store. Idempotent. */
  readonly close: () => Promise<void>
}

/** Sends plain data to all other servers of a log, in order; some may be lost. */
export interface Bus {
  readonly post: (note: object) => void
  /** Called once. `onReturned` is called when notes may have been lost. */
  readonly follow: (onNote: (note: unknown) => void, onReturned: () => void) => void
  /**
   * A will (MQTT 5.0, 3.1.2.5): sent to the others when this server is gone. Absent if nothing
   * would detect that.
   */
  readonly bequeath?: (note: object) => void
}

/**
 * After a refusal for lack of room, the disk or the broker is checked again after this delay, ms.
 */
export const refusedForMs = 5000

/** Reason for which the log accepts no messages at the moment. */
export interface Outage {
  /** A clause: "NATS does not answer". */
  readonly reason: string
  /** The log's last sign of life, or the first failure; ms, on the clock of `LogParts`. */
  readonly since: number
  /** Whether other servers' messages are missing too, so that reads are stale. */
  readonly isCutOff: boolean
}

export interface OpenedLog {
  readonly log: Log
  /** Absent if the log has only one server. */
  readonly bus?: Bus | undefined
  /** The largest message that the broker accepts, bytes as JSON; absent if unlimited. */
  readonly maxBytes?: number
  /** Returns null while the log accepts messages; absent if it cannot know. */
  readonly outage?: () => Outage | null
  /**
   * Resolves to the reason when another log has replaced this one, which must no longer be used.
   * Absent if impossible.
   */
  readonly lost?: Promise<string>
  readonly figures?: () => Promise<LogFigures>
}

/** Known only for files and brokers. A broker has 0.3 s to respond; missing figures are absent. */
export interface LogFigures {
  /** On disk: size of each file, or of each stream of the broker. */
  readonly bytes?: Counts
  /** The newest number of each stream of the broker. */
  readonly brokerHead?: Counts
  /** How often the connection to each broker was restored. */
  readonly reconnects?: Counts
  /** Messages in the queue, approximately: `waiting`, `received` and not deleted, `dead`. */
  readonly queued?: Counts
}

type Counts = Readonly<Record<string, number>>

export interface LogParts {
  readonly limits: LogLimits
  /** The types of channels, by name. */
  readonly typeOf: TypeOf
  /** How to make room for another channel, as a clause for refusals. */
  readonly roomMaking?: string | undefined
  readonly now: Clock
  readonly onFailure: OnFailure
  /**
   * Receives a sentence when stored messages turn out to be missing or damaged. Must not throw; by
   * default reported as a failure.
   */
  readonly onLoss?: (sentence: string) => void
  /** Prints a sentence about what the start is waiting for. */
  readonly print?: (sentence: string) => void
  /** Ends the wait; opening the log then rejects. */
  readonly signal?: AbortSignal
}

export const lossHandlerFor = ({ onLoss, onFailure }: Pick<LogParts, 'onLoss' | 'onFailure'>) =>
  onLoss ?? ((sentence: string) => onFailure(new Error(sentence)))

/** Eight letters and digits. */
export function newEpoch(random: Random): string {
  return Math.floor(random() * 36 ** 8)
    .toString(36)
    .padStart(8, '0')
}

/** `roomMaking`: how a client makes room, a clause. */
export function tooManyChannels(channel: string, maxChannels: number, roomMaking = 'delete one'): Refusal {
  const sentence = `The log is limited to ${maxChannels} channels, so "${channel}" cannot be created. Use an existing channel, ${roomMaking}, or raise limits.maxChannels.`
  return new Refusal('too-many-channels', sentence)
}

/** An error that waiting cannot fix; its message says what to do. */
export class StorageUnfit extends Error {}

const unavailableMs = 1000

/**
 * A broker refused a message, or did not answer; then the message may be stored, but sending it
 * again does not store it twice. `cause` is an error whose message is a clause, or the clause
 * itself.
 */
export function logUnavailable(cause: unknown): Refusal {
  if (isRefusal(cause, 'log-unavailable')) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  const sentence = `The log accepts no messages: ${reason}. This message may not have been stored; send it again.`
  return new Refusal('log-unavailable', sentence, null, unavailableMs, cause)
}

/** Somebody must free space first. */
const fullMs = 5000

/** The message is not stored. */
export function logFull(cause: unknown): Refusal {
  const sentence =
    "There is no room on the disk for the log's file. The message was not stored; send it again when there is room."
  return new Refusal('log-full', sentence, null, fullMs, cause)
}

const closedMs = 300

export function logClosed(): Refusal {
  return new Refusal('draining', 'The server is shutting down.', null, closedMs)
}
