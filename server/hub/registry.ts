// Connected clients, streams and polling, and their presence frames.

import { type Presence, pageOfOverview } from '../wire/messages.ts'
import type { Cancel, Timers } from '../wire/time.ts'
import { type Counts, type Elsewhere, noCounts } from './neighbours.ts'
import { type ClientIdentity, Delivery, type Subscriber } from './subscriber.ts'

/** One client; see `clientKey`. */
export type ClientKey = ClientIdentity | string

export interface Client {
  readonly identity: ClientIdentity
  readonly stream: Subscriber | null
  /** Last sign of life, ms since the epoch; null for a stream without heartbeats, which are optional. */
  heardAt: number | null
  /** End of a held poll, ms since the epoch: no sign of life is due before. */
  quietUntil: number | null
  /** Clients by first channel on a shared stream. Requires a proven name. */
  carries: ReadonlyMap<string, number> | null
  lastPresence: string | null
}

const shortestPauseMs = 50
const pausePerClientMs = 1

const noStreams: ReadonlySet<Subscriber> = new Set()

export class Registry {
  readonly #timers: Timers
  readonly #mostDepartures: number
  readonly #onLeft: (key: ClientKey) => void
  readonly #clients = new Map<ClientKey, Client>()
  readonly #streamsByChannel = new Map<string, Set<Subscriber>>()
  /** Departures of polling clients, oldest first. */
  readonly #departures = new Map<string, { readonly opening: number; readonly at: number }>()
  #windowsByPage = new Map<string, number>()
  #streamsByPage = new Map<string, number>()
  #streamsByOwner = new Map<string, number>()
  #clientsByOverview = new Map<string, number>()
  #elsewhereCounted: Counts = noCounts
  #cancelPresence: Cancel | null = null
  /** The other servers of the log. */
  elsewhere: Elsewhere = { counts: () => noCounts, onCounted: () => undefined }

  constructor(timers: Timers, mostDepartures: number, onLeft: (key: ClientKey) => void = () => undefined) {
    this.#timers = timers
    this.#mostDepartures = mostDepartures
    this.#onLeft = onLeft
  }

