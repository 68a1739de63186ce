// The web app's link in Node, over transports without a browser.

import { LinkClock } from '../../client/clock.ts'
import {
  type DocumentDrafts,
  documentPolicy,
  Link,
  type LinkListener,
  type LinkOptions,
  Outbox,
} from '../../client/engine.ts'
import type { Opening, OpenTransport, WebTransport } from '../../client/transports.ts'
import {
  type HttpVersion,
  modes,
  type TransportName,
  transportNames,
  type WindowHttp,
} from '../../client/wire.ts'
import { processTimers } from '../../scripts/process.ts'
import { nameOf, newKey } from '../clients/client.ts'

export type LinkOpening = Omit<Opening, 'base'> & { readonly origin: string }

interface NodeOpening
  extends Partial<LinkListener>,
    Pick<LinkOptions, 'polling' | 'channels' | 'mode' | 'random'> {
  readonly bounds: Parameters<typeof documentPolicy>[0]['bounds']
  /** The key's fingerprint is appended. */
  readonly name: string
  /** Whether the link may fall back to another mode after repeated cuts. */
  readonly mayFall: boolean
  readonly originFor: (http: HttpVersion) => string
  readonly connect: (opening: LinkOpening) => OpenTransport
}

const ignored: LinkListener = {
  onState: () => undefined,
  onMessage: () => undefined,
  onNewLog: () => undefined,
  onPresence: () => undefined,
  onAwareness: () => undefined,
  onOutbox: () => undefined,
  onStored: () => undefined,
  onRefused: () => undefined,
  onRenamed: () => undefined,
}

export function openNodeLink({ name, mode, mayFall, originFor, connect, ...parts }: NodeOpening): Link {
  const key = newKey()
  // Its modes need no front.
  const ownOrigin = (http: WindowHttp) => originFor(http as HttpVersion)
  const transports = transportNames.map((transport): [TransportName, WebTransport] => [
    transport,
    {
      name: transport,
      open: (opening) => connect({ ...opening, origin: ownOrigin(opening.mode.http) }),
    },
  ])
  const window = nameOf(key, name)
  const policy = documentPolicy({ window, bounds: parts.bounds, random: parts.random })
  const options: LinkOptions<DocumentDrafts> = {
    ...parts,
    baseFor: (http) => `${ownOrigin(http)}/api`,
    transports: Object.fromEntries(transports) as Record<TransportName, WebTransport>,
    window,
    proof: [['key', key]],
    // The link falls back along the modes' `fallback` fields.
    mode: mayFall ? mode : { ...mode, fallback: null },
    modes,
    renewSession: () => Promise.resolve(),
    timers: processTimers,
    clock: LinkClock,
    // Its drafts end with the program.
    outbox: (listener) => new Outbox({ window, timers: processTimers }, policy, listener),
  }
  const link = new Link(options, { ...ignored, ...parts })
  link.open()
  return link
}
