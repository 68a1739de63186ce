// What a test of the hub needs: a hub whose time stands still, and connections that it fills, drains and breaks by hand.

import type { CatchUp, Log, LogLimits } from '../broker/log.ts'
import { ampleLimits } from '../broker/log-testing.ts'
import { createMemoryLog } from '../broker/memory.ts'
import { Refusal } from '../refusal.ts'
import { type Cursor, parseCursor } from '../wire/cursor.ts'
import type { Kind, Message } from '../wire/envelope.ts'
import type { Bye, DownFrame } from '../wire/frames.ts'
import { createManualTime } from '../wire/manual-time.ts'
import { modeNamed } from '../wire/modes.ts'
import type { Random } from '../wire/random.ts'
import type { ReadingBody } from '../wire/reading.ts'
import type { Clock } from '../wire/time.ts'
import { createDelivery, type Delivery, type Framing } from './delivery.ts'
import { createHub, type HubParts, type HubSettings } from './hub.ts'
import type { Poll, PollReply } from './polls.ts'
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
  /** Set, it is thrown at the end. */
  failureAtEnd: Error | null
}

export interface FakePlace {
  readonly id?: string
  readonly browser?: string | null
  readonly channels?: readonly string[]
  readonly mode?: string
  readonly opening?: number
  readonly expiresAt?: number | null
  readonly framing?: Framing
}

export function createFakeConnection({
  id = 'w1',
  browser = null,
  channels = ['main'],
  mode = 'sse/2',
  opening = 0,
  expiresAt = null,
  framing = jsonFraming,
}: FakePlace = {}): FakeConnection {
  const found = modeNamed(mode)
  if (!found) throw new RangeError(`There is no mode ${mode}.`)
  const connection: FakeConnection = {
    frames: [],
    byes: [],
    isFull: false,
    failure: null,
    failureAtEnd: null,
    joining: {
      id,
      browser,
      channels: new Set(channels),
      mode: found,
      opening,
      expiresAt,
      framing,
      write(bytes) {
        if (connection.failure) throw connection.failure
        connection.frames.push(JSON.parse(String(bytes)))
        return !connection.isFull
      },
      end(bye) {
        connection.byes.push(bye)
        if (connection.failureAtEnd) throw connection.failureAtEnd
      },
    },
  }
  return connection
}

export interface HubChange extends Partial<HubSettings>, Pick<HubParts, 'onJoined'> {
  readonly log?: Log
  readonly random?: Random
}

/** How a window asks, `ask({ id: 'w1' }, { holdMs: 100 })`. */
export type Question = Partial<Omit<Poll, 'visitor' | 'cursor'>> & { readonly cursor?: string | null }

/** A hub over a log in memory; its heartbeat is a whole number of turns. */
export function openHub({ log, random = () => 0.5, onJoined = () => undefined, ...change }: HubChange = {}) {
  const time = createManualTime()
  const failures: unknown[] = []
  const settings = {
    heartbeatMs: 16_000,
    maxWindows: 100,
    queueBytesPerWindow: 100_000,
    messagesPerSecond: 200,
    ...change,
  }
  const kept = log ?? memoryLog(time.now)
  const onFailure = (error: unknown) => void failures.push(error)
  const hub = createHub({ log: kept, timers: time, random, onFailure, onJoined, settings })

  return {
    hub,
    time,
    failures,
    log: kept,
    enter(place: FakePlace = {}, cursor: string | null = null) {
      const connection = createFakeConnection(place)
      return { connection, window: hub.join(connection.joining, parseCursor(cursor)) }
    },
    ask(place: FakePlace = {}, { cursor = null, ...question }: Question = {}): Promise<PollReply> {
      const visitor = createFakeConnection({ mode: 'long-polling/2', ...place }).joining
      const signal = new AbortController().signal
      return hub.poll({
        visitor,
        cursor: parseCursor(cursor),
        holdMs: 0,
        isFirst: false,
        signal,
        ...question,
      })
    },
  }
}

