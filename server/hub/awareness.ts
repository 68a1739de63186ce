// Shows who is on each channel, and where: changes as they happen, the full state to newcomers.

import {
  type AwarenessFrame,
  type AwarenessReport,
  fingerprintIn,
  maxShownWindows,
} from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { type Cancel, nothingPlanned, type Timers } from '../../protocol/time.ts'
import { upsert } from '../../protocol/upsert.ts'
import type { TypeOf } from '../channels/channel-type.ts'
import { admitStates } from './admission.ts'
import { Delivery } from './delivery.ts'
import { PresenceBudget, type Spender } from './presence-budget.ts'
import { type Client, type ClientKey, clientKey } from './registry.ts'
import { type ShownWindow, ShownWindows } from './shown-windows.ts'
import type { ClientIdentity, Subscriber } from './subscriber.ts'

interface WindowState {
  readonly channel: string
  readonly window: string
  readonly state: unknown
  /** The state as JSON. */
  readonly text: string
  readonly bytes: number
}

interface Entry extends WindowState, ShownWindow {
  readonly presenter: Presenter
  /** Whether it has written since: others have moved its caret, so the same state must be sent again. */
  hasWritten: boolean
  /** When its client left, ms since the epoch; null once the client is back and shows it again. */
  leftAt: number | null
}

/** A client, with the windows it shows: its own, or those its shared stream carries. */
interface Presenter extends Spender {
  readonly key: ClientKey
  readonly owner: string | null
  /** The user, as the application names it. */
  readonly user: string | null
  /** Keyed by channel and window. */
  readonly entries: Map<string, Entry>
  /** The newest states that the budget does not allow yet, keyed likewise. */
  readonly waiting: Map<string, WindowState>
  /** By channel: the last version sent to it. */
  readonly sentVersions: Map<string, number>
  /** The opening in which it last showed something. */
  opening: number
  /** Whether its entries are kept but not shown. */
  isSilent: boolean
  /** Whether it has left, but may come back. */
  isAway: boolean
  /** Whether it is a client of this server. */
  readonly isOwn: boolean
}

/** A change by a client of this server; a null state means gone. */
export interface OwnChange {
  readonly channel: string
  readonly window: string
  readonly owner: string | null
  readonly user: string | null
  readonly state: unknown
}

/** Minimum pause between a channel's frames, plus a share for each stream written to, ms. */
const pauseMs = 50
const pausePerStreamMs = 1

/** Delay before retrying a stream with unsent bytes, ms. */
const retryMs = 500

/** Time for which a window is shown after its client has left, so that a quick return does not show. */
export const hiddenAfterMs = 4000

/** Maximum number of windows shown by one stream. */
const maxPerPresenter = 100

const maxEmptyChannels = 1000

interface AwarenessParts {
  readonly typeOf: TypeOf
  readonly timers: Timers
  readonly streamsOn: (channel: string) => Iterable<Subscriber>
  /** Number of clients that read a channel. */
  readonly readersOn: (channel: string) => number
  /** Wakes the held polls of a channel. */
  readonly onChange: (channel: string) => void
  /** Rate at which states are sent to readers. */
  readonly bytesPerSecond: number
}

export class Awareness {
  readonly #parts: AwarenessParts
  readonly #timers: Timers
  readonly #budget: PresenceBudget
  readonly #presenters = new Map<ClientKey, Presenter>()
  /** Presenters with entries whose client has left. */
  readonly #leaving = new Set<Presenter>()
  /** Presenters with states that wait. */
  readonly #waiting = new Set<Presenter>()
  readonly #channels = new Map<string, ShownWindows<Entry>>()
  /** Channels without windows, and since when, ms since the epoch. */
  readonly #empty = new Map<string, number>()
  /** Of the newest change on any channel: a version stays valid when its channel is forgotten. */
  #version = 0
  /** Channels with changes, or with streams that are behind. */
  readonly #dirty = new Set<string>()
  /** The pause after the last flush ends then, ms since the epoch. */
  #pausedUntil = 0
  /** Of the next flush, ms since the epoch. */
  #flushAt = Number.POSITIVE_INFINITY
  #cancelFlush: Cancel = nothingPlanned
  /** When waiting states are next looked at, ms since the epoch. */
  #waitingUntil = Number.POSITIVE_INFINITY
  #cancelWaiting: Cancel = nothingPlanned
  #isClosed = false
  /** Informs the other servers of the log. */
  onOwn: (change: OwnChange) => void = () => undefined

