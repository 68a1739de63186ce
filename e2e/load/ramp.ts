// A ramp: windows open at a steady rate and ping until the end, all at times fixed beforehand.

import { createSeededRandom } from '../../client/wire.ts'
import { nameOf, newKey } from '../clients/client.ts'
import { type Browser, openBrowser, sourceAddress } from './lean-http.ts'
import { type LoadClient, openClient, type Target } from './load-client.ts'

export interface RampPlan {
  readonly target: Target
  /** In all load processes together. */
  readonly windows: number
  readonly windowsPerSecond: number
  /** Over HTTP/2 the windows of a browser share its session and open together. */
  readonly perBrowser: number
  /** Windows that share a channel. */
  readonly perPage: number
  readonly meanPeriodMs: number
  /** From when the last window is due until the last ping. */
  readonly holdMs: number
  /** A later pong is missing. */
  readonly patienceMs: number
  readonly seed: number
  /** On the shared clock. */
  readonly startAt: number
  /** This process has each browser whose number modulo `of` is `place`. */
  readonly share: { readonly place: number; readonly of: number }
}

export const rampMs = ({ windows, windowsPerSecond }: Pick<RampPlan, 'windows' | 'windowsPerSecond'>) =>
  (windows * 1000) / windowsPerSecond

/**
 * Shortest and longest period, as shares of the mean: two clients in three ping more often than the
 * mean.
 */
const periodRange = { least: 0.2, most: 1.8 }

/**
 * Drawn once per window, uniform, independent of how windows are distributed. The thesis draws from
 * 0 to twice the mean; without a minimum period the fastest few clients would send most of the
 * pings.
 */
export function periodOf(
  window: number,
  { seed, meanPeriodMs }: Pick<RampPlan, 'seed' | 'meanPeriodMs'>,
): number {
  const { least, most } = periodRange
  return meanPeriodMs * (least + (most - least) * createSeededRandom(seed + window * 0x9e3779b1)())
}

const bucketMs = 5

/**
 * Schedules items in buckets: a timer for each of thousands of windows would cost more than its
 * ping.
 */
export class DueQueue {
  readonly #buckets = new Map<number, { readonly item: number; readonly dueAt: number }[]>()
  #next = Number.POSITIVE_INFINITY

  add(item: number, dueAt: number): void {
    const bucket = Math.ceil(dueAt / bucketMs)
    this.#buckets.getOrInsertComputed(bucket, () => []).push({ item, dueAt })
    this.#next = Math.min(this.#next, bucket)
  }

  /**
   * Everything due by then, the earliest bucket first, including items added meanwhile. Never
   * early, up to 5 ms late.
   */
  *take(now: number): Generator<{ readonly item: number; readonly dueAt: number }> {
    const last = Math.floor(now / bucketMs)
    while (this.#buckets.size > 0 && this.#next <= last) {
      const number = this.#next
      // An item added now may belong to an earlier bucket.
      this.#next += 1
      for (const due of this.#buckets.get(number) ?? []) yield due
      this.#buckets.delete(number)
    }
  }
}

export type RampTally = ReturnType<RampTallying['result']>
/** Counted in the second in which they happened; `open` is its value at the end. */
export type RampSecond = RampTally['seconds'][number]

interface Window {
  readonly periodMs: number
  openedAt: number
  endedAt: number
  /** When each unanswered ping was sent. */
  readonly waiting: number[]
}

const counted = ['opened', 'failed', 'dropped', 'sent', 'answered'] as const

/** Each window's own count of the pongs it should get. Times are on one clock, ms. */
export class RampTallying {
  readonly #plan: Pick<RampPlan, 'startAt' | 'patienceMs'>
  readonly #endAt: number
  readonly #seconds: Record<(typeof counted)[number], number>[]
  readonly #windows = new Map<number, Window>()
  readonly #reasons: Record<string, number> = {}
  readonly #roundTrips: number[] = []
  readonly #roundTripSeconds: number[] = []
  readonly #openedAfter: number[] = []
  readonly #openingLateness: number[] = []
  readonly #pingLateness: number[] = []
  #repeated = 0

