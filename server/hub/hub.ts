// Joins windows to the log: takes drafts in, delivers what the log says, an author's own messages included.

import type { Log } from '../broker/log.ts'
import { Refusal } from '../refusal.ts'
import type { Cursor } from '../wire/cursor.ts'
import type { Draft } from '../wire/envelope.ts'
import type { DownFrame, Stored } from '../wire/frames.ts'
import type { Random } from '../wire/random.ts'
import type { Timers } from '../wire/time.ts'
import { catchUp } from './catching-up.ts'
import { createCrowd } from './crowd.ts'
import { createDelivery } from './delivery.ts'
import { drainInTurns } from './draining.ts'
import { refusalFor } from './log-refusals.ts'
import { createPace } from './pace.ts'
import { createPolls, type Polls } from './polls.ts'
import { createPresence } from './presence.ts'
import { startPulse } from './pulse.ts'
import { createRecentDeliveries } from './recent.ts'
import { createWindow, type Joining, type Window } from './window.ts'
import { figuresOf, type WindowFigures } from './window-figures.ts'

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
  /** Whether anybody who is here reads that channel. */
  readonly isRead: (channel: string) => boolean
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

export interface HubParts {
  readonly log: Log
  readonly timers: Timers
  readonly random: Random
  /** What should not happen and cost one window its stream: its connection threw, or the log could not be read. */
  readonly onFailure: (error: unknown) => void
  /** A window has come, or come back, that reads these channels. */
  readonly onJoined?: (channels: ReadonlySet<string>) => void
  readonly settings: HubSettings
}

/** When to come back; spread, so that windows do not come as a herd. */
const comeBackMs = { least: 300, spread: 1200 }

export function createHub({ log, timers, random, onFailure, onJoined, settings }: HubParts): Hub {
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
    onJoined: ({ channels }) => onJoined?.(channels),
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
    const delivery = recent.add(message, cursor)
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

  async function begin(window: Window, cursor: Cursor | null): Promise<void> {
    const end = await catchUp(window, cursor, { log, recent, heartbeatMs: settings.heartbeatMs })
    if (end === 'begun') presence.changed()
    // The window has to begin anew, and is told so.
    if (end === 'forgotten') dismiss(window, 'overflow', 'The log went on faster than this window read.')
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
      begin(window, cursor).catch((error) => fail(window, error))
      onJoined?.(window.channels)
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
        throw refusalFor(error, draft.id, comeBackMs.least)
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
    isRead: crowd.isRead,
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

function isSame(known: ReadonlyMap<string, number> | null, given: Readonly<Record<string, number>>): boolean {
  const entries = Object.entries(given)
  return known?.size === entries.length && entries.every(([channel, count]) => known.get(channel) === count)
}
