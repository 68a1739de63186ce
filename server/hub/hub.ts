// Joins windows to the log: takes drafts in, delivers what the log says, an author's own messages included.

import type { Log } from '../broker/log.ts'
import { Refusal } from '../refusal.ts'
import { type Cursor, formatCursor } from '../wire/cursor.ts'
import type { Draft } from '../wire/envelope.ts'
import type { Stored, Welcome } from '../wire/frames.ts'
import { createDelivery, type Delivery } from './delivery.ts'
import { createPresence, type Later } from './presence.ts'
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
  /** Ms since the epoch, with fractions. */
  readonly clock: () => number
  readonly later: Later
  readonly random: () => number
  readonly settings: HubSettings
}

const retryAfterDrainMs = { least: 300, spread: 1200 }

export function createHub({ log, clock, later, random, settings }: HubParts): Hub {
  const windows = new Set<Window>()
  const presence = createPresence(windows, later)
  let isDraining = false
  let stopHeartbeat = later(beat, settings.heartbeatMs)

  log.follow((message, cursor) => {
    const delivery = createDelivery({ type: 'message', message }, cursor)
    for (const window of windows) if (window.channels.has(message.channel)) window.send(delivery)
  })

  function beat(): void {
    const delivery = createDelivery({ type: 'heartbeat' })
    for (const window of windows) window.send(delivery)
    stopHeartbeat = later(beat, settings.heartbeatMs)
  }

  function leave(window: Window): void {
    if (windows.delete(window)) presence.changed()
  }

  function overflow(window: Window): void {
    leave(window)
    window.close('overflow', 'This window fell too far behind; it resumes from where it was.', 0)
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
    const write = (delivery: Delivery) => window.write(delivery.bytes(window.framing))
    write(createDelivery(welcome(window, recovered, formatCursor(head), settings.heartbeatMs)))
    for (const message of messages) {
      write(
        createDelivery({ type: 'message', message }, formatCursor({ epoch: head.epoch, seq: message.seq })),
      )
    }
    window.release(head.seq)
    presence.changed()
  }

  return {
    join(joining, cursor) {
      admit()
      const window = createWindow(joining, settings.queueBytesPerWindow, overflow)
      windows.add(window)
      catchUp(window, cursor).catch(() => overflow(window))
      return window
    },
    leave,
    async publish(draft) {
      return { type: 'stored', id: draft.id, seq: await log.append(draft, clock()) }
    },
    windowCount: () => windows.size,
    isDraining: () => isDraining,
    drain() {
      isDraining = true
      stopHeartbeat()
      presence.stop()
      for (const window of windows) {
        const retryAfterMs = Math.round(retryAfterDrainMs.least + random() * retryAfterDrainMs.spread)
        window.close('draining', 'The server is shutting down or restarting.', retryAfterMs)
      }
      windows.clear()
    },
  }
}

function welcome(window: Window, recovered: boolean, cursor: string, heartbeatMs: number): Welcome {
  return { type: 'welcome', window: window.id, cursor, recovered, http: window.mode.http, heartbeatMs }
}
