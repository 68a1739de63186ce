// A channel as the library's users see it: its messages, its past, and who is there.

import { contentOf, copyJson, dataIn } from '../protocol/json-data.ts'
import {
  type AwarenessFrame,
  type Bodies,
  type DataChange,
  type Draft,
  type JsonMessage,
  type Kind,
  type Message,
  parseCursor,
  type VolatileMessage,
} from '../protocol/messages.ts'
import { nothingPlanned } from '../protocol/time.ts'
import { now } from './browser-services.ts'
import type { ChannelHandle, Earlier, Follower } from './follow.ts'
import type { Link } from './link.ts'
import { attempt, Listeners, type Off, report } from './listeners.ts'
import { RefusedError } from './transports/transport.ts'

/**
 * One channel. It keeps its place while nobody listens to `message` and no loop runs: who listens next gets what
 * came meanwhile.
 */
export interface Room<Data, Sent = Data, State = unknown, Own = State> {
  readonly name: string
  readonly presence: Presence<State, Own>
  on<Event extends keyof RoomEvents<Data>>(event: Event, listener: RoomEvents<Data>[Event]): Off
  /** Resolves when it is stored; rejects with a `RefusedError`, which has a code. */
  publish(data: Sent): Promise<{ readonly seq: number }>
  /**
   * Gives one of this client's messages, by its number, other data: the others get the event `change`. Resolves and
   * rejects as `publish`.
   */
  change(seq: number, data: Sent): Promise<{ readonly seq: number }>
  /** Erases one of this client's messages, also from the log. */
  erase(seq: number): Promise<{ readonly seq: number }>
  /**
   * Sends data to the other clients that are connected now, such as a pointer's place; nothing stores it, and
   * slow clients may miss it. Resolves once the server has sent it on, or it was dropped since the connection is
   * not open or too slow; rejects with a `RefusedError`.
   */
  sendVolatile(data: Sent): Promise<void>
  /**
   * The newest messages before a number, in order, by default the newest of all. They may come by `message`,
   * too. Rejects if the channel cannot be read, or is read as a whole, as documents are.
   */
  readBack(place?: Earlier): Promise<Past<Data>>
  /** Messages from its place on; ends when the room is left or the connection closed, rejects on an error. */
  [Symbol.asyncIterator](): AsyncIterableIterator<RoomMessage<Data>, void>
  /**
   * Ends its events and loops, and no longer shows this client there. Subscriptions to the channel go on, and
   * `channel(name)` opens the room anew.
   */
  leave(): void
}

/** Older messages of a channel. */
export interface Past<Data> {
  /** In order. */
  readonly messages: readonly RoomMessage<Data>[]
  /** Continue there (`from`) after the newest messages: nothing is missed. */
  readonly cursor: string
  /** For those before, read again with the `seq` of the first message as `before`. */
  readonly hasEarlier: boolean
}

/** A place in a channel. */
export interface Place {
  /**
   * Messages from now on (`newest`, the default), all that the server keeps (`start`), or those after a
   * message's cursor.
   */
  readonly from?: string | undefined
  /** Of the messages, on a channel with a type of the application; `data` is then their body. Default: `json`. */
  readonly kind?: string | undefined
}

export interface Subscriber<Data> extends Place {
  readonly onMessage: (message: RoomMessage<Data>) => void
  /** An earlier message has other data, or was erased. */
  readonly onChange?: ((change: RoomChange<Data>) => void) | undefined
  /** What others send by `sendVolatile`. */
  readonly onVolatile?: ((message: VolatileMessage<Data>) => void) | undefined
  /** Messages were missed, which the server no longer has: those that it has follow. */
  readonly onGap?: (() => void) | undefined
  /** The channel cannot be read, or no longer. By default the error is thrown where nobody catches it. */
  readonly onError?: ((error: RefusedError) => void) | undefined
}

