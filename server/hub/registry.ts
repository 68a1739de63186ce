// Connected clients, streaming and polling, and their presence frames.

import type { Presence } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Cancel, Timers } from '../../protocol/time.ts'
import { upsert } from '../../protocol/upsert.ts'
import { Delivery } from './delivery.ts'
import type { ClientIdentity, Subscriber, Who } from './subscriber.ts'

/** One client; see `clientKey`. */
export type ClientKey = ClientIdentity | string

export interface Client {
  readonly identity: ClientIdentity
  /** See `firstChannelOf`. */
  readonly firstChannel: string
  /** Since when it has been connected to this server, ms since the epoch. */
  readonly since: number
  readonly stream: Subscriber | null
  /**
   * Last sign of life, ms since the epoch; null for a stream without heartbeats, which are
   * optional.
   */
  heardAt: number | null
  /** End of a held poll, ms since the epoch: no sign of life is due before. */
  quietUntil: number | null
  /** Clients by first channel on a shared stream. Requires a proven name. */
  carries: ReadonlyMap<string, number> | null
  /** Shared by clients that received the same frame. */
  lastPresence: Presence | null
  /** Of the volatile messages that a polling client has received: the newest number; null at first. */
  volatileSeen: number | null
  /** When its last heartbeat was due, ms since the epoch; null before the first. */
  beatAt: number | null
}

/** A client as an application sees it, at any server of the log. */
export interface ConnectedClient {
  /** Its name, as in the `from` of its messages. */
  readonly id: string
  /** As `authorize` names it; null if it names none. */
  readonly user: string | null
  /** Such as `sse/2`. */
  readonly mode: string
  /** Since when it has been connected to its server, ms since the epoch. */
  readonly since: number
}

export const connectedClient = ({ identity, since }: Client): ConnectedClient => ({
  id: identity.id,
  user: identity.user ?? null,
  mode: identity.mode.name,
  since,
})

export interface Counts {
  /** Windows by first channel, except polling ones with proven names. */
  readonly channels: ReadonlyMap<string, number>
  /** Streams over connections that a browser has few of, by the browser's fingerprint. */
  readonly owners: ReadonlyMap<string, number>
}

export const emptyCounts = () => ({
  channels: new Map<string, number>(),
  owners: new Map<string, number>(),
})

export const noCounts: Counts = emptyCounts()

interface Departure {
  readonly opening: number
  readonly at: number
  /** The newest opening that the server ended; -1 if the client left by itself. */
  readonly ended: number
}

/** Receives the channels that each client begins and ceases to read. */
export interface ClientMoves {
  joined(channel: string, client: Client): void
  left(channel: string, client: Client): void
}

/** The other servers of the log. */
export interface Elsewhere {
  readonly counts: () => Counts
  /** Called when this server's own counts may have changed. */
  readonly onCounted: () => void
}

const shortestPauseMs = 50
const pausePerClientMs = 1

/** Clients counted per stream: more than a person opens, too few to fake a large audience. */
const maxCarried = 100

const noStreams: ReadonlySet<Subscriber> = new Set()

export class Registry {
  readonly #timers: Timers
  readonly #maxWindows: number
  readonly #onLeft: (key: ClientKey) => void
  readonly #clients = new Map<ClientKey, Client>()
  /** By connection and by account. */
  readonly #held = new Map<object | string, number>()
  readonly #streamsByChannel = new Map<string, Set<Subscriber>>()
  /** Number of clients by channel. */
  readonly #readers = new Map<string, number>()
  /** Departures of polling clients, oldest first. */
  readonly #departures = new Map<string, Departure>()
  #windowsByChannel = new Map<string, number>()
  #counts = emptyCounts()
  #elsewhereCounted: Counts = noCounts
  #cancelPresence: Cancel | null = null
  moves: ClientMoves = { joined: () => undefined, left: () => undefined }
  /** The other servers of the log. */
  elsewhere: Elsewhere = { counts: () => noCounts, onCounted: () => undefined }

  constructor(timers: Timers, maxWindows: number, onLeft: (key: ClientKey) => void = () => undefined) {
    this.#timers = timers
    this.#maxWindows = maxWindows
    this.#onLeft = onLeft
  }