  constructor(parts: AwarenessParts) {
    this.#parts = parts
    this.#timers = parts.timers
    this.#budget = new PresenceBudget(parts.bytesPerSecond, parts.timers.now)
  }

  // What windows show

  /**
   * Ignores reports from before the window's latest opening, and windows beyond the presenter's
   * maximum. A state beyond the budget is shown later, unless a newer one replaces it. Throws a
   * `Refusal`: as `checkReport` does, and 400 `bad-shape` for a channel that the client does not
   * read.
   */
  show({ identity, firstChannel }: Client, report: AwarenessReport, opening: number): void {
    const { window = identity.id, channel = firstChannel, state } = report
    checkReport(identity.id, { window, channel, state }, this.#parts.typeOf)
    // The channel was unknown when the report was admitted.
    const shape = report.channel === undefined ? this.#parts.typeOf(channel).state : undefined
    if (shape) admitStates(shape)({ state })
    if (!identity.channels.has(channel)) {
      const sentence = `"${identity.id}" does not read channel "${channel}"; a window is shown only where it reads.`
      throw new Refusal('bad-shape', sentence)
    }
    if (opening < identity.opening) return
    const presenter = this.#presenterOf(identity)
    presenter.opening = identity.opening
    const { shows } = this.#parts.typeOf(channel)
    this.#show(presenter, { channel, window, state: shows && state !== null ? shows(state) : state })
  }

  /** Shows the state of another server's client. */
  showFrom(server: string, { owner, user, ...report }: OwnChange): void {
    const key = `${server} ${owner ?? ''} ${user ?? ''}`
    const presenter = this.#upsertPresenter(key, { owner, user, isOwn: false })
    presenter.isAway = false
    this.#show(presenter, report)
  }

  /** A window's message was stored. */
  wrote(channel: string, window: string): void {
    const entry = this.#channels.get(channel)?.get(window)
    if (entry) entry.hasWritten = true
  }

  /** Removes another server and, unless it comes back soon, everything it showed. */
  serverLeft(server: string): void {
    const isIts = (key: ClientKey) => typeof key === 'string' && key.startsWith(`${server} `)
    for (const [key, { isOwn }] of [...this.#presenters]) if (!isOwn && isIts(key)) this.left(key)
  }

  /** Returns everything that this server's clients show. */
  ownShown(): OwnChange[] {
    return [...this.#channels.values()].flatMap((windows) =>
      [...windows.all()].filter(({ presenter }) => presenter.isOwn).map(changeOf),
    )
  }

  #show(presenter: Presenter, { channel, window, state }: Required<AwarenessReport>): void {
    const place = placeOf(channel, window)
    const known = presenter.entries.get(place)
    if (known) known.leftAt = null
    presenter.waiting.delete(place)
    if (state === null) return void this.#remove(presenter, place)
    if (!known && presenter.entries.size >= maxPerPresenter) return
    const text = JSON.stringify(state)
    if (known && this.#isShown(known) && !known.hasWritten && known.text === text) return
    const next = { channel, window, state, text, bytes: Buffer.byteLength(text) }
    const moved = this.#shownByAnother(presenter, next)
    if (moved) return void this.#enter(presenter, next, moved)
    if (presenter.waiting.size >= maxPerPresenter) return
    presenter.waiting.set(place, next)
    this.#waiting.add(presenter)
    this.#showWaitingIn(this.#budget.waitMs(presenter, this.#windowsOn(channel)))
  }

  #showWaitingIn(waitMs: number): void {
    const at = this.#timers.now() + waitMs
    if (this.#isClosed || at >= this.#waitingUntil) return
    this.#cancelWaiting()
    if (waitMs === 0) return void this.#showWaiting()
    this.#waitingUntil = at
    this.#cancelWaiting = this.#timers.later(() => this.#showWaiting(), waitMs)
  }

  /** Shows waiting states as far as the budget allows. */
  #showWaiting(): void {
    this.#waitingUntil = Number.POSITIVE_INFINITY
    let soonestMs = Number.POSITIVE_INFINITY
    for (const presenter of this.#budget.inOrder(this.#waiting, (presenter) => this.#nextCost(presenter))) {
      for (const [place, next] of presenter.waiting) {
        const windows = this.#windowsOn(next.channel)
        const waitMs = this.#budget.waitMs(presenter, windows)
        soonestMs = waitMs > 0 ? Math.min(soonestMs, waitMs) : soonestMs
        if (waitMs > 0) continue
        presenter.waiting.delete(place)
        this.#budget.spend(presenter, windows, this.#costOf(next))
        this.#enter(presenter, next)
      }
      if (presenter.waiting.size === 0) this.#waiting.delete(presenter)
    }
    if (this.#waiting.size > 0) this.#showWaitingIn(Math.max(pauseMs, soonestMs))
  }

  /** Bytes sent to all readers. */
  #costOf({ channel, bytes }: WindowState): number {
    return bytes * Math.max(1, this.#parts.readersOn(channel))
  }

  #nextCost({ waiting }: Presenter): number {
    const [next] = waiting.values()
    return next ? this.#costOf(next) : 0
  }

  /** `moved`: another client's entry with the same state, which this one replaces. */
  #enter(presenter: Presenter, next: WindowState, moved: Entry | null = null): void {
    const entry = { ...next, presenter, version: 0, hasWritten: false, leftAt: null }
    presenter.entries.set(placeOf(next.channel, next.window), entry)
    if (!presenter.isSilent) this.#putIn(entry, moved)
  }

  #remove(presenter: Presenter, place: string): void {
    const known = presenter.entries.get(place)
    presenter.entries.delete(place)
    if (known) this.#takeOut(known)
  }

