// Joins windows to the log: takes drafts in, delivers what the log says, an author's own messages included.

import { type CatchUp, type Log, LogClosed, TooManyChannels } from '../broker/log.ts'
import { Refusal } from '../refusal.ts'
import { type Cursor, formatCursor } from '../wire/cursor.ts'
import type { Draft } from '../wire/envelope.ts'
import type { DownFrame, Stored, Welcome } from '../wire/frames.ts'
import type { Random } from '../wire/random.ts'
import type { Timers } from '../wire/time.ts'
import { createCrowd, type Guest } from './crowd.ts'
import { createDelivery, type Delivery } from './delivery.ts'
import { drainInTurns } from './draining.ts'
import { createPace } from './pace.ts'
import { createPolls, type Polls } from './polls.ts'
import { createPresence } from './presence.ts'
import { startPulse } from './pulse.ts'
import { createRecentDeliveries } from './recent.ts'
import { createWindow, type Joining, type Visitor, type Window } from './window.ts'

export interface HubSettings {
  readonly heartbeatMs: number
  readonly maxWindows: number
  readonly queueBytesPerWindow: number
  readonly messagesPerSecond: number
}

export interface Hub {
  /** Lets a window in: welcome, then all it missed or a snapshot, then what comes. Throws a `Refusal` when full or draining. */
  readonly join: (joining: Joining, cursor: Cursor | null) => Window
  /** Its connection has ended; nothing more is read for it. */
  readonly leave: (window: Window) => void
  readonly poll: Polls['poll']
  /** A window that polled says that it goes. */
  readonly left: (id: string, opening: number) => void
  /** Resolves once the log has the message and every window was told. */
  readonly publish: (draft: Draft) => Promise<Stored>
  /** Ms that this sender has to wait before its next message; 0 takes it as sent. */
  readonly waitMs: (sender: string) => number
  /** A window let hear of itself; `carries` when its stream speaks for several. */
  readonly heard: (id: string, carries?: Readonly<Record<string, number>>) => void
  readonly hasStream: (id: string) => boolean
  /** What a window that is here reads; null when there is none of that name. */
  readonly channelsOf: (id: string) => ReadonlySet<string> | null
  /** Tells one window something, down its stream. False when it has none. */
  readonly tell: (id: string, frame: DownFrame) => boolean
  /** The newest of each kind on these channels, and its place. */
  readonly snapshot: Log['snapshot']
  readonly windowCount: () => number
  /** Every window that is here, with what waits for it. */
  readonly windows: () => readonly WindowFigures[]
  readonly isDraining: () => boolean
  /** Lets nobody in any more and sends everyone away within that time, to come back after a jittered pause. */
  readonly drain: (withinMs: number) => Promise<void>
}

export interface WindowFigures extends Pick<Visitor, 'id' | 'browser'> {
  readonly channels: readonly string[]
  readonly mode: string
  readonly backlogBytes: number
  readonly droppedReadings: number
  /** When it last let hear of itself, ms since the epoch; null while it never did. */
  readonly heardAt: number | null
}

export interface HubParts {
  readonly log: Log
  readonly timers: Timers
  readonly random: Random
  /** What should not happen and cost one window its stream: its connection threw, or the log could not be read. */
  readonly onFailure: (error: unknown) => void
  readonly settings: HubSettings
}

/** When to come back; spread, so that windows do not come as a herd. */
const comeBackMs = { least: 300, spread: 1200 }

