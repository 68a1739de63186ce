// Windows that ask instead of being told: each answer carries everything since the cursor that the question named.

import type { CatchUp, Log } from '../broker/log.ts'
import { type Cursor, formatCursor } from '../wire/cursor.ts'
import type { Message } from '../wire/envelope.ts'
import type { Timers } from '../wire/time.ts'
import type { Crowd } from './crowd.ts'
import { createDelivery, type Delivery } from './delivery.ts'
import type { PresenceTeller } from './presence.ts'
import type { RecentDeliveries } from './recent.ts'
import { createWaitingPolls } from './waiting.ts'
import { welcomeTo } from './welcome.ts'
import type { Visitor } from './window.ts'

export interface Poll {
  readonly visitor: Visitor
  /** The question's cursor is the acknowledgement of all before it; nothing is kept here for the window. */
  readonly cursor: Cursor | null
  /** How long to wait, in ms, where there is nothing to say; 0 answers at once. */
  readonly holdMs: number
  /** The window opens: it is answered at once, with a welcome. */
  readonly isFirst: boolean
  /** The question was taken back. */
  readonly signal: AbortSignal
}

export interface PollReply {
  /** Where to ask from next. */
  readonly cursor: string
  readonly deliveries: readonly Delivery[]
}

export interface Polls {
  /** Rejects with a `Refusal` when the server is full or draining. */
  readonly poll: (poll: Poll) => Promise<PollReply>
  readonly wake: (channel: string) => void
  /** The server drains: wakes those who wait, and resolves when all have been told, or at that time (ms since the epoch). */
  readonly goodbye: (until: number) => Promise<void>
}

export interface PollsParts {
  readonly log: Log
  readonly crowd: Crowd
  readonly timers: Timers
  readonly presence: PresenceTeller
  readonly recent: RecentDeliveries
  /** Where an answer has grown past this it ends, and the next one goes on. */
  readonly mostBytes: number
  readonly heartbeatMs: number
  readonly admit: (id: string) => void
  /** It opens, or is new here. */
  readonly onJoined: (visitor: Visitor) => void
}

const goodbyeLookMs = 10

export function createPolls(parts: PollsParts): Polls {
  const { log, crowd, presence, recent } = parts
  const waiting = createWaitingPolls(parts.timers)

  function admit({ id }: Visitor): void {
    try {
      parts.admit(id)
    } catch (refusal) {
      crowd.left(id)
      throw refusal
    }
  }

  async function poll(question: Poll): Promise<PollReply> {
    const { visitor, holdMs, isFirst, signal } = question
    admit(visitor)
    const isNew = crowd.find(visitor.id) === undefined
    const guest = crowd.polled(visitor)
    if (isNew) presence.changed()
    if (isNew || isFirst) parts.onJoined(visitor)
    // Whoever opens knows nothing of what an earlier page of its name was told.
    if (guest && isFirst) guest.toldPresence = null
    // Waiting begins before reading: what comes in between wakes it.
    const reading = new AbortController()
    const something = waiting.wait(visitor.channels, holdMs, AbortSignal.any([signal, reading.signal]))
    try {
      return replyTo(question, await findFor(question, something))
    } finally {
      reading.abort()
    }
  }

  async function findFor(question: Poll, something: Promise<void>): Promise<CatchUp> {
    const { visitor, cursor, holdMs, isFirst, signal } = question
    const found = await readSome(cursor, visitor.channels)
    if (isFirst || holdMs === 0 || !found.recovered || found.messages.length > 0) return found
    const guest = crowd.polled(visitor, holdMs)
    await something
    if (guest) guest.quietUntil = null
    // A question that was taken back says nothing of its window, which may have left.
    if (!signal.aborted) {
      admit(visitor)
      crowd.polled(visitor)
    }
    return readSome(cursor, visitor.channels)
  }

  /** A portion in which there was nothing for this window is no answer: what comes after it may be. */
  async function readSome(cursor: Cursor | null, channels: ReadonlySet<string>): Promise<CatchUp> {
    let found = await log.read(cursor, channels)
    while (found.messages.length === 0 && found.reached.seq < found.head.seq) {
      found = await log.read(found.reached, channels)
    }
    return found
  }

  function replyTo({ visitor, isFirst, signal }: Poll, found: CatchUp): PollReply {
    // A snapshot is never cut: only all of it together has the cursor's place.
    const messages = found.recovered ? asManyAsFit(found.messages, parts.mostBytes) : found.messages
    const isCut = messages.length < found.messages.length
    const last = messages.at(-1)?.seq ?? 0
    const reached = isCut ? { epoch: found.head.epoch, seq: last } : found.reached
    const guest = crowd.find(visitor.id)
    // What goes to nobody must not count as told.
    const news = guest && !signal.aborted && presence.newsFor(guest)
    return {
      cursor: formatCursor(reached),
      deliveries: [
        ...(isFirst || !found.recovered
          ? [createDelivery(welcomeTo(visitor, found, parts.heartbeatMs))]
          : []),
        ...messages.map((message) => recent.deliveryOf(message, found.head.epoch)),
        ...(news ? [news] : []),
      ],
    }
  }

  function goodbye(until: number): Promise<void> {
    waiting.wakeAll()
    return new Promise((resolve) => {
      function look(): void {
        if (crowd.pollers() === 0 || parts.timers.now() >= until) resolve()
        else parts.timers.later(look, Math.min(goodbyeLookMs, until - parts.timers.now()))
      }
      look()
    })
  }

  return { poll, wake: waiting.wake, goodbye }
}

/** At least one, however large. */
function asManyAsFit(messages: readonly Message[], mostBytes: number): readonly Message[] {
  let bytes = 0
  const end = messages.findIndex(({ body }, index) => {
    bytes += 'html' in body ? body.html.length : 300
    return index > 0 && bytes > mostBytes
  })
  return end < 0 ? messages : messages.slice(0, end)
}
