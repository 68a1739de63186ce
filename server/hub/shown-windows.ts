// The windows shown on one channel, and what has changed since a version.

import { type AwarenessFrame, maxShownWindows } from '../../protocol/messages.ts'

export interface ShownWindow {
  readonly window: string
  readonly state: unknown
  /** Size of the state as JSON. */
  readonly bytes: number
  readonly presenter: { readonly owner: string | null; readonly user: string | null }
  /** Version of its latest change. Set by `ShownWindows`. */
  version: number
}

/** Maximum size of a channel's states: `maxShownWindows` of 4 kB each, fewer of larger ones. */
const maxBytes = maxShownWindows * 4096

/** Each change gets a higher version than all earlier changes, of other channels too. */
export class ShownWindows<Shown extends ShownWindow> {
  readonly #channel: string
  readonly #nextVersion: () => number
  /** By window, the latest change last. */
  readonly #byWindow = new Map<string, Shown>()
  #bytes = 0
  #version = 0
  #flushedVersion = 0
  /** Version of the last departure: readers of an older version need the full state. */
  #departureVersion = 0
  /** Windows gone since the last flush. */
  readonly #gone = new Set<string>()

  constructor(channel: string, nextVersion: () => number) {
    this.#channel = channel
    this.#nextVersion = nextVersion
  }

  /** Version of the newest change; 0 before the first. */
  get version(): number {
    return this.#version
  }

  /** Version of the newest change before the last flush. */
  get flushedVersion(): number {
    return this.#flushedVersion
  }

  /** Number of windows. */
  get size(): number {
    return this.#byWindow.size
  }

  /** Size of all states. */
  get bytes(): number {
    return this.#bytes
  }

  get(window: string): Shown | undefined {
    return this.#byWindow.get(window)
  }

  has(shown: Shown): boolean {
    return this.#byWindow.get(shown.window) === shown
  }

  all(): Iterable<Shown> {
    return this.#byWindow.values()
  }

  /**
   * Shows a window in place of its former state. Returns the windows displaced because there is too much, perhaps
   * this one.
   */
  put(shown: Shown): readonly Shown[] {
    const { window } = shown
    this.#bytes += shown.bytes - (this.#byWindow.get(window)?.bytes ?? 0)
    this.#byWindow.delete(window)
    this.#byWindow.set(window, shown)
    const displaced: Shown[] = []
    while (this.size > maxShownWindows || this.#bytes > maxBytes) {
      const excess = this.#excess()
      this.remove(excess)
      displaced.push(excess)
    }
    if (!this.has(shown)) return displaced
    this.#gone.delete(window)
    // After the departures: otherwise readers of this version would get the full state for ever.
    this.#version = this.#nextVersion()
    shown.version = this.#version
    return displaced
  }

  /** Replaces `known`, which has the same state: readers see no change. */
  replace(known: Shown, shown: Shown): void {
    shown.version = known.version
    this.#byWindow.set(shown.window, shown)
  }

  /** Returns false if something else is shown for that window by now. */
  remove(shown: Shown): boolean {
    if (!this.has(shown)) return false
    this.#byWindow.delete(shown.window)
    this.#bytes -= shown.bytes
    this.#gone.add(shown.window)
    this.#version = this.#nextVersion()
    this.#departureVersion = this.#version
    return true
  }

  wholeFrame(): AwarenessFrame {
    const windows = Array.from(this.#byWindow.values(), inFrame)
    return { type: 'awareness', channel: this.#channel, windows, whole: true }
  }

  /**
   * Returns the changes after `version`; for undefined, everything. Null if nothing is new except the
   * state of the reader's window `own`.
   */
  frameAfter(version: number | undefined, own: string): AwarenessFrame | null {
    if (version === undefined) return this.size === 0 ? null : this.wholeFrame()
    if (version < this.#departureVersion) return this.wholeFrame()
    const changed = this.#changedAfter(version).filter(({ window }) => window !== own)
    if (changed.length === 0) return null
    return { type: 'awareness', channel: this.#channel, windows: changed.map(inFrame) }
  }

  /** Returns the changes since the last flush. */
  unflushedFrame(): AwarenessFrame {
    const gone = Array.from(this.#gone, (window) => ({ window, state: null }))
    const changed = this.#changedAfter(this.#flushedVersion).map(inFrame)
    return { type: 'awareness', channel: this.#channel, windows: [...gone, ...changed] }
  }

  flushed(): void {
    this.#flushedVersion = this.#version
    this.#gone.clear()
  }

  #changedAfter(after: number): Shown[] {
    return [...this.#byWindow.values()].filter(({ version }) => version > after)
  }

  /**
   * Returns the oldest window of the owner with the most windows or, if the states are too large, the most bytes, so
   * that one browser cannot displace the others.
   */
  #excess(): Shown {
    const ownerOf = ({ presenter }: Shown) => presenter.owner ?? presenter
    const amountOf = this.size > maxShownWindows ? () => 1 : ({ bytes }: Shown) => bytes
    let most = 0
    let excess: Shown | undefined
    for (const owned of Map.groupBy(this.#byWindow.values(), ownerOf).values()) {
      const amount = owned.reduce((sum, shown) => sum + amountOf(shown), 0)
      if (amount <= most) continue
      most = amount
      excess = owned[0]
    }
    return excess as Shown
  }
}

function inFrame({ window, state, presenter: { user } }: ShownWindow): AwarenessFrame['windows'][number] {
  return user === null ? { window, state } : { window, user, state }
}
