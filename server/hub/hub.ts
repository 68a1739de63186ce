// Joins windows to the log: takes drafts in, delivers what the log says, an author's own messages included.

import type { Log } from '../broker/log.ts'
import { Refusal } from '../refusal.ts'
import { type Cursor, formatCursor } from '../wire/cursor.ts'
import type { Draft } from '../wire/envelope.ts'
import type { Stored, Welcome } from '../wire/frames.ts'
import type { Random } from '../wire/random.ts'
import type { Timers } from '../wire/time.ts'
import { createDelivery } from './delivery.ts'
import { createPresence } from './presence.ts'
import { createWindow, type Joining, type Window } from './window.ts'

export interface HubSettings {
  readonly heartbeatMs: number
  readonly maxWindows: number
  readonly queueBytesPerWindow: number
}

export interface Hub {
  /** Lets a window in: welcome, then all it missed or a snapshot, then what comes. Throws a `Refusal` when full or draining. */
  readonly join: (joining: Joining, cursor: Cursor | null) => Window
  readonly leave: (window: Window) => void
  /** Resolves once the log has the message and every window was told. */
  readonly publish: (draft: Draft) => Promise<Stored>
  readonly windowCount: () => number
  readonly isDraining: () => boolean
  /** Lets nobody in any more and sends everyone away, to come back after a jittered pause. */
  readonly drain: () => void
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
  const windows = new Set<Window>()
  const presence = createPresence(windows, timers)
  let isDraining = false
  let stopHeartbeat = timers.later(beat, settings.heartbeatMs)

  log.follow((message, cursor) => {
    const delivery = createDelivery({ type: 'message', message }, cursor)
    for (const window of windows) if (window.channels.has(message.channel)) window.send(delivery)
  })

  function beat(): void {
    const delivery = createDelivery({ type: 'heartbeat' })
    for (const window of windows) window.send(delivery)
    stopHeartbeat = timers.later(beat, settings.heartbeatMs)
  }

  function leave(window: Window): void {
    if (windows.delete(window)) presence.changed()
  }

  function overflow(window: Window): void {
    leave(window)
    window.close('overflow', 'This window fell too far behind; it resumes from where it was.', 0)
  }

  function fail(window: Window, error: unknown): void {
    onFailure(error)
    leave(window)
    window.close('failed', 'The server failed this window; it resumes from where it was.', comeBackAfterMs())
  }

  function comeBackAfterMs(): number {
    return Math.round(comeBackMs.least + random() * comeBackMs.spread)
  }

  function admit(): void {
    if (isDraining) throw new Refusal(503, 'draining', 'The server is shutting down; try again in a moment.')
    if (windows.size >= settings.maxWindows) {
      const sentence = `The server holds ${settings.maxWindows} windows, its limit (limits.maxWindows); close one or raise it.`
      throw new Refusal(503, 'too-many-windows', sentence)
    }
  }

  async function catchUp(window: Window, cursor: Cursor | null): Promise<void> {
    const { recovered, messages, head } = await log.read(cursor, window.channels)
    // It may have left while the log was being read.
    if (!windows.has(window)) return
    const greeting = welcome(window, recovered, formatCursor(head), settings.heartbeatMs)
    const missed = messages.map((message) =>
      createDelivery({ type: 'message', message }, formatCursor({ epoch: head.epoch, seq: message.seq })),
    )
    window.begin([createDelivery(greeting), ...missed], head.seq)
    presence.changed()
  }

  return {
    join(joining, cursor) {
      admit()
      const window = createWindow(joining, settings.queueBytesPerWindow, {
        onOverflow: overflow,
        onFailure: fail,
      })
      windows.add(window)
      catchUp(window, cursor).catch((error) => fail(window, error))
      return window
    },
    leave,
    async publish(draft) {
      return { type: 'stored', id: draft.id, seq: await log.append(draft, timers.now()) }
    },
    windowCount: () => windows.size,
    isDraining: () => isDraining,
    drain() {
      isDraining = true
      stopHeartbeat()
      presence.stop()
      for (const window of windows) {
        window.close('draining', 'The server is shutting down or restarting.', comeBackAfterMs())
      }
      windows.clear()
    },
  }
}

function welcome(window: Window, recovered: boolean, cursor: string, heartbeatMs: number): Welcome {
  return { type: 'welcome', window: window.id, cursor, recovered, http: window.mode.http, heartbeatMs }
}