  constructor(plan: Pick<RampPlan, 'startAt' | 'patienceMs'>, endAt: number) {
    this.#plan = plan
    this.#endAt = endAt
    const seconds = Math.max(1, Math.ceil((endAt - plan.startAt) / 1000))
    const none = { opened: 0, failed: 0, dropped: 0, sent: 0, answered: 0 }
    this.#seconds = Array.from({ length: seconds }, () => ({ ...none }))
  }

  #count(what: (typeof counted)[number], at: number): void {
    const second = this.#seconds[this.#secondOf(at)]
    if (second) second[what] += 1
  }

  /** Events after the end belong to the last second. */
  #secondOf(at: number): number {
    return Math.max(0, Math.min(this.#seconds.length - 1, Math.floor((at - this.#plan.startAt) / 1000)))
  }

  begins(window: number, periodMs: number, dueAt: number, now: number): void {
    this.#windows.set(window, { periodMs, openedAt: Number.NaN, endedAt: Number.NaN, waiting: [] })
    this.#openingLateness.push(now - dueAt)
  }

  /** Returns when its first ping is due. */
  opened(window: number, dueAt: number, now: number): number {
    const known = this.#known(window)
    known.openedAt = now
    this.#openedAfter.push(now - dueAt)
    this.#count('opened', now)
    return now + known.periodMs
  }

  /** Before opening it counts as failed, afterwards as dropped; only the first reason counts. */
  ended(window: number, why: string, now: number): void {
    const known = this.#known(window)
    if (!Number.isNaN(known.endedAt)) return
    known.endedAt = now
    this.#reasons[why] = (this.#reasons[why] ?? 0) + 1
    this.#count(Number.isNaN(known.openedAt) ? 'failed' : 'dropped', now)
  }

  isOpen(window: number): boolean {
    const { openedAt, endedAt } = this.#known(window)
    return !Number.isNaN(openedAt) && Number.isNaN(endedAt)
  }

  /** Returns when the next one is due. */
  sent(window: number, dueAt: number, now: number): number {
    const { waiting, periodMs } = this.#known(window)
    waiting.push(now)
    this.#pingLateness.push(now - dueAt)
    this.#count('sent', now)
    return dueAt + periodMs
  }

  pong(window: number, now: number): void {
    const sentAt = this.#known(window).waiting.shift()
    if (sentAt === undefined) {
      this.#repeated += 1
      return
    }
    if (now - sentAt > this.#plan.patienceMs) return
    this.#roundTrips.push(now - sentAt)
    this.#roundTripSeconds.push(this.#secondOf(sentAt))
    this.#count('answered', now)
  }

  /** Whether something may still arrive. */
  isWaiting(): boolean {
    return this.#windows.values().some(({ openedAt, endedAt, waiting }) => {
      return Number.isNaN(endedAt) && (Number.isNaN(openedAt) || waiting.length > 0)
    })
  }

