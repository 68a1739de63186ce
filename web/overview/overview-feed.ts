// Feeds the overviews that come to what React sees, and says which channels a window reads for what it shows.

import { isKind, type Message } from '../../server/wire/envelope.ts'
import { overviewChannel } from '../../server/wire/overview.ts'
import { partsOf, type ViewName } from '../page/views.ts'
import type { Store } from '../store/store.ts'

/** Takes every message; `dueAt` as the link tells it: this window's clock, ms since the epoch. */
export function feedOverview(store: Store, message: Message, dueAt: number): void {
  if (isKind(message, 'overview'))
    store.change({ overview: { body: message.body, at: message.at, receivedAt: dueAt } })
}

/** The page's own and the wind's; its overview's in a view that shows it alone, so that nobody else is sent it. */
export function channelsFor(page: string, view: ViewName): readonly string[] {
  const overview = partsOf(view).includes('overview') ? overviewChannel(page) : null
  return [page, 'wind', ...(overview === null ? [] : [overview])]
}
