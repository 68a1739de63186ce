// Shows who is on each page and where: changes as they happen, the full state to newcomers.

import {
  type AwarenessFrame,
  type AwarenessReport,
  fingerprintIn,
  mostShownWindows,
  pageOfOverview,
  probesChannel,
  windChannel,
} from '../wire/messages.ts'
import { Refusal } from '../wire/refusal.ts'
import { type Cancel, nothingPlanned, type Timers } from '../wire/time.ts'
import { upsert } from '../wire/upsert.ts'
import { Delivery } from './delivery.ts'
import { type Client, type ClientKey, clientKey } from './registry.ts'
import type { ClientIdentity, Subscriber } from './subscriber.ts'

interface Entry {
  readonly holder: Holder
  readonly channel: string
  readonly window: string
  readonly state: unknown
  readonly version: number
  /** It has written since: others have moved its caret, so the same state must be sent again. */
  hasWritten: boolean
}

/** A client, with the windows it shows: its own, or those its shared stream carries. */
interface Holder {
  readonly owner: string | null
  /** Keyed by channel and window. */
  readonly entries: Map<string, Entry>
  /** By channel: the last version sent to it. */
  readonly told: Map<string, number>
  /** The opening in which it last showed something. */
  opening: number
  /** Its entries are kept but not shown. */
  isSilent: boolean
  /** Whether it is a client of this server. */
  readonly isOwn: boolean
}

/** A change by a client of this server; a null state means gone. */
export interface OwnChange {
  readonly channel: string
  readonly window: string
  readonly owner: string | null
  readonly state: unknown
}

interface Room {
  /** By window, the latest change last. */
  readonly entries: Map<string, Entry>
  /** Windows gone since the last flush. */
  readonly gone: Set<string>
  changedAt: number
  flushedAt: number
  /** Version of the last departure: readers of an older one need the full state. */
  leftAt: number
  /** Ms since the epoch; null while the room has entries. */
  emptySince: number | null
}

/** Minimum pause between a page's frames, plus a share for each stream written to, ms. */
const pauseMs = 50
const pausePerStreamMs = 1

/** Delay before retrying a stream with unsent bytes, ms. */
const retryMs = 500

/** Maximum number of windows shown by one stream. */
const mostPerHolder = 100

const mostEmptyRooms = 1000

export class Awareness {
  readonly #timers: Timers
  readonly #streamsOn: (channel: string) => Iterable<Subscriber>
  readonly #onChange: (channel: string) => void
  readonly #holders = new Map<ClientKey, Holder>()
  readonly #rooms = new Map<string, Room>()
  /** Channels with changes, or with streams that are behind. */
  readonly #dirty = new Set<string>()
  readonly #empty = new Set<string>()
  #version = 0
  #freeAt = 0
  #plannedAt = Number.POSITIVE_INFINITY
  #cancelFlush: Cancel = nothingPlanned
  #isClosed = false
  /** Informs the other servers of the log. */
  onOwn: (change: OwnChange) => void = () => undefined

  /** `onChange` wakes the held polls of a channel. */
  constructor(
    timers: Timers,
    streamsOn: (channel: string) => Iterable<Subscriber>,
    onChange: (channel: string) => void,
  ) {
    this.#timers = timers
    this.#streamsOn = streamsOn
    this.#onChange = onChange
  }

  /**
   * Ignores reports from before the window's latest opening, and windows beyond the holder's
   * maximum. Throws a `Refusal`: as `checkReport` does, and 400 `bad-shape` for a channel that the
   * client does not read.
   */
  show({ identity, page }: Client, report: AwarenessReport, opening: number): void {
    const { window = identity.id, channel = page, state } = report
    checkReport(identity.id, { window, channel, state })
    if (!identity.channels.has(channel)) {
      const sentence = `"${identity.id}" does not read channel "${channel}"; a window is shown only where it reads.`
      throw new Refusal('bad-shape', sentence)
    }
    if (opening < identity.opening) return
    const holder = this.#holderOf(clientKey(identity), identity.owner)
    holder.opening = identity.opening
    this.#show(holder, { channel, window, state })
  }

