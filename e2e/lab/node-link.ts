// The web app's connection in Node, over transports without a browser.

import { LinkClock } from '../../client/clock.ts'
import { type ChannelHandle, type ConnectionState, connectOver } from '../../client/connect.ts'
import { Outbox, type OutboxListener, plainPolicy } from '../../client/drafts.ts'
import { type Opening, type OpenTransport, transportsByName } from '../../client/transports.ts'
import {
  type Bodies,
  type Draft,
  type HttpVersion,
  type Kind,
  type Message,
  type Mode,
  modes,
  type Polling,
  type WindowHttp,
} from '../../client/wire.ts'
import { createNodePlatform, nameOf, newKey } from '../clients/client.ts'
import { connectHttp } from '../clients/http-client.ts'

export type LinkOpening = Omit<Opening, 'base'> & { readonly origin: string }

interface NodeOpening {
  /** The key's fingerprint is appended. */
  readonly name: string
  readonly channels: readonly [string, ...string[]]
  readonly mode: Mode
  /** Whether it may fall back to another mode after repeated cuts. */
  readonly mayFall: boolean
  readonly originFor: (http: HttpVersion) => string
  /** Trusted certificate, PEM; null trusts any. */
  readonly ca: string | null
  readonly polling: Polling
  readonly bounds: Parameters<typeof plainPolicy>[0]
  readonly connect: (opening: LinkOpening) => OpenTransport
  /** Called when one of the `told` fields changes, not at each change of the outbox. */
  readonly onState?: (state: ConnectionState) => void
  readonly onMessage?: (message: Message, receivedAt: number) => void
  readonly outbox?: Partial<OutboxListener>
}

export interface NodeLink {
  /** Null before the connection's first attempt, and if the outbox has no room. */
  readonly publish: <K extends Kind>(channel: string, kind: K, body: Bodies[K]) => Draft<K> | null
  readonly close: () => void
}

export function openNodeLink(opening: NodeOpening): NodeLink {
  const { name, channels, mode, mayFall, originFor, ca, polling, bounds, connect, onMessage } = opening
  const key = newKey()
  const platform = createNodePlatform(connectHttp(mode.http, originFor(mode.http), ca))
  // Its modes need no front.
  const ownOrigin = (http: WindowHttp) => originFor(http as HttpVersion)
  const transports = Object.values(transportsByName).map((transport) => ({
    ...transport,
    open: (one: Opening) => connect({ ...one, origin: ownOrigin(one.mode.http) }),
  }))
  const connection = connectOver(`${originFor(mode.http)}/api`, {
    transports,
    modes: mayFall ? [mode.name, ...modes.map((one) => one.name)] : [mode.name],
    fallbacks: mayFall ? Object.fromEntries(modes.map((one) => [one.name, one.fallback])) : {},
    origins: { '2': originFor('2'), '1.1': originFor('1.1') },
    platform,
    polling,
    clock: LinkClock,
    drafts: {
      // They end with the program.
      over: () => ({
        key: Promise.resolve(key),
        name: nameOf(key, name),
        outbox: (options, listener) => new Outbox(options, plainPolicy(bounds), listener),
      }),
    },
  })
  let before = connection.state
  connection.on('state', (state) => {
    if (told.some((name) => state[name] !== before[name])) opening.onState?.(state)
    before = state
  })
  // The state says why it is not open.
  connection.on('error', () => undefined)
  const follow = (channel: string): ChannelHandle =>
    connection.follow(channel, {
      take: (message, _cursor, receivedAt) => onMessage?.(message, receivedAt),
      end: () => undefined,
      presence: { heard: () => undefined, refused: () => undefined },
    })
  const [first] = channels.map(follow)
  let publish: NodeLink['publish'] = () => null
  first?.link.then((link) => {
    publish = (channel, kind, body) => link.publish(channel, kind, body)
    link.outbox.listeners.add({
      onOutbox: () => undefined,
      onStored: () => undefined,
      onRefused: () => undefined,
      ...opening.outbox,
    })
  })
  return {
    publish: (channel, kind, body) => publish(channel, kind, body),
    close() {
      connection.close()
      platform.close()
    },
  }
}

const told = ['status', 'mode', 'reason', 'retryAt', 'repairs'] as const