  /** Windows not open then have failed. */
  result(now: number) {
    for (const [window, { openedAt, endedAt }] of this.#windows)
      if (Number.isNaN(openedAt) && Number.isNaN(endedAt)) this.ended(window, 'not open at the end', now)
    const sum = (what: (typeof counted)[number]) =>
      this.#seconds.reduce((total, second) => total + second[what], 0)
    let due = 0
    for (const { openedAt, endedAt, periodMs } of this.#windows.values()) {
      const until = Number.isNaN(endedAt) ? this.#endAt : Math.min(endedAt, this.#endAt)
      if (until > openedAt) due += Math.floor((until - openedAt) / periodMs)
    }
    let open = 0
    const seconds = this.#seconds.map((second) => {
      open += second.opened - second.dropped
      return { open, ...second }
    })
    const answered = sum('answered')
    return {
      windows: this.#windows.size,
      opened: sum('opened'),
      failed: sum('failed'),
      dropped: sum('dropped'),
      /** By each window's period, from its opening to its end or the ramp's. */
      due,
      sent: sum('sent'),
      /** In time. */
      answered,
      /** Due, and not answered in time. */
      missing: due - answered,
      /** Answers without a ping. */
      repeated: this.#repeated,
      /** How often each occurred. */
      reasons: this.#reasons as Readonly<Record<string, number>>,
      roundTripsMs: Float64Array.from(this.#roundTrips),
      /** In whole seconds from the start, one per round trip: when its ping was sent. */
      roundTripSeconds: Float64Array.from(this.#roundTripSeconds),
      /** From when it was due until it was greeted. */
      openedAfterMs: Float64Array.from(this.#openedAfter),
      /** How late connections started and pings were sent. */
      openingLatenessMs: Float64Array.from(this.#openingLateness),
      pingLatenessMs: Float64Array.from(this.#pingLateness),
      seconds,
    }
  }

  #known(window: number): Window {
    const known = this.#windows.get(window)
    if (!known) throw new RangeError(`Window ${window} has not started.`)
    return known
  }
}

export type Ramp = ReturnType<typeof startRamp>

/** Open loop: late items are caught up, and nothing waits for an answer. */
export function startRamp(plan: RampPlan, clock: () => number) {
  const { target, windows, windowsPerSecond, perBrowser, perPage, startAt, holdMs, patienceMs, share } = plan
  const endAt = startAt + rampMs(plan) + holdMs
  const tallying = new RampTallying(plan, endAt)
  const browsers: Browser[] = []
  const clients = new Map<number, LoadClient>()
  const openings = new DueQueue()
  const pings = new DueQueue()
  const done = Promise.withResolvers<RampTally>()
  let timer = setTimeout(turn, Math.max(0, startAt - clock()))
  let isClosed = false

  for (let browser = share.place; browser * perBrowser < windows; browser += share.of)
    openings.add(browser, startAt + (browser * perBrowser * 1000) / windowsPerSecond)

  async function openWindows(browser: number, dueAt: number): Promise<void> {
    const first = browser * perBrowser
    const all = Array.from({ length: Math.min(perBrowser, windows - first) }, (_, place) => first + place)
    for (const window of all) tallying.begins(window, periodOf(window, plan), dueAt, clock())
    const key = newKey()
    try {
      const opened = await openBrowser(target.origin, target.http, sourceAddress(first, target.origin))
      browsers.push(opened)
      if (isClosed) return opened.close()
      await Promise.all(all.map((window) => openWindow(opened, key, window, dueAt)))
    } catch (error) {
      for (const window of all) tallying.ended(window, reasonOf(error), clock())
    }
  }

  async function openWindow(browser: Browser, key: string, window: number, dueAt: number): Promise<void> {
    const name = nameOf(key, `w${window}`)
    const channels = `ramp-${Math.floor(window / perPage)}`
    try {
      const client = await openClient(target, {
        browser,
        query: new URLSearchParams({ window: name, key, channels }),
        onPong: () => tallying.pong(window, clock()),
        onEnd: (why) => isClosed || tallying.ended(window, why, clock()),
      })
      clients.set(window, client)
      pings.add(window, tallying.opened(window, dueAt, clock()))
    } catch (error) {
      tallying.ended(window, reasonOf(error), clock())
    }
  }

  function ping(by: number): void {
    for (const { item, dueAt } of pings.take(by)) {
      if (dueAt > endAt || !tallying.isOpen(item)) continue
      const next = tallying.sent(item, dueAt, clock())
      clients.get(item)?.ping()
      pings.add(item, next)
    }
  }

  function turn(): void {
    const now = clock()
    for (const { item, dueAt } of openings.take(now)) void openWindows(item, dueAt)
    ping(now)
    const isOver = now >= endAt + bucketMs && (!tallying.isWaiting() || now > endAt + patienceMs)
    if (isOver) done.resolve(tallying.result(now))
    // Checking each window takes time, so this runs less often at the end.
    else timer = setTimeout(turn, now < endAt + bucketMs ? bucketMs : bucketMs * 20)
  }

  return {
    /** Resolves after the last answer, or when it times out. */
    tally: done.promise,
    /** Over its connections, including TLS. */
    receivedBytes: () => browsers.reduce((sum, browser) => sum + browser.receivedBytes(), 0),
    close(): void {
      isClosed = true
      clearTimeout(timer)
      for (const client of clients.values()) client.close()
      for (const browser of browsers) browser.close()
    },
  }
}

/** Omits the window's name and the port, so that equal reasons count together. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message.replace(/\?\S*/, '')
}
