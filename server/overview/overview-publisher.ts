// Publishes the overview of each page that has readers, from its edits and the wind.

import { type Documents, isTooCostly } from '../document/document-worker.ts'
import type { Hub } from '../hub/hub.ts'
import type { Log } from '../log/log.ts'
import {
  longestPauseMs,
  type OverviewBody,
  overviewChannel,
  overviewName,
  pageOfOverview,
  windChannel,
} from '../page/page-messages.ts'
import { isKind, type Message } from '../wire/messages.ts'
import { nothingPlanned, type Timers } from '../wire/time.ts'
import { WindRecord } from './wind-overview.ts'

interface OverviewParts {
  readonly documents: Documents
  readonly log: Pick<Log, 'follow' | 'snapshot' | 'heads'>
  readonly hub: Pick<Hub, 'publish' | 'isRead' | 'leads'>
  /** Monotonic. */
  readonly timers: Timers
  /** Keeps ids unique across restarts. */
  readonly run: string
  readonly maxChannels: number
  /** An overview failed and is retried after a second. Repeated failures are reported once. */
  readonly onFailure: (error: unknown) => void
}

/** Follows the log from now on. Counts text and publishes only for pages with readers. */
export function startOverview(parts: OverviewParts) {
  const wind = new WindRecord(parts.timers.now)
  const shared: Shared = {
    ...parts,
    wind,
    countedSince: parts.timers.now(),
    newChannels: new Set(),
    published: 0,
  }
  const pages = new Map<string, Page>()

  const unfollow = parts.log.follow((message) => {
    if (isEdit(message)) find(message.channel)?.edited(message)
    else wind.take(message)
  })

  function find(name: string): Page | null {
    const known = pages.get(name)
    if (known) return known
    const channel = overviewChannel(name)
    if (channel === null) return null
    const page = createPage(shared, name, channel, () => pages.delete(name))
    pages.set(name, page)
    return page
  }

  return {
    /** A client subscribed to these channels. */
    joined(channels: ReadonlySet<string>): void {
      for (const channel of channels) {
        const name = pageOfOverview(channel)
        const isPage = name !== null && name !== windChannel && pageOfOverview(name) === null
        if (isPage) find(name)?.joined()
      }
    },
    stop(): void {
      unfollow()
      for (const page of pages.values()) page.stop()
    },
  }
}

/** An update is an edit of a shared document. */
type Edit = Message<'edit'> | Message<'update'>

function isEdit(message: Message): message is Edit {
  return isKind(message, 'edit') || isKind(message, 'update')
}

interface Shared extends OverviewParts {
  readonly wind: WindRecord
  readonly countedSince: number
  /** Overview channels not yet in the log. */
  readonly newChannels: Set<string>
  published: number
}

const shortestPauseMs = 1000

/**
 * The pause after a count, as a multiple of its processor time: a long document is counted less
 * often.
 */
const pauseOfCount = 20

type Page = ReturnType<typeof createPage>

/**
 * Publishes to the first reader at once, then at most once a second on a change, and at least every
 * `longestPauseMs`. Without readers it only counts edits; calls `onForgotten` if it has none.
 */
