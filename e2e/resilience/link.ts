// The real link of a window, in Node: the one place of the lab where it is put together.

import { processTimers } from '../../server/timers.ts'
import type { Message } from '../../server/wire/envelope.ts'
import type { HttpVersion, Mode } from '../../server/wire/modes.ts'
import type { Random } from '../../server/wire/random.ts'
import { createLink, type Link, type OutboxState } from '../../web/link/link.ts'
import type { LinkState } from '../../web/link/link-state.ts'
import type { Connections } from './connections.ts'

export interface LinkOpening {
  readonly connections: Connections
  readonly origin: Readonly<Record<HttpVersion, string>>
  readonly window: string
  readonly channel: string
  readonly mode: Mode
  /** Whether it may move to another mode when this one is cut again and again. */
  readonly mayFall: boolean
  readonly random: Random
  readonly onState: (state: LinkState) => void
  readonly onMessage: (message: Message, receivedAt: number) => void
  readonly onNewLog: () => void
  readonly onOutbox: (outbox: OutboxState) => void
  readonly onStored: (id: string, seq: number) => void
  readonly onRefused: (id: string, sentence: string) => void
  readonly onSuperseded: (id: string) => void
}

/** The server's own defaults. */
const polling = { intervalMs: 150, holdMs: 300 }

/** Nothing is to give way: each message that was published is expected. */
const bounds = { messages: 1_000_000, bytes: 1024 ** 3 }

export function openLink({ connections, origin, channel, mode, mayFall, ...parts }: LinkOpening): Link {
  return createLink({
    ...parts,
    transports: connections.transports,
    originFor: (http) => origin[http],
    polling,
    browser: parts.window,
    channels: [channel],
    // The ladder goes down by the table's fallbacks: a mode without one stays what it is called.
    mode: mayFall ? mode : { ...mode, fallback: null },
    cursor: null,
    bounds,
    store: { restored: [], unreadable: 0, save: () => true },
    renewSession: () => Promise.resolve(true),
    timers: processTimers,
    onPresence: () => undefined,
  })
}
