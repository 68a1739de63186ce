// Matches what one window sent with what every window received, by message ID.

import type { ReceivedStamp, SentStamp } from '../../web/lab/recorder.ts'
import { overtaken } from './overtaken.ts'
import type { Sample } from './samples.ts'

export interface WindowStamps {
  /** Window number, 1 to windows; 1 typed. */
  readonly receiver: number
  /** In the order in which they came. */
  readonly received: readonly ReceivedStamp[]
  /** To be added to this window's stamps to have the common clock's time, ms. */
  readonly offsetMs: number
}

export interface Block {
  readonly mode: string
  readonly block: number
  /** Number of the first key sent here, counted through the mode's blocks. */
  readonly firstKey: number
  /** In the order in which they were sent, by window 1. */
  readonly sent: readonly SentStamp[]
  readonly windows: readonly WindowStamps[]
}

/** One sample for each message and window, those that never came included. */
export function matchBlock(block: Block): Sample[] {
  const typist = block.windows.find(({ receiver }) => receiver === 1)
  if (!typist)
    throw new Error(`Block ${block.block} of ${block.mode} has no stamps of the window that typed.`)
  return block.windows.flatMap((window) => matchWindow(block, window, typist.offsetMs))
}

function matchWindow(
  { mode, block, firstKey, sent }: Block,
  window: WindowStamps,
  typistOffsetMs: number,
): Sample[] {
  const placeSent = new Map(sent.map(({ id }, place) => [id, place]))
  const arrivals = window.received.filter(({ id }) => placeSent.has(id))
  const late = overtaken(
    arrivals.map(({ id }) => id),
    placeSent,
  )
  const here = (stamp: number | null | undefined) => (stamp == null ? null : stamp + window.offsetMs)
  return sent.map(({ id, sentAt, inputAt }, place) => {
    const copies = arrivals.filter((arrival) => arrival.id === id)
    const [first] = copies
    return {
      mode,
      block,
      key: firstKey + place,
      id,
      receiver: window.receiver,
      own: window.receiver === 1,
      inputAt: inputAt === null ? null : inputAt + typistOffsetMs,
      sentAt: sentAt + typistOffsetMs,
      acceptedAt: first?.acceptedAt ?? null,
      receivedAt: here(first?.receivedAt),
      appliedAt: here(first?.appliedAt),
      paintedAt: here(first?.paintedAt),
      copies: copies.length,
      reordered: late.has(id),
    }
  })
}