function createPage(shared: Shared, name: string, channel: string, onForgotten: () => void) {
  const { documents, log, hub, timers, run, maxChannels, onFailure, wind, countedSince, newChannels } = shared
  let newest: Edit | null = null
  /** Whether `newest` is up to date, null included. */
  let isKnown = false
  let edits = 0
  const rate = new EditRate()
  let counts: Pick<OverviewBody, 'words' | 'characters'> = { words: 0, characters: 0 }
  let counted: Edit | null = null
  let countMs = 0

  let cancel = nothingPlanned
  let isBusy = false
  let isStopped = false
  let hasNewcomer = false
  let publishedAt = Number.NEGATIVE_INFINITY
  let published = ''
  let failure = ''

  function plan(earliestAt: number): void {
    cancel()
    if (!isStopped) cancel = timers.later(() => void update(), earliestAt - timers.now())
  }

  async function update(): Promise<void> {
    if (!hub.isRead(channel) || !hub.leads()) {
      if (edits === 0) onForgotten()
      return
    }
    const startedAt = timers.now()
    isBusy = true
    try {
      await publish()
    } catch (error) {
      const isNew = String(error) !== failure
      failure = String(error)
      if (isNew && !isStopped) onFailure(error)
    }
    isBusy = false
    const pauseMs = hasNewcomer ? shortestPauseMs : Math.max(shortestPauseMs, pauseOfCount * countMs)
    plan((hasNewcomer ? publishedAt : Math.max(publishedAt, startedAt)) + pauseMs)
  }

  async function publish(): Promise<void> {
    // The server does not see clients that join a shared stream; a regular overview also
    // distinguishes quiet from stuck.
    const isDue = hasNewcomer || timers.now() - publishedAt >= longestPauseMs
    hasNewcomer = false
    const body = hasRoom() ? await computeBody() : null
    const text = JSON.stringify(body)
    if (body === null || isStopped || (text === published && !isDue)) return
    publishedAt = timers.now()
    shared.published += 1
    const id = `${overviewName}-${run}-${shared.published}`
    await hub.publish({ id, channel, kind: 'overview', from: overviewName, at: publishedAt, body })
    newChannels.delete(channel)
    published = text
    failure = ''
  }

  /**
   * Readers may name any number of nonexistent pages, which must not fill the log with channels.
   */
  function hasRoom(): boolean {
    const heads = log.heads()
    if (heads.has(name) || heads.has(channel)) return true
    if (heads.size + newChannels.size >= maxChannels / 2) return false
    newChannels.add(channel)
    return true
  }

  async function computeBody(): Promise<OverviewBody> {
    if (!isKnown) {
      const { messages } = await log.snapshot(new Set([name]))
      newest ??= messages.findLast(isEdit) ?? null
      isKnown = true
    }
    // An edit that arrives during a count is counted next time.
    const edit = newest
    if (edit !== null && edit !== counted) {
      counts = await count()
      counted = edit
    }
    const editsEachSecond = rate.eachSecond(timers.now())
    const editsLastMinute = editsEachSecond.reduce((sum, count) => sum + count, 0)
    return { ...counts, editsLastMinute, editsEachSecond, edits, countedSince, wind: wind.overview() }
  }

  async function count(): Promise<typeof counts> {
    const { messages } = await log.snapshot(new Set([name]))
    try {
      const { cpuMs, ...counts } = await documents.read(name, 'countsOf', messages)
      countMs = cpuMs
      return counts
    } catch (error) {
      if (isTooCostly(error)) return { words: null, characters: null }
      throw error
    }
  }

  return {
    edited(edit: Edit): void {
      newest = edit
      isKnown = true
      edits += 1
      rate.add(timers.now())
    },
    joined(): void {
      hasNewcomer = true
      if (!isBusy) plan(publishedAt + shortestPauseMs)
    },
    stop(): void {
      isStopped = true
      cancel()
    },
  }
}

const secondsKept = 60

/** Edits in each of the last 60 seconds, in constant memory; `now` in ms. */
class EditRate {
  readonly #bySecond = new Map<number, number>()

  add(now: number): void {
    const second = Math.floor(now / 1000)
    this.#bySecond.set(second, (this.#bySecond.get(second) ?? 0) + 1)
    const [oldest = second] = this.#bySecond.keys()
    if (oldest <= second - secondsKept) this.#bySecond.delete(oldest)
  }

  eachSecond(now: number): number[] {
    const first = Math.floor(now / 1000) - secondsKept + 1
    return Array.from({ length: secondsKept }, (_none, place) => this.#bySecond.get(first + place) ?? 0)
  }
}
