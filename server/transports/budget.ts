// Memory for items in progress: incomplete bodies and frames, and responses that are not read yet.

import { Refusal } from '../../protocol/refusal.ts'
import type { Timers } from '../../protocol/time.ts'
import { upsert } from '../../protocol/upsert.ts'
import type { EngineSettings } from '../config/engine-settings.ts'
import { FairStart } from '../http/fair-start.ts'

/** In bytes; a larger item is accepted if it is the only one. */
export type BudgetLimits = Pick<EngineSettings['limits'], 'connectionBytes' | 'unfinishedBytes'>

interface Account {
  bytes: number
  readonly charges: Set<Charge>
}

const againAfterMs = 1000
const burstMs = 1000

/** Maximum that Node holds of a body that is not being read: its stream's flow-control window. */
export const maxUnreadBytes = 65_536

/** Overhead of a kept chunk. */
export const chunkBytes = 256

/** Larger bodies are paced, so that small ones still get CPU time. */
const smallBytes = 65_536
/** At 300 MB/s, the event loop does nothing else. */
const largeBytesPerSecond = 33_554_432

/** Something being received that can be paused. */
export interface Source {
  readonly pause: () => unknown
  readonly resume: () => unknown
}

/** Allows a source to be paused for several reasons. */
export class Valve implements Source {
  readonly #source: Source
  #reasons = 0

  constructor(source: Source) {
    this.#source = source
  }

  readonly pause = (): void => {
    this.#reasons += 1
    if (this.#reasons === 1) this.#source.pause()
  }

  readonly resume = (): void => {
    this.#reasons -= 1
    if (this.#reasons === 0) this.#source.resume()
  }
}

/**
 * Over one connection's limit its newest item is refused; over the total limit, the largest item of
 * the largest connection.
 */
export class Budget {
  readonly #limits: BudgetLimits
  readonly #timers: Timers
  /**
   * Time at which the large bodies received so far would have arrived at the paced rate, ms since
   * the epoch.
   */
  #largeUntil = 0
  /** By HTTP/2 session or socket, if it holds anything. */
  readonly #accounts = new Map<object, Account>()
  #bytes = 0
  readonly #largeItems: FairStart

  constructor(limits: BudgetLimits, timers: Timers) {
    this.#limits = limits
    this.#timers = timers
    // JSON of 1 MB takes up to 20 ms to parse, and is then sent: after each large item, others
    // get as much time.
    this.#largeItems = new FairStart(1, (next) => {
      const startedAt = timers.now()
      setImmediate(() => setImmediate(() => timers.later(next, timers.now() - startedAt)))
    })
  }

  /**
   * `onRefused` must free the item; its `Refusal` (503 `too-much-begun`) gives the reason. Called
   * at most once. The `source` of a large item is paused while others are received.
   */
  open(connection: object, onRefused: (refusal: Refusal) => void, source: Source | null = null): Charge {
    const change = (charge: Charge, bytes: number) => {
      if (source && bytes > charge.bytes && bytes > smallBytes) this.#pace(source, bytes - charge.bytes)
      this.#change(connection, charge, bytes)
    }
    return new Charge(change, onRefused)
  }

  /** Calls `handle`, which must not throw, for a whole item: at once, or for a large one in its turn. */
  handle(connection: object, bytes: number, handle: () => void): void {
    if (bytes > smallBytes) this.#largeItems.run(connection, handle)
    else handle()
  }

  #pace(source: Source, bytes: number): void {
    const now = this.#timers.now()
    this.#largeUntil = Math.max(this.#largeUntil, now - burstMs) + (bytes / largeBytesPerSecond) * 1000
    if (this.#largeUntil <= now) return
    source.pause()
    this.#timers.later(() => source.resume(), this.#largeUntil - now)
  }

  #change(connection: object, charge: Charge, bytes: number): void {
    const account = upsert(this.#accounts, connection, () => ({ bytes: 0, charges: new Set<Charge>() }))
    account.bytes += bytes - charge.bytes
    this.#bytes += bytes - charge.bytes
    charge.bytes = bytes
    if (bytes > 0) account.charges.add(charge)
    else account.charges.delete(charge)
    if (account.charges.size === 0) this.#accounts.delete(connection)
    const { connectionBytes, unfinishedBytes } = this.#limits
    if (account.bytes > connectionBytes && account.charges.size > 1)
      charge.refuse(tooMuch(connectionBytes, 'limits.connectionBytes'))
    while (this.#bytes > unfinishedBytes) {
      const { charges } = largest(this.#accounts.values())
      if (this.#accounts.size === 1 && charges.size === 1) return
      largest(charges).refuse(tooMuch(unfinishedBytes, 'limits.unfinishedBytes'))
    }
  }
}

const largest = <One extends { readonly bytes: number }>(all: Iterable<One>): One =>
  Iterator.from(all).reduce((one, other) => (other.bytes > one.bytes ? other : one))

function tooMuch(most: number, limit: string): Refusal {
  const sentence = `More than ${most} bytes are in progress (${limit}: unfinished uploads or unread answers); let some finish, then retry.`
  return new Refusal('too-much-begun', sentence, null, againAfterMs)
}

/** The bytes that one request, frame or response holds. */
class Charge {
  /** Set by its budget. */
  bytes = 0
  readonly #change: (charge: Charge, bytes: number) => void
  readonly #onRefused: (refusal: Refusal) => void
  isOver = false

  constructor(change: (charge: Charge, bytes: number) => void, onRefused: (refusal: Refusal) => void) {
    this.#change = change
    this.#onRefused = onRefused
  }

  set(bytes: number): void {
    if (!this.isOver && bytes !== this.bytes) this.#change(this, bytes)
  }

  end(): void {
    this.set(0)
    this.isOver = true
  }

  refuse(refusal: Refusal): void {
    this.end()
    this.#onRefused(refusal)
  }
}

/**
 * Maximum size of a frame of a client whose messages have at most this size: slightly larger ones get an
 * explicit error, and a state of any allowed size fits.
 */
export const largestFrame = (maxMessageBytes: number) => maxMessageBytes * 2 + 64 * 1024

interface FrameParts {
  readonly budget: Budget
  readonly timers: Pick<Timers, 'later'>
  readonly connection: object
  readonly source: Source
  readonly maxSeconds: number
  readonly onRefused: (refusal: Refusal) => void
}

/** The incomplete frame of a stream, limited in time and by the budget. */
export class UnfinishedFrame {
  readonly #parts: FrameParts
  readonly #charge: Charge
  #stopTimer: (() => void) | null = null

  constructor(parts: FrameParts) {
    this.#parts = parts
    this.#charge = parts.budget.open(parts.connection, parts.onRefused, parts.source)
  }

  /**
   * Adds received bytes. `isNew`: a frame ended with them, so they may belong to a new one. Returns
   * the frame's size so far.
   */
  add(bytes: number, isNew: boolean): number {
    const { timers, maxSeconds } = this.#parts
    if (isNew) this.#stop()
    else
      this.#stopTimer ??= timers.later(() => {
        const sentence = `A frame must be complete within ${maxSeconds} s (limits.bodySeconds); send it again.`
        this.#charge.refuse(new Refusal('too-slow', sentence))
      }, maxSeconds * 1000)
    const total = bytes + (isNew ? 0 : this.#charge.bytes + chunkBytes)
    this.#charge.set(total)
    return total
  }

  end(): void {
    this.#stop()
    this.#charge.end()
  }

  #stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = null
  }
}
