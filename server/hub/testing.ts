// What a test of the hub needs: a connection that it fills, drains and breaks by hand, and messages to send over it.

import type { Message } from '../wire/envelope.ts'
import type { Bye, DownFrame } from '../wire/frames.ts'
import { modeNamed } from '../wire/modes.ts'
import type { ReadingBody } from '../wire/reading.ts'
import { createDelivery, type Delivery, type Framing } from './delivery.ts'
import type { Joining } from './window.ts'

export const jsonFraming: Framing = { encode: (frame) => Buffer.from(JSON.stringify(frame)) }

export interface FakeConnection {
  readonly joining: Joining
  /** All that was written, in order. */
  readonly frames: DownFrame[]
  readonly byes: Bye[]
  /** While true the connection takes each frame and asks for no more. */
  isFull: boolean
  /** Set, it is thrown at each write. */
  failure: Error | null
}

export interface FakePlace {
  readonly id?: string
  readonly browser?: string | null
  readonly channels?: readonly string[]
  readonly mode?: string
}

export function createFakeConnection({
  id = 'w1',
  browser = null,
  channels = ['main'],
  mode = 'sse/2',
}: FakePlace = {}): FakeConnection {
  const found = modeNamed(mode)
  if (!found) throw new RangeError(`There is no mode ${mode}.`)
  const connection: FakeConnection = {
    frames: [],
    byes: [],
    isFull: false,
    failure: null,
    joining: {
      id,
      browser,
      channels: new Set(channels),
      mode: found,
      framing: jsonFraming,
      write(bytes) {
        if (connection.failure) throw connection.failure
        connection.frames.push(JSON.parse(String(bytes)))
        return !connection.isFull
      },
      end: (bye) => void connection.byes.push(bye),
    },
  }
  return connection
}

/** The ids of the messages among frames. */
export function idsIn(frames: readonly DownFrame[]): string[] {
  return frames.flatMap((frame) => (frame.type === 'message' ? [frame.message.id] : []))
}

export function editOf(seq: number, html = ''): Delivery {
  return deliver({
    id: `e${seq}`,
    channel: 'main',
    kind: 'edit',
    from: 'w9',
    at: 0,
    body: { html },
    seq,
    acceptedAt: 0,
  })
}

export const calm: ReadingBody = {
  source: 'simulated',
  raw: 'Q,,000.00,M,00,',
  node: 'Q',
  state: 'calm',
  directionDegrees: null,
  speed: 0,
  unit: 'M',
  speedMetresPerSecond: 0,
  status: '00',
}

export function readingOf(seq: number): Delivery {
  return deliver({
    id: `r${seq}`,
    channel: 'wind',
    kind: 'reading',
    from: 'sensor',
    at: 0,
    body: calm,
    seq,
    acceptedAt: 0,
  })
}

function deliver(message: Message): Delivery {
  return createDelivery({ type: 'message', message }, `life1:${message.seq}`)
}