  /**
   * Returns the replaced older stream of the client; null if the new stream is the older. Streams under a free name
   * coexist.
   */
  join(stream: Subscriber): { readonly replaced: Subscriber | null } | null {
    const { identity } = stream
    const key = clientKey(identity)
    const older = this.#clients.get(key)?.stream ?? null
    if (older && older.identity.opening > identity.opening) return null
    if (older) this.#remove(older)
    const unknown = { heardAt: null, quietUntil: null, carries: null, lastPresence: null }
    this.#clients.set(key, { identity, stream, ...unknown })
    for (const channel of identity.channels) {
      this.#streamsByChannel.getOrInsertComputed(channel, () => new Set()).add(stream)
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
    for (const channel of stream.identity.channels) {
      const known = this.#streamsByChannel.get(channel)
      known?.delete(stream)
      if (known?.size === 0) this.#streamsByChannel.delete(channel)
    }
    return true
  }

  /** Null if the client has a stream or has left. */
  polled(identity: ClientIdentity, heldForMs = 0): Client | null {
    const key = clientKey(identity)
    const known = this.#clients.get(key)
    if (known?.stream || (this.#departures.get(identity.id)?.opening ?? -1) >= identity.opening) return null
    const now = this.#timers.now()
    const client: Client = {
      identity,
      stream: null,
      heardAt: now,
      // A free name may stand for several clients: one must not shorten another's hold.
      quietUntil: Math.max(now + heldForMs, (identity.owner === null && known?.quietUntil) || 0),
      carries: known?.carries ?? null,
      lastPresence: known?.lastPresence ?? null,
    }
    this.#clients.set(key, client)
    return client
  }

  dismiss(identity: ClientIdentity): void {
    const key = clientKey(identity)
    if (this.#clients.get(key)?.stream === null) this.#delete(key)
  }

  #delete(key: ClientKey): void {
    this.#clients.delete(key)
    this.#onLeft(key)
  }

  /** Later polls of this or an older opening are ignored. Proven names only. */
  left(id: string, opening: number): void {
    const client = this.#clients.get(id)
    const departure = this.#departures.get(id)
    // Unknown clients must not fill the memory.
    if (!client && !departure) return
    this.#departures.delete(id)
    const newest = Math.max(opening, departure?.opening ?? opening)
    this.#departures.set(id, { opening: newest, at: this.#timers.now() })
    const [oldest = id] = this.#departures.keys()
    if (this.#departures.size > this.#mostDepartures) this.#departures.delete(oldest)
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

  find(identity: ClientIdentity): Client | undefined {
    return this.#clients.get(clientKey(identity))
  }

  named(id: string): Client | undefined {
    return this.#clients.get(id)
  }

  all(): IteratorObject<Client> {
    return this.#clients.values()
  }

  get size(): number {
    return this.#clients.size
  }

  /** Counts clients on shared streams individually. */
  windowsBeside(client: Client): number {
    let windows = 0
    for (const other of this.#clients.values()) {
      if (other === client) continue
      for (const carried of other.carries?.values() ?? [1]) windows += carried
    }
    return windows
  }

  /** As told in the last presence frames. */
  windowsOn(page: string): number {
    return (this.#windowsByPage.get(page) ?? 0) + (this.#elsewhereCounted.pages.get(page) ?? 0)
  }

  /** Of this server, as in the last presence frames, without polling clients of proven names. */
  counts(): Counts {
    return {
      pages: this.#streamsByPage,
      owners: this.#streamsByOwner,
      overviews: this.#clientsByOverview,
    }
  }

  streamsOn(channel: string): ReadonlySet<Subscriber> {
    return this.#streamsByChannel.get(channel) ?? noStreams
  }

  isRead(channel: string): boolean {
    return (
      this.#streamsByChannel.has(channel) || this.all().some(({ identity }) => identity.channels.has(channel))
    )
  }

  close(): void {
    // Keeps the cancelled timer set, so that no change plans another.
    this.#cancelPresence?.()
    this.#clients.clear()
    this.#departures.clear()
    this.#streamsByChannel.clear()
  }

  /** Delayed by the number of clients: a thousand joins must not cause a million frames. */
  presenceChanged(): void {
    const pauseMs = shortestPauseMs + this.size * pausePerClientMs
    this.#cancelPresence ??= this.#timers.later(() => this.#sendPresence(), pauseMs)
  }

  presenceNewsFor(client: Client): Delivery | null {
    const presence = this.#presenceFor(client)
    const words = wordsOf(presence)
    if (presence.windows === 0 || words === client.lastPresence) return null
    client.lastPresence = words
    return new Delivery(presence)
  }

  #sendPresence(): void {
    this.#cancelPresence = null
    this.#windowsByPage = new Map()
    this.#streamsByPage = new Map()
    this.#streamsByOwner = new Map()
    this.#clientsByOverview = new Map()
    for (const { identity, stream, carries } of this.#clients.values()) {
      const { owner, mode } = identity
      const polls = stream === null && carries === null && owner !== null
      for (const [page, windows] of carries ?? [[pageOf(identity), 1] as const]) {
        add(this.#windowsByPage, page, windows)
        if (!polls) add(this.#streamsByPage, page, windows)
      }
      if (owner !== null && mode.windowsPerBrowser !== null) add(this.#streamsByOwner, owner, 1)
      for (const channel of identity.channels)
        if (pageOfOverview(channel) !== null) add(this.#clientsByOverview, channel, 1)
    }
    this.#elsewhereCounted = this.elsewhere.counts()
    this.elsewhere.onCounted()
    // Clients of a page mostly get the same frame: encode it once.
    const known = new Map<string, { readonly words: string; readonly delivery: Delivery }>()
    for (const client of this.#clients.values()) {
      if (!client.stream) continue
      const presence = this.#presenceFor(client)
      const made = wordsOf(presence)
      // The clients keep one text together, not one each.
      const { words, delivery } = known.getOrInsertComputed(made, () => ({
        words: made,
        delivery: new Delivery(presence),
      }))
      if (words === client.lastPresence) continue
      client.lastPresence = words
      client.stream.send(delivery)
    }
  }

  #presenceFor({ identity, carries }: Client): Presence {
    return {
      type: 'presence',
      windows: this.windowsOn(pageOf(identity)),
      ...(carries && {
        channels: Object.fromEntries(Array.from(carries.keys(), (page) => [page, this.windowsOn(page)])),
      }),
      browserHttp1Streams:
        (this.#streamsByOwner.get(identity.owner ?? '') ?? 0) +
        (this.#elsewhereCounted.owners.get(identity.owner ?? '') ?? 0),
    }
  }
}

/**
 * A proven name is one client over any transport. Under a free name each stream is a client, and polls of the same
 * channels are one, so that they cannot learn of others.
 */
export function clientKey(identity: ClientIdentity): ClientKey {
  if (identity.owner !== null) return identity.id
  const isStream = 'framing' in identity
  // Names contain no space.
  return isStream ? identity : `${identity.id} ${[...identity.channels].sort().join()}`
}

/** The first channel named is the page's own. */
export function pageOf({ channels }: ClientIdentity): string {
  const [first = ''] = channels
  return first
}

/** The same for the same content. Most clients carry no others: thousands are told at a time. */
function wordsOf(presence: Presence): string {
  const { windows, channels, browserHttp1Streams } = presence
  return channels ? JSON.stringify(presence) : `${windows} ${browserHttp1Streams}`
}

function add(counts: Map<string, number>, key: string, more: number): void {
  counts.set(key, (counts.get(key) ?? 0) + more)
}
