// The library's door for Yjs: a provider, used like y-websocket's, that knows what is stored.

import { Awareness } from 'y-protocols/awareness'
import type * as Y from 'yjs'
import { type Draft, type Message, parseCursor } from '../protocol/messages.ts'
import {
  type ChannelHandle,
  type Channels,
  type ConnectionState,
  type ConnectOptions,
  connect,
  type Follower,
  type RefusedError,
} from './follow.ts'
import { attempt, report } from './listeners.ts'
import type { ClientError } from './transports/transport.ts'
import { AwarenessBridge } from './yjs/awareness-bridge.ts'
import { type DocumentStart, DocumentSync, type SaveState } from './yjs/document-sync.ts'

export type { DocumentStart, SaveState } from './yjs/document-sync.ts'
export { mergeUpdates } from './yjs/updates.ts'

export interface ProviderOptions extends ConnectOptions {
  /** False to wait for `connect()`. */
  readonly connect?: boolean
  readonly awareness?: Awareness
  /** A connection for several documents and channels; the provider does not close it. */
  readonly connection?: Channels
  /**
   * When the document may no longer be read, the connection waits with all its channels until it may, and
   * changes are still drafted. By default the provider stops.
   */
  readonly isRequired?: boolean
  /** Document that the page has: all messages of the channel up to a cursor. Its past is not requested. */
  readonly start?: DocumentStart
}

interface ProviderEvents {
  status: [change: { readonly status: 'connecting' | 'connected' | 'disconnected' }]
  sync: [isSynced: boolean]
  synced: [isSynced: boolean]
  /** The event is null if this side closed. */
  'connection-close': [event: { readonly reason: string } | null, provider: CrosswindProvider]
  /** A refusal has a code; without one, the connection was lost, and `status` tells when it is back. */
  'connection-error': [error: ClientError, provider: CrosswindProvider]
  saved: [isSaved: boolean]
  'save-state': [state: SaveState]
  refused: [error: RefusedError]
  /** By `discard()`, here or in another window of the user: open the document as a new one. */
  discarded: []
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

/**
 * Keeps a document in step with a channel of the kind `yjs`. Used like y-websocket's provider; what the document
 * has before the connection is open is merged with what is stored.
 *
 * ```ts
 * const doc = new Y.Doc()
 * const provider = new CrosswindProvider('https://host/realtime', 'doc.notes', doc)
 * doc.getText('body').insert(0, 'Hello')
 * await provider.whenSaved()
 * ```
 */
export class CrosswindProvider {
  readonly doc: Y.Doc
  readonly awareness: Awareness
  readonly url: string
  readonly roomname: string
  shouldConnect: boolean
  readonly #options: ProviderOptions
  readonly #listeners = new Map<EventName, Set<Listener<never>>>()
  readonly #sync: DocumentSync
  readonly #bridge: AwarenessBridge
  /** Null while it is disconnected. */
  #channel: ChannelHandle | null = null
  /** The stream is opened with this channel, or was. */
  #isJoined = false
  #mayWrite: boolean | null = null
  #leave: () => void = ignore
  #status: ConnectionState['status'] | null = null
  #synced = false
  #untilSaved = resolvers()
  /** Why it stopped; null until then, and after `connect()`. */
  #stoppedBy: unknown = null
  #isDestroyed = false