type RoomEvents<Data> = {
  readonly message: (message: RoomMessage<Data>) => void
  /** An earlier message has other data, or was erased. */
  readonly change: (change: RoomChange<Data>) => void
  /** What others send by `sendVolatile`. */
  readonly volatile: (message: VolatileMessage<Data>) => void
  /** Messages were missed, which the server no longer has: those that it has follow. */
  readonly gap: () => void
  readonly error: (error: RefusedError) => void
}

export type RoomMessage<Data> = JsonMessage<Data>
export type RoomChange<Data> = DataChange<Data>

/** Clients on a channel and the state that each shows; not stored. */
export interface Presence<State = unknown, Own = State> {
  /** States of the other clients by name, which is `from` in their messages. */
  readonly states: ReadonlyMap<string, State>
  /** Users of the other clients, as the application's `authorize` says, by the same names. */
  readonly users: ReadonlyMap<string, string>
  on<Event extends keyof PresenceEvents<State>>(event: Event, listener: PresenceEvents<State>[Event]): Off
  /**
   * Shows this client to the others, until it closes or is lost: any JSON, null to show nothing. One
   * that is larger than the server accepts (`limits.stateBytes`) is refused by the event `refused`.
   * Throws a `RefusedError` if it is not JSON.
   */
  set(state: Own | null): void
}

type PresenceEvents<State = unknown> = {
  readonly change: (states: Presence<State>['states']) => void
  /** The newest state is too large; the others still see the one before. */
  readonly refused: (error: RefusedError) => void
}

class Others implements Presence {
  readonly states = new Map<string, unknown>()
  readonly users = new Map<string, string>()
  readonly #listeners = new Listeners<PresenceEvents>()
  readonly #show: (state: unknown) => void

  constructor(show: (state: unknown) => void) {
    this.#show = show
  }

  on<Event extends keyof PresenceEvents>(event: Event, listener: PresenceEvents[Event]): Off {
    return this.#listeners.on(event, listener)
  }

  set(state: unknown): void {
    this.#show(checked(() => copyJson(state, 'state')))
  }

  heard({ windows, whole }: AwarenessFrame, own: string): void {
    const before = whole && this.#text()
    if (whole) {
      this.states.clear()
      this.users.clear()
    }
    for (const { window, user, state } of windows)
      if (state === null) {
        this.states.delete(window)
        this.users.delete(window)
      } else if (window !== own) {
        this.states.set(window, state)
        if (user !== undefined) this.users.set(window, user)
      }
    // After this client has reopened its stream, there may be no news.
    if (!whole || this.#text() !== before) this.#listeners.tell('change', this.states)
  }

  #text(): string {
    return JSON.stringify([...this.states])
  }

  refused(error: RefusedError): void {
    this.#listeners.tell('refused', error)
  }
}

/** Pause before another read, ms, while the server that answered lags behind the one with the stream. */
const behindMs = 500

/** Volatile messages of a channel; more are dropped. */
const maxUnanswered = 16

let volatileSent = 0
/** A channel without a place in it. It is left once nothing reads or holds it. */
export interface OpenChannel {
  readonly presence: Presence
  /** The connection's, with the outbox of all its channels. */
  readonly link: Promise<Link>
  publish(kind: string | undefined, data: unknown): Promise<{ readonly seq: number }>
  change(seq: number, data: unknown): Promise<{ readonly seq: number }>
  erase(seq: number): Promise<{ readonly seq: number }>
  sendVolatile(kind: string | undefined, data: unknown): Promise<void>
  readBack(kind: string | undefined, place?: Earlier): Promise<Past<unknown>>
  subscribe(subscriber: Subscriber<unknown>): Off
  /** Keeps it without reading it. */
  hold(onError: (error: RefusedError) => void): Off
}

