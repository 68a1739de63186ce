// Feeds what the sensor says to the anemograph and to what React sees.

import { isKind, type Message } from '../../server/wire/envelope.ts'
import type { Anemograph } from '../../server/wire/wind/anemograph.ts'
import type { Store } from '../store/store.ts'

/** Takes every message; `receivedAt` is this window's clock, ms since the epoch. */
export type WindFeed = (message: Message, receivedAt: number) => void

/** A reading that comes twice, as the newest of a snapshot does, counts once: it has the same id. */
export function createWindFeed(store: Store, anemograph: Pick<Anemograph, 'take' | 'figures'>): WindFeed {
  let newestId: string | null = null
  return (message, receivedAt) => {
    const { wind } = store.view()
    if (isKind(message, 'sensor')) store.change({ wind: { ...wind, sensor: message.body } })
    if (!isKind(message, 'reading') || message.id === newestId) return
    newestId = message.id
    const takenAt = anemograph.take(message.body, message.at)
    const figures = anemograph.figures(takenAt)
    store.change({ wind: { ...wind, reading: message.body, receivedAt, takenAt, figures } })
  }
}

/** When what came with the page was received: it may have lain in the log for hours. */
export function receivedWithPage({ acceptedAt }: Message, now: number): number {
  return Math.min(acceptedAt, now)
}
