// Tools for tests of the hub: manual time, fake connections, slow logs.

import {
  type Bye,
  type Cursor,
  type DownFrame,
  type Kind,
  type Message,
  parseCursor,
} from '../../protocol/messages.ts'
import { modeNamed } from '../../protocol/modes.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { createManualTime } from '../../protocol/testing.ts'
import type { Clock, Random } from '../../protocol/time.ts'
import { rulesFor, type TypeOf, typesByName } from '../channels/channel-type.ts'
import { object, text, updateBody } from '../channels/shapes.ts'
import type { CatchUp, Log, LogLimits } from '../log/log.ts'
import { ampleLimits, settled, toyTypes } from '../log/log-testing.ts'
import { createMemoryLog } from '../log/memory-log.ts'
import { admitDraft, admitStates, jsonState } from './admission.ts'
import { Delivery, type Framing, RecentDeliveries } from './delivery.ts'
import { Hub, silentMeter } from './hub.ts'
import type { PollReply } from './polls.ts'
import type { ClientIdentity, Joining, QuotaHolder, SubscriberHub } from './subscriber.ts'

export { countTo, settled } from '../log/log-testing.ts'

declare module '../../protocol/bodies.ts' {
  interface Bodies {
    sample: SampleBody
    figure: SampleBody
  }
}

interface SampleBody {
  readonly value: number
}

/**
 * Two types with everything that a type declares to the hub: a slow reader may miss samples, and all
 * figures but the newest.
 */
export const hubTypeOf = typesByName([
  ['wind', { name: 'samples', kinds: { sample: { drop: 'oldest' } }, showsWindows: false }],
  ['figures.*', { name: 'figures', kinds: { figure: { drop: 'superseded' } }, showsWindows: false }],
  [
    '*',
    {
      name: 'document',
      kinds: { edit: { body: object({ html: text }) }, update: { body: updateBody }, title: {} },
    },
  ],
])

/** The state that the tests' windows show. */
export interface ShownState {
  readonly client: number
  readonly name: string
  readonly anchor: string | null
  readonly head: string | null
}

/** A window shows any JSON of at most 4 kB. */
export const hubAdmission = {
  draft: (given: unknown) => admitDraft(given, hubTypeOf),
  awareness: admitStates(jsonState(4096)),
}

export const jsonFraming: Framing = { encode: (frame) => Buffer.from(JSON.stringify(frame)) }

export interface FakeConnection {
  readonly joining: Joining
  readonly frames: DownFrame[]
  readonly byes: Bye[]
  /** While true, `write` accepts frames and returns false. */
  isFull: boolean
  /** Thrown by each write. */
  failure: Error | null
  /** Thrown by `end`. */
  failureAtEnd: Error | null
}

export interface FakePlace {
  readonly id?: string
  /** Null for a free name. */
  readonly owner?: string | null
  readonly user?: string
  readonly channels?: readonly string[]
  readonly mode?: string
  readonly opening?: number
  readonly expiresAt?: number | null
  readonly framing?: Framing
  readonly holder?: QuotaHolder
  readonly isRevoked?: () => boolean
}

export function createFakeConnection({
  id = 'w1',
  owner = 'o1',
  channels = ['main'],
  mode = 'sse/2',
  opening = 0,
  expiresAt = null,
  framing = jsonFraming,
  holder,
  user,
  isRevoked,
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
      owner,
      channels: new Set(channels),
      mode: found,
      opening,
      expiresAt,
      framing,
      ...(holder && { holder }),
      ...(user !== undefined && { user }),
      ...(isRevoked && { isRevoked }),
      sink: {
        write(bytes) {
          if (connection.failure) throw connection.failure
          connection.frames.push(JSON.parse(String(bytes)))
          return !connection.isFull
        },
      },
      end(bye) {
        connection.byes.push(bye)
        if (connection.failureAtEnd) throw connection.failureAtEnd
      },
    },
  }
  return connection
}