/** A channel that is read once, for its room and all its subscribers. */
export class Channel implements Follower, OpenChannel {
  readonly name: string
  /** That of the first reader. */
  readonly from: string | undefined
  readonly presence: Others
  /** Null if only subscribers read it. */
  room: ChannelRoom | null = null
  refusal?: RefusedError
  readonly #handle: ChannelHandle
  readonly #readers = new Set<Reader>()
  /** Own messages, until the channel is joined: the server may store them before that. */
  #sent: Promise<{ readonly seq: number }>[] | null = []
  /** The stream has the messages after this cursor; null until the channel is joined. */
  #streamStart: string | null = null
  /** Cursor of the newest message of the stream. */
  #position = ''
  #unanswered = 0

  constructor(name: string, from: string | undefined, follow: (follower: Follower) => ChannelHandle) {
    this.name = name
    if (parseCursor(from)) this.from = from
    this.#handle = follow(this)
    this.presence = new Others(this.#handle.show)
  }

  get link(): Promise<Link> {
    return this.#handle.link
  }

  publish(kind: string = 'json', data: unknown): Promise<{ readonly seq: number }> {
    return this.#send(kind, () => bodyOf(kind, data))
  }

  change(seq: number, data: unknown): Promise<{ readonly seq: number }> {
    return this.#send('change', () => ({ seq, ...contentOf(data, 'data') }))
  }

  erase(seq: number): Promise<{ readonly seq: number }> {
    return this.#send('change', () => ({ seq }))
  }

  #send(kind: string, make: () => unknown): Promise<{ readonly seq: number }> {
    const sent = this.#handle.publish(kind as Kind, checked(make) as Bodies[Kind])
    this.#sent?.push(sent)
    return sent
  }