  /** `url` is that of the server, such as `https://host/realtime`; `roomname` is the channel. */
  constructor(url: string | URL, roomname: string, doc: Y.Doc, options: ProviderOptions = {}) {
    const { start = null, isRequired = false } = options
    if (start && !parseCursor(start.cursor))
      throw new Error(`start.cursor is ${JSON.stringify(start.cursor)}, which no message has.`)
    this.url = String(url)
    this.roomname = roomname
    this.doc = doc
    this.awareness = options.awareness ?? new Awareness(doc)
    this.shouldConnect = options.connect ?? true
    this.#options = options
    this.#sync = new DocumentSync(
      doc,
      { channel: roomname, start, isRequired, origin: this },
      {
        isOpen: () => this.#status === 'open',
        onCaughtUp: () => this.#setSynced(this.#status === 'open'),
        onNewLog: () => this.#setSynced(false),
        onSaveState: (state, before) => this.#tellState(state, before),
        onRefused: (error) => {
          this.#rejectWaiting(error)
          this.#emit('refused', error)
        },
        onUnreadable: (error) => this.#failed(error),
        onDraft: (draft) => this.#emit('draft', draft),
        onRenamed: (id, drafts) => this.#emit('renamed', id, drafts),
        onDiscarded: () => this.#discarded(),
      },
    )
    this.#bridge = new AwarenessBridge(this.awareness, this)
    doc.on('destroy', this.#onDestroy)
    try {
      if (this.shouldConnect) this.connect()
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  /** True while the connection is open and the document has what was stored. */
  get synced(): boolean {
    return this.#synced
  }

  /** Why the newest changes are not stored; they are sent again with the next change. */
  get refused(): RefusedError | null {
    return this.#sync.refused
  }

  /**
   * Whether this client may write to the document, as of the newest opening of the connection; null until then. The
   * event `status` tells of a change. Older servers do not tell: it is true, and what is written is refused.
   */
  get mayWrite(): boolean | null {
    return this.#mayWrite
  }

  /** Updates of this document that are not stored; several that were joined count as one. */
  get unsaved(): number {
    return this.#sync.unsaved
  }

  /** Where this document's changes are, for a line that says so. The event `save-state` tells of a change. */
  get saveState(): SaveState {
    return this.#sync.saveState
  }

  /** True if the log has the whole document. */
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
      from: this.#sync.from,
      isRequired: this.#options.isRequired,
      take: (message, _cursor, receivedAt, dueAt) => this.#take(message, receivedAt, dueAt),
      joined: (_from, to) => {
        this.#isJoined = true
        this.#changed(opened.state)
        return this.#sync.joined(to)
      },
      newLog: () => this.#sync.newLog(),
      unsent: () => this.#sync.unqueued,
      end: () => this.#failed(follower.refusal),
      presence: {
        heard: (frame, own) => this.#bridge.heard(frame, own),
        refused: (error) => this.#emit('awareness-refused', error),
      },
    }
    this.#isJoined = false
    const channel = opened.follow(this.roomname, follower)
    this.#channel = channel
    const offs = [
      opened.on('state', (state) => this.#changed(state)),
      opened.on('error', (error) => this.#tellError(error)),
    ]
    this.#leave = () => {
      for (const off of offs) off()
      this.#bridge.close()
      this.#sync.close(connection !== undefined)
      channel.leave()
      if (!connection) opened.close()
    }
    this.#sync.open(channel)
    this.#bridge.open(channel)
    this.#changed(opened.state)
  }

  disconnect(): void {
    this.shouldConnect = false
    this.#end()
  }

  /**
   * Also destroys its own awareness. Unstored changes are sent once more, up to 64 KiB; without `drafts`, they may
   * still be lost: see `whenSaved`.
   */
  destroy(): void {
    this.#isDestroyed = true
    this.disconnect()
    this.#stopWaiting(new Error(`The provider of "${this.roomname}" was destroyed.`))
    this.#sync.destroy()
    this.#bridge.destroy()
    this.doc.off('destroy', this.#onDestroy)
    if (!this.#options.awareness) this.awareness.destroy()
    this.#listeners.clear()
  }

  /**
   * Gives up all changes that the server has not stored, also refused ones and those that `drafts` keeps on this
   * device, destroys the provider and emits `discarded`; with `drafts`, in all windows of the user. The `Y.Doc` still
   * has them: open the document as a new one. What another provider has kept, such as y-indexeddb, is to be cleared
   * before.
   */
  discard(): void {
    this.#sync.discard()
    this.#discarded()
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
    const listeners = [...(this.#listeners.get(event) ?? [])] as Listener<Event>[]
    for (const listener of listeners) attempt(() => listener(...given))
  }

  // The connection

  #changed({ status, reason, readOnly }: ConnectionState): void {
    const before = this.#status
    const mayWrite = this.#isJoined && status === 'open' ? !readOnly?.includes(this.roomname) : this.#mayWrite
    if (status === before && mayWrite === this.#mayWrite) return
    this.#status = status
    this.#mayWrite = mayWrite
    if (status !== 'opening') this.#sync.isOffline = status === 'waiting'
    if (before === 'opening' && status === 'waiting')
      this.#emit('connection-error', new Error(reason ?? ''), this)
    if (before !== null && status === 'waiting')
      this.#emit('connection-close', { reason: reason ?? '' }, this)
    if (status !== 'open') this.#setSynced(false)
    this.#emit('status', { status: statuses[status] })
    this.#sync.tellState()
    if (status === 'open') this.#sync.connected()
  }

  /** The application does not let this client in, or the channel does not exist; null: the connection was closed. */
  #failed(error: unknown): void {
    this.disconnect()
    if (error) this.#tellError(error)
    // A listener may have connected again.
    if (!this.shouldConnect) this.#stopWaiting(error ?? new Error('The connection was closed.'))
  }

  #tellError(error: unknown): void {
    if (this.#listeners.get('connection-error')?.size)
      this.#emit('connection-error', error as ClientError, this)
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
    this.#leave()
    this.#channel = null
    this.#status = null
    this.#sync.isOffline = true
    this.#emit('connection-close', null, this)
    this.#setSynced(false)
    this.#bridge.hideOthers()
    this.#emit('status', { status: 'disconnected' })
    this.#sync.tellState()
  }

  #setSynced(isSynced: boolean): void {
    if (this.#synced === isSynced) return
    this.#synced = isSynced
    this.#emit('synced', isSynced)
    this.#emit('sync', isSynced)
  }

  // The document

  #discarded(): void {
    // A listener may open the channel again.
    this.disconnect()
    this.#emit('discarded')
    this.destroy()
  }

  readonly #onDestroy = () => this.destroy()

  #take(message: Message, receivedAt: number, dueAt: number): void {
    this.#emit('message', message, receivedAt, dueAt)
    this.#sync.apply([message])
    this.#emit('applied', message)
  }

  #tellState(state: SaveState, before: SaveState): void {
    const isSaved = state === 'saved'
    if (isSaved) {
      this.#untilSaved.resolve()
      this.#untilSaved = resolvers()
    }
    if (isSaved !== (before === 'saved')) this.#emit('saved', isSaved)
    this.#emit('save-state', state)
  }
}

const ignore = () => undefined

/** Prevents an unhandled rejection. */
function resolvers() {
  const made = Promise.withResolvers<void>()
  made.promise.catch(ignore)
  return made
}
