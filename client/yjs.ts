// The library's door for Yjs: a provider, used like y-websocket's, that knows what is stored.

import {
  Awareness,
  applyAwarenessUpdate,
  encodeAwarenessUpdate,
  removeAwarenessStates,
} from 'y-protocols/awareness'
import * as Y from 'yjs'
import { contradiction } from '../server/wire/contradiction.ts'
import { type AwarenessFrame, isKind, type Message } from '../server/wire/messages.ts'
import {
  type ConnectionState,
  type ConnectOptions,
  type Crosswind,
  connect,
  type Follower,
  type Following,
  RefusedError,
} from './connect.ts'
import { report, tell } from './listeners.ts'

export interface ProviderOptions extends ConnectOptions {
  /** False to wait for `connect()`. */
  readonly connect?: boolean
  readonly awareness?: Awareness
  /** One for several documents and channels, which the provider leaves open. */
  readonly connection?: Crosswind
}

interface ProviderEvents {
  status: [change: { readonly status: 'connecting' | 'connected' | 'disconnected' }]
  sync: [isSynced: boolean]
  synced: [isSynced: boolean]
  /** The event is null if this side closed. */
  'connection-close': [event: { readonly reason: string } | null, provider: CrosswindProvider]
  'connection-error': [error: unknown, provider: CrosswindProvider]
  saved: [isSaved: boolean]
  refused: [error: RefusedError]
  /** The newest state of awareness is too large; the others still see the one before. */
  'awareness-refused': [error: RefusedError]
}

type EventName = keyof ProviderEvents
type Listener<Event extends EventName> = (...given: ProviderEvents[Event]) => void

const statuses = { opening: 'connecting', open: 'connected', waiting: 'disconnected' } as const

/** Updates that leave together have at most this size; one alone may be larger. */
const maxJoinedBytes = 200_000

/** The same for those of a page that is ending: all together have room for 64 KiB. */
const maxLastBytes = 8192

/** Before what was refused is sent again, with what was changed since. */
const refusedPauseMs = 2000

/** Before the document is sent to a new log: what others send to it arrives first. */
const newLogPauseMs = { least: 300, spread: 1200 }

/** Awareness forgets others after 30 s without news; the server says when they are gone. */
const keepShownMs = 10_000

/** On the wire; the clock is one more than in Awareness, which ignores 0. */
interface Shown {
  readonly client: number
  readonly clock: number
  readonly state: object
}

/** Another window, as it is in Awareness. */
interface Other {
  /** Its own, unless somebody else was shown under that before. */
  readonly client: number
  readonly user: string | undefined
  readonly shown: Shown
}

export class CrosswindProvider {
  readonly doc: Y.Doc
  readonly awareness: Awareness
  readonly url: string
  readonly roomname: string
  shouldConnect: boolean
  /** Why the newest changes are not stored; they are sent again with the next change. */
  refused: RefusedError | null = null
  /** Why it stopped; null until then, and after `connect()`. */
  #stoppedBy: unknown = null
  readonly #options: ProviderOptions
  readonly #listeners = new Map<EventName, Set<Listener<never>>>()
  readonly #stop: () => void
  #isDestroyed = false
  #channel: Following | null = null
  #leave: () => void = ignore
  #status: ConnectionState['status'] | null = null
  #synced = false
  #wasSaved: boolean
  #untilSaved = resolvers()
  /** Not handed to the connection yet. */
  #waiting: Uint8Array[] = []
  /** Updates in messages that are not answered, and these messages. */
  #sent = { updates: 0, messages: 0 }
  /** Updates of which only a comparison with the log can tell whether they are stored. */
  #uncertain: number
  /** What is waiting may build on something that the log lacks: compare first. */
  #isBehind = true
  /** What a comparison found missing in the log. */
  #difference: Uint8Array | null = null
  #comparing: Following | null = null
  #maxBytes = maxJoinedBytes
  #timer: ReturnType<typeof setTimeout> | undefined
  /** By window: that is the sender, which the server knows. */
  readonly #others = new Map<string, Other>()
  #ownShown = 'null'

