// A window without a browser: the web app's own link over the fleet's transports, with a record of each reading.

import { processTimers } from '../../../server/timers.ts'
import { isKind, type Message } from '../../../server/wire/envelope.ts'
import type { HttpVersion, Mode, TransportName } from '../../../server/wire/modes.ts'
import { transportNames } from '../../../server/wire/modes.ts'
import type { Random } from '../../../server/wire/random.ts'
import type { Polling } from '../../../server/wire/settings.ts'
import { createLink } from '../../../web/link/link.ts'
import type { LinkState } from '../../../web/link/link-state.ts'
import type { WebTransport } from '../../../web/transports/transport.ts'
import { fleetTransports } from '../../fleet/clients.ts'

export interface ClientOpening {
  /** Of the window, and of its own channel. */
  readonly name: string
  readonly mode: Mode
  readonly originFor: (http: HttpVersion) => string
  readonly ca: string
  readonly polling: Polling
  readonly random: Random
  /** A reading came; `receivedAt` was stamped before anything was parsed, ms since the epoch. */
  readonly onReading: (reading: Message<'reading'>, receivedAt: number) => void
}

export interface ClientWindow {
  readonly state: () => LinkState | null
  readonly close: () => void
}

/** It says nothing, so that it needs room for nothing. */
const bounds = { messages: 1, bytes: 1024 }

export function openClientWindow({ name, mode, ca, onReading, ...parts }: ClientOpening): ClientWindow {
  let state: LinkState | null = null
  const link = createLink({
    ...parts,
    transports: transportsFor(ca),
    window: name,
    browser: name,
    channels: [name, 'wind'],
    // It stays in its mode: the ladder goes down by the table's fallbacks.
    mode: { ...mode, fallback: null },
    cursor: null,
    bounds,
    store: { restored: [], unreadable: 0, save: () => true },
    renewSession: () => Promise.resolve(true),
    timers: processTimers,
    onState(next) {
      state = next
    },
    onMessage(message, receivedAt) {
      if (isKind(message, 'reading')) onReading(message, receivedAt)
    },
    onPresence: () => undefined,
    onNewLog: () => undefined,
    onOutbox: () => undefined,
    onStored: () => undefined,
    onRefused: () => undefined,
    onSuperseded: () => undefined,
  })
  return { state: () => state, close: link.close }
}

function transportsFor(ca: string): Readonly<Record<TransportName, WebTransport>> {
  const named = transportNames.map((name): [TransportName, WebTransport] => [
    name,
    { name, open: (opening) => fleetTransports[name]({ ...opening, ca }) },
  ])
  return Object.fromEntries(named) as Record<TransportName, WebTransport>
}
