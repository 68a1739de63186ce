// Reads what a channel said in the last hour from the log, oldest first, a portion at a time.

import type { CatchUp, Log } from '../broker/log.ts'
import type { Cursor } from '../wire/cursor.ts'
import type { Message } from '../wire/envelope.ts'
import type { Timers } from '../wire/time.ts'

const hourMs = 3_600_000

/** Between two portions, each of a few ms: whoever waits for a message goes first. */
const pauseMs = 10

/** So many messages are passed over where the log forgets faster than it is read. */
const leap = 500

export interface Reading {
  readonly log: Pick<Log, 'read' | 'snapshot'>
  readonly timers: Timers
  /** The log is not asked again once this is true. */
  readonly isOver: () => boolean
}

/**
 * Yields portions up to where the log stood when the first was asked for: what is followed from before then on comes after
 * them. Throws what the log throws.
 */
export async function* lastHour(
  { log, timers, isOver }: Reading,
  channel: string,
): AsyncGenerator<readonly Message[]> {
  const channels = new Set([channel])
  const since = timers.now() - hourMs
  const { head } = await log.snapshot(channels)
  const read = async (seq: number) => {
    await new Promise<void>((resolve) => timers.later(resolve, pauseMs))
    return isOver() ? null : log.read({ ...head, seq }, channels)
  }

  let place = await firstPlace(read, head, since)
  while (place < head.seq) {
    const portion = await read(place)
    if (!portion) return
    if (portion.recovered) yield portion.messages.filter(({ seq }) => seq <= head.seq)
    place = portion.recovered ? portion.reached.seq : place + leap
  }
}

/**
 * Halves the log until it stands before the first message that is held and not too old. A portion without a message of
 * this channel says nothing of its time, and is looked at rather than left out.
 */
async function firstPlace(
  read: (seq: number) => Promise<CatchUp | null>,
  head: Cursor,
  since: number,
): Promise<number> {
  let tooEarly = -1
  let place = head.seq
  while (place - tooEarly > 1) {
    const middle = Math.floor((tooEarly + place) / 2)
    const portion = await read(middle)
    if (!portion) return head.seq
    const [oldest] = portion.messages
    if (portion.recovered && !(oldest && oldest.acceptedAt < since)) place = middle
    else tooEarly = middle
  }
  return place
}