export function createHub({ log, timers, random, onFailure, settings }: HubParts): Hub {
  const crowd = createCrowd(timers)
  const presence = createPresence(crowd, timers)
  const recent = createRecentDeliveries()
  const pace = createPace(settings.messagesPerSecond, settings.maxWindows * 2, timers.now)
  let draining: Promise<void> | null = null
  const polls = createPolls({
    log,
    crowd,
    timers,
    presence,
    recent,
    mostBytes: settings.queueBytesPerWindow,
    heartbeatMs: settings.heartbeatMs,
    admit,
  })
  const stopPulse = startPulse({
    crowd,
    timers,
    heartbeatMs: settings.heartbeatMs,
    newestOn,
    onSilent: (window) => dismiss(window, 'silent', 'Nothing was heard of this window for too long.'),
    onExpired: (window) => dismiss(window, 'expired', 'The session has ended; it has to be renewed.'),
    onForgotten: presence.changed,
  })

  log.follow((message, cursor) => {
    const { epoch = '' } = /^(?<epoch>\w+):/.exec(cursor)?.groups ?? {}
    const delivery = recent.deliveryOf(message, epoch)
    for (const window of crowd.windowOn(message.channel)) window.send(delivery)
    polls.wake(message.channel)
  })

  function newestOn(channels: ReadonlySet<string>): number {
    const heads = log.heads()
    let newest = 0
    for (const channel of channels) newest = Math.max(newest, heads.get(channel) ?? 0)
    return newest
  }

  function leave(window: Window): void {
    if (crowd.leave(window)) presence.changed()
  }

  function dismiss(
    window: Window,
    code: 'silent' | 'expired' | 'overflow' | 'replaced',
    words: string,
  ): void {
    leave(window)
    // Who was replaced would at once replace the other one again.
    const afterMs = code === 'replaced' ? comeBackAfterMs() : 0
    window.close(code, `${words} It resumes from where it was.`, afterMs)
  }

  function fail(window: Window, error: unknown): void {
    onFailure(error)
    leave(window)
    window.close('failed', 'The server failed this window; it resumes from where it was.', comeBackAfterMs())
  }

  function comeBackAfterMs(): number {
    return Math.round(comeBackMs.least + random() * comeBackMs.spread)
  }

  function admit(id: string): void {
    if (draining) {
      const sentence = 'The server is shutting down; try again in a moment.'
      throw new Refusal(503, 'draining', sentence, null, comeBackAfterMs())
    }
    if (crowd.size() < settings.maxWindows || crowd.find(id)) return
    const sentence = `The server holds ${settings.maxWindows} windows, its limit (limits.maxWindows); close one or raise it.`
    throw new Refusal(503, 'too-many-windows', sentence, null, comeBackAfterMs())
  }

  /** Reads and replays part by part, so that however much was missed, little of it is in memory at a time. */
  async function catchUp(window: Window, cursor: Cursor | null): Promise<void> {
    const first = await log.read(cursor, window.channels)
    if (window.isClosed()) return
    await window.replay([createDelivery(welcome(window, first)), ...deliveriesOf(first)])
    let { reached, head } = first
    while (reached.seq < head.seq && !window.isClosed()) {
      const next = await log.read(reached, window.channels)
      // The log forgot meanwhile what comes next: the window has to begin anew, and is told so.
      if (!next.recovered) return dismiss(window, 'overflow', 'The log went on faster than this window read.')
      await window.replay(deliveriesOf(next))
      reached = next.reached
      head = next.head
    }
    if (window.isClosed()) return
    window.begin(reached.seq)
    presence.changed()
  }

  function deliveriesOf({ messages, head }: CatchUp): Delivery[] {
    return messages.map((message) => recent.deliveryOf(message, head.epoch))
  }

  function welcome(window: Window, { recovered, head }: CatchUp): Welcome {
    return {
      type: 'welcome',
      window: window.id,
      cursor: formatCursor(head),
      recovered,
      http: window.mode.http,
      heartbeatMs: settings.heartbeatMs,
    }
  }

  return {
    join(joining, cursor) {
      admit(joining.id)
      const window = createWindow(joining, settings.queueBytesPerWindow, {
        onOverflow: (full) => dismiss(full, 'overflow', 'This window fell too far behind.'),
        onFailure: fail,
      })
      const joined = crowd.join(window)
      if (!joined) {
        dismiss(window, 'replaced', 'A newer stream of this window is open.')
        return window
      }
      if (joined.replaced) dismiss(joined.replaced, 'replaced', 'A newer stream of this window was opened.')
      catchUp(window, cursor).catch((error) => fail(window, error))
      return window
    },
    leave(window) {
      window.gone()
      leave(window)
    },
    poll: polls.poll,
    left(id, opening) {
      if (crowd.left(id, opening)) presence.changed()
    },
    async publish(draft) {
      try {
        return { type: 'stored', id: draft.id, seq: await log.append(draft, timers.now()) }
      } catch (error) {
        throw refusalFor(error, draft.id)
      }
    },
    waitMs: (sender) => Math.ceil(pace.take(sender)),
    heard(id, carries) {
      const guest = crowd.find(id)
      if (!guest) return
      guest.heardAt = timers.now()
      if (!carries || isSame(guest.carries, carries)) return
      guest.carries = new Map(Object.entries(carries))
      presence.changed()
    },
    hasStream: (id) => Boolean(crowd.find(id)?.window),
    channelsOf: (id) => crowd.find(id)?.visitor.channels ?? null,
    tell(id, frame) {
      const window = crowd.find(id)?.window
      window?.send(createDelivery(frame))
      return Boolean(window)
    },
    snapshot: (channels) => log.snapshot(channels),
    windowCount: crowd.size,
    windows: () => Array.from(crowd.all(), figuresOf),
    isDraining: () => draining !== null,
    drain(withinMs) {
      const startedAt = timers.now()
      draining ??= drainInTurns(crowd, timers, random, withinMs, (window) => {
        leave(window)
        window.close('draining', 'The server is shutting down or restarting.', comeBackAfterMs())
      })
        // Those that poll are told when they ask.
        .then(() => polls.goodbye(startedAt + withinMs))
        .then(() => {
          stopPulse()
          presence.stop()
          crowd.clear()
        })
      return draining
    },
  }
}

function refusalFor(error: unknown, id: string): unknown {
  if (error instanceof TooManyChannels) {
    const sentence = `${error.message} Write to one that is there, or raise limits.maxChannels.`
    return new Refusal(403, 'too-many-channels', sentence, id)
  }
  if (error instanceof LogClosed)
    return new Refusal(503, 'draining', 'The server is shutting down.', id, comeBackMs.least)
  return error
}

function isSame(known: ReadonlyMap<string, number> | null, given: Readonly<Record<string, number>>): boolean {
  const entries = Object.entries(given)
  return known?.size === entries.length && entries.every(([channel, count]) => known.get(channel) === count)
}

function figuresOf({ visitor, window, heardAt }: Guest): WindowFigures {
  const { id, browser, channels, mode } = visitor
  return {
    id,
    browser,
    channels: [...channels],
    mode: mode.name,
    backlogBytes: window?.backlogBytes() ?? 0,
    droppedReadings: window?.dropped() ?? 0,
    heardAt,
  }
}
