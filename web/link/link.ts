// A window's link to the log: says what is published, tells what the log says, keeps both through all that may happen.

import type { Bodies, Draft, Kind, Message } from '../../server/wire/envelope.ts'
import type { DownFrame, Presence } from '../../server/wire/frames.ts'
import type { HttpVersion, Mode, TransportName } from '../../server/wire/modes.ts'
import type { Random } from '../../server/wire/random.ts'
import type { Polling } from '../../server/wire/settings.ts'
import type { Timers } from '../../server/wire/time.ts'
import type { WebTransport } from '../transports/transport.ts'
import { createLinkClock } from './clock.ts'
import { type Connection, type ConnectionParts, openConnection } from './connection.ts'
import { whenDue } from './due.ts'
import { createLife, type Life, type LifeState } from './life.ts'
import type { LinkState } from './link-state.ts'
import { createOutbox, type OutboxBounds } from './outbox.ts'
import type { OutboxStore } from './outbox-store.ts'
import { createPlace } from './place.ts'
import { createSaving } from './saving.ts'
import { createSending } from './sending.ts'

export interface LinkParts {
  readonly transports: Readonly<Record<TransportName, WebTransport>>
  readonly originFor: (http: HttpVersion) => string
  readonly polling: Polling
  readonly window: string
  readonly browser: string
  /** To begin with; the page's own channel first. */
  readonly channels: readonly string[]
  readonly mode: Mode
  /** Cursor of what the page brought with it; null for nothing. */
  readonly cursor: string | null
  readonly bounds: OutboxBounds
  readonly store: OutboxStore
  /** False when this browser is not invited any more; rejects when the server could not be asked. */
  readonly renewSession: () => Promise<boolean>
  readonly timers: Timers
  readonly random: Random
  readonly onState: (state: LinkState) => void
  /**
   * Each message of the log once, in its order. `receivedAt` is when it came; `dueAt` when it would have come, had the
   * link been there: the same, but for what a stream catches up with. Both by this window's clock, ms since the epoch.
   */
  readonly onMessage: (message: Message, receivedAt: number, dueAt: number) => void
  /** The log is another than before: its numbers begin anew. */
  readonly onNewLog: () => void
  readonly onPresence: (presence: Presence) => void
  readonly onOutbox: (outbox: OutboxState) => void
  /** A message was stored under this number. */
  readonly onStored: (id: string, seq: number) => void
  /** A message was refused for good. */
  readonly onRefused: (id: string, sentence: string) => void
  /** A message was left out, for a newer one says all that it did. */
  readonly onSuperseded: (id: string) => void
}

export interface OutboxState {
  /** Messages that the server has not acknowledged. */
  readonly unstored: number
  /** How many were left out, since the outbox was last empty, for newer ones that say the same and more. */
  readonly superseded: number
  /** The last message found no room. */
  readonly isFull: boolean
  /** Whether a reload would keep what there is. */
  readonly isSaved: boolean
}

export interface Link extends Omit<Life, 'repair' | 'askAnew'> {
  /**
   * Numbers and stamps a message and sends it, now or as soon as there is a connection. Returns it; null when the outbox
   * is full: then it was not taken, and has to be published again when there is room.
   */
  readonly publish: <K extends Kind>(channel: string, kind: K, body: Bodies[K]) => Draft<K> | null
  /** Reads these channels from here on; of a new one, what comes from here on. */
  readonly read: (channels: readonly string[]) => void
  /** Puts what is unacknowledged where a reload finds it. */
  readonly save: () => void
  /** Nobody looks at this window until it is woken as `visible`: what is only for show stops. */
  readonly rest: () => void
}

