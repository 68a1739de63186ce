// The door for user interfaces: channels, presence and the connection as values that change.

import type { AnyName, DataOf, DeclaredName, OwnStateOf, SentOf, StateOf } from '../protocol/declared.ts'
import { nothingPlanned, type Timers } from '../protocol/time.ts'
import { browserTimers } from './browser-services.ts'
import type {
  Channels,
  ConnectionState,
  Crosswind,
  OpenChannel,
  Past,
  Place,
  RoomChange,
  RoomMessage,
  VolatileMessage,
} from './connect.ts'
import { attempt, type Off } from './listeners.ts'
import type { Outbox, OutboxListener } from './outbox.ts'
import { dataOf } from './room.ts'
import { type ClientError, RefusedError } from './transports/transport.ts'

/** A value that changes, as `useSyncExternalStore` of React and Svelte take it. Its methods are bound. */
export interface Store<Snapshot> {
  /**
   * Calls the listener at once and after a change; after further changes in the same turn of the event loop, once, at
   * its end.
   */
  subscribe(listener: (snapshot: Snapshot) => void): Off
  /** The same object until it changes. */
  getSnapshot(): Snapshot
  /** Before anything is connected: what a server renders. */
  getServerSnapshot(): Snapshot
}

/** A message of this connection, or of a closed window (`drafts`), until it is in the list. */
export interface PendingMessage<Sent> {
  /** That of the message to come. */
  readonly id: string
  /** When it was published, ms since the epoch. */
  readonly at: number
  /** As it was published. */
  readonly data: Sent
  /** Its number, once it is stored. */
  readonly seq?: number | undefined
  /** Why the server refused it. */
  readonly error?: RefusedError | undefined
}

export interface ChannelSnapshot<Data, Sent = Data> {
  /** `loading` until the newest messages have come; `failed` if the channel cannot be read, or no longer. */
  readonly status: 'loading' | 'ready' | 'failed'
  /** In order. */
  readonly messages: readonly RoomMessage<Data>[]
  /** Published, and not in `messages` yet, or refused: each message is in one of the two lists, once. */
  readonly pending: readonly PendingMessage<Sent>[]
  /** Whether the server may have messages before these. */
  readonly hasEarlier: boolean
  /** Why it failed; null if it has not. */
  readonly error: ClientError | null
}

export interface ChannelStore<Data, Sent = Data> extends Store<ChannelSnapshot<Data, Sent>> {
  /** See `Room#publish`. What is refused stays in `pending` as long as anybody subscribes. */
  publish(data: Sent): Promise<{ readonly seq: number }>
  /**
   * Removes a refused message from `pending`, and withdraws one that waits and was never sent: its `publish` rejects
   * with `withdrawn`. Any other stays.
   */
  drop(id: string): void
  /** See `Room#change`. */
  change(seq: number, data: Sent): Promise<{ readonly seq: number }>
  /** See `Room#erase`. */
  erase(seq: number): Promise<{ readonly seq: number }>
  /** See `Room#sendVolatile`. */
  sendVolatile(data: Sent): Promise<void>
  /** Adds as many as `limit` says. Resolves once they are there; rejects if they cannot be read. */
  loadEarlier(): Promise<void>
}

export interface ChannelOptions<Data> extends Pick<Place, 'kind'> {
  /** See `Place#from`. Default: the newest messages, as many as `limit`, and all that follow. */
  readonly from?: string | undefined
  /**
   * Largest number of messages in the list, which loses its oldest: by default 100. Each `loadEarlier` adds
   * to it.
   */
  readonly limit?: number | undefined
  /** The newest messages, which the page was sent with: they are not requested. */
  readonly initial?: Past<Data> | undefined
}

export interface PresenceSnapshot<State> {
  /** As of `Presence`. */
  readonly states: ReadonlyMap<string, State>
  readonly users: ReadonlyMap<string, string>
  /** Why the newest state was refused, or the channel cannot be read; null if all is well. */
  readonly error: ClientError | null
}

export interface PresenceStore<State, Own = State> extends Store<PresenceSnapshot<State>> {
  /** Shows this client, as long as anybody subscribes. See `Presence#set`. */
  set(state: Own | null): void
}

export interface ConnectionSnapshot extends ConnectionState {
  /** Why the application refuses this client; null if it does not. */
  readonly error: ClientError | null
}