/** Options for a subscriber or a registry without a hub. */
export function streamsOf({
  queueBytes = 100_000,
  ...on
}: Partial<SubscriberHub['on'] & { queueBytes: number }> = {}): SubscriberHub {
  const nothing = () => undefined
  return {
    queueBytes,
    heartbeatMs: 16_000,
    now: () => 0,
    stateBytes: 4096,
    recent: new RecentDeliveries(hubTypeOf),
    log: memoryLog(),
    reconnectDelayMs: () => 900,
    on: { live: nothing, unrecovered: nothing, omitted: nothing, ended: nothing, failed: nothing, ...on },
  }
}

/** The identity of a polling client. */
export function identityOf(place: FakePlace): ClientIdentity {
  const { id, owner, channels, mode, opening, holder, user, isRevoked } = createFakeConnection(place).joining
  return {
    id,
    owner,
    channels,
    mode,
    opening,
    ...(holder && { holder }),
    ...(user !== undefined && { user }),
    ...(isRevoked && { isRevoked }),
  }
}

type HubParts = ConstructorParameters<typeof Hub>[0]
type Poll = Parameters<Hub['poll']>[0]

export interface HubChange extends Partial<HubParts['settings']>, Pick<HubParts, 'bus' | 'onMoved'> {
  readonly typeOf?: TypeOf
  readonly log?: Log
  readonly random?: Random
  readonly time?: ReturnType<typeof createManualTime>
}

/** `ask({ id: 'w1' }, { holdMs: 100 })`. */
type Question = Partial<Omit<Poll, 'identity' | 'cursor'>> & { readonly cursor?: string | null }

/** The heartbeat is a whole number of turns. */
export function openHub(given: HubChange = {}) {
  const {
    log,
    random = () => 0.5,
    bus,
    onMoved,
    time = createManualTime(),
    typeOf = hubTypeOf,
    ...change
  } = given
  const failures: unknown[] = []
  const settings = {
    heartbeatMs: 16_000,
    maxWindows: 100,
    maxChannels: 1000,
    streamsPerSession: 100,
    newChannelsPerHour: 100,
    queueBytesPerWindow: 100_000,
    messagesPerSecond: 200,
    statesPerSecond: 20,
    stateBytes: 4096,
    stateBytesPerSecond: 8_388_608,
    ...change,
  }
  const kept = log ?? memoryLog(time.now)
  const onFailure = (error: unknown) => void failures.push(error)
  const parts = { log: kept, typeOf, timers: time, random, onFailure, bus, onMoved, settings }
  const hub = new Hub({ ...parts, meter: silentMeter })

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
      const identity = identityOf({ mode: 'long-polling/2', ...place })
      const signal = new AbortController().signal
      return hub.poll({
        identity,
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
    typeOf: toyTypes(),
    now,
    onFailure: (error) => {
      throw error
    },
  })
}

/** A log whose `read` resolves on command. */
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
    /** Resolves all pending reads, or the oldest `count`. */
    answer(count = waiting.length) {
      for (const resolve of waiting.splice(0, count)) resolve()
      return settled()
    },
  }
}

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

export function idsIn(frames: readonly DownFrame[]): string[] {
  return frames.flatMap((frame) => (frame.type === 'message' ? [frame.message.id] : []))
}

export const framesOf = ({ deliveries }: PollReply) => deliveries.map(({ frame }) => frame)
export const typesIn = (frames: readonly DownFrame[]) => frames.map(({ type }) => type)
export const byesOf = ({ byes }: FakeConnection) => byes.map(({ code, retryAfterMs }) => [code, retryAfterMs])

/** Returns the refusal that `act` throws; fails if it throws none. */
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

/** A message; readers may miss it if its kind is `sample`. */
export function sampleOf(seq: number, channel = 'wind', kind: Kind = 'sample'): Delivery {
  return deliver(messageOf({ id: `r${seq}`, seq, channel, kind, from: 'sensor', body: { value: seq } }))
}

function deliver(message: Message): Delivery {
  const rules = rulesFor(hubTypeOf, message.channel, message.kind)
  return new Delivery({ type: 'message', message }, `life1:${message.seq}`, undefined, rules)
}

export function watch(asked: Promise<PollReply>) {
  const watched: { reply?: PollReply } = {}
  void asked.then((reply) => {
    watched.reply = reply
  })
  return watched
}
