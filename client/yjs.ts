// The library's door for Yjs: a provider, used like y-websocket's, that knows what is stored.

import { Awareness } from 'y-protocols/awareness'
import * as Y from 'yjs'
import { contradiction } from '../protocol/contradiction.ts'
import { type Draft, type Message, parseCursor, type UpdateBody } from '../protocol/messages.ts'
import {
  type ConnectionState,
  type ConnectOptions,
  type Crosswind,
  connect,
  type Follower,
  type Following,
  type Page,
  RefusedError,
} from './connect.ts'
import { mergingPolicy } from './document-policy.ts'
import type { Link } from './link.ts'
import { attempt, report, tell } from './listeners.ts'
import { isInFlight, type OutboxListener, type PendingDraft } from './outbox.ts'
import { AwarenessBridge } from './yjs/awareness-bridge.ts'

export interface ProviderOptions extends ConnectOptions {
  /** False to wait for `connect()`. */
  readonly connect?: boolean
  readonly awareness?: Awareness
  /** One for several documents and channels, which the provider leaves open. */
  readonly connection?: Crosswind
  /**
   * When the document may no longer be read, the connection waits with all its channels until it may, and
   * changes are still drafted. By default the provider stops.
   */
  readonly isRequired?: boolean
  /** Document that the page has: all messages of the channel up to a cursor. Its past is not requested. */
  readonly start?: DocumentStart
}

export interface DocumentStart {
  readonly messages: readonly Message[]
  readonly cursor: string
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
  /** A change of this document is in a draft, perhaps with others. */
  draft: [draft: Draft]
  /** A draft is sent under another id, or as several: it was too large, or its id is taken in the log. */
  renamed: [id: string, drafts: readonly Draft[]]
  /**
   * A message is applied next, this window's own too; of any kind. `receivedAt`: this window's clock, ms since
   * the epoch. `dueAt`: when it would have come without an interruption.
   */
  message: [message: Message, receivedAt: number, dueAt: number]
  /** It was applied. */
  applied: [message: Message]
  /** The newest state of awareness is too large; the others still see the one before. */
  'awareness-refused': [error: RefusedError]
}

type EventName = keyof ProviderEvents
type Listener<Event extends EventName> = (...given: ProviderEvents[Event]) => void

const statuses = { opening: 'connecting', open: 'connected', waiting: 'disconnected' } as const

/** Pause before another read, ms, while the server that answered lags behind. */
const behindMs = 500

/** Pause before refused changes are sent again with later ones, ms. */
const refusedPauseMs = 2000

/** Pause before the document is sent to a new log, ms: updates of other windows arrive first. */
const newLogPauseMs = { least: 300, spread: 1200 }

/** Part of the document that the log lacks. */
interface Difference {
  readonly update: Uint8Array
  /** True if the waiting drafts build on it, so that it contains all of them. */
  readonly isFirst: boolean
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
  /** The connection's, once it is there. */
  #link: Link | null = null
  readonly #outboxListener: OutboxListener
  /** Number of updates that wait for the link and its outbox. */
  #early = 0
  /** Updates of which only a comparison with the log can tell whether they are stored. */
  #uncertain: number
  /** Not compared yet with the log, which may lack updates that the drafts build on: these wait. */
  #isBehind = true
  /** The draft of the updates that the newest comparison found missing. */
  #difference: Draft | null = null
  /** The stream has the messages after this cursor. */
  #to = ''
  /** The newest comparison could not read the document. */
  #isDenied = false
  /** One comparison at a time; another object once its answer is of no use. */
  #comparing: object | null = null
  /** Document that the page had at first; null once something newer is known. */
  #start: DocumentStart | null
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #bridge: AwarenessBridge

