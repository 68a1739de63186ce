// A channel as the library's users see it: its messages, its past, and who is there.

import {
  type AwarenessFrame,
  type Bodies,
  type JsonMessage,
  type Kind,
  type Message,
  parseCursor,
} from '../protocol/messages.ts'
import { nothingPlanned } from '../protocol/time.ts'
import type { Link } from './link.ts'
import { listen, type Off, report, tell } from './listeners.ts'
import { RefusedError } from './transports/transport.ts'

/** One channel. */
export interface Room<Data> {
  readonly name: string
  readonly presence: Presence
  on<Event extends keyof RoomEvents<Data>>(event: Event, listener: RoomEvents<Data>[Event]): Off
  /** Resolves when it is stored; rejects with a `RefusedError`, which has a code. */
  publish(data: Data): Promise<{ readonly seq: number }>
  /** Messages from now on; ends when the connection is closed, rejects on an error. */
  [Symbol.asyncIterator](): AsyncGenerator<RoomMessage<Data>, void>
}

interface RoomEvents<Data> {
  readonly message: (message: RoomMessage<Data>) => void
  /** Messages were missed, which the server no longer has: those that it has follow. */
  readonly gap: () => void
  readonly error: (error: unknown) => void
}

export type RoomMessage<Data> = JsonMessage<Data>

/** Clients on a channel and the state that each shows; not stored. */
export interface Presence {
  /** States of the other clients by name, which is `from` in their messages. */
  readonly states: ReadonlyMap<string, unknown>
  /** Users of the other clients, as the application's `authorize` says, by the same names. */
  readonly users: ReadonlyMap<string, string>
  on<Event extends keyof PresenceEvents>(event: Event, listener: PresenceEvents[Event]): Off
  /**
   * Shows this client to the others, until it closes or is lost: any JSON, null to show nothing. One
   * that is larger than the server accepts (`limits.stateBytes`) is refused by the event `refused`.
   * Throws a `RefusedError` if it is not JSON.
   */
  set(state: unknown): void
}

interface PresenceEvents {
  readonly change: (states: Presence['states']) => void
  /** The newest state is too large; the others still see the one before. */
  readonly refused: (error: RefusedError) => void
}

/** Receives a channel's messages. */
export interface Follower {
  /** Cursor of the newest message that it has. If the stream begins there, the channel is not requested first. */
  readonly from?: string | undefined
  /** `receivedAt`, `dueAt`: see `LinkListener#onMessage`. */
  take(message: Message, cursor: string, receivedAt: number, dueAt: number): void
  /** When the channel may no longer be read, the connection waits until it may, and its other channels too. */
  readonly isRequired?: boolean | undefined
  /** The follower reads the channel from `from` on; the stream has the messages after `to`. */
  joined?(from: string, to: string): Promise<void>
  /** Messages between these cursors were missed. */
  missed?(from: string, to: string): Promise<void>
  /** The log was replaced. */
  newLog?(): void
  /** The connection was closed, or the channel cannot be read. */
  end(): void
  /** Why it cannot be read. */
  refusal?: unknown
  readonly presence: {
    heard(frame: AwarenessFrame, own: string): void
    /** This client's state is too large. */
    refused(error: RefusedError): void
  }
}

/** One page of a channel's messages. */
export interface Page {
  readonly messages: readonly Message[]
  /** After the messages. */
  readonly cursor: string
  /** False if messages before these are gone. */
  readonly recovered: boolean
}

/** A follower's subscription to a channel. */
export interface Subscription {
  /** The connection's, with the outbox of all its channels. */
  readonly link: Promise<Link>
  /**
   * Reads what is stored after a cursor, `start` or `newest`; later messages come by the stream. Waits for
   * the server, and before that for `pauseMs`.
   */
  page(after: string, pauseMs?: number): Promise<Page>
  /** See `Room#publish`. */
  publish<K extends Kind>(kind: K, body: Bodies[K]): Promise<{ readonly seq: number }>
  show(state: unknown): void
  leave(): void
}