  async sendVolatile(kind: string = 'json', data: unknown): Promise<void> {
    const body = checked(() => bodyOf(kind, data)) as Bodies[Kind]
    const link = await this.link
    if (this.refusal) throw this.refusal
    if (this.#unanswered >= maxUnanswered) return
    const { window: from } = link
    volatileSent += 1
    this.#unanswered += 1
    try {
      const id = `${from}-v${volatileSent}`
      await link.send({ id, channel: this.name, kind: kind as Kind, from, at: now(), body, volatile: true })
    } catch (error) {
      if (error instanceof RefusedError) throw error
    } finally {
      this.#unanswered -= 1
    }
  }

  read(place: Place, listener: ReaderListener): Reader {
    const reader = new Reader(place, listener, this.#handle)
    this.#readers.add(reader)
    if (this.#streamStart !== null) reader.joined(this.#position, this.#position)
    return reader
  }

  subscribe(
    { onMessage, onChange, onVolatile, onGap, onError, ...place }: Subscriber<unknown>,
    isListening = true,
  ): Off {
    const reader = this.read(place, {
      isListening: () => isListening,
      message: (message) => attempt(() => onMessage(message)),
      change: (change) => attempt(() => onChange?.(change)),
      volatile: (message) => attempt(() => onVolatile?.(message)),
      gap: () => attempt(() => onGap?.()),
      ended(refusal) {
        if (refusal) attempt(() => onError?.(refusal))
        return Boolean(onError)
      },
    })
    return () => this.#leave(reader)
  }

  hold(onError: (error: RefusedError) => void): Off {
    return this.subscribe({ onMessage: nothingPlanned, onError }, false)
  }

  async readBack(kind: string = 'json', place: Earlier = {}): Promise<Past<unknown>> {
    const { messages, cursor, hasEarlier } = await this.#handle.pageBefore(kind, place)
    const all = messages.map((one) => received(one, cursorAt(one.seq, cursor)))
    return { messages: all, cursor, hasEarlier }
  }

  left(room: ChannelRoom, reader: Reader): void {
    if (this.room === room) this.room = null
    this.#leave(reader)
  }

  #leave(reader: Reader): void {
    reader.stop()
    if (this.#readers.delete(reader) && this.#readers.size === 0) this.#handle.leave()
  }

  async joined(newest: string, to: string): Promise<void> {
    this.#streamStart = to
    this.#position = to
    const own = this.#sent ?? []
    this.#sent = null
    const needsNewest = Array.from(this.#readers).some((reader) => reader.isAtNewest)
    const begin = needsNewest ? beforeAny(await Promise.allSettled(own), newest) : newest
    for (const reader of this.#readers) reader.joined(begin, this.#streamStart)
  }

  async missed(_from: string, to: string): Promise<void> {
    // The stream does not have it yet.
    if (this.#streamStart === null) return
    this.#streamStart = to
    this.#position = to
    for (const reader of this.#readers) reader.missed(to)
  }

  take(message: Message, cursor: string): void {
    this.#position = cursor
    for (const reader of this.#readers) reader.take(message, cursor)
  }

  volatile(message: Draft): void {
    for (const reader of this.#readers) reader.volatile(message)
  }

  end(): void {
    const heard = Array.from(this.#readers, (reader) => reader.end(this.refusal))
    // Thrown where nobody can catch it: the other channels go on.
    if (this.refusal && !heard.includes(true)) report(this.refusal)
  }
}

/** Who reads a channel. */
interface ReaderListener {
  /** Otherwise the reader stays at its place. */
  readonly isListening: () => boolean
  readonly message: (message: RoomMessage<unknown>) => void
  readonly change: (change: RoomChange<unknown>) => void
  readonly volatile: (message: VolatileMessage<unknown>) => void
  readonly gap: () => void
  /** Returns whether anybody heard the refusal, if there is one. */
  readonly ended: (refusal: RefusedError | undefined) => boolean
}

/** Reads a channel from a place on: from the log up to where the stream begins, then from the stream. */
class Reader {
  readonly #kind: Kind
  readonly #listener: ReaderListener
  readonly #handle: Pick<ChannelHandle, 'page' | 'fail'>
  #phase: 'joining' | 'paused' | 'reading' | 'live' | 'ended' = 'joining'
  /** `newest` until it has joined; then `start`, or the cursor of what it has. */
  #place: string
  /** The stream has the messages after this cursor. */
  #streamStart = ''
  /** Messages that came by the stream before it was live. */
  #early: (readonly [message: Message, cursor: string])[] = []
  #newest = 0
  /** How often it has begun to read. */
  #turn = 0

  constructor(
    { from = 'newest', kind = 'json' }: Place,
    listener: ReaderListener,
    handle: Pick<ChannelHandle, 'page' | 'fail'>,
  ) {
    this.#place = from
    this.#kind = kind as Kind
    this.#listener = listener
    this.#handle = handle
  }

  /** `newest`: where it begins if it wants no past; the stream has what comes after `streamStart`. */
  joined(newest: string, streamStart: string): void {
    if (this.#phase !== 'joining') return
    this.#streamStart = streamStart
    if (this.#place === 'newest') this.#place = newest
    this.#newest = seqIn(this.#place)
    this.#proceed()
  }

  get isAtNewest(): boolean {
    return this.#place === 'newest'
  }

  missed(streamStart: string): void {
    this.#streamStart = streamStart
    this.#early = []
    if (this.#phase === 'reading' || this.#phase === 'live') this.#proceed()
  }

  /** Call when somebody has begun or ceased to listen. */
  listenersChanged(): void {
    const isPaused = this.#phase === 'paused'
    if (isPaused === this.#listener.isListening() && this.#phase !== 'joining' && this.#phase !== 'ended')
      this.#proceed()
  }

  take(message: Message, cursor: string): void {
    if (this.#phase === 'live') this.#show(message, cursor)
    else if (this.#phase === 'paused') this.#streamStart = cursor
    else this.#early.push([message, cursor])
  }

  volatile({ kind, body, ...envelope }: Draft): void {
    if (kind === this.#kind && this.#phase !== 'ended')
      this.#listener.volatile({ ...envelope, ...dataOf(kind, body) })
  }

  stop(): void {
    this.#phase = 'ended'
    this.#turn += 1
  }

  end(refusal: RefusedError | undefined): boolean {
    this.stop()
    return this.#listener.ended(refusal)
  }

  #proceed(): void {
    this.#turn += 1
    if (!this.#listener.isListening()) {
      this.#phase = 'paused'
      // What is dropped here is read from the log later.
      this.#streamStart = this.#early.at(-1)?.[1] ?? this.#streamStart
      this.#early = []
    } else if (isBefore(this.#place, this.#streamStart)) {
      this.#phase = 'reading'
      this.#read().catch(this.#handle.fail)
    } else this.#goLive()
  }

  async #read(): Promise<void> {
    const turn = this.#turn
    for (let pauseMs = 0; ; ) {
      const before = this.#place
      const { messages, cursor, recovered } = await this.#handle.page(before, pauseMs)
      if (this.#turn !== turn) return
      if (!recovered) {
        // The numbers may begin anew.
        this.#newest = 0
        this.#listener.gap()
      }
      for (const message of messages)
        if (this.#turn === turn) this.#show(message, cursorAt(message.seq, cursor))
      if (this.#turn !== turn) return
      this.#place = cursor
      if (seqIn(cursor) >= seqIn(this.#streamStart)) return this.#goLive()
      pauseMs = cursor === before ? behindMs : 0
    }
  }

  #goLive(): void {
    const early = this.#early
    this.#early = []
    this.#phase = 'live'
    for (const [message, cursor] of early) this.take(message, cursor)
  }

  /** Skips repeats. */
  #show(message: Message, cursor: string): void {
    if (message.seq <= this.#newest) return
    this.#newest = message.seq
    this.#place = cursor
    if (message.kind === this.#kind) this.#listener.message(received(message, cursor))
    else if (message.kind === 'change' && this.#kind === 'json')
      this.#listener.change({ ...received(message, cursor), changes: (message.body as Bodies['change']).seq })
  }
}

function received({ kind, body, ...envelope }: Message, cursor: string): RoomMessage<unknown> {
  const message = { ...envelope, cursor, ...dataOf(kind, body) }
  const { changedAt } = body as Bodies['json']
  return kind === 'json' && changedAt !== undefined ? { ...message, changedAt } : message
}

/** The room of a channel: its listeners and loops have one place. */
export class ChannelRoom implements Room<unknown> {
  readonly name: string
  readonly place: Place
  readonly presence: Presence
  readonly #channel: Channel
  readonly #listeners = new Listeners<RoomEvents<unknown>>()
  readonly #loops = new Set<Loop>()
  readonly #reader: Reader
  #isOver = false
  #isLeft = false
  #refusal: RefusedError | undefined

  constructor(channel: Channel, place: Place) {
    this.name = channel.name
    this.place = place
    this.presence = channel.presence
    this.#channel = channel
    this.#reader = channel.read(place, {
      isListening: () =>
        this.#listeners.has('message') || this.#listeners.has('change') || this.#loops.size > 0,
      gap: () => this.#listeners.tell('gap'),
      volatile: (message) => this.#listeners.tell('volatile', message),
      message: (message) => {
        this.#listeners.tell('message', message)
        for (const loop of this.#loops) loop.push(message)
      },
      change: (change) => this.#listeners.tell('change', change),
      ended: (refusal) => this.#end(refusal),
    })
  }

  on<Event extends keyof RoomEvents<unknown>>(event: Event, listener: RoomEvents<unknown>[Event]): Off {
    const off = this.#listeners.on(event, listener)
    this.#reader.listenersChanged()
    return () => {
      off()
      this.#reader.listenersChanged()
    }
  }

  async publish(data: unknown): Promise<{ readonly seq: number }> {
    return this.#open.publish(this.place.kind, data)
  }

  async change(seq: number, data: unknown): Promise<{ readonly seq: number }> {
    return this.#open.change(seq, data)
  }

  async erase(seq: number): Promise<{ readonly seq: number }> {
    return this.#open.erase(seq)
  }

  get #open(): Channel {
    if (this.#isLeft) throw new Error(`The room of channel "${this.name}" was left.`)
    return this.#channel
  }

  async sendVolatile(data: unknown): Promise<void> {
    return this.#open.sendVolatile(this.place.kind, data)
  }

  async readBack(place?: Earlier): Promise<Past<unknown>> {
    return this.#open.readBack(this.place.kind, place)
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<RoomMessage<unknown>, void> {
    const loop = new Loop(() => {
      this.#loops.delete(loop)
      this.#reader.listenersChanged()
    })
    if (this.#isOver) loop.end(this.#refusal)
    else {
      this.#loops.add(loop)
      this.#reader.listenersChanged()
    }
    return loop
  }

  leave(): void {
    if (this.#isOver) return
    this.#isLeft = true
    this.presence.set(null)
    this.#end()
    this.#channel.left(this, this.#reader)
  }

  #end(refusal?: RefusedError): boolean {
    const isHeard = this.#listeners.has('error') || this.#loops.size > 0
    this.#isOver = true
    this.#refusal = refusal
    for (const loop of this.#loops) loop.end(refusal)
    this.#loops.clear()
    if (refusal) this.#listeners.tell('error', refusal)
    return isHeard
  }
}

/** A `for await` loop over a room. */
class Loop implements AsyncIterableIterator<RoomMessage<unknown>, void> {
  readonly #onEnd: () => void
  readonly #messages: RoomMessage<unknown>[] = []
  readonly #requests: PromiseWithResolvers<IteratorResult<RoomMessage<unknown>, void>>[] = []
  #isOver = false
  #refusal: unknown

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<RoomMessage<unknown>, void>> {
    const request = Promise.withResolvers<IteratorResult<RoomMessage<unknown>, void>>()
    this.#requests.push(request)
    this.#answer()
    return request.promise
  }

  /** Also ends what `next` waits for. */
  async return(): Promise<IteratorResult<RoomMessage<unknown>, void>> {
    this.#messages.length = 0
    this.end()
    this.#onEnd()
    return { done: true, value: undefined }
  }

  push(message: RoomMessage<unknown>): void {
    this.#messages.push(message)
    this.#answer()
  }

  /** After the messages that have come. */
  end(refusal?: unknown): void {
    this.#isOver = true
    this.#refusal = refusal
    this.#answer()
  }

  #answer(): void {
    while (this.#requests.length > 0 && (this.#isOver || this.#messages.length > 0)) {
      const request = this.#requests.shift()
      const message = this.#messages.shift()
      if (message) request?.resolve({ done: false, value: message })
      else if (this.#refusal) request?.reject(this.#refusal)
      else request?.resolve({ done: true, value: undefined })
    }
  }
}

const bodyOf = (kind: string, data: unknown) => (kind === 'json' ? contentOf : copyJson)(data, 'data')

export function dataOf(kind: Kind, body: Bodies[Kind]) {
  const { user } = body as Bodies['json']
  return { user, data: kind === 'json' || kind === 'change' ? dataIn(body as Bodies['json']) : body }
}

/** Throws a `RefusedError` that names what is not JSON. */
function checked<Data>(copy: () => Data): Data {
  try {
    return copy()
  } catch (error) {
    throw new RefusedError('bad-shape', String((error as Error).message))
  }
}

/** Whether a place is before a cursor, or of another log. */
function isBefore(place: string, cursor: string): boolean {
  return parseCursor(place)?.epoch !== parseCursor(cursor)?.epoch || seqIn(place) < seqIn(cursor)
}

const seqIn = (cursor: string) => parseCursor(cursor)?.seq ?? 0

/** That cursor, or the one before the first of these messages. */
function beforeAny(published: readonly PromiseSettledResult<Pick<Message, 'seq'>>[], cursor: string): string {
  const numbers = published.map((one) => ('value' in one ? one.value.seq - 1 : Infinity))
  return cursorAt(Math.min(seqIn(cursor), ...numbers), cursor)
}

const cursorAt = (seq: number, cursor: string) => cursor.replace(/\d+$/, String(seq))