export interface ConnectionStore extends Store<ConnectionSnapshot> {
  /** See `Channels#retry`. */
  retry(): Promise<void>
}

/** A connection, whatever types it declares. */
export type Opened = Channels & Pick<Crosswind, 'open'>

interface Failing {
  readonly error: ClientError | null
}

/** What the stores of one name share while somebody subscribes, and until the next turn. */
export abstract class Shared<Snapshot extends Failing> {
  #snapshot: Snapshot
  readonly #listeners = new Set<(snapshot: Snapshot) => void>()
  #timers: Pick<Timers, 'later'> = browserTimers
  #hasBegun = false
  /** The listeners were called in this turn of the event loop. */
  #hasTold = false
  /** It has changed since. */
  #isDue = false
  /** What `end` calls. */
  protected readonly offs: Off[] = []

  constructor(initial: Snapshot) {
    this.#snapshot = initial
  }

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0
  }

  watch(listener: (snapshot: Snapshot) => void): Off {
    // A function that is added twice is called twice.
    const entry = (snapshot: Snapshot) => listener(snapshot)
    this.#listeners.add(entry)
    attempt(() => entry(this.#snapshot))
    return () => this.#listeners.delete(entry)
  }

  start(connect: () => Opened, timers: Pick<Timers, 'later'>): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#timers = timers
    try {
      this.begin(connect())
    } catch (error) {
      this.fail(error as ClientError)
    }
  }

  end(): void {
    for (const off of this.offs.splice(0)) off()
  }

  protected change(part: Partial<Snapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...part }
    this.#isDue = this.#hasTold
    if (this.#hasTold) return
    // Many messages may come in one turn, with microtasks between: React gives up if it renders for each.
    this.#hasTold = true
    this.#timers.later(() => {
      this.#hasTold = false
      if (this.#isDue) this.#tell()
    }, 0)
    this.#tell()
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) attempt(() => listener(this.#snapshot))
  }

  protected abstract begin(connection: Opened): void

  protected fail(error: ClientError): void {
    this.change({ error } as Partial<Snapshot>)
  }
}

const usualLimit = 100

class ChannelList extends Shared<ChannelSnapshot<unknown>> {
  readonly #name: string
  readonly #options: ChannelOptions<unknown>
  #channel: OpenChannel | null = null
  #limit: number
  #loading: Promise<void> | null = null
  #outbox: Outbox | null = null
  /** By id: what is pending, and what is in the list but not acknowledged. */
  readonly #own = new Map<string, PendingMessage<unknown>>()

  constructor(name: string, options: ChannelOptions<unknown>, initial: ChannelSnapshot<unknown>) {
    super(initial)
    this.#name = name
    this.#options = options
    this.#limit = Math.max(limitOf(options), initial.messages.length)
  }

  protected begin(connection: Opened): void {
    const { initial, from = initial?.cursor } = this.#options
    const channel = connection.open(this.#name, from)
    this.#channel = channel
    this.offs.push(channel.hold((error) => this.fail(error)))
    this.#read(channel, from).catch((error) => this.fail(error))
  }

  async #read(channel: OpenChannel, from: string | undefined): Promise<void> {
    const { outbox } = await channel.link
    if (this.#channel !== channel) return
    this.#watch(outbox)
    if (from !== undefined) return this.#follow(channel, from)
    const { messages, hasEarlier, cursor } = await channel.readBack(this.#options.kind, {
      limit: pageOf(this.#limit),
    })
    if (this.#channel !== channel) return
    this.change({ messages, hasEarlier })
    this.#follow(channel, cursor)
  }

  #watch(outbox: Outbox): void {
    this.#outbox = outbox
    const listener: OutboxListener = {
      onOutbox: () => this.change(),
      onStored: ({ id }, seq) => this.#mark(id, { seq }),
      onRefused: ({ id }, sentence, code) => {
        // With `drafts` it may be sent later all the same.
        if (outbox.has(id)) return
        if (code === 'withdrawn' || outbox.others.some(({ draft }) => draft.id === id)) this.#own.delete(id)
        else this.#mark(id, { error: new RefusedError(code, sentence) })
      },
    }
    outbox.listeners.add(listener)
    this.offs.push(() => outbox.listeners.delete(listener))
    this.change()
  }

  #mark(id: string, end: Pick<PendingMessage<unknown>, 'seq' | 'error'>): void {
    const own = this.#own.get(id)
    if (own) this.#own.set(id, { ...own, ...end })
  }