  /** `url` is that of the server, such as `https://host/realtime`; `roomname` is the channel. */
  constructor(url: string | URL, roomname: string, doc: Y.Doc, options: ProviderOptions = {}) {
    this.url = String(url)
    this.roomname = roomname
    this.doc = doc
    this.awareness = options.awareness ?? new Awareness(doc)
    this.shouldConnect = options.connect ?? true
    this.#options = options
    this.#uncertain = doc.store.clients.size > 0 ? 1 : 0
    this.#wasSaved = this.saved
    doc.on('update', this.#onUpdate)
    doc.on('destroy', this.#onDestroy)
    this.awareness.on('update', this.#onAwareness)
    const keeping = setInterval(() => this.#keepShown(), keepShownMs)
    this.#stop = () => {
      clearInterval(keeping)
      clearTimeout(this.#timer)
      doc.off('update', this.#onUpdate)
      doc.off('destroy', this.#onDestroy)
      this.awareness.off('update', this.#onAwareness)
    }
    try {
      if (this.shouldConnect) this.connect()
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  get synced(): boolean {
    return this.#synced
  }

  /** Updates of this document that are not stored; several that were joined count as one. */
  get unsaved(): number {
    return this.#waiting.length + this.#sent.updates + this.#uncertain
  }

  get saved(): boolean {
    return this.unsaved === 0
  }

  /**
   * Resolves once everything is stored. Rejects with an error that has a code when refused, and if the
   * provider or its connection ends before.
   */
  whenSaved(): Promise<void> {
    if (this.saved) return Promise.resolve()
    const reason = this.refused ?? this.#stoppedBy
    return reason ? Promise.reject(reason) : this.#untilSaved.promise
  }

  /** Who the others in `awareness` are, by Yjs client, as the application's `authorize` says. */
  get users(): ReadonlyMap<number, string> {
    const users = new Map<number, string>()
    for (const { client, user } of this.#others.values()) if (user !== undefined) users.set(client, user)
    return users
  }

  connect(): void {
    if (this.#isDestroyed)
      throw new Error(`connect: the provider of "${this.roomname}" was destroyed; make another one.`)
    this.shouldConnect = true
    if (this.#channel) return
    this.#stoppedBy = null
    const { connection } = this.#options
    const opened = connection ?? connect(this.url, this.#options)
    const follower: Follower = {
      take: (message) => this.#apply([message]),
      newLog: () => this.#newLog(),
      hide: () => this.#sendRest(),
      end: () => this.#failed(follower.refusal),
      presence: {
        heard: (frame, own) => this.#heard(frame, own),
        refused: (error) => this.#emit('awareness-refused', error),
      },
    }
    const channel = opened.follow(this.roomname, follower)
    this.#channel = channel
    const offs = [
      opened.on('state', (state) => this.#changed(state)),
      opened.on('error', (error) => this.#tellError(error)),
    ]
    this.#leave = () => {
      for (const off of offs) off()
      channel.leave()
      if (!connection) opened.close()
    }
    this.#changed(opened.state)
    this.#showOwn()
    void this.#compare()
  }

  disconnect(): void {
    this.shouldConnect = false
    this.#end()
  }

  /** Also of the awareness, unless it was given. What is not stored yet may be lost: see `whenSaved`. */
  destroy(): void {
    this.#isDestroyed = true
    this.disconnect()
    this.#stopWaiting(new Error(`The provider of "${this.roomname}" was destroyed.`))
    this.#stop()
    if (!this.#options.awareness) this.awareness.destroy()
    this.#listeners.clear()
  }

  on<Event extends EventName>(event: Event, listener: Listener<Event>): void {
    const known = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, known.add(listener))
  }

  once<Event extends EventName>(event: Event, listener: Listener<Event>): void {
    const once: Listener<Event> = (...given) => {
      this.off(event, once)
      listener(...given)
    }
    this.on(event, once)
  }

  off<Event extends EventName>(event: Event, listener: Listener<Event>): void {
    this.#listeners.get(event)?.delete(listener)
  }

  #emit<Event extends EventName>(event: Event, ...given: ProviderEvents[Event]): void {
    const listeners = [...(this.#listeners.get(event) ?? [])]
    tell<ProviderEvents[Event]>(listeners as Listener<Event>[], ...given)
  }

  // The connection

  #changed({ status, reason }: Pick<ConnectionState, 'status' | 'reason'>): void {
    const before = this.#status
    if (status === before) return
    this.#status = status
    if (before === 'opening' && status === 'waiting')
      this.#emit('connection-error', new Error(reason ?? ''), this)
    if (before !== null && status === 'waiting')
      this.#emit('connection-close', { reason: reason ?? '' }, this)
    if (status !== 'open') this.#setSynced(false)
    this.#emit('status', { status: statuses[status] })
    if (status !== 'open') return
    if (!this.#isBehind) this.#setSynced(true)
    else if (this.refused) void this.#compare()
    this.#flush()
  }

  /** The application does not let this client in, or the channel does not exist; null: the connection was closed. */
  #failed(error: unknown): void {
    this.disconnect()
    if (error) this.#tellError(error)
    // A listener may have connected again.
    if (!this.shouldConnect) this.#stopWaiting(error ?? new Error('The connection was closed.'))
  }

  #tellError(error: unknown): void {
    if (this.#listeners.get('connection-error')?.size) this.#emit('connection-error', error, this)
    else report(error)
  }

  #stopWaiting(error: unknown): void {
    this.#stoppedBy = error
    this.#rejectWaiting(error)
  }

  #rejectWaiting(error: unknown): void {
    this.#untilSaved.reject(error)
    this.#untilSaved = resolvers()
  }

  #end(): void {
    if (!this.#channel) return
    clearTimeout(this.#timer)
    this.#leave()
    this.#channel = null
    // Its answer will not be heard.
    this.#uncertain += this.#sent.updates
    this.#sent = { updates: 0, messages: 0 }
    this.#isBehind = true
    this.#ownShown = 'null'
    this.#status = null
    this.#emit('connection-close', null, this)
    this.#setSynced(false)
    this.#hide([...this.#others.keys()])
    this.#emit('status', { status: 'disconnected' })
  }

  #setSynced(isSynced: boolean): void {
    if (this.#synced === isSynced) return
    this.#synced = isSynced
    this.#emit('synced', isSynced)
    this.#emit('sync', isSynced)
  }

  // The document

  readonly #onDestroy = () => this.destroy()

  readonly #onUpdate = (update: Uint8Array, origin: unknown): void => {
    if (origin === this) return
    this.#waiting.push(update)
    this.#tellSaved()
    if (this.refused) this.#compareIn(refusedPauseMs)
    else this.#flush()
  }

  /** What an observer throws, such as an editor's, is reported: by then Yjs has applied the updates. */
  #apply(messages: readonly Message[], doc = this.doc): void {
    const updates = messages.filter((message) => isKind(message, 'update'))
    let isApplied = false
    try {
      doc.transact(() => {
        for (const { body } of updates) Y.applyUpdate(doc, fromBase64(body.update), this)
        isApplied = true
      }, this)
    } catch (error) {
      if (!isApplied) throw error
      report(error)
    }
  }

  #newLog(): void {
    this.#isBehind = true
    this.#uncertain = Math.max(1, this.#uncertain)
    this.#tellSaved()
    this.#setSynced(false)
    this.#compareIn(newLogPauseMs.least + Math.random() * newLogPauseMs.spread)
  }

  #compareIn(pauseMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#compare(), pauseMs)
  }

  /** Reads what is stored, and finds what the log lacks of this document. */
  async #compare(): Promise<void> {
    const channel = this.#channel
    if (!channel || this.#comparing === channel) return
    this.#comparing = channel
    this.#isBehind = true
    try {
      const { messages } = await channel.page('start')
      if (channel !== this.#channel) return
      const isEmpty = this.doc.store.clients.size === 0
      this.#apply(messages)
      // In an empty document, only its observers have written what waits now.
      if (!isEmpty) {
        this.#difference = this.#differenceTo(messages)
        this.#waiting = this.#difference ? [this.#difference] : []
      }
      this.#uncertain = 0
      this.#isBehind = false
      if (this.#status === 'open') this.#setSynced(true)
      if (!this.#difference) this.refused = null
      this.#flush()
      this.#tellSaved()
    } catch (error) {
      if (channel === this.#channel) this.#failed(error)
    } finally {
      if (this.#comparing === channel) this.#comparing = null
    }
  }

  /**
   * Null if the log has all of the document. All of it, which the server will refuse, if the log has
   * something else under the same clients and clocks: Yjs would call that stored.
   */
  #differenceTo(messages: readonly Message[]): Uint8Array | null {
    const whole = Y.encodeStateAsUpdate(this.doc)
    const updates = messages.filter((message) => isKind(message, 'update'))
    const logged = updates.values().map(({ body }) => structsIn(fromBase64(body.update)))
    if (contradiction(logged, structsIn(whole), this.doc.store.clients)) return whole
    const stored = new Y.Doc()
    this.#apply(messages, stored)
    const isStored = Y.equalSnapshots(Y.snapshot(this.doc), Y.snapshot(stored))
    const difference = isStored ? null : Y.encodeStateAsUpdate(this.doc, Y.encodeStateVector(stored))
    stored.destroy()
    return difference
  }

  /** As many messages as the mode takes; what waits behind them is joined. */
  #flush(): void {
    const channel = this.#channel
    while (channel && !this.#isBehind && this.#waiting.length > 0) {
      if (this.#sent.messages >= channel.maxInFlight()) return
      const isLast = this.#sent.messages + 1 === channel.maxInFlight()
      this.#send(channel, isLast ? this.#countToJoin(this.#maxBytes) : 1)
    }
  }

  /** Whatever it builds on: the page may end. */
  #sendRest(): void {
    const channel = this.#channel
    while (channel && this.#waiting.length > 0) this.#send(channel, this.#countToJoin(maxLastBytes))
  }

  #send(channel: Following, count: number): void {
    const batch = this.#waiting.splice(0, count)
    this.#sent.updates += batch.length
    this.#sent.messages += 1
    const [only] = batch
    const update = batch.length === 1 && only ? only : Y.mergeUpdates(batch)
    const answered = () => {
      if (channel !== this.#channel) return false
      this.#sent.updates -= batch.length
      this.#sent.messages -= 1
      return true
    }
    channel.publish('update', { update: toBase64(update) }).then(
      () => answered() && this.#stored(batch),
      // Any other error means that the connection was closed.
      (error) => answered() && error instanceof RefusedError && this.#refusedWith(error, batch),
    )
  }

  #countToJoin(maxBytes: number): number {
    let bytes = 0
    const end = this.#waiting.findIndex((update) => {
      bytes += update.length
      return bytes > maxBytes
    })
    return end < 0 ? this.#waiting.length : Math.max(1, end)
  }

  #stored([first]: readonly Uint8Array[]): void {
    if (first === this.#difference) {
      this.#difference = null
      this.refused = null
    }
    this.#flush()
    this.#tellSaved()
  }

  #refusedWith(error: RefusedError, batch: readonly Uint8Array[]): void {
    this.#waiting.unshift(...batch)
    const isDifference = batch[0] === this.#difference
    if (error.code === 'too-large' && batch.length > 1) {
      this.#maxBytes = Math.min(this.#maxBytes, sizeOf(batch)) / 2
      this.#flush()
    } else if (error.code === 'update-gap' && !isDifference) {
      // It builds on one that was refused, or that a former log had.
      if (!this.refused) void this.#compare()
    } else {
      this.#isBehind = true
      this.refused = error
      this.#rejectWaiting(error)
      this.#emit('refused', error)
    }
    this.#tellSaved()
  }

  #tellSaved(): void {
    const { saved } = this
    if (saved === this.#wasSaved) return
    this.#wasSaved = saved
    if (saved) {
      this.#untilSaved.resolve()
      this.#untilSaved = resolvers()
    }
    this.#emit('saved', saved)
  }

  // Awareness

  readonly #onAwareness = (_changes: unknown, origin: unknown): void => {
    if (origin !== this) this.#showOwn()
  }

  #showOwn(): void {
    const { awareness } = this
    const state = awareness.getLocalState()
    const text = JSON.stringify(state)
    if (!this.#channel || text === this.#ownShown) return
    const client = awareness.clientID
    const clock = (awareness.meta.get(client)?.clock ?? 0) + 1
    this.#ownShown = text
    // Awareness keeps the object, and the connection sends it later.
    this.#channel.show(state && { client, clock, state: JSON.parse(text) })
  }

  #heard({ windows, whole }: AwarenessFrame, own: string): void {
    const others = windows.filter(({ window }) => window !== own)
    const listed = new Set(others.map(({ window }) => window))
    const gone = others.filter(({ state }) => state === null).map(({ window }) => window)
    if (whole) for (const window of this.#others.keys()) if (!listed.has(window)) gone.push(window)
    this.#hide(gone)
    for (const { window, user, state } of others) if (isShown(state)) this.#show(window, state, user)
  }

  #show(window: string, shown: Shown, user: string | undefined): void {
    const { awareness } = this
    const before = this.#others.get(window)
    const isRenumbered = before?.shown.client !== shown.client
    const client = before && !isRenumbered ? before.client : this.#clientFor(shown.client)
    if (before && isRenumbered) this.#hide([window])
    this.#others.set(window, { client, user, shown })
    if (JSON.stringify(awareness.getStates().get(client)) === JSON.stringify(shown.state)) return
    // The sender's own clock may be any number; the server sends its states in order.
    const clock = (awareness.meta.get(client)?.clock ?? 0) + 1
    const source = { meta: new Map([[client, { clock, lastUpdated: 0 }]]) } as unknown as Awareness
    const update = encodeAwarenessUpdate(source, [client], new Map([[client, shown.state]]))
    attempt(() => applyAwarenessUpdate(awareness, update, this))
  }

  /** The number that a window shows, or another one while somebody is shown under it. */
  #clientFor(wanted: number): number {
    const taken = new Set(Array.from(this.#others.values(), ({ client }) => client)).add(
      this.awareness.clientID,
    )
    let client = wanted
    while (taken.has(client)) client = Math.floor(Math.random() * 2 ** 32)
    return client
  }

  #hide(windows: readonly string[]): void {
    const clients = windows
      .map((window) => this.#others.get(window)?.client)
      .filter((client) => client !== undefined)
    for (const window of windows) this.#others.delete(window)
    attempt(() => removeAwarenessStates(this.awareness, clients, this))
    // With the old clock, Awareness would ignore the same state after a reconnect.
    for (const client of clients) this.awareness.meta.delete(client)
    for (const [window, { client, shown, user }] of [...this.#others])
      if (client !== shown.client && clients.includes(shown.client)) {
        this.#hide([window])
        this.#show(window, shown, user)
      }
  }

  #keepShown(): void {
    for (const { client } of this.#others.values()) {
      const meta = this.awareness.meta.get(client)
      if (meta) meta.lastUpdated = Date.now()
    }
  }
}

const ignore = () => undefined

/** Its rejection may be heard by nobody. */
function resolvers() {
  const made = Promise.withResolvers<void>()
  made.promise.catch(ignore)
  return made
}

/** What an application's observer throws is reported. */
function attempt(work: () => void): void {
  try {
    work()
  } catch (error) {
    report(error)
  }
}

function isShown(state: unknown): state is Shown {
  const { client, clock, state: own } = Object(state)
  return (
    Number.isSafeInteger(client) &&
    client >= 0 &&
    Number.isSafeInteger(clock) &&
    typeof own === 'object' &&
    own !== null
  )
}

const structsIn = (update: Uint8Array) =>
  Y.decodeUpdate(update).structs.filter((struct) => !(struct instanceof Y.Skip))

const sizeOf = (updates: readonly Uint8Array[]) => updates.reduce((sum, { length }) => sum + length, 0)

/** RFC 4648, section 4. */
function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

const fromBase64 = (text: string) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
