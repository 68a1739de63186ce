// Memory for what clients have begun and not finished: bodies, frames, answers that wait to be read.

import type { Config } from '../config/config.ts'
import { Refusal } from '../wire/refusal.ts'
import type { Timers } from '../wire/time.ts'

/** Bytes; one that is larger is taken where it is alone. */
export type BudgetLimits = Pick<Config['limits'], 'connectionBytes' | 'unfinishedBytes'>

interface Account {
  bytes: number
  readonly charges: Set<Charge>
}

const againAfterMs = 1000
const burstMs = 1000

/** What Node holds at most of a body that nobody reads yet: the flow-control window of its stream. */
export const mostUnreadBytes = 65_536

/** What a kept chunk costs beside its bytes. */
export const chunkBytes = 256

/** Of what is larger than that more comes in turns, so that the processor has time for what is small. */
const smallBytes = 65_536
/** At 300 MB/s, the event loop does nothing else. */
const largeBytesPerSecond = 33_554_432

/** What is being received. */
export interface Source {
  readonly pause: () => unknown
  readonly resume: () => unknown
}

/** A source that is paused for several reasons. */
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

/** Beyond the limit of a connection the newest is refused, beyond that of all the largest item of the largest connection. */
export class Budget {
  readonly #limits: BudgetLimits
  readonly #timers: Timers
  /** When what has come of the large ones would have come at their rate, ms since the epoch. */
  #largeUntil = 0
  /** By HTTP/2 session or socket; of those that hold anything. */
  readonly #accounts = new Map<object, Account>()
  #bytes = 0

  constructor(limits: BudgetLimits, timers: Timers) {
    this.#limits = limits
    this.#timers = timers
  }

  /**
   * `onRefused` frees what was begun: a `Refusal` (503 `too-much-begun`) says why. Called at most once. A large one's `source` is
   * paused while others are received.
   */
  open(connection: object, onRefused: (refusal: Refusal) => void, source: Source | null = null): Charge {
    const change = (charge: Charge, bytes: number) => {
      if (source && bytes > charge.bytes && bytes > smallBytes) this.#pace(source, bytes - charge.bytes)
      this.#change(connection, charge, bytes)
    }
    return new Charge(change, onRefused)
  }

  #pace(source: Source, bytes: number): void {
    const now = this.#timers.now()
    this.#largeUntil = Math.max(this.#largeUntil, now - burstMs) + (bytes / largeBytesPerSecond) * 1000
    if (this.#largeUntil <= now) return
    source.pause()
    this.#timers.later(() => source.resume(), this.#largeUntil - now)
  }

  #change(connection: object, charge: Charge, bytes: number): void {
    const account = this.#accounts.getOrInsertComputed(connection, () => ({ bytes: 0, charges: new Set() }))
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
  const sentence = `More than ${most} bytes are begun and not finished or not read (${limit}); finish something first, then send it again.`
  return new Refusal('too-much-begun', sentence, null, againAfterMs)
}

/** What one request, frame or answer holds. */
export class Charge {
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

/** Bytes of a frame with a message of that size; slightly larger messages get an explicit error. */
export const largestFrame = (maxMessageBytes: number) => maxMessageBytes * 2 + 64 * 1024

interface FrameParts {
  readonly budget: Budget
  readonly timers: Pick<Timers, 'later'>
  readonly connection: object
  readonly source: Source
  readonly mostSeconds: number
  readonly onRefused: (refusal: Refusal) => void
}

/** The frame of a stream that has begun to come: bounded in time and by the budget. */
export class UnfinishedFrame {
  readonly #parts: FrameParts
  readonly #charge: Charge
  #stopTimer: (() => void) | null = null

  constructor(parts: FrameParts) {
    this.#parts = parts
    this.#charge = parts.budget.open(parts.connection, parts.onRefused, parts.source)
  }

  /** `bytes` have come. `isNew`: they may be of another frame, since one has ended with them. Returns the frame's size so far. */
  add(bytes: number, isNew: boolean): number {
    const { timers, mostSeconds } = this.#parts
    if (isNew) this.#stop()
    else
      this.#stopTimer ??= timers.later(() => {
        const sentence = `A frame has to be complete within ${mostSeconds} s (limits.bodySeconds); send it again.`
        this.#charge.refuse(new Refusal('too-slow', sentence))
      }, mostSeconds * 1000)
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
