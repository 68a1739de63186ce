// The contract of a channel's type: what differs between channels. Log and hub name no type.

import type { Bodies, Draft, Kind, Message } from '../../protocol/messages.ts'
import type { Refusal } from '../../protocol/refusal.ts'
import type { Check } from './shapes.ts'

/** How much a channel keeps. The newest message stays in any case. */
export interface Keep {
  readonly messages?: number
  /** Maximum size of the published bodies, as JSON. */
  readonly bytes?: number
  readonly hours?: number
}

/**
 * Joins messages of one channel, in order, into the body of a base. The first may be a base itself.
 * Must accept repeated messages and an empty list. May be slow; must not reject because of one bad
 * message.
 */
export type Fold<K extends Kind> = (messages: readonly Message<K>[]) => Bodies[K] | Promise<Bodies[K]>

/** One kind of message on the channels of a type. */
export interface KindRules<K extends Kind = Kind> {
  /**
   * How older messages are joined into one, if the newest does not contain them: the kind is then
   * cumulative. Without it, the newest message supersedes the earlier ones.
   */
  readonly fold?: Fold<K> | undefined
  /**
   * Messages that a slow reader may miss: `oldest`, some of the older ones; `superseded`, all but the
   * newest. By default none: its stream ends, and it resumes.
   */
  readonly drop?: 'oldest' | 'superseded'
  /**
   * Of `superseded`: the path in a body, such as `sensor.id`, to a value that tells series apart. The
   * newest message of each series stays, and so does every message without that value.
   */
  readonly by?: string | undefined
  /** As that of the type, for this kind. */
  readonly refuse?: ChannelType['refuse']
  /** The shape of a body that clients may send. Without it, only the server sends this kind. */
  readonly body?: Check
}

/** Describes a channel's messages. */
export interface Content {
  readonly channel: string
  /** The kinds of its messages; empty if there is no such channel. */
  readonly kinds: readonly Kind[]
  /** The newest message of a kind that is not cumulative. */
  readonly newest: <K extends Kind>(kind: K) => Message<K> | undefined
  /** The message with this number, as it was stored. */
  readonly message: (seq: number) => Message | undefined
}

/** Time at which the log erases the channel by itself, ms since the epoch; null for never. */
export interface Expiry {
  readonly at: number | null
  /** Time from which it may be erased if another channel needs the room. */
  readonly spareAt: number | null
}

/** Stores a draft: as `Log#append`, past the gate. */
export type Store = (draft: Draft, acceptedAt: number) => number | Promise<number>

/** Decides whether a log may store a draft. */
export interface Gate {
  /**
   * Receives each draft in order of appending. Calls `store` at most once, within the call or later,
   * and returns its result. Never throws; rejects with a `Refusal`.
   */
  readonly pass: (draft: Draft, acceptedAt: number, store: Store) => number | Promise<number>
}

/** See `ChannelType`. `messages` are those that a snapshot has. */
export type Prepare = (
  content: Content,
  messages: () => readonly Message[],
  store: Store,
) => Promise<void> | null

/** Rules of a Yjs document. */
export interface YjsRules {
  /**
   * Whether a Yjs client id belongs to the user who first wrote under it, or without users to the
   * key. By default a peer may bring another's updates, which must not contradict what is stored.
   */
  readonly owners?: boolean
}

export interface ChannelType {
  /** Its name in error messages. */
  readonly name: string
  readonly kinds: { readonly [K in Kind]?: KindRules<K> }
  /**
   * Whether each channel is a document of Yjs, beside its kinds: it accepts updates (`update`), which
   * the library checks, joins and reads.
   */
  readonly yjs?: YjsRules | undefined
  /** How much each channel keeps, if that is less than the whole log may. */
  readonly keep?: Keep | undefined
  /** Every draft passes the gate first, whoever appends it. */
  readonly gate?: Gate | undefined
  /** Refuses a draft because of its channel's content. */
  readonly refuse?: (draft: Draft, content: Content) => Refusal | null
  /** Completes a channel before it is read as a whole; null if nothing is missing. */
  readonly prepare?: Prepare | undefined
  /** Called after each message of the channel; by default the log never erases it by itself. */
  readonly expiry?: (content: Content) => Expiry
  /** If false, windows are not shown on these channels. */
  readonly showsWindows?: boolean
  /** The shape of a window's presence state there. By default any JSON of at most `limits.stateBytes`. */
  readonly state?: Check
  /** Returns what the readers get of such a state. By default the state. */
  readonly shows?: (state: unknown) => unknown
}

/** Returns the type of a channel, always the same. */
export type TypeOf = (channel: string) => ChannelType

/** Whether older messages are joined: the channel is read as a whole. */
export const isWhole = ({ yjs, kinds }: ChannelType): boolean =>
  yjs !== undefined || Object.values(kinds).some(({ fold }) => fold !== undefined)

/** Rules of a kind that no type declares. */
const plain: KindRules = {}

export const rulesFor = (typeOf: TypeOf, channel: string, kind: Kind): KindRules =>
  (typeOf(channel).kinds[kind] as KindRules | undefined) ?? plain

/**
 * Types by channel name, or by a prefix and a final `*`; the first match counts. A channel
 * that matches none keeps its messages: its kinds have the rules that some type declares for them.
 */
export function typesByName(declared: readonly (readonly [pattern: string, type: ChannelType])[]): TypeOf {
  const kinds = Object.assign({}, ...declared.map(([, type]) => type.kinds).reverse())
  const undeclared: ChannelType = { name: 'undeclared', kinds }
  return (channel) => declared.find(([pattern]) => fits(pattern, channel))?.[1] ?? undeclared
}

/** Whether a name, or a prefix and `*`, names the channel. */
export const fits = (pattern: string, channel: string): boolean =>
  pattern.endsWith('*') ? channel.startsWith(pattern.slice(0, -1)) : channel === pattern
