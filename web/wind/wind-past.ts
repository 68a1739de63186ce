// Asks the server for the wind of before this window: once there is a view that shows it, and again after a long absence.

import axios from 'axios'
import type { Clock } from '../../server/wire/time.ts'
import { type PastWind, readAnemogram } from '../../server/wire/wind/anemogram.ts'
import { partsOf } from '../page/views.ts'
import type { Store } from '../store/store.ts'
import type { WindFeed } from './wind-feed.ts'

/** What was missed in less comes down the stream. */
const longAbsenceMs = 60_000

export interface WindPastParts {
  readonly store: Store
  readonly feed: Pick<WindFeed, 'lookBack'>
  readonly ask: () => Promise<PastWind>
  readonly now: Clock
}

/**
 * Asks over an open link alone: then the stream brings whatever the answer does not have. Without an answer the history
 * begins with this window, and the next opening of the link asks again.
 */
export function fillInPast({ store, feed, ask, now }: WindPastParts): void {
  let isWanted = true
  let hasFailed = false
  let wasOpen = false

  function update(): void {
    const { link, shown, wind } = store.view()
    const isOpen = link.state === 'open'
    if (isOpen && !wasOpen) isWanted ||= hasFailed || isLongAgo(wind.receivedAt)
    wasOpen = isOpen
    if (!isOpen || !isWanted || !partsOf(shown.name).includes('wind')) return
    isWanted = false
    void lookBack()
  }

  async function lookBack(): Promise<void> {
    hasFailed = !(await feed.lookBack(ask))
  }

  const isLongAgo = (receivedAt: number | null) => now() - (receivedAt ?? now()) > longAbsenceMs

  store.subscribe(update)
  update()
}

/** Rejects where there is no answer, or none that is an anemogram. */
export async function askForPast(): Promise<PastWind> {
  const { data } = await axios.get<unknown>('/api/wind/history', {
    adapter: 'xhr',
    timeout: 20_000,
    xsrfCookieName: '',
  })
  return readAnemogram(data)
}