  // Clients that leave, or poll no more

  /** Its windows stay for a while: a client that reopens its stream leaves and comes back. */
  left(key: ClientKey): void {
    const presenter = this.#presenters.get(key)
    if (!presenter) return
    presenter.isAway = true
    presenter.waiting.clear()
    this.#waiting.delete(presenter)
    const now = this.#timers.now()
    for (const entry of presenter.entries.values()) entry.leftAt ??= now
    if (presenter.entries.size > 0) this.#leaving.add(presenter)
    else this.#forget(key)
  }

  /** Removes what a client has shown up to that opening. */
  leftForGood(key: ClientKey, opening: number): void {
    const presenter = this.#presenters.get(key)
    if (!presenter || presenter.opening > opening) return
    for (const place of presenter.entries.keys()) this.#remove(presenter, place)
    presenter.waiting.clear()
  }

  /** Removes windows whose client left before `at` (ms since the epoch) and has not shown them since. */
  removeLeft(at: number): void {
    for (const presenter of this.#leaving) {
      for (const [place, { leftAt }] of presenter.entries)
        if (leftAt !== null && leftAt <= at) this.#remove(presenter, place)
      if (presenter.entries.values().some(({ leftAt }) => leftAt !== null)) continue
      this.#leaving.delete(presenter)
      if (presenter.isAway && presenter.entries.size === 0) this.#forget(presenter.key)
    }
  }

