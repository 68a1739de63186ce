// The ordered log's contract: what it promises, and how it refuses.

import type { Bodies, Cursor, Draft, Kind, Message } from '../wire/messages.ts'
import { isRefusal, Refusal } from '../wire/refusal.ts'
import type { Clock, Random } from '../wire/time.ts'

export interface Bounds {
  /** Kept for clients that resume. */
  readonly messages: number
  /** Bodies as JSON; the newest message is always kept. */
  readonly bytes: number
  /** After `acceptedAt`. */
  readonly ageMs: number
}

/** What a log of a file or a broker keeps in memory, within its limits. */
export type Memory = Omit<Bounds, 'ageMs'>

export type Identified = Pick<Draft, 'channel' | 'id' | 'from'>

/** Snapshots outlive all limits but `maxChannels`. */
export interface LogLimits extends Bounds {
  /** Channels ever used. */
  readonly maxChannels: number
}

export interface Snapshot {
  /**
   * The newest of each channel and kind, in order. Of a cumulative kind (`LogParts.folds`) all: a base that joins the
   * older ones, with the envelope of the newest in it, and those that follow.
   */
  readonly messages: readonly Message[]
  readonly head: Cursor
}

export interface CatchUp extends Snapshot {
  /** True: `messages` follow the cursor, up to `reached`. False: a snapshot. */
  readonly recovered: boolean
  /** Cursor after `messages`, even if empty. Before `head` if portions remain: read on from here. */
  readonly reached: Cursor
}

export interface OldestContent {
  readonly base: Message | null
  readonly messages: readonly Message[]
  readonly after: Cursor
}

/** `text`: the message as JSON, where the log has it anyway. */
export type OnMessage = (message: Message, cursor: string, text?: string) => void

/** Errors that do not stop the log, such as a follower's. Must not throw. */
export type OnFailure = (error: unknown) => void

/** Runs `run` once, at once or later. */
export type Defer = (run: () => void) => void

export interface Log {
  /**
   * Stores a draft, notifies followers in order, then answers with its number: at once where it is stored within the call,
   * else with a promise. Idempotent: while the log holds it or has it pending, the same draft (`id`, sender, channel) has
   * the same number; one that is only in a base is stored again. Rejects, and never throws, with a `Refusal`
   * (`id-taken`, `too-many-channels`, `document-deleted`, `not-found`, `log-unavailable`, `log-full`, `draining`) or the store's
   * error; then nothing is stored, except that with `log-unavailable` it may be.
   */
  readonly append: (draft: Draft, acceptedAt: number) => number | Promise<number>
  /** The message with that id of that sender on that channel, once it is stored; null when the log holds none. */
  readonly find: (wanted: Identified) => Promise<Message | null>
  /** A portion after the cursor, or a snapshot if the log does not reach back. */
  readonly read: (cursor: Cursor | null, channels: ReadonlySet<string>) => Promise<CatchUp>
  readonly snapshot: (channels: ReadonlySet<string>) => Promise<Snapshot>
  /**
   * The oldest content that the log knows of a cumulative kind: a base of what was erased (null: nothing was), the
   * messages after it, and the cursor after which `read` returns the later ones.
   */
  readonly oldest: (channel: string, kind: Kind) => Promise<OldestContent>
  /** Returns the unsubscribe function. */
  readonly follow: (onMessage: OnMessage) => () => void
  /** The newest number of each channel but the probes', as seen by followers; live. */
  readonly heads: () => ReadonlyMap<string, number>
  /** Completes pending appends, then closes the store. Idempotent. */
  readonly close: () => Promise<void>
}

/** Takes plain data to all other servers of a log, in order; some may be lost. */
export interface Bus {
  readonly post: (note: object) => void
  /** Once. `onReturned`: notes may have been lost before now. */
  readonly follow: (onNote: (note: unknown) => void, onReturned: () => void) => void
  /** A will (MQTT 5.0, 3.1.2.5): what the others are told when this server is gone. Absent where nobody would notice. */
  readonly bequeath?: (note: object) => void
}

/** After a refusal for lack of room, ms; then the disk or the broker is asked again. */
export const refusedForMs = 5000

/** The log takes no messages at the moment. */
export interface Outage {
  /** A clause: "NATS does not answer". */
  readonly reason: string
  /** The log's last sign of life, or the first failure; ms, by the clock of `LogParts`. */
  readonly since: number
  /** What others write does not come either: reads are out of date. */
  readonly isCutOff: boolean
}

