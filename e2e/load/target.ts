// What a load window can be opened at: each transport of the table, and each peer.

import type { HttpVersion, TransportName } from '../../server/wire/modes.ts'
import { openLongPollingWindow, openPollingWindow } from './poll-window.ts'
import { openSocketIoWindow, openSocketWindow, openWsWindow } from './socket-window.ts'
import { openSseWindow, openStreamingWindow } from './stream-window.ts'
import type { OpenWindow } from './window.ts'

export const peerNames = ['ws', 'socket.io', 'http2'] as const
export type PeerName = (typeof peerNames)[number]

/** Over which version each peer is spoken to. */
export const peerHttp: Readonly<Record<PeerName, HttpVersion>> = {
  ws: '1.1',
  'socket.io': '1.1',
  http2: '2',
}

/** A server, and how to speak with it. */
export interface Target {
  readonly client: TransportName | PeerName
  readonly http: HttpVersion
  readonly origin: string
  readonly polling: { readonly intervalMs: number; readonly holdMs: number }
}

const openings: Readonly<Record<TransportName | PeerName, OpenWindow>> = {
  sse: openSseWindow,
  websocket: openSocketWindow,
  'long-polling': openLongPollingWindow,
  polling: openPollingWindow,
  streaming: openStreamingWindow,
  ws: openWsWindow,
  'socket.io': openSocketIoWindow,
  http2: openSseWindow,
}

export function openingFor({ client }: Target): OpenWindow {
  return openings[client]
}