  /** `url` is that of the server, such as `https://host/realtime`; `roomname` is the channel. */
  constructor(url: string | URL, roomname: string, doc: Y.Doc, options: ProviderOptions = {}) {
    const { start = null } = options
    if (start && !parseCursor(start.cursor))
      throw new Error(`start.cursor is ${JSON.stringify(start.cursor)}, which no message has.`)
    this.url = String(url)
    this.roomname = roomname
    this.doc = doc
    this.awareness = options.awareness ?? new Awareness(doc)
    this.shouldConnect = options.connect ?? true
    this.#options = options
    this.#start = start
    this.#uncertain = isEmpty(doc) ? 0 : 1
    this.#outboxListener = {
      onOutbox: () => this.#tellSaved(),
      onStored: (draft) => this.#stored(draft),
      onRefused: (draft, sentence, code) => this.#refusedWith(draft, new RefusedError(code, sentence)),
      onAdopted: (drafts) => this.#applyEach(drafts.filter(this.#isOwn)),
      onRenamed: (id, ...drafts) => this.#renamed(id, drafts),
    }
    this.#wasSaved = this.saved
    if (start) this.#apply(start.messages)
    doc.on('update', this.#onUpdate)
    doc.on('destroy', this.#onDestroy)
    this.#bridge = new AwarenessBridge(this.awareness, this)
    this.#stop = () => {
      clearTimeout(this.#timer)
      doc.off('update', this.#onUpdate)
      doc.off('destroy', this.#onDestroy)
      this.#bridge.destroy()
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
    return this.#pending().length + this.#early + this.#uncertain
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

  /** Users of the other clients in `awareness`, by Yjs client, as the application's `authorize` says. */
  get users(): ReadonlyMap<number, string> {
    return this.#bridge.users
  }

  /** The names, as in `from`, of the others in `awareness`, by Yjs client. */
  get senders(): ReadonlyMap<number, string> {
    return this.#bridge.senders
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
      from: this.#start?.cursor,
      isRequired: this.#options.isRequired,
      take: (message, _cursor, receivedAt, dueAt) => this.#take(message, receivedAt, dueAt),
      joined: (_from, to) => {
        this.#to = to
        return this.#joined(to)
      },
      newLog: () => this.#newLog(),
      end: () => this.#failed(follower.refusal),
      presence: {
        heard: (frame, own) => this.#bridge.heard(frame, own),
        refused: (error) => this.#emit('awareness-refused', error),
      },
    }
    const channel = opened.follow(this.roomname, follower)
    this.#channel = channel
    this.#bridge.open(channel)
    const offs = [
      opened.on('state', (state) => this.#changed(state)),
      opened.on('error', (error) => this.#tellError(error)),
    ]
    channel.link.then((link) => {
      if (channel === this.#channel) this.#useOutbox(link)
    }, ignore)
    this.#leave = () => {
      for (const off of offs) off()
      this.#link?.outbox.listeners.delete(this.#outboxListener)
      if (connection) this.#resume()
      channel.leave()
      if (!connection) opened.close()
    }
    this.#changed(opened.state)
    if (!this.#start) void this.#compare()
  }

  disconnect(): void {
    this.shouldConnect = false
    this.#end()
  }

  /** Also destroys its own awareness. Without `drafts`, unstored changes may be lost: see `whenSaved`. */
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
    else if (this.refused || this.#isDenied) void this.#compare()
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
    // Their outcome will not be reported.
    this.#uncertain = this.unsaved
    this.#leave()
    this.#channel = null
    this.#link = null
    this.#early = 0
    this.#difference = null
    this.#comparing = null
    this.#isBehind = true
    this.#bridge.close()
    this.#status = null
    this.#emit('connection-close', null, this)
    this.#setSynced(false)
    this.#bridge.hideOthers()
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

  readonly #onUpdate = (update: Uint8Array, origin: unknown, _doc: Y.Doc, { local }: Y.Transaction): void => {
    if (origin === this) return
    // A comparison finds what another provider, such as y-indexeddb, has kept.
    if (!this.#channel || (!local && this.#isBehind)) this.#uncertain += 1
    else this.#publish(this.#channel, update)
    if (this.refused && this.#isBehind) this.#compareIn(refusedPauseMs)
    this.#tellSaved()
  }

  #publish(channel: Following, update: Uint8Array): void {
    const publish = (link: Link) => {
      const draft = link.publish(this.roomname, 'update', { update: toBase64(update) })
      if (draft) this.#emit('draft', draft)
      else this.#full()
    }
    if (this.#link) {
      publish(this.#link)
      return
    }
    this.#early += 1
    channel.link.then((link) => {
      if (channel === this.#channel) this.#early -= 1
      // If the provider was destroyed meanwhile, a later window may send it.
      publish(link)
    }, ignore)
  }

  // The outbox

  #useOutbox(link: Link): void {
    const { outbox } = link
    if (!outbox.policy.mergesUpdates) outbox.policy = mergingPolicy(outbox.policy, merging)
    outbox.listeners.add(this.#outboxListener)
    this.#link = link
    if (this.#isBehind) outbox.paused.add(this.roomname)
    const held = outbox.drafts.held.map(({ draft }) => draft).filter(this.#isOwn)
    this.#uncertain += held.length
    this.#applyEach([...held, ...this.#waiting()])
  }

  /** Their drafts are sent, whatever they build on. */
  #resume(): void {
    if (this.#link?.outbox.paused.delete(this.roomname)) this.#link.outbox.change({})
  }

  /** Drafts of this document in the outbox, in order. */
  #waiting(): readonly Draft[] {
    const outbox = this.#link?.outbox
    return outbox ? this.#pending().map((pending) => outbox.complete(pending)) : []
  }

  #pending(): readonly PendingDraft[] {
    return this.#link?.outbox.drafts.pending.filter(({ draft }) => this.#isOwn(draft)) ?? []
  }

  readonly #isOwn = ({ channel }: Draft) => channel === this.roomname

  #stored(draft: Draft): void {
    if (draft.id !== this.#difference?.id) return
    this.#difference = null
    // Otherwise something else was refused meanwhile.
    if (!this.#isBehind) this.refused = null
  }

  #refusedWith(draft: Draft, error: RefusedError): void {
    if (!this.#isOwn(draft)) return
    this.#uncertain += 1
    const isDifference = draft.id === this.#difference?.id
    if (isDifference) this.#difference = null
    // A comparison follows, or the refusal of the document was reported already.
    if (this.#isBehind && !(isDifference && this.refused)) return
    // The update builds on a refused one, or on one that only a former log had.
    if (error.code === 'update-gap' && !isDifference) void this.#compare()
    else this.#refuse(error)
  }

  #renamed(id: string, drafts: readonly Draft[]): void {
    if (!drafts.some(this.#isOwn)) return
    if (id === this.#difference?.id) this.#difference = drafts.at(-1) ?? null
    this.#emit('renamed', id, drafts)
  }

  /** The connection's policy has no room for a change. */
  #full(): void {
    this.#uncertain += 1
    this.#refuse(new RefusedError('outbox-full', 'Too many messages are waiting to be sent.'))
  }

  #refuse(error: RefusedError): void {
    this.#fallBehind()
    this.refused = error
    this.#rejectWaiting(error)
    this.#emit('refused', error)
  }

  // The document

  #take(message: Message, receivedAt: number, dueAt: number): void {
    this.#emit('message', message, receivedAt, dueAt)
    this.#apply([message])
    this.#emit('applied', message)
  }

  /** Reports what an observer, such as an editor's, throws: by then Yjs has applied the updates. */
  #apply(messages: readonly Draft[], doc = this.doc): void {
    const updates = messages.filter(isUpdate)
    const before = pendingIn(doc)
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
    // Updates that were pending in the document until now came from no log.
    if (doc === this.doc && before !== '' && before !== pendingIn(doc)) this.#suspect()
  }

  /** Drafts, which the server has not checked. */
  #applyEach(drafts: readonly Draft[], doc = this.doc): void {
    for (const draft of drafts) attempt(() => this.#apply([draft], doc))
  }

  /** The log may lack something of the document. */
  #suspect(): void {
    this.#uncertain += 1
    this.#tellSaved()
    if (!this.#isBehind) void this.#compare()
  }

  #newLog(): void {
    this.#fallBehind()
    this.#comparing = null
    this.#start = null
    this.#uncertain = Math.max(1, this.#uncertain)
    this.#tellSaved()
    this.#setSynced(false)
    this.#compareIn(newLogPauseMs.least + Math.random() * newLogPauseMs.spread)
  }

  #fallBehind(): void {
    this.#isBehind = true
    this.#link?.outbox.paused.add(this.roomname)
  }

  #compareIn(pauseMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#compare(), pauseMs)
  }

  /** Reads the messages `after` those known, and publishes updates that neither the log nor the outbox has. */
  async #compare(after = 'start', known: readonly Message[] = []): Promise<void> {
    const channel = this.#channel
    if (!channel || this.#comparing) return
    const comparing = {}
    this.#comparing = comparing
    this.#isDenied = false
    this.#fallBehind()
    try {
      const { messages, recovered } = await this.#read(channel, after)
      if (comparing !== this.#comparing) return
      const isNew = isEmpty(this.doc)
      this.#apply(messages)
      // In an empty document, only its observers have written until now, and published it.
      this.#caughtUp(isNew ? null : this.#differenceTo(recovered ? [...known, ...messages] : messages))
    } catch (error) {
      if (comparing !== this.#comparing) return
      if (!this.#options.isRequired) this.#failed(error)
      else {
        this.#isDenied = true
        // Otherwise it is compared once the connection is open.
        if (this.#status === 'open') this.#compareIn(refusedPauseMs)
      }
    } finally {
      if (comparing === this.#comparing) this.#comparing = null
    }
  }

  /** Repeats while the server that answers lags behind the one that has the stream. */
  async #read(channel: Following, after: string): Promise<Page> {
    for (let pauseMs = 0; ; pauseMs = behindMs) {
      const page = await channel.page(after, pauseMs)
      const reached = parseCursor(page.cursor)
      const to = parseCursor(this.#to)
      const isBehind = reached?.epoch === to?.epoch && (reached?.seq ?? 0) < (to?.seq ?? 0)
      if (!isBehind || channel !== this.#channel) return page
    }
  }

  /** The stream has the messages after `to`. */
  async #joined(to: string): Promise<void> {
    const start = this.#start
    if (!start) return
    this.#start = null
    if (to !== start.cursor) await this.#compare(start.cursor, start.messages)
    else this.#caughtUp(this.#uncertain > 0 ? this.#differenceTo(start.messages) : null)
  }

  #caughtUp(difference: Difference | null): void {
    clearTimeout(this.#timer)
    this.#difference = difference && this.#publishDifference(difference)
    this.#uncertain = 0
    if (difference && !this.#difference) {
      this.#full()
      return
    }
    this.#isBehind = false
    if (!difference) this.refused = null
    this.#release()
    this.#resume()
    if (this.#status === 'open') this.#setSynced(true)
    this.#tellSaved()
  }

  #publishDifference({ update, isFirst }: Difference): Draft | null {
    const { outbox } = this.#link as Link
    const later = isFirst ? outbox.drafts.pending.filter((one) => !isInFlight(one)) : []
    return outbox.publish(this.roomname, 'update', { update: toBase64(update) }, later)
  }

  /** Drops refused drafts, now in the log or the outbox, unless updates still wait for something missing. */
  #release(): void {
    const { outbox } = this.#link as Link
    const { held } = outbox.drafts
    if (held.length > 0 && pendingIn(this.doc) === '')
      outbox.change({ held: held.filter(({ draft }) => !this.#isOwn(draft)) })
  }

  /**
   * Null if the log and the waiting drafts have the whole document. The whole document, which the server will
   * refuse, if the log has other content under the same clients and clocks: Yjs would call that stored.
   */
  #differenceTo(messages: readonly Message[]): Difference | null {
    const whole = shownIn(this.doc)
    const logged = messages.filter(isUpdate).map(({ body }) => structsIn(fromBase64(body.update)))
    if (contradiction(logged, structsIn(whole), this.doc.store.clients))
      return { update: whole, isFirst: true }
    const stored = new Y.Doc()
    this.#apply(messages, stored)
    const beforeWaiting = Y.encodeStateVector(stored)
    this.#applyEach(this.#waiting(), stored)
    // Otherwise the difference may build on the waiting drafts.
    const isFirst = pendingIn(stored) !== ''
    const isStored = Y.equalSnapshots(Y.snapshot(this.doc), Y.snapshot(stored))
    const known = isFirst ? beforeWaiting : Y.encodeStateVector(stored)
    stored.destroy()
    return isStored ? null : { update: shownIn(this.doc, known), isFirst }
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
}

const ignore = () => undefined

/** Merges waiting updates, and accepts any number of them. */
const merging = { mergeUpdates, minQueued: 1, takesAll: true }

/** For `mergingPolicy`. */
export function mergeUpdates(updates: readonly UpdateBody[]): UpdateBody {
  return { update: toBase64(Y.mergeUpdates(updates.map(({ update }) => fromBase64(update)))) }
}

const isUpdate = <One extends Draft>(draft: One): draft is One & Draft<'update'> => draft.kind === 'update'

/** Identifies the updates that Yjs has set aside because they build on missing ones; empty if none. */
function pendingIn({ store: { pendingStructs, pendingDs } }: Y.Doc): string {
  const sizes = [pendingStructs?.update.length, pendingDs?.length]
  return pendingStructs || pendingDs ? sizes.join() : ''
}

const isEmpty = (doc: Y.Doc) => doc.store.clients.size === 0 && pendingIn(doc) === ''

/** As `encodeStateAsUpdate`, without the updates that Yjs has set aside, which the server would refuse. */
function shownIn(doc: Y.Doc, known?: Uint8Array): Uint8Array {
  const update = Y.encodeStateAsUpdate(doc, known)
  if (pendingIn(doc) === '') return update
  const copy = new Y.Doc()
  Y.applyUpdate(copy, Y.encodeStateAsUpdate(doc))
  copy.store.pendingStructs = null
  copy.store.pendingDs = null
  const shown = Y.encodeStateAsUpdate(copy, known)
  copy.destroy()
  return shown
}

/** Prevents an unhandled rejection. */
function resolvers() {
  const made = Promise.withResolvers<void>()
  made.promise.catch(ignore)
  return made
}

const structsIn = (update: Uint8Array) =>
  Y.decodeUpdate(update).structs.filter((struct) => !(struct instanceof Y.Skip))

/** RFC 4648, section 4. */
function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

const fromBase64 = (text: string) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
