// Transports in memory: a test sees what was opened and sent, and plays the server.

import type { Draft } from '../../server/wire/envelope.ts'
import type { Stored, Welcome } from '../../server/wire/frames.ts'
import { type TransportName, transportNames } from '../../server/wire/modes.ts'
import type { Closing, Opening, OpenTransport, WebTransport } from '../transports/transport.ts'

export interface FakeStream extends Pick<Opening, 'origin' | 'mode' | 'query' | 'polling'> {
  readonly transport: TransportName
  readonly cursor: string | null
  /** Ids of what was sent over it, in order. */
  readonly sent: string[]
  /** How often the window let hear of itself. */
  readonly beats: () => number
  /** How often it asked for the server's time. */
  readonly clockQuestions: () => number
  readonly isClosed: () => boolean
  readonly welcome: (change?: Partial<Welcome>) => void
  readonly message: (seq: number) => void
  readonly heartbeat: (newest?: number) => void
  readonly frame: Opening['onFrame']
  /** Ends it as a transport does by itself. */
  readonly end: (change?: Partial<Closing>) => void
  readonly store: (id: string, seq: number) => Promise<void>
  readonly fail: (id: string, error: Error) => Promise<void>
}

interface Waiting {
  readonly resolve: (stored: Stored) => void
  readonly reject: (error: Error) => void
}

/** Lets promises that are already settled go on. */
export const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

export function createFakeTransports() {
  const streams: FakeStream[] = []

  function transport(name: TransportName): WebTransport {
    return {
      name,
      open(opening) {
        const { stream, open } = openFake(name, opening)
        streams.push(stream)
        return open
      },
    }
  }

  const named = transportNames.map((name) => [name, transport(name)] as const)
  return { streams, transports: Object.fromEntries(named) as Record<TransportName, WebTransport> }
}

/** Unlike a real one it goes on talking after `close()`, as a network can. */
function openFake(transport: TransportName, opening: Opening): { stream: FakeStream; open: OpenTransport } {
  const waiting = new Map<string, Waiting>()
  const sent: string[] = []
  let beats = 0
  let clockQuestions = 0
  let isClosed = false
  const { origin, mode, query, polling, onFrame, onClose } = opening
  const stream: FakeStream = {
    transport,
    origin,
    mode,
    query,
    polling,
    cursor: query.get('cursor'),
    sent,
    beats: () => beats,
    clockQuestions: () => clockQuestions,
    isClosed: () => isClosed,
    welcome: (change) => onFrame({ ...welcome, ...change }, 0),
    message: (seq) => onFrame({ type: 'message', message: messageOf(seq) }, 0),
    heartbeat: (newest = 0) => onFrame({ type: 'heartbeat', newest }, 0),
    frame: onFrame,
    end: (change) => onClose({ code: 'lost', sentence: 'Lost.', retryAfterMs: null, ...change }),
    store(id, seq) {
      waiting.get(id)?.resolve({ type: 'stored', id, seq })
      return settled()
    },
    fail(id, error) {
      waiting.get(id)?.reject(error)
      return settled()
    },
  }
  function send({ id }: Draft): Promise<Stored> {
    sent.push(id)
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }))
  }
  const beat = () => {
    beats += 1
  }
  const askClock = () => {
    clockQuestions += 1
  }
  const close = () => {
    isClosed = true
  }
  return { stream, open: { send, beat, askClock, close } }
}

const welcome: Welcome = {
  type: 'welcome',
  window: 'w1',
  cursor: 'life1:0',
  recovered: true,
  http: '2',
  heartbeatMs: 15_000,
}

function messageOf(seq: number) {
  const body = { html: `${seq}` }
  return {
    id: `w9-${seq}`,
    channel: 'main',
    kind: 'edit',
    from: 'w9',
    at: 0,
    body,
    seq,
    acceptedAt: 0,
  } as const
}