  #forget(key: ClientKey): void {
    const presenter = this.#presenters.get(key)
    this.#presenters.delete(key)
    if (presenter) this.#budget.leave(presenter)
  }

  /** Hides the client until its next poll; it still counts. */
  silent(key: ClientKey): void {
    const presenter = this.#presenters.get(key)
    if (!presenter || presenter.isSilent) return
    presenter.isSilent = true
    for (const entry of presenter.entries.values()) this.#takeOut(entry)
  }

  // Readers

  /** The first poll of a client receives everything. */
  polled(client: ClientIdentity, isFirst: boolean): void {
    const presenter = this.#presenters.get(clientKey(client))
    if (!presenter) return
    presenter.isAway = false
    if (isFirst) presenter.sentVersions.clear()
    if (!presenter.isSilent) return
    presenter.isSilent = false
    // A new window or connection reports its position itself. Its first poll may have reached another
    // server.
    if (isFirst || client.opening > presenter.opening) presenter.entries.clear()
    for (const entry of presenter.entries.values()) this.#putIn(entry)
  }

  /** The stream accepts frames from now on. */
  joined(stream: Subscriber): void {
    const { identity } = stream
    const presenter = this.#presenterOf(identity)
    presenter.sentVersions.clear()
    presenter.isSilent = false
    for (const [place, { channel }] of presenter.entries)
      if (!identity.channels.has(channel)) this.#remove(presenter, place)
    for (const channel of identity.channels) {
      const windows = this.#channels.get(channel)
      if (!windows || windows.size === 0) continue
      if (this.#offerWhole(stream, windows, new Delivery(windows.wholeFrame())))
        presenter.sentVersions.set(channel, windows.version)
      else this.#plan(channel, retryMs)
    }
  }

  #offerWhole(stream: Subscriber, windows: ShownWindows<Entry>, whole: Delivery): boolean {
    if (this.#budget.wholes.waitMs(windows) > 0 || !stream.offer(whole)) return false
    this.#budget.wholes.charge(windows, windows.bytes)
    return true
  }

  hasNewsFor(identity: ClientIdentity): boolean {
    const sentVersions = this.#presenters.get(clientKey(identity))?.sentVersions
    return Array.from(identity.channels).some((channel) => {
      const windows = this.#channels.get(channel)
      const frame = windows?.frameAfter(sentVersions?.get(channel), identity.id)
      return windows && frame ? !this.#mustWait(frame, windows) : false
    })
  }

  /** Returns what a polling client has not received yet, and counts it as received. */
  newsFor(identity: ClientIdentity): Delivery[] {
    const { sentVersions } = this.#presenterOf(identity)
    return Array.from(identity.channels).flatMap((channel) => {
      const windows = this.#channels.get(channel)
      if (!windows) return []
      const frame = windows.frameAfter(sentVersions.get(channel), identity.id)
      if (frame && this.#mustWait(frame, windows)) return []
      sentVersions.set(channel, windows.version)
      if (!frame) return []
      if (frame.whole) this.#budget.wholes.charge(windows, windows.bytes)
      return [new Delivery(frame)]
    })
  }

  /** Whether the budget allows no full state yet. The channel's polls are woken when it does. */
  #mustWait({ whole, channel }: AwarenessFrame, windows: ShownWindows<Entry>): boolean {
    const debtMs = whole ? this.#budget.wholes.waitMs(windows) : 0
    if (debtMs > 0) this.#plan(channel, debtMs)
    return debtMs > 0
  }

  // Presenters and channels

  /**
   * Forgets channels that have been empty since before `at` (ms since the epoch): all clients were
   * notified or disconnected.
   */
  forgetBefore(at: number): void {
    for (const [channel, since] of this.#empty) {
      if (since >= at && this.#empty.size <= maxEmptyChannels) return
      this.#empty.delete(channel)
      this.#channels.delete(channel)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#cancelFlush()
    this.#cancelWaiting()
  }

  #presenterOf(identity: ClientIdentity): Presenter {
    const { owner, user = null } = identity
    const key = clientKey(identity)
    const known = this.#presenters.get(key)
    // The same browser, with another user.
    if (known && known.user !== user) this.#dropPresenter(known)
    const presenter = this.#upsertPresenter(key, { owner, user, isOwn: true })
    presenter.isAway = false
    return presenter
  }

  #upsertPresenter(key: ClientKey, who: Pick<Presenter, 'owner' | 'user' | 'isOwn'>): Presenter {
    return upsert(this.#presenters, key, () => ({
      ...who,
      ...this.#budget.join(who.user ?? who.owner ?? key),
      key,
      entries: new Map(),
      waiting: new Map(),
      sentVersions: new Map(),
      opening: Number.NEGATIVE_INFINITY,
      isSilent: false,
      isAway: false,
    }))
  }

  #dropPresenter(presenter: Presenter): void {
    for (const place of presenter.entries.keys()) this.#remove(presenter, place)
    this.#leaving.delete(presenter)
    this.#waiting.delete(presenter)
    this.#forget(presenter.key)
  }

  #isShown(entry: Entry): boolean {
    return this.#channels.get(entry.channel)?.has(entry) === true
  }

  /** The window's entry with the same state at the client or server that it has moved from. */
  #shownByAnother(presenter: Presenter, { channel, window, text }: WindowState): Entry | null {
    const known = this.#channels.get(channel)?.get(window)
    if (!known || known.presenter === presenter || known.presenter.user !== presenter.user) return null
    return known.hasWritten || known.text !== text ? null : known
  }

  #windowsOn(channel: string): ShownWindows<Entry> {
    return upsert(this.#channels, channel, () => {
      this.#empty.set(channel, this.#timers.now())
      return new ShownWindows(channel, this.#nextVersion)
    })
  }

  readonly #nextVersion = (): number => {
    this.#version += 1
    return this.#version
  }

  /** Permanently replaces what another client or server shows for that window. */
  #putIn(entry: Entry, moved: Entry | null = null): void {
    const { channel, window, presenter } = entry
    const windows = this.#windowsOn(channel)
    const replaced = windows.get(window)
    if (replaced && replaced.presenter !== presenter)
      replaced.presenter.entries.delete(placeOf(channel, window))
    if (presenter.isOwn) this.onOwn(changeOf(entry))
    if (moved) {
      windows.replace(moved, entry)
      return
    }
    for (const displaced of windows.put(entry)) this.#announceGone(displaced)
    this.#empty.delete(channel)
    this.#plan(channel, 0)
  }

  /** Does nothing if another client shows that window by now. */
  #takeOut(entry: Entry): void {
    const { channel } = entry
    const windows = this.#channels.get(channel)
    if (!windows?.remove(entry)) return
    this.#announceGone(entry)
    if (windows.size === 0) {
      this.#empty.set(channel, this.#timers.now())
      if (this.#empty.size > maxEmptyChannels) this.forgetBefore(Number.NEGATIVE_INFINITY)
    }
    this.#plan(channel, 0)
  }

  #announceGone(entry: Entry): void {
    if (entry.presenter.isOwn) this.onOwn({ ...changeOf(entry), state: null })
  }

  // Changes for streams

  #plan(channel: string, inMs: number): void {
    this.#dirty.add(channel)
    const at = Math.max(this.#timers.now() + inMs, this.#pausedUntil)
    if (this.#isClosed || at >= this.#flushAt) return
    this.#cancelFlush()
    this.#flushAt = at
    this.#cancelFlush = this.#timers.later(() => this.#flush(), at - this.#timers.now())
  }

  #flush(): void {
    this.#flushAt = Number.POSITIVE_INFINITY
    const channels = [...this.#dirty]
    this.#dirty.clear()
    let written = 0
    const behind: string[] = []
    for (const channel of channels) {
      const windows = this.#channels.get(channel)
      if (!windows) continue
      const { frames, isBehind } = this.#sendChanges(channel, windows)
      written += frames
      if (isBehind) behind.push(channel)
      this.#parts.onChange(channel)
    }
    this.#pausedUntil = this.#timers.now() + pauseMs + written * pausePerStreamMs
    for (const channel of behind) this.#plan(channel, retryMs)
  }

  /** Streams that missed the last changes get the full state. */
  #sendChanges(channel: string, windows: ShownWindows<Entry>): { frames: number; isBehind: boolean } {
    const { version, flushedVersion } = windows
    const changes = windows.unflushedFrame()
    const isSmall = changes.windows.length <= maxShownWindows
    const [first, ...others] = changes.windows
    // A window is not sent its own state.
    const only = first && first.state !== null && others.length === 0 ? first.window : null
    let delta: Delivery | null = null
    let whole: Delivery | null = null
    let frames = 0
    let isBehind = false
    for (const stream of this.#parts.streamsOn(channel)) {
      const { sentVersions } = this.#presenterOf(stream.identity)
      const sent = sentVersions.get(channel)
      if (sent === version) continue
      const isCurrent = sent !== undefined && sent >= flushedVersion
      let isSent: boolean
      if (isCurrent && only === stream.identity.id) isSent = true
      else if (isCurrent && isSmall) {
        delta ??= new Delivery(changes)
        isSent = stream.offer(delta)
      } else {
        whole ??= new Delivery(windows.wholeFrame())
        isSent = this.#offerWhole(stream, windows, whole)
      }
      if (isSent) sentVersions.set(channel, version)
      else isBehind = true
      frames += 1
    }
    windows.flushed()
    return { frames, isBehind }
  }
}

/** Throws a `Refusal`: 403 `not-your-name` or `read-only-channel`. */
export function checkReport(id: string, { window = id, channel }: AwarenessReport, typeOf: TypeOf): void {
  const owner = fingerprintIn(id)
  if (window !== id && (owner === null || owner !== fingerprintIn(window))) {
    const sentence = `"${id}" cannot show "${window}", a window of another key; each window must show itself.`
    throw new Refusal('not-your-name', sentence)
  }
  if (channel === undefined || typeOf(channel).showsWindows !== false) return
  const sentence = `Channel "${channel}" shows no windows; show the window on another one.`
  throw new Refusal('read-only-channel', sentence)
}

/** Names of windows and channels contain no space. */
const placeOf = (channel: string, window: string) => `${channel} ${window}`

const changeOf = ({ channel, window, state, presenter: { owner, user } }: Entry): OwnChange => ({
  channel,
  window,
  owner,
  user,
  state,
})