export function createLink(parts: LinkParts): Link {
  const { timers, store } = parts
  const outbox = createOutbox(parts.bounds, store.restored)
  const place = createPlace(parts.cursor)
  const sending = createSending({
    outbox,
    timers,
    onStored: ({ id }, { seq }) => settle(id, () => parts.onStored(id, seq)),
    onRefused: ({ id }, sentence) => settle(id, () => parts.onRefused(id, sentence)),
  })
  const saving = createSaving({ timers, outbox, store, onChange: tellOutbox })
  let { channels } = parts
  let openings = 0
  let sent = 0
  let superseded = 0
  let isFull = false
  let isEnded = false
  let state: LifeState | null = null
  let reading: LinkState['clock'] = null
  /** The one known last: where a stream begins, no clock has been compared over it yet. */
  let offsetMs: number | null = null

  const clock = createLinkClock({
    ...parts,
    onReading(next) {
      if (next === reading) return
      reading = next
      offsetMs = next?.offsetMs ?? offsetMs
      tellState()
    },
  })

  const life = createLife({
    ...parts,
    connect,
    onState(next) {
      state = next
      tellState()
    },
    onOpen({ send, abandon, askClock }, { cursor }) {
      if (place.enter(cursor)) parts.onNewLog()
      sending.begin(send, () =>
        // The stream seems fine, yet all unacknowledged has to go again in order: start over.
        abandon({ code: 'lost', sentence: 'A message could not be sent; connecting anew.' }),
      )
      reading = null
      clock.begin(askClock)
    },
    onLost() {
      sending.end()
      // Told with the state that follows.
      reading = null
      clock.end()
    },
    onFrame: take,
  })

  function connect(mode: Mode, on: Pick<ConnectionParts, 'onFrame' | 'onClose'>): Connection {
    openings += 1
    const opening = { origin: parts.originFor(mode.http), mode, query: query(), polling: parts.polling }
    return openConnection({ transport: parts.transports[mode.transport], opening, timers, ...on })
  }

  function query(): URLSearchParams {
    const { window, browser } = parts
    const asked = new URLSearchParams({ window, browser, channels: channels.join(',') })
    asked.set('opening', String(openings))
    const cursor = place.cursor()
    if (cursor !== null) asked.set('cursor', cursor)
    return asked
  }

  function take(frame: DownFrame, receivedAt: number): void {
    if (frame.type === 'presence') parts.onPresence(frame)
    else if (frame.type === 'clock') clock.take(frame, receivedAt)
    else if (frame.type === 'message') takeMessage(frame.message, receivedAt)
    // A stream keeps the order: what is not here before the heartbeat will not come any more.
    else if (frame.type === 'heartbeat' && place.isBefore(frame.newest)) life.repair()
  }

  function takeMessage(message: Message, receivedAt: number): void {
    if (!place.advance(message.seq)) return
    const isLate = place.isCatchUp(message.seq)
    parts.onMessage(message, receivedAt, isLate ? whenDue(message, receivedAt, offsetMs) : receivedAt)
  }

  function tellState(): void {
    if (state && !isEnded) parts.onState({ ...state, clock: reading })
  }

  /** Sent again, a message may be answered twice; the first answer counts. */
  function settle(id: string, tellParts: () => void): void {
    if (isEnded || !outbox.remove(id)) return
    tellParts()
    isFull = false
    if (outbox.size() === 0) superseded = 0
    outboxChanged()
  }

  function outboxChanged(): void {
    saving.changed()
    tellOutbox()
  }

  function tellOutbox(): void {
    parts.onOutbox({ unstored: outbox.size(), superseded, isFull, isSaved: saving.isSaved() })
  }

  function publish<K extends Kind>(channel: string, kind: K, body: Bodies[K]): Draft<K> | null {
    sent += 1
    const { window } = parts
    const draft: Draft<K> = { id: `${window}-${sent}`, channel, kind, from: window, at: timers.now(), body }
    const gone = outbox.add(draft, sending.isUnderWay)
    isFull = gone === null
    superseded += gone?.length ?? 0
    for (const { id } of gone ?? []) parts.onSuperseded(id)
    sending.goOn()
    outboxChanged()
    return isFull ? null : draft
  }

  if (outbox.size() > 0) tellOutbox()
  return {
    ...life,
    publish,
    read(next) {
      if (next.join() === channels.join()) return
      channels = next
      life.askAnew()
    },
    save: saving.saveNow,
    rest: clock.rest,
    wake(by) {
      life.wake(by)
      if (by === 'visible') clock.goOn()
      else clock.startOver()
    },
    close() {
      isEnded = true
      saving.stop()
      life.close()
    },
  }
}