  /**
   * Returns the older stream that it replaces; null if `stream` itself is the older one. Streams
   * under a free name coexist.
   */
  join(stream: Subscriber): { readonly replaced: Subscriber | null } | null {
    const { identity } = stream
    const key = clientKey(identity)
    const known = this.#clients.get(key)
    const older = known?.stream ?? null
    if (older && older.identity.opening > identity.opening) return null
    if (older) {
      this.#unlist(older)
      this.#onLeft(key)
    }
    this.#set(key, {
      identity,
      firstChannel: firstChannelOf(identity),
      since: known?.since ?? this.#timers.now(),
      stream,
      heardAt: null,
      quietUntil: null,
      carries: null,
      lastPresence: null,
      volatileSeen: null,
      beatAt: null,
    })
    for (const channel of identity.channels) {
      upsert(this.#streamsByChannel, channel, () => new Set()).add(stream)
    }
    return { replaced: older }
  }

  leave(stream: Subscriber): void {
    if (this.#remove(stream)) this.presenceChanged()
  }

  #remove(stream: Subscriber): boolean {
    const key = clientKey(stream.identity)
    if (this.#clients.get(key)?.stream !== stream) return false
    this.#delete(key)
    this.#unlist(stream)
    return true
  }

  #unlist(stream: Subscriber): void {
    for (const channel of stream.identity.channels) {
      const known = this.#streamsByChannel.get(channel)
      known?.delete(stream)
      if (known?.size === 0) this.#streamsByChannel.delete(channel)
    }
  }

  /** Null if the client has a stream or has left. */
  polled(identity: ClientIdentity, heldForMs = 0): Client | null {
    const key = clientKey(identity)
    const known = this.#clients.get(key)
    if (known?.stream || (this.#departures.get(identity.id)?.opening ?? -1) >= identity.opening) return null
    const now = this.#timers.now()
    const client: Client = {
      identity,
      firstChannel: firstChannelOf(identity),
      since: known?.since ?? now,
      stream: null,
      heardAt: now,
      // A free name may stand for several clients: one must not shorten another's hold.
      quietUntil: Math.max(now + heldForMs, (identity.owner === null && known?.quietUntil) || 0),
      carries: known?.carries ?? null,
      lastPresence: known?.lastPresence ?? null,
      volatileSeen: known?.volatileSeen ?? null,
      beatAt: null,
    }
    this.#set(key, client)
    return client
  }

  dismiss(identity: ClientIdentity): void {
    const key = clientKey(identity)
    if (this.#clients.get(key)?.stream === null) this.#delete(key)
  }

  /** A polling client may use another connection each time. */
  #set(key: ClientKey, client: Client): void {
    const known = this.#clients.get(key)
    this.#count(known, -1)
    this.#clients.set(key, client)
    this.#count(client, 1)
    this.#move(known, client)
  }

  #delete(key: ClientKey): void {
    const known = this.#clients.get(key)
    this.#count(known, -1)
    this.#clients.delete(key)
    this.#onLeft(key)
    this.#move(known, undefined)
  }

  #move(before: Client | undefined, after: Client | undefined): void {
    const isAnother = before?.identity.user !== after?.identity.user
    for (const channel of before?.identity.channels ?? [])
      if (before && (isAnother || !after?.identity.channels.has(channel))) this.moves.left(channel, before)
    for (const channel of after?.identity.channels ?? [])
      if (after && (isAnother || !before?.identity.channels.has(channel))) this.moves.joined(channel, after)
  }

  #count(client: Client | undefined, more: number): void {
    const { connection, account } = client?.identity.holder ?? {}
    for (const one of [connection, account]) if (one) addOrDelete(this.#held, one, more)
    for (const channel of client?.identity.channels ?? []) addOrDelete(this.#readers, channel, more)
  }

  /** Number of clients of a connection, or of an account. */
  heldBy(holder: object | string): number {
    return this.#held.get(holder) ?? 0
  }

  /**
   * Removes a polling client; later polls of this or an older opening are ignored, or refused if the
   * server ended it (`wasEnded`). Proven names only.
   */
  left(id: string, opening: number, isEnded = false): void {
    const client = this.#clients.get(id)
    const departure = this.#departures.get(id)
    // Unknown clients must not fill the memory.
    if (!client && !departure) return
    this.#departures.delete(id)
    this.#departures.set(id, {
      opening: Math.max(opening, departure?.opening ?? opening),
      at: this.#timers.now(),
      ended: Math.max(isEnded ? opening : -1, departure?.ended ?? -1),
    })
    const [oldest = id] = this.#departures.keys()
    if (this.#departures.size > this.#maxWindows) this.#departures.delete(oldest)
    if (client?.stream !== null || client.identity.opening > opening) return
    this.#delete(id)
    this.presenceChanged()
  }

  forgetSilent(silenceMs: number): void {
    const latest = this.#timers.now() - silenceMs
    for (const [id, { at }] of this.#departures) if (at < latest) this.#departures.delete(id)
    const { size } = this.#clients
    for (const [key, { stream, heardAt, quietUntil }] of this.#clients) {
      const isSilent = stream === null && Math.max(heardAt ?? 0, quietUntil ?? 0) < latest
      if (isSilent) this.#delete(key)
    }
    if (this.#clients.size < size) this.presenceChanged()
  }

  /** Removes a polling client. Under a proven name, it needs a newer opening to come back. */
  end(identity: ClientIdentity): void {
    const { id, owner, opening } = identity
    if (owner !== null) this.left(id, opening, true)
    else {
      this.dismiss(identity)
      this.presenceChanged()
    }
  }

  wasEnded({ id, opening }: ClientIdentity): boolean {
    return (this.#departures.get(id)?.ended ?? -1) >= opening
  }

  of(who: Who): readonly Client[] {
    if ('user' in who) {
      const isOf = ({ identity }: Client) => identity.user === who.user
      return this.all().filter(isOf).toArray()
    }
    return this.all()
      .filter(({ identity }) => identity.id === who.client)
      .toArray()
  }

  find(identity: ClientIdentity): Client | undefined {
    return this.#clients.get(clientKey(identity))
  }

  named(id: string): Client | undefined {
    return this.#clients.get(id)
  }

  all(): IteratorObject<Client> {
    return this.#clients.values()
  }

  on(channel: string): readonly ConnectedClient[] {
    return this.all()
      .filter(({ identity }) => identity.channels.has(channel))
      .map(connectedClient)
      .toArray()
  }

  get size(): number {
    return this.#clients.size
  }

  /**
   * `carries`: see `Client`. Throws a `Refusal` (403 `not-your-name`) if a free name carries any.
   */
  heard(client: Client, carries?: Readonly<Record<string, number>>): void {
    client.heardAt = this.#timers.now()
    if (!carries) return
    const counted = this.#countCarried(client, carries)
    if (isSame(client.carries, counted)) return
    client.carries = counted
    this.presenceChanged()
  }

  #countCarried(client: Client, carries: Readonly<Record<string, number>>): ReadonlyMap<string, number> {
    const { identity } = client
    if (identity.owner === null) {
      const sentence = `"${identity.id}" is a free name and speaks for itself alone; a stream that carries several windows has a key.`
      throw new Refusal('not-your-name', sentence)
    }
    let room = Math.max(1, Math.min(maxCarried, this.#maxWindows - this.#windowsBeside(client)))
    const counted = new Map<string, number>()
    for (const [channel, windows] of Object.entries(carries)) {
      if (!identity.channels.has(channel)) continue
      const count = Math.min(windows, room)
      counted.set(channel, count)
      room -= count
    }
    return counted
  }

  /** Counts clients on shared streams individually. */
  #windowsBeside(client: Client): number {
    let windows = 0
    for (const other of this.#clients.values()) {
      if (other === client) continue
      for (const carried of other.carries?.values() ?? [1]) windows += carried
    }
    return windows
  }

  /** As in the last presence frames. */
  windowsOn(firstChannel: string): number {
    return (
      (this.#windowsByChannel.get(firstChannel) ?? 0) +
      (this.#elsewhereCounted.channels.get(firstChannel) ?? 0)
    )
  }

  /**
   * This server's counts as in the last presence frames, without polling clients with proven names.
   */
  counts(): Counts {
    return this.#counts
  }

  streamsOn(channel: string): ReadonlySet<Subscriber> {
    return this.#streamsByChannel.get(channel) ?? noStreams
  }

  readersOn(channel: string): number {
    return this.#readers.get(channel) ?? 0
  }

  close(): void {
    // Leaves the cancelled timer in place, so that no change schedules another.
    this.#cancelPresence?.()
    for (const client of this.#clients.values()) this.#move(client, undefined)
    this.#clients.clear()
    this.#held.clear()
    this.#readers.clear()
    this.#departures.clear()
    this.#streamsByChannel.clear()
  }

  /** Delayed by the number of clients: a thousand joins must not cause a million frames. */
  presenceChanged(): void {
    const pauseMs = shortestPauseMs + this.size * pausePerClientMs
    this.#cancelPresence ??= this.#timers.later(() => this.#sendPresence(), pauseMs)
  }

  presenceNewsFor(client: Client): Delivery | null {
    const presence = this.#presenceNews(client)
    if (presence === null || presence.windows === 0) return null
    client.lastPresence = presence
    return new Delivery(presence)
  }

  #sendPresence(): void {
    this.#cancelPresence = null
    this.#windowsByChannel = new Map()
    this.#counts = emptyCounts()
    for (const { identity, firstChannel, stream, carries } of this.#clients.values()) {
      const { owner, mode } = identity
      const polls = stream === null && carries === null && owner !== null
      if (carries) {
        for (const [carried, windows] of carries) this.#countChannel(carried, windows, polls)
      } else this.#countChannel(firstChannel, 1, polls)
      if (owner !== null && mode.windowsPerBrowser !== null) add(this.#counts.owners, owner, 1)
    }
    this.#elsewhereCounted = this.elsewhere.counts()
    this.elsewhere.onCounted()
    // Clients of a channel usually get the same frame: encode it once.
    const known = new Map<string, { readonly presence: Presence; readonly delivery: Delivery }>()
    for (const client of this.#clients.values()) {
      const news = client.stream && this.#presenceNews(client)
      if (!news) continue
      const { presence, delivery } = upsert(known, JSON.stringify(news), () => ({
        presence: news,
        delivery: new Delivery(news),
      }))
      client.lastPresence = presence
      client.stream?.send(delivery)
    }
  }

  #countChannel(firstChannel: string, windows: number, polls: boolean): void {
    add(this.#windowsByChannel, firstChannel, windows)
    if (!polls) add(this.#counts.channels, firstChannel, windows)
  }

  /** Null if already notified (the common case). */
  #presenceNews({ identity: { owner }, firstChannel, carries, lastPresence: last }: Client): Presence | null {
    const windows = this.windowsOn(firstChannel)
    const browserHttp1Streams =
      owner === null
        ? 0
        : (this.#counts.owners.get(owner) ?? 0) + (this.#elsewhereCounted.owners.get(owner) ?? 0)
    const isKnown = last?.windows === windows && last.browserHttp1Streams === browserHttp1Streams
    if (!carries) {
      return isKnown ? null : { type: 'presence', windows, browserHttp1Streams }
    }
    const channels = Object.fromEntries(Array.from(carries.keys(), (one) => [one, this.windowsOn(one)]))
    if (isKnown && JSON.stringify(last.channels) === JSON.stringify(channels)) return null
    return { type: 'presence', windows, channels, browserHttp1Streams }
  }
}

/**
 * A proven name is one client over any transport. With a free name, each stream is a client, and
 * polls of the same channels are one, so that they cannot learn of others.
 */
export function clientKey(identity: ClientIdentity): ClientKey {
  if (identity.owner !== null) return identity.id
  const isStream = 'framing' in identity
  // Names contain no space.
  return isStream ? identity : `${identity.id} ${[...identity.channels].sort().join()}`
}

/** The channel on which a client counts, and shows itself unless it names another. */
export function firstChannelOf({ channels }: ClientIdentity): string {
  const [first = ''] = channels
  return first
}

function addOrDelete<Key>(counts: Map<Key, number>, key: Key, more: number): void {
  const count = (counts.get(key) ?? 0) + more
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

function add(counts: Map<string, number>, key: string, more: number): void {
  counts.set(key, (counts.get(key) ?? 0) + more)
}

function isSame(known: ReadonlyMap<string, number> | null, given: ReadonlyMap<string, number>): boolean {
  return known?.size === given.size && [...given].every(([channel, count]) => known.get(channel) === count)
}