  /** Shows the state of another server's client. */
  showFrom(server: string, owner: string | null, report: Required<AwarenessReport>): void {
    this.#show(this.#holderOf(`${server} ${owner ?? ''}`, owner, false), report)
  }

  /** A window's message was stored. */
  wrote(channel: string, window: string): void {
    const entry = this.#rooms.get(channel)?.entries.get(window)
    if (entry) entry.hasWritten = true
  }

  /** Removes another server and everything it showed. */
  serverLeft(server: string): void {
    const isIts = (key: ClientKey) => typeof key === 'string' && key.startsWith(`${server} `)
    for (const [key, { isOwn }] of [...this.#holders]) if (!isOwn && isIts(key)) this.left(key)
  }

  /** Returns everything that this server's clients show. */
  ownShown(): OwnChange[] {
    return [...this.#rooms.values()].flatMap(({ entries }) =>
      [...entries.values()].filter(({ holder }) => holder.isOwn).map(changeOf),
    )
  }

  #show(holder: Holder, { channel, window, state }: Required<AwarenessReport>): void {
    const place = placeOf(channel, window)
    const known = holder.entries.get(place)
    if (state === null) {
      holder.entries.delete(place)
      if (known) this.#takeOut(known)
      return
    }
    if (!known && holder.entries.size >= mostPerHolder) return
    if (known && this.#isShown(known) && !known.hasWritten && isSame(known.state, state)) return
    const entry = { holder, channel, window, state, version: this.#nextVersion(), hasWritten: false }
    holder.entries.set(place, entry)
    if (!holder.isSilent) this.#putIn(entry)
  }

  /** Removes a client and every window it showed. */
  left(key: ClientKey): void {
    const holder = this.#holders.get(key)
    if (!holder) return
    this.#holders.delete(key)
    for (const entry of holder.entries.values()) this.#takeOut(entry)
  }

  /** Hides the client until its next poll; it still counts. */
  silent(key: ClientKey): void {
    const holder = this.#holders.get(key)
    if (!holder || holder.isSilent) return
    holder.isSilent = true
    for (const entry of holder.entries.values()) this.#takeOut(entry)
  }

  /** The first poll of a page receives everything. */
  polled(client: ClientIdentity, isFirst: boolean): void {
    const holder = this.#holders.get(clientKey(client))
    if (!holder) return
    if (isFirst) holder.told.clear()
    if (!holder.isSilent) return
    holder.isSilent = false
    // A new page or connection reports its position itself. Its first poll may have reached another
    // server.
    if (isFirst || client.opening > holder.opening) holder.entries.clear()
    for (const entry of holder.entries.values()) {
      const renewed = { ...entry, version: this.#nextVersion() }
      holder.entries.set(placeOf(entry.channel, entry.window), renewed)
      this.#putIn(renewed)
    }
  }

  /** The stream now accepts frames. */
  joined(stream: Subscriber): void {
    const { identity } = stream
    const holder = this.#holderOf(clientKey(identity), identity.owner)
    holder.told.clear()
    holder.isSilent = false
    for (const channel of identity.channels) {
      const room = this.#rooms.get(channel)
      if (!room || room.entries.size === 0) continue
      if (stream.offer(new Delivery(wholeOf(room, channel)))) holder.told.set(channel, room.changedAt)
      else this.#plan(channel, retryMs)
    }
  }

  hasNewsFor(identity: ClientIdentity): boolean {
    const told = this.#holders.get(clientKey(identity))?.told
    return Array.from(identity.channels).some((channel) => {
      const room = this.#rooms.get(channel)
      return room !== undefined && changesAfter(told?.get(channel), room, channel, identity.id) !== null
    })
  }

  /** Returns what a polling client has not received yet, and counts it as received. */
  newsFor(identity: ClientIdentity): Delivery[] {
    const { told } = this.#holderOf(clientKey(identity), identity.owner)
    return Array.from(identity.channels).flatMap((channel) => {
      const room = this.#rooms.get(channel)
      if (!room) return []
      const frame = changesAfter(told.get(channel), room, channel, identity.id)
      told.set(channel, room.changedAt)
      return frame ? [new Delivery(frame)] : []
    })
  }

  /**
   * Forgets rooms that have been empty since before `at` (ms since the epoch): all clients were
   * notified or disconnected.
   */
  forgetBefore(at: number): void {
    for (const channel of this.#empty) {
      const since = this.#rooms.get(channel)?.emptySince ?? null
      if (since !== null && since >= at && this.#empty.size <= mostEmptyRooms) return
      this.#empty.delete(channel)
      if (since !== null) this.#rooms.delete(channel)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#cancelFlush()
  }

  #holderOf(key: ClientKey, owner: string | null, isOwn = true): Holder {
    return upsert(this.#holders, key, () => ({
      owner,
      entries: new Map(),
      told: new Map(),
      opening: Number.NEGATIVE_INFINITY,
      isSilent: false,
      isOwn,
    }))
  }

  #nextVersion(): number {
    this.#version += 1
    return this.#version
  }

  #isShown(entry: Entry): boolean {
    return this.#rooms.get(entry.channel)?.entries.get(entry.window) === entry
  }

  /** Permanently replaces what another client or server shows for that window. */
  #putIn(entry: Entry): void {
    const { channel, window, holder } = entry
    const room = upsert(this.#rooms, channel, createRoom)
    const replaced = room.entries.get(window)
    room.entries.delete(window)
    if (!replaced && room.entries.size >= mostShownWindows) this.#takeOut(excessOf(room, entry))
    if (replaced && replaced.holder !== holder) replaced.holder.entries.delete(placeOf(channel, window))
    room.entries.set(window, entry)
    room.gone.delete(window)
    room.changedAt = entry.version
    room.emptySince = null
    this.#empty.delete(channel)
    if (entry.holder.isOwn) this.onOwn(changeOf(entry))
    this.#plan(channel, 0)
  }

  /** Does nothing if another client shows that window by now. */
  #takeOut(entry: Entry): void {
    const { channel, window } = entry
    const room = this.#rooms.get(channel)
    if (!room || !this.#isShown(entry)) return
    room.entries.delete(window)
    room.gone.add(window)
    if (entry.holder.isOwn) this.onOwn({ ...changeOf(entry), state: null })
    room.changedAt = this.#nextVersion()
    room.leftAt = room.changedAt
    if (room.entries.size === 0) {
      room.emptySince = this.#timers.now()
      this.#empty.add(channel)
      if (this.#empty.size > mostEmptyRooms) this.forgetBefore(Number.NEGATIVE_INFINITY)
    }
    this.#plan(channel, 0)
  }

  #plan(channel: string, inMs: number): void {
    this.#dirty.add(channel)
    const at = Math.max(this.#timers.now() + inMs, this.#freeAt)
    if (this.#isClosed || at >= this.#plannedAt) return
    this.#cancelFlush()
    this.#plannedAt = at
    this.#cancelFlush = this.#timers.later(() => this.#flush(), at - this.#timers.now())
  }

  #flush(): void {
    this.#plannedAt = Number.POSITIVE_INFINITY
    const channels = [...this.#dirty]
    this.#dirty.clear()
    let written = 0
    const behind: string[] = []
    for (const channel of channels) {
      const room = this.#rooms.get(channel)
      if (!room) continue
      const { frames, isBehind } = this.#tellStreams(channel, room)
      written += frames
      if (isBehind) behind.push(channel)
      this.#onChange(channel)
    }
    this.#freeAt = this.#timers.now() + pauseMs + written * pausePerStreamMs
    for (const channel of behind) this.#plan(channel, retryMs)
  }

  /** Streams that missed the last changes get the full state. */
  #tellStreams(channel: string, room: Room): { readonly frames: number; readonly isBehind: boolean } {
    const changed = [...room.entries.values()].filter(({ version }) => version > room.flushedAt)
    const gone = Array.from(room.gone, (window) => ({ window, state: null }))
    const only = changed.length === 1 && gone.length === 0 ? changed[0]?.window : null
    let delta: Delivery | null = null
    let whole: Delivery | null = null
    let frames = 0
    let isBehind = false
    for (const stream of this.#streamsOn(channel)) {
      const { told } = this.#holderOf(clientKey(stream.identity), stream.identity.owner)
      const before = told.get(channel)
      if (before === room.changedAt) continue
      const isCurrent = before !== undefined && before >= room.flushedAt
      if (isCurrent && gone.length + changed.length <= mostShownWindows)
        delta ??= new Delivery({ type: 'awareness', channel, windows: [...gone, ...changed.map(shown)] })
      else whole ??= new Delivery(wholeOf(room, channel))
      // A window knows its own state.
      const isTold =
        (isCurrent && only === stream.identity.id) ||
        stream.offer((isCurrent && delta) || (whole as Delivery))
      if (isTold) told.set(channel, room.changedAt)
      else isBehind = true
      frames += 1
    }
    room.flushedAt = room.changedAt
    room.gone.clear()
    return { frames, isBehind }
  }
}

/** Throws a `Refusal`: 403 `not-your-name` or `read-only-channel`. */
export function checkReport(id: string, { window = id, channel }: AwarenessReport): void {
  const owner = fingerprintIn(id)
  if (window !== id && (owner === null || owner !== fingerprintIn(window))) {
    const sentence = `"${id}" cannot show "${window}", a window of another key; each window must show itself.`
    throw new Refusal('not-your-name', sentence)
  }
  const isPage =
    channel === undefined ||
    (channel !== windChannel && channel !== probesChannel && pageOfOverview(channel) === null)
  if (isPage) return
  const sentence = `Channel "${channel}" shows no windows; show the window on the page's own channel.`
  throw new Refusal('read-only-channel', sentence)
}

function createRoom(): Room {
  return { entries: new Map(), gone: new Set(), changedAt: 0, flushedAt: 0, leftAt: 0, emptySince: null }
}

/** Names of windows and channels contain no space. */
const placeOf = (channel: string, window: string) => `${channel} ${window}`

const shown = ({ window, state }: Entry) => ({ window, state })

const changeOf = ({ channel, window, state, holder: { owner } }: Entry): OwnChange => ({
  channel,
  window,
  owner,
  state,
})

function wholeOf({ entries }: Room, channel: string): AwarenessFrame {
  return { type: 'awareness', channel, windows: Array.from(entries.values(), shown), whole: true }
}

/** Null if nothing is new except the state of the window `own`. */
function changesAfter(
  version: number | undefined,
  room: Room,
  channel: string,
  own: string,
): AwarenessFrame | null {
  if (version === undefined) return room.entries.size === 0 ? null : wholeOf(room, channel)
  if (version < room.leftAt) return wholeOf(room, channel)
  const windows = [...room.entries.values()].filter(
    (entry) => entry.version > version && entry.window !== own,
  )
  return windows.length === 0 ? null : { type: 'awareness', channel, windows: windows.map(shown) }
}

/**
 * Returns the oldest entry of the owner with the most, so that one browser cannot displace the
 * others.
 */
function excessOf({ entries }: Room, newcomer: Entry): Entry {
  const ownerOf = ({ holder }: Entry) => holder.owner ?? holder
  const byOwner = Map.groupBy([...entries.values(), newcomer], ownerOf)
  let most: readonly Entry[] = []
  for (const owned of byOwner.values()) if (owned.length > most.length) most = owned
  const [oldest = newcomer] = most
  return oldest
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