export function memoryLog(now: Clock = () => 0, limits: Partial<LogLimits> = {}): Log {
  return createMemoryLog({
    epoch: 'life1',
    limits: { ...ampleLimits, ...limits },
    now,
    onFailure: (error) => {
      throw error
    },
  })
}

/** A log whose answers to `read` the test lets go, looked up when it was asked or only when it answers. */
export function slowLog(looksUp: 'when asked' | 'when it answers', log = memoryLog()) {
  const waiting: (() => void)[] = []
  const read = async (cursor: Cursor | null, channels: ReadonlySet<string>): Promise<CatchUp> => {
    const asked = log.read(cursor, channels)
    await new Promise<void>((resolve) => waiting.push(resolve))
    return looksUp === 'when asked' ? asked : log.read(cursor, channels)
  }
  return {
    log: { ...log, read },
    waiting: () => waiting.length,
    /** Answers what was asked so far, or the oldest of it. */
    answer(count = waiting.length) {
      for (const resolve of waiting.splice(0, count)) resolve()
      return settled()
    },
  }
}

/** A log that gives at most so many messages at a time. */
export function pagedLog(most: number, log = memoryLog()): Log {
  return {
    ...log,
    async read(cursor, channels) {
      const whole = await log.read(cursor, channels)
      if (!whole.recovered || whole.messages.length <= most) return { ...whole, reached: whole.head }
      const messages = whole.messages.slice(0, most)
      return { ...whole, messages, reached: { ...whole.head, seq: messages.at(-1)?.seq ?? 0 } }
    },
  }
}

/** Lets promises that are already settled go on. */
export const settled = () => new Promise((resolve) => setImmediate(resolve))

/** The ids of the messages among frames. */
export function idsIn(frames: readonly DownFrame[]): string[] {
  return frames.flatMap((frame) => (frame.type === 'message' ? [frame.message.id] : []))
}

export const framesOf = ({ deliveries }: PollReply) => deliveries.map(({ frame }) => frame)
export const typesIn = (frames: readonly DownFrame[]) => frames.map(({ type }) => type)
export const byesOf = ({ byes }: FakeConnection) => byes.map(({ code, retryAfterMs }) => [code, retryAfterMs])
export const countTo = (count: number) => Array.from({ length: count }, (_nothing, place) => place + 1)

/** What `act` was refused with; throws when it was let through. */
export async function refusalOf(act: () => unknown): Promise<Refusal> {
  try {
    await act()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('It was not refused.')
}

export function messageOf(change: Partial<Message>): Message {
  const seq = change.seq ?? 1
  const body = { html: '' }
  return {
    id: `e${seq}`,
    channel: 'main',
    kind: 'edit',
    from: 'w9',
    at: 0,
    body,
    seq,
    acceptedAt: 0,
    ...change,
  }
}

export function editOf(seq: number, html = ''): Delivery {
  return deliver(messageOf({ seq, body: { html } }))
}

export const calm: ReadingBody = {
  source: 'simulated',
  format: 'polar',
  raw: 'Q,,000.00,M,00,',
  axes: null,
  node: 'Q',
  state: 'calm',
  directionDegrees: null,
  speed: 0,
  unit: 'M',
  speedMetresPerSecond: 0,
  status: '00',
}

export function readingOf(seq: number, channel = 'wind', kind: Kind = 'reading'): Delivery {
  return deliver(messageOf({ id: `r${seq}`, seq, channel, kind, from: 'sensor', body: calm }))
}

function deliver(message: Message): Delivery {
  return createDelivery({ type: 'message', message }, `life1:${message.seq}`)
}

/** The answer to a question, as soon as there is one. */
export function watch(asked: Promise<PollReply>) {
  const watched: { reply?: PollReply } = {}
  void asked.then((reply) => {
    watched.reply = reply
  })
  return watched
}
