// This window's clock against others: the machine's own where windows share one, the server's where they do not.

export interface ClockReading {
  /** Add it to this window's stamps to have the other clock's time, ms. */
  readonly offsetMs: number
  /** The true offset is no further off than this, ms. */
  readonly boundMs: number
}

const now = () => performance.timeOrigin + performance.now()

/**
 * Offset to the machine's system clock, which all windows on it share: `Date.now()` turns from one whole
 * millisecond to the next at a known time, and of many such turns the closest pair of looks bounds it best.
 */
export function readTickOffset(ticks = 20): ClockReading {
  let earliest = Number.NEGATIVE_INFINITY
  let latest = Number.POSITIVE_INFINITY
  for (let tick = 0; tick < ticks; tick += 1) {
    const { before, after, wholeMs } = awaitTick()
    // offset = whole - stamp, for the stamp of the turn.
    latest = Math.min(latest, wholeMs - before)
    earliest = Math.max(earliest, wholeMs - after)
  }
  // Crossed bounds mean that the system clock was slewed meanwhile; their distance is the doubt.
  return { offsetMs: (earliest + latest) / 2, boundMs: Math.abs(latest - earliest) / 2 }
}

/** The turn lies between `before`, taken ahead of the last look at the old millisecond, and `after`. */
function awaitTick(): { before: number; after: number; wholeMs: number } {
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

/** Offset to the server's clock by repeated exchanges, the fastest kept: its error is at most half its round trip. */
export async function exchangeWithServer(origin: string, exchanges = 20): Promise<ClockReading> {
  let best: ClockReading = { offsetMs: 0, boundMs: Number.POSITIVE_INFINITY }
  for (let count = 0; count < exchanges; count += 1) {
    const sentAt = now()
    const answer = await fetch(`${origin}/api/clock`, { cache: 'no-store' })
    const receivedAt = now()
    const { at } = (await answer.json()) as { at: number }
    const boundMs = (receivedAt - sentAt) / 2
    if (boundMs < best.boundMs) best = { offsetMs: at - (sentAt + receivedAt) / 2, boundMs }
  }
  return best
}