  /** What was stored will not come any more; in another log it gets another number. */
  #forget(part: Partial<ChannelSnapshot<unknown>>): void {
    for (const { id, error } of this.#own.values())
      if (this.#outbox?.has(id)) this.#mark(id, { seq: undefined })
      else if (!error) this.#own.delete(id)
    this.change(part)
  }

  /** Also changes what is pending. */
  protected override change(part?: Partial<ChannelSnapshot<unknown>>): void {
    const { messages, pending: before } = { ...this.snapshot, ...part }
    const { kind: ownKind = 'json' } = this.#options
    for (const { draft } of this.#outbox?.drafts.pending ?? []) {
      const { id, channel, kind, at, body } = draft
      if (channel === this.#name && kind === ownKind && !this.#own.has(id))
        this.#own.set(id, { id, at, data: dataOf(kind, body).data })
    }
    // A message may come before its acknowledgement.
    for (const { id, seq } of messages) this.#mark(id, { seq })
    const newest = messages.at(-1)?.seq ?? 0
    const pending: PendingMessage<unknown>[] = []
    for (const own of this.#own.values())
      if (!(Number(own.seq) <= newest)) pending.push(own)
      else if (!this.#outbox?.has(own.id)) this.#own.delete(own.id)
    if (part || pending.length + before.length > 0) super.change({ ...part, pending })
  }

  drop(id: string): void {
    this.#outbox?.withdraw((draft) => draft.id === id)
    if (this.#own.get(id)?.error && this.#own.delete(id)) this.change()
  }

  #follow(channel: OpenChannel, from: string): void {
    const { kind } = this.#options
    this.change({ status: 'ready' })
    this.offs.push(
      channel.subscribe({
        from,
        kind,
        onMessage: (message) => this.#add(message),
        onChange: (change) => this.#apply(change),
        // What follows is all that the server has; its numbers may begin anew.
        onGap: () => this.#forget({ messages: [], hasEarlier: false }),
        onError: (error) => this.fail(error),
      }),
    )
  }

  #add(message: RoomMessage<unknown>): void {
    const { messages, hasEarlier } = this.snapshot
    if (message.seq <= (messages.at(-1)?.seq ?? 0)) return
    const all = [...messages, message]
    this.change({ messages: all.slice(-this.#limit), hasEarlier: hasEarlier || all.length > this.#limit })
  }

  #apply({ changes, data, acceptedAt: changedAt }: RoomChange<unknown>): void {
    const { messages } = this.snapshot
    if (messages.some(({ seq }) => seq === changes))
      this.change({
        messages: messages.map((one) => (one.seq === changes ? { ...one, data, changedAt } : one)),
      })
  }

  loadEarlier(): Promise<void> {
    this.#loading ??= this.#loadEarlier().finally(() => (this.#loading = null))
    return this.#loading
  }

  async #loadEarlier(): Promise<void> {
    const channel = this.#channel
    const [oldest] = this.snapshot.messages
    if (!channel || !this.snapshot.hasEarlier) return
    const limit = limitOf(this.#options)
    const place = { before: oldest?.seq, limit: pageOf(limit) }
    const earlier = await channel.readBack(this.#options.kind, place)
    const { messages } = this.snapshot
    // Dropped by a gap, or by newer ones, meanwhile.
    if (this.#channel !== channel || (oldest && messages[0] !== oldest)) return
    const first = messages[0]?.seq ?? Infinity
    const older = earlier.messages.filter(({ seq }) => seq < first)
    this.#limit = Math.max(this.#limit, messages.length + limit)
    this.change({ messages: [...older, ...messages], hasEarlier: earlier.hasEarlier })
  }

  override end(): void {
    this.#channel = null
    super.end()
  }

  protected override fail(error: ClientError): void {
    this.#forget({ status: 'failed', error })
  }
}

const limitOf = ({ limit = usualLimit }: Pick<ChannelOptions<unknown>, 'limit'>) => limit

/** The server returns at most 500 messages at once. */
const pageOf = (limit: number) => Math.min(limit, 500)

class PresenceList extends Shared<PresenceSnapshot<unknown>> {
  readonly #name: string
  #presence: OpenChannel['presence'] | null = null
  #own: unknown = null

  constructor(name: string, initial: PresenceSnapshot<unknown>) {
    super(initial)
    this.#name = name
  }

  protected begin(connection: Opened): void {
    const channel = connection.open(this.#name)
    const { presence } = channel
    this.#presence = presence
    const show = () => this.change({ states: new Map(presence.states), users: new Map(presence.users) })
    this.offs.push(
      presence.on('change', show),
      presence.on('refused', (error) => this.change({ error })),
      () => this.#own !== null && presence.set(null),
      channel.hold((error) => this.fail(error)),
    )
    show()
    if (this.#own !== null) presence.set(this.#own)
  }

  set(state: unknown): void {
    this.#own = state
    if (this.#presence && this.snapshot.error) this.change({ error: null })
    this.#presence?.set(state)
  }

  protected override fail(error: ClientError): void {
    this.#presence = null
    this.change({ ...nobody, error })
  }
}

class VolatileReader extends Shared<Failing> {
  readonly #name: string
  readonly #onVolatile: (message: VolatileMessage<unknown>) => void

  constructor(name: string, onVolatile: (message: VolatileMessage<unknown>) => void) {
    super(noError)
    this.#name = name
    this.#onVolatile = onVolatile
  }

  protected begin(connection: Opened): void {
    this.offs.push(
      connection.open(this.#name).subscribe({
        onMessage: nothingPlanned,
        onVolatile: this.#onVolatile,
        // The stores of the channel say it.
        onError: nothingPlanned,
      }),
    )
  }
}

class ConnectionStatus extends Shared<ConnectionSnapshot> {
  protected begin(connection: Opened): void {
    this.change(connection.state)
    this.offs.push(
      connection.on('state', (state) => {
        this.change(state.status === 'open' ? { ...state, error: null } : state)
      }),
      connection.on('error', (error) => this.fail(error)),
    )
  }
}

const noError: Failing = { error: null }
const noChannel: ChannelSnapshot<never> = {
  status: 'loading',
  messages: [],
  pending: [],
  hasEarlier: false,
  error: null,
}
const nobody: PresenceSnapshot<unknown> = { states: new Map(), users: new Map(), error: null }
const noConnection: ConnectionSnapshot = {
  mode: '',
  status: 'opening',
  clock: null,
  behindMs: null,
  pending: 0,
  reason: null,
  error: null,
}

/**
 * The stores of one connection, which is made when the first of them is subscribed to or used, in a browser:
 *
 *     const stores = new Stores(() => connect(new URL('/realtime', location)))
 *     const room = stores.channel('room.1')
 *     const off = room.subscribe(({ messages }) => show(messages))
 *
 * To make a store has no effect. Those of one name and the same options share what they have, from the first
 * subscription to the last. What begins and what ends in one turn of the event loop takes effect after it: a
 * component that is replaced, or mounted twice, does not reopen the stream.
 */
export class Stores<Declared = unknown> {
  readonly connection: ConnectionStore
  readonly #connect: () => Crosswind<Declared>
  readonly #timers: Pick<Timers, 'later'>
  readonly #shared = new Map<unknown, Shared<never>>()
  #made: Crosswind<Declared> | null = null
  #holds = 0
  /** Nobody holds the connection any more. */
  #isReleased = false
  #isSettling = false

  constructor(
    connect: () => Crosswind<Declared>,
    { timers = browserTimers }: { readonly timers?: Pick<Timers, 'later'> } = {},
  ) {
    this.#connect = connect
    this.#timers = timers
    this.connection = {
      ...this.share('connection', noConnection, () => new ConnectionStatus(noConnection)),
      retry: () => this.#connected().retry(),
    }
  }

  channel<Name extends DeclaredName<Declared>>(
    name: Name,
    options?: ChannelOptions<DataOf<Declared, Name>>,
  ): ChannelStore<DataOf<Declared, Name>, SentOf<Declared, Name>>
  channel<Data>(name: AnyName<Declared, Data>, options?: ChannelOptions<Data>): ChannelStore<Data>
  channel(name: string, options: ChannelOptions<unknown> = {}): ChannelStore<unknown> {
    const { from, limit, kind, initial } = options
    checkLimit(limit)
    const begun: ChannelSnapshot<unknown> = initial
      ? { ...noChannel, ...initial, status: 'ready' }
      : { ...noChannel, hasEarlier: from !== undefined && from !== 'start' }
    const key = JSON.stringify(['channel', name, from, limit, kind])
    return {
      ...this.share(key, begun, () => new ChannelList(name, options, begun)),
      publish: (data) => this.#send(name, (channel) => channel.publish(kind, data)),
      change: (seq, data) => this.#send(name, (channel) => channel.change(seq, data)),
      drop: (id) => this.#live<ChannelList>(key)?.drop(id),
      erase: (seq) => this.#send(name, (channel) => channel.erase(seq)),
      sendVolatile: (data) => this.#send(name, (channel) => channel.sendVolatile(kind, data)),
      loadEarlier: async () => this.#live<ChannelList>(key)?.loadEarlier(),
    }
  }

  presence<Name extends DeclaredName<Declared>>(
    name: Name,
  ): PresenceStore<StateOf<Declared, Name>, OwnStateOf<Declared, Name>>
  presence<State>(name: AnyName<Declared, State>): PresenceStore<State>
  presence(name: string): PresenceStore<unknown> {
    const key = JSON.stringify(['presence', name])
    return {
      ...this.share(key, nobody, () => new PresenceList(name, nobody)),
      set: (state) => this.#live<PresenceList>(key)?.set(state),
    }
  }

  /** Calls the listener with each volatile message of a channel, until what it returns is called. */
  onVolatile<Name extends DeclaredName<Declared>>(
    name: Name,
    listener: (message: VolatileMessage<DataOf<Declared, Name>>) => void,
  ): Off
  onVolatile<Data>(name: AnyName<Declared, Data>, listener: (message: VolatileMessage<Data>) => void): Off
  onVolatile(name: string, listener: (message: never) => void): Off {
    const reader = new VolatileReader(name, listener as (message: VolatileMessage<unknown>) => void)
    return this.share(reader, noError, () => reader).subscribe(nothingPlanned)
  }

  /** For the package's other doors: a store of any kind, the same for the same key. */
  share<Snapshot extends Failing>(
    key: unknown,
    initial: Snapshot,
    make: () => Shared<Snapshot>,
  ): Store<Snapshot> {
    const live = () => this.#live<Shared<Snapshot>>(key)
    return {
      getSnapshot: () => live()?.snapshot ?? initial,
      getServerSnapshot: () => initial,
      subscribe: (listener) => {
        const shared = live() ?? make()
        this.#shared.set(key, shared as unknown as Shared<never>)
        const off = shared.watch(listener)
        this.#settleSoon()
        return () => {
          off()
          this.#settleSoon()
        }
      },
    }
  }

  /** Keeps the connection until what it returns is called: a turn after the last, the connection is closed. */
  hold(): Off {
    this.#holds += 1
    this.#isReleased = false
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#holds -= 1
      this.#isReleased = this.#holds === 0
      this.#settleSoon()
    }
  }

  #live<Kind>(key: unknown): Kind | undefined {
    return this.#shared.get(key) as Kind | undefined
  }

  #connected(): Crosswind<Declared> {
    this.#made ??= this.#connect()
    return this.#made
  }

  async #send<Result>(name: string, send: (channel: OpenChannel) => Promise<Result>): Promise<Result> {
    const channel = this.#connected().open(name)
    // The refusal rejects what is published.
    const release = channel.hold(nothingPlanned)
    try {
      return await send(channel)
    } finally {
      release()
    }
  }

  #settleSoon(): void {
    if (this.#isSettling) return
    this.#isSettling = true
    this.#timers.later(() => {
      this.#isSettling = false
      this.#settle()
    }, 0)
  }

  /** Ends first: a connection has only so many channels. */
  #settle(): void {
    for (const [key, shared] of this.#shared)
      if (!shared.isWatched) {
        this.#shared.delete(key)
        shared.end()
      }
    if (this.#isReleased) {
      this.#isReleased = false
      this.#made?.close()
      this.#made = null
    }
    for (const shared of this.#shared.values()) shared.start(() => this.#connected(), this.#timers)
  }
}

function checkLimit(limit: number | undefined): void {
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0))
    throw new Error(`limit is ${limit}; it must be a whole number above 0.`)
}