export interface OpenedLog {
  readonly log: Log
  /** Absent where the log has one server. */
  readonly bus?: Bus | undefined
  /** The largest message that the broker takes, bytes as JSON; absent where it takes any. */
  readonly mostBytes?: number
  /** Null while the log takes messages; absent where it cannot know. */
  readonly outage?: () => Outage | null
  /** Resolves to the reason when the log was replaced by another one: this one is over. Absent where it cannot be. */
  readonly lost?: Promise<string>
  /** How often stored messages were found missing or damaged; absent where another process counts it. */
  readonly losses?: () => number
  readonly figures?: () => Promise<LogFigures>
}

/** What only files and brokers know. A broker has 0.3 s to tell; what it does not tell is left out. */
export interface LogFigures {
  /** On the disk: of each file, or stream of the broker. */
  readonly bytes?: Counts
  /** The newest number of each stream of the broker. */
  readonly brokerHead?: Counts
  /** How often the connection to each broker was restored. */
  readonly reconnects?: Counts
  /** Messages in the queue, approximately: `waiting`, `received` and not deleted, `dead`. */
  readonly queued?: Counts
}

type Counts = Readonly<Record<string, number>>

/**
 * Joins messages of one channel, in order, into the body of a base. The first may be a base itself. Must accept
 * repeated messages and none. May take its time; it must not reject for the fault of one message.
 */
export type Fold<K extends Kind> = (messages: readonly Message<K>[]) => Bodies[K] | Promise<Bodies[K]>

/** The kinds of which the newest message does not contain the earlier ones. */
export type Folds = { readonly [K in Kind]?: Fold<K> }

export interface LogParts {
  readonly limits: LogLimits
  /** The kinds of which a snapshot needs all messages, and how to join them; default: none. */
  readonly folds?: Folds
  readonly now: Clock
  readonly onFailure: OnFailure
  /** Takes a sentence when stored messages turn out to be missing or damaged. Must not throw; default: a failure. */
  readonly onLoss?: (sentence: string) => void
  /** Takes sentences for the terminal: what a start waits for. */
  readonly print?: (sentence: string) => void
  /** Ends a wait: the log then rejects. */
  readonly signal?: AbortSignal
}

export const lossTakerOf = ({ onLoss, onFailure }: Pick<LogParts, 'onLoss' | 'onFailure'>) =>
  onLoss ?? ((sentence: string) => onFailure(new Error(sentence)))

/** Eight letters and digits. */
export function newEpoch(random: Random): string {
  return Math.floor(random() * 36 ** 8)
    .toString(36)
    .padStart(8, '0')
}

/** The id belongs to another message of the same sender and channel. */
export function idTaken({ id, from, channel }: Draft): Refusal {
  const sentence = `The log has another message "${id}" of "${from}" on channel "${channel}". Send this one under an id that its sender has not used there.`
  return new Refusal('id-taken', sentence, id)
}

export function tooManyChannels(channel: string, maxChannels: number): Refusal {
  const sentence = `Channel "${channel}" would be one more than the ${maxChannels} that the log takes. Write to one that is there, delete one, or raise limits.maxChannels.`
  return new Refusal('too-many-channels', sentence)
}

/** What a window has kept for a deleted document is stored once it was brought back. */
const deletedMs = 5000

export function documentDeleted(channel: string): Refusal {
  const sentence = `The document "${channel}" was deleted. Bring it back first (a message of the kind "deletion" with {"deleted":false}), or write to another one.`
  return new Refusal('document-deleted', sentence, null, deletedMs)
}

export function notThere(channel: string): Refusal {
  const sentence = `The log has no document "${channel}": nobody wrote it, or it was erased a day after its deletion.`
  return new Refusal('not-found', sentence)
}

const unavailableMs = 1000

/**
 * A broker did not take a message, or did not answer: then the message may be stored, and is not stored twice when it is
 * sent again. `cause` is an error whose message is a clause, or the clause.
 */
export function logUnavailable(cause: unknown): Refusal {
  if (isRefusal(cause, 'log-unavailable')) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  const sentence = `The log takes no messages: ${reason}. This one may not be stored; send it again.`
  return new Refusal('log-unavailable', sentence, null, unavailableMs, cause)
}

/** Somebody has to make room. */
const fullMs = 5000

/** Nothing is stored. */
export function logFull(cause: unknown): Refusal {
  const sentence =
    "There is no room on the disk for the log's file. The message is not stored; send it again when there is some."
  return new Refusal('log-full', sentence, null, fullMs, cause)
}

const closedMs = 300

export function logClosed(): Refusal {
  return new Refusal('draining', 'The server is shutting down.', null, closedMs)
}
