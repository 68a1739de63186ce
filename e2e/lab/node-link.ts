// The web app's link in Node, over transports without a browser.

import {
  createLink,
  type Link,
  type Opening,
  type OpenTransport,
  type WebTransport,
} from '../../client/index.ts'
import { processTimers } from '../../server/process.ts'
import { type TransportName, transportNames } from '../../server/wire/modes.ts'
import { nameOf, newKey } from '../clients/client.ts'

type Parts = Parameters<typeof createLink>[0]
type Listener = Pick<Parts, Extract<keyof Parts, `on${string}`>>

interface NodeOpening
  extends Partial<Listener>,
    Pick<Parts, 'originFor' | 'polling' | 'channels' | 'mode' | 'bounds' | 'random'> {
  /** The key's fingerprint is appended. */
  readonly name: string
  /** Whether the link may fall back to another mode after repeated cuts. */
  readonly mayFall: boolean
  readonly connect: (opening: Opening) => OpenTransport
}

const ignored: Listener = {
  onState: () => undefined,
  onMessage: () => undefined,
  onNewLog: () => undefined,
  onPresence: () => undefined,
  onAwareness: () => undefined,
  onOutbox: () => undefined,
  onStored: () => undefined,
  onRefused: () => undefined,
  onSuperseded: () => undefined,
  onRenamed: () => undefined,
}

export function openNodeLink({ name, mode, mayFall, connect, ...parts }: NodeOpening): Link {
  const key = newKey()
  const transports = transportNames.map((transport): [TransportName, WebTransport] => [
    transport,
    { name: transport, open: connect },
  ])
  return createLink({
    ...ignored,
    ...parts,
    transports: Object.fromEntries(transports) as Record<TransportName, WebTransport>,
    window: nameOf(key, name),
    key,
    // The link falls back along the modes' `fallback` fields.
    mode: mayFall ? mode : { ...mode, fallback: null },
    cursor: null,
    // A program's drafts end with it.
    store: { save: async () => true },
    mergeUpdates: () => null,
    mergesWaiting: false,
    renewSession: () => Promise.resolve(true),
    timers: processTimers,
  })
}
