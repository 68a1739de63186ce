// Reads a page's clock against another. These functions run in the page: they use nothing from outside themselves.

import type { Exchange } from '../../server/wire/clock/exchange.ts'
import type { ClockReading } from '../lab/clock.ts'

/**
 * Offset to the machine's system clock, which all windows on it share: `Date.now()` turns from one whole
 * millisecond to the next at a known time, and of many such turns the closest pair of looks bounds it best.
 */
export function readTickOffset(ticks: number): ClockReading {
  const now = () => performance.timeOrigin + performance.now()

  /** The turn lies between `before`, taken ahead of the last look at the old millisecond, and `after`. */
  function awaitTick() {
    const start = Date.now()
    let before = now()
    // Five milliseconds hold a turn for sure; a clock set back would otherwise keep this waiting.
    for (const end = before + 5; before < end; ) {
      const ahead = now()
      const wholeMs = Date.now()
      if (wholeMs !== start) return { before, after: now(), wholeMs }
      before = ahead
    }
    return { before, after: before + 1, wholeMs: Date.now() }
  }

  let earliest = Number.NEGATIVE_INFINITY
  let latest = Number.POSITIVE_INFINITY
  for (let tick = 0; tick < ticks; tick += 1) {
    const { before, after, wholeMs } = awaitTick()
    latest = Math.min(latest, wholeMs - before)
    earliest = Math.max(earliest, wholeMs - after)
  }
  // Crossed bounds mean that the system clock was slewed meanwhile; their distance is the doubt.
  return { offsetMs: (earliest + latest) / 2, boundMs: Math.abs(latest - earliest) / 2 }
}

/**
 * The stamps of exchanges with a server, one after the other, for `lab/clock.ts`. `origin` is the server's own where the
 * page came by a slower way, which has to be among its `allowedOrigins`; empty for where the page came from.
 */
export async function exchangeClocks(times: number, origin: string): Promise<Exchange[]> {
  const now = () => performance.timeOrigin + performance.now()
  const exchanges: Exchange[] = []
  for (let count = 0; count < times; count += 1) {
    const sentAt = now()
    const answer = await fetch(`${origin}/api/clock`, { cache: 'no-store', credentials: 'include' })
    const returnedAt = now()
    const { at } = (await answer.json()) as { at: number }
    exchanges.push({ sentAt, receivedAt: at, answeredAt: at, returnedAt })
  }
  return exchanges
}