class Others implements Presence {
  readonly states = new Map<string, unknown>()
  readonly users = new Map<string, string>()
  readonly #listeners: { readonly [Event in keyof PresenceEvents]: Set<PresenceEvents[Event]> } = {
    change: new Set(),
    refused: new Set(),
  }
  readonly #show: (state: unknown) => void

  constructor(show: (state: unknown) => void) {
    this.#show = show
  }

  on<Event extends keyof PresenceEvents>(event: Event, listener: PresenceEvents[Event]): Off {
    return listen(this.#listeners[event], listener)
  }

  set(state: unknown): void {
    const text: string | undefined = JSON.stringify(state)
    if (text === undefined)
      throw new RefusedError(
        'bad-shape',
        `A state must be JSON, or null to show nothing, not ${typeof state}.`,
      )
    // The application may change its own.
    this.#show(JSON.parse(text))
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
    if (!whole || this.#text() !== before) tell(this.#listeners.change, this.states)
  }

  #text(): string {
    return JSON.stringify([...this.states])
  }

  refused(error: RefusedError): void {
    tell(this.#listeners.refused, error)
  }
}

/** Pause before another read, ms, while the server that answered lags behind the one with the stream. */
const behindMs = 500

/** Reads the channel's past, then follows the stream. */
export class Feed<Data> implements Room<Data>, Follower {
  readonly name: string
  readonly publish: Room<Data>['publish']
  readonly presence: Others
  readonly from: string | undefined
  readonly #from: string
  readonly #kind: Kind
  readonly #channel: Subscription
  readonly #listeners: { readonly [Event in keyof RoomEvents<Data>]: Set<RoomEvents<Data>[Event]> } = {
    message: new Set(),
    gap: new Set(),
    error: new Set(),
  }
  readonly #loops = new Set<() => void>()
  refusal?: unknown
  #isOver = false
  /** Messages that arrived by the stream while the channel's past is read. */
  #early: (readonly [message: Message, cursor: string])[] | null = []
  #newest = 0
  /** Own messages, until the channel is joined: the server may store them before that. */
  #published: ReturnType<Room<Data>['publish']>[] | null = []
  /** The stream has the messages after this cursor. */
  #to = ''
  /** How often it has begun to read the past. */
  #turn = 0
  /** Cursor up to which the past is read; null once it follows the stream. */
  #reached: string | null = null

  constructor(name: string, from: string, kind: Kind, follow: (feed: Follower) => Subscription) {
    this.name = name
    this.#from = from
    if (parseCursor(from)) this.from = from
    this.#kind = kind
    this.#channel = follow(this)
    this.publish = (data) => {
      const body = kind === 'json' ? { data } : (data as Bodies[Kind])
      const published = this.#channel.publish(kind, body)
      this.#published?.push(published)
      return published
    }
    this.presence = new Others(this.#channel.show)
  }

  on<Event extends keyof RoomEvents<Data>>(event: Event, listener: RoomEvents<Data>[Event]): Off {
    return listen(this.#listeners[event], listener)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RoomMessage<Data>, void> {
    const waiting: RoomMessage<Data>[] = []
    let wake = nothingPlanned
    const offs = [
      this.on('message', (message) => {
        waiting.push(message)
        wake()
      }),
      listen(this.#loops, () => wake()),
    ]
    try {
      for (;;) {
        const message = waiting.shift()
        if (message) yield message
        else if (this.refusal) throw this.refusal
        else if (this.#isOver) return
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      for (const off of offs) off()
    }
  }

  async joined(newest: string, to: string): Promise<void> {
    this.#to = to
    const own = this.#published ?? []
    this.#published = null
    const isNewest = this.#from === 'newest'
    const from = isNewest ? beforeAny(await Promise.allSettled(own), newest) : this.#from
    // There may be messages between the cursor and the stream's beginning.
    if (seqIn(from) < seqIn(to) || !(isNewest || this.from)) return this.#catchUp(from)
    this.#begin(from)
    this.#goLive()
  }

  async missed(from: string, to: string): Promise<void> {
    this.#to = to
    this.#early = []
    if (this.#turn > 0) await this.#catchUp(this.#reached ?? from)
  }

  async #catchUp(from: string): Promise<void> {
    const turn = this.#begin(from)
    for (let after = from, pauseMs = 0; ; ) {
      const { messages, cursor, recovered } = await this.#channel.page(after, pauseMs)
      // The stream has lost messages meanwhile.
      if (this.#turn !== turn) return
      if (!recovered) {
        // The numbers may begin anew.
        this.#newest = 0
        tell(this.#listeners.gap)
      }
      for (const message of messages) this.#show(message, cursorAt(message.seq, cursor))
      if (seqIn(cursor) >= seqIn(this.#to)) break
      pauseMs = cursor === after ? behindMs : 0
      after = cursor
      this.#reached = after
    }
    this.#goLive()
  }

  /** From now on the stream's messages wait. Returns the number of this turn. */
  #begin(after: string): number {
    this.#early ??= []
    this.#reached = after
    this.#newest = Math.max(this.#newest, seqIn(after))
    this.#turn += 1
    return this.#turn
  }

  #goLive(): void {
    const early = this.#early ?? []
    this.#early = null
    this.#reached = null
    for (const [message, cursor] of early) this.#show(message, cursor)
  }

  take(message: Message, cursor: string): void {
    if (this.#early) this.#early.push([message, cursor])
    else this.#show(message, cursor)
  }

  /** Skips repeats. */
  #show(message: Message, cursor: string): void {
    const { kind, body, ...envelope } = message
    if (kind !== this.#kind || envelope.seq <= this.#newest) return
    this.#newest = envelope.seq
    const { user, data } = body as Bodies['json']
    tell(this.#listeners.message, {
      ...envelope,
      cursor,
      user,
      data: (kind === 'json' ? data : body) as Data,
    })
  }

  end(): void {
    const { refusal } = this
    this.#isOver = true
    tell(this.#loops)
    if (!refusal) return
    // Thrown where nobody can catch it: the other channels go on.
    if (this.#listeners.error.size + this.#loops.size === 0) report(refusal)
    else tell(this.#listeners.error, refusal)
  }
}

const seqIn = (cursor: string) => parseCursor(cursor)?.seq ?? 0

/** That cursor, or the one before the first of these messages. */
function beforeAny(published: readonly PromiseSettledResult<Pick<Message, 'seq'>>[], cursor: string): string {
  const numbers = published.map((one) => ('value' in one ? one.value.seq - 1 : Infinity))
  return cursorAt(Math.min(seqIn(cursor), ...numbers), cursor)
}

const cursorAt = (seq: number, cursor: string) => cursor.replace(/\d+$/, String(seq))
