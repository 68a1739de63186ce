// Feeds readings to history and store, and fetches the hour before this window opened.

import { viewNamed } from '../../app/shared/views.ts'
import { type Grain, type PastWind, readSnapshot, WindHistory } from '../../app/shared/wind-history.ts'
import type { PastWeek } from '../../app/shared/wind-week.ts'
import { isKind, type Message } from '../../protocol/messages.ts'
import type { Clock, Timers } from '../../protocol/time.ts'
import { openHttp } from '../axios-http.ts'
import type { Store } from '../store.ts'

/** Entries merged per task, to keep the page responsive. */
const entriesEachTurn = 100

/** Deduplicates by id: a snapshot's newest reading arrives twice. */
export function createWindFeed(store: Store, timers: Timers) {
  let history = new WindHistory()
  let newestId: string | null = null
  /** Ignores messages accepted up to then, by the server's clock. */
  let leftOutUntil = Number.NEGATIVE_INFINITY
  /** The history holds every reading up to this sequence number, including those yet to arrive. */
  let pastSeq = 0
  /** Readings since the request. */
  let held: Message<'reading'>[] | null = null

  function handleReading(message: Message<'reading'>, dueAt: number): void {
    const { wind } = store.view()
    newestId = message.id
    held?.push(message)
    const isPast = message.seq <= pastSeq && wind.takenAt !== null
    const takenAt = isPast ? wind.takenAt : history.take(message.body, message.at)
    const figures = history.figures(takenAt)
    store.change({
      wind: { ...wind, hasSensor: true, reading: message.body, receivedAt: dueAt, takenAt, figures },
    })
  }

  /** Merges in slices while readings continue; null if there is nothing to merge. */
  async function joinedWith(past: PastWind): Promise<{ history: WindHistory; newestAt: number } | null> {
    const steps = history.joinedWith(past)
    for (let done = 1; ; done += 1) {
      const step = steps.next()
      if (step.done) return step.value
      if (done % entriesEachTurn === 0) await new Promise<void>((resolve) => timers.later(resolve, 0))
    }
  }

  return {
    /** By the readings' server timestamps, like `takenAt` in the store. */
    history: { since: (at: number, grain: Grain) => history.since(at, grain) },
    /** No sensor: ignores these and all earlier messages. A later sensor is shown. */
    leaveOut(messages: readonly Message[]): void {
      leftOutUntil = Math.max(leftOutUntil, ...messages.map(({ acceptedAt }) => acceptedAt))
      store.change({ wind: { ...store.view().wind, hasSensor: false } })
    },
    /** `dueAt` from the link: this window's clock, ms since the epoch. */
    handle(message: Message, dueAt: number): void {
      if (message.acceptedAt <= leftOutUntil) return
      if (isKind(message, 'sensor'))
        store.change({ wind: { ...store.view().wind, hasSensor: true, sensor: message.body } })
      else if (isKind(message, 'reading') && message.id !== newestId) handleReading(message, dueAt)
    },
    /**
     * Fetches the past hour and merges it under readings that arrive meanwhile. False without an answer for
     * the current log, which leaves the history unchanged. A newer call supersedes this one.
     */
    async lookBack(ask: () => Promise<PastWind>): Promise<boolean> {
      const mine: Message<'reading'>[] = []
      held = mine
      const past = await ask().catch(() => null)
      const found = past && past.entries.length > 0 ? await joinedWith(past) : null
      if (held !== mine) return false
      held = null
      if (!past || !found) return past !== null
      let takenAt = found.newestAt
      for (const { seq, body, at } of mine) if (seq > past.seq) takenAt = found.history.take(body, at)
      found.history.joinWeek(history.since(Number.NEGATIVE_INFINITY, 'minute'))
      history = found.history
      pastSeq = past.seq
      const { wind } = store.view()
      const figures = history.figures(takenAt)
      store.change({ wind: { ...wind, takenAt, figures, lookedBack: wind.lookedBack + 1 } })
      return true
    },
    /** Fetches the week before, in minutes. False without an answer, and while the server still reads its log. */
    async lookBackWeek(ask: () => Promise<PastWeek>): Promise<boolean> {
      const past = await ask().catch(() => null)
      if (!past) return false
      history.joinWeek(past.stretches)
      const { wind } = store.view()
      store.change({ wind: { ...wind, lookedBack: wind.lookedBack + 1 } })
      return past.isComplete
    },
    newLog(): void {
      pastSeq = 0
      held = null
    },
  }
}

/** Until a week that is not complete is asked for again. */
const weekAgainMs = 5000

/** The stream covers shorter absences. */
const longAbsenceMs = 60_000

interface WindPastParts {
  readonly store: Store
  readonly feed: Pick<ReturnType<typeof createWindFeed>, 'lookBack' | 'lookBackWeek'>
  readonly ask: () => Promise<PastWind>
  readonly askWeek: () => Promise<PastWeek>
  readonly now: Clock
}

/**
 * Fetches only while the link is open: then the stream brings the rest. After a failure, retries at the
 * next opening.
 */
export function fillInPast({ store, feed, ask, askWeek, now }: WindPastParts): void {
  let isWanted = true
  let hasFailed = false
  let wasOpen = false
  /** When the week is asked for, once it is to be shown. */
  let weekAt = 0

  async function update(): Promise<void> {
    const { link, shown, wind } = store.view()
    const isOpen = link.state === 'open'
    const absentMs = wind.receivedAt === null ? 0 : now() - wind.receivedAt
    if (isOpen && !wasOpen) isWanted ||= hasFailed || absentMs > longAbsenceMs
    wasOpen = isOpen
    if (!isOpen || !wind.hasSensor || !viewNamed(shown.name).parts.includes('wind')) return
    if (isWanted) {
      isWanted = false
      weekAt = 0
      hasFailed = !(await feed.lookBack(ask))
    } else if (wind.choices.minutes > 60 && now() >= weekAt) {
      weekAt = Number.POSITIVE_INFINITY
      if (!(await feed.lookBackWeek(askWeek))) weekAt = now() + weekAgainMs
    }
  }

  store.subscribe(update)
  update()
}

export async function askForPast(): Promise<PastWind> {
  return readSnapshot((await openHttp().get<unknown>('/wind/history')).answer)
}

/** Loads what reads it. */
export async function askForWeek(): Promise<PastWeek> {
  const { readWeek } = await import('../../app/shared/wind-week.ts')
  return readWeek((await openHttp().get<unknown>('/wind/week')).answer)
}
