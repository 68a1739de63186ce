// Brings a window that has joined to where the log stands: welcome, then all it missed or a snapshot.

import type { CatchUp, Log } from '../broker/log.ts'
import type { Cursor } from '../wire/cursor.ts'
import { createDelivery, type Delivery } from './delivery.ts'
import type { RecentDeliveries } from './recent.ts'
import { welcomeTo } from './welcome.ts'
import type { Window } from './window.ts'

export interface CatchingUp {
  readonly log: Pick<Log, 'read'>
  readonly recent: RecentDeliveries
  readonly heartbeatMs: number
}

/**
 * Reads and replays part by part, so that however much was missed, little of it is in memory at a time. Resolves to
 * `begun` when what comes flows, to `gone` when the window was closed meanwhile, to `forgotten` when the log did not
 * wait for it.
 */
export async function catchUp(
  window: Window,
  cursor: Cursor | null,
  { log, recent, heartbeatMs }: CatchingUp,
): Promise<'begun' | 'gone' | 'forgotten'> {
  const first = await log.read(cursor, window.channels)
  if (window.isClosed()) return 'gone'
  const welcome = createDelivery(welcomeTo(window, first, heartbeatMs))
  await window.replay([welcome, ...deliveriesOf(first, recent)])
  let { reached, head } = first
  while (reached.seq < head.seq && !window.isClosed()) {
    const next = await log.read(reached, window.channels)
    if (!next.recovered) return 'forgotten'
    await window.replay(deliveriesOf(next, recent))
    reached = next.reached
    head = next.head
  }
  if (window.isClosed()) return 'gone'
  window.begin(reached.seq)
  return 'begun'
}

function deliveriesOf({ messages, head }: CatchUp, recent: RecentDeliveries): Delivery[] {
  return messages.map((message) => recent.deliveryOf(message, head.epoch))
}
