// One page's editing session: its document, its connection with the outbox, and its presence.

import { headingOf, type Line } from '../app/document/rich-text.ts'
import {
  deletedForMs,
  joinVersions,
  type PageStart,
  probesChannel,
  windChannel,
} from '../app/shared/page-messages.ts'
import { LinkClock, whenDue } from '../client/clock.ts'
import {
  type DraftDatabase,
  DraftKeeper,
  DraftStore,
  documentPolicy,
  mergingPolicy,
  Outbox,
  type OutboxListener,
  type OutboxOptions,
  type OutboxState,
  type UnstoredDraft,
} from '../client/drafts.ts'
import {
  type ChannelHandle,
  type Channels,
  type ConnectionState,
  type ConnectOptions,
  connect,
  type Follower,
} from '../client/follow.ts'
import { browserTimers } from '../client/transports.ts'
import { CrosswindProvider, mergeUpdates } from '../client/yjs.ts'
import {
  type Bodies,
  type Draft,
  isKind,
  type Kind,
  type Message,
  parseCursor,
} from '../protocol/messages.ts'
import { nameInUse, type WindowMode, windowModeNamed, windowModes } from '../protocol/modes.ts'
import type { Cancel } from '../protocol/time.ts'
import { platform } from './axios-http.ts'
import { BrowserHttp } from './browser-http.ts'
import { Binding } from './editor/binding.ts'
import { Carets } from './editor/carets.ts'
import { takeCopies } from './editor/clipboard.ts'
import type { MountedEditor } from './editor/commands.ts'
import { Presence } from './editor/presence.ts'
import { SharedDocument } from './editor/shared-document.ts'
import type { PageKeeper, PageKeeperParts } from './kept-pages.ts'
import type { Recorder } from './lab.ts'
import { formatRefusedUpdate } from './page/wording.ts'
import {
  type BrowserKey,
  baseFor,
  isDirect,
  keepSession,
  offeredModes,
  originFor,
  renewSession,
  succeed,
} from './page-session.ts'
import {
  type DeletionView,
  type LeftEdit,
  nameKey,
  nameOf,
  outageAfter,
  readItem,
  type ShownLink,
  type Store,
} from './store.ts'
import type { createWindFeed } from './wind/wind-feed.ts'

interface SessionOptions extends Required<Pick<ConnectOptions, 'share'>>, Pick<ConnectOptions, 'debug'> {
  /** Its name on the wire. */
  readonly window: string
  /** `mayWrite` is for this window. */
  readonly start: PageStart
  readonly browser: BrowserKey
  readonly database: DraftDatabase
  readonly mode: WindowMode
  readonly store: Store
  readonly windFeed: ReturnType<typeof createWindFeed>
  readonly recorder: Recorder | null
  /** For the lab: the link carries only probes, of which a minute is kept. */
  readonly isProbing: boolean
}

/** After a change, before the first heading is read again. */
const headingDelayMs = 300

/** Keeps the store up to date with the document, the connection and the people on the page. */
export class EditingSession {
  readonly presence: Presence
  readonly #start: PageStart
  readonly #window: string
  readonly #store: Store
  readonly #windFeed: SessionOptions['windFeed']
  readonly #recorder: Recorder | null
  readonly #options: SessionOptions
  readonly #drafts: DraftStore
  readonly #document: SharedDocument
  readonly #connection: Channels
  readonly #provider: CrosswindProvider
  readonly #browserHttp = new BrowserHttp()
  #draftKeeper: DraftKeeper | null = null
  /** The connection's, once it is there. */
  #link: Awaited<ChannelHandle['link']> | null = null
  /** Null while this browser cannot show the page without the server. */
  #keeper: PageKeeper | null = null
  #refusal: string | null = null
  #cancelHeading: Cancel | null = null
  /** Null while no editor is attached. */
  #carets: Carets | null = null

  constructor(options: SessionOptions) {
    const { start, store, recorder, window } = options
    const timers = browserTimers
    this.#options = options
    this.#start = start
    this.#window = window
    this.#store = store
    this.#windFeed = options.windFeed
    this.#recorder = recorder
    this.#drafts = new DraftStore({
      database: options.database,
      news: new BroadcastChannel('crosswind drafts'),
      locks: 'locks' in navigator ? navigator.locks : null,
      window,
      predecessor: succeed(() => sessionStorage, window),
      mayTake: start.mayWrite,
      channel: start.channel,
      timers,
      onLeft: (drafts) => this.#takeLeft(drafts),
    })
    this.#document = new SharedDocument({ recorder, author: () => this.presence.name })
    this.#connection = this.#connect()
    this.#provider = this.#provide()
    this.presence = new Presence({
      window,
      awareness: this.#provider.awareness,
      senders: () => this.#provider.senders,
      timers,
      name: readItem(() => localStorage, nameKey),
      onPeople: (people) => store.change({ people }),
      onCarets: () => this.#carets?.redraw(),
    })
  }

  #connect(): Channels {
    const { start, browser, mode, window, share, debug } = this.#options
    const { polling } = start
    const offered = offeredModes(start)
    const connection = connect(baseFor(mode.http, start, location), {
      modes: [mode.name, ...offered.map(({ name }) => name)],
      fallbacks: Object.fromEntries(windowModes.map(({ name, fallback }) => [name, fallback])),
      origins: Object.fromEntries(offered.map(({ http }) => [http, originFor(http, start, location)])),
      platform,
      polling,
      clock: LinkClock,
      share,
      debug,
      renewSession,
      drafts: {
        over: () => ({
          key: Promise.resolve(browser.key),
          name: window,
          outbox: (options, listener) => this.#openOutbox(options, listener),
        }),
      },
    })
    connection.on('state', (state) => this.#onState(state))
    // The state says why; unstored drafts wait for another session.
    connection.on('error', () => undefined)
    return connection
  }

  #provide(): CrosswindProvider {
    const { start, isProbing } = this.#options
    const { channel, cursor } = start
    const messages = start.messages.filter((message) => message.channel === channel)
    const provider = new CrosswindProvider('', channel, this.#document.doc, {
      connection: this.#connection,
      connect: !isProbing,
      start: { messages, cursor },
      isRequired: true,
    })
    provider.on('message', (message, receivedAt, dueAt) => {
      this.#recorder?.received(message, receivedAt)
      if (this.#isNews(message)) this.#document.willApply(message)
      this.#show(message, dueAt)
    })
    provider.on('applied', (message) => this.presence.received(message))
    provider.on('draft', (draft) => this.#document.drafted(draft))
    provider.on('renamed', (id, [draft]) => draft && this.#recorder?.renamed(id, draft))
    provider.on('refused', (error) => this.#onDocumentRefused(error.message))
    provider.on('saved', (isSaved) => this.#onSaved(isSaved))
    provider.on('status', ({ status }) => status === 'connected' && this.presence.connected())
    // The connection's state says why.
    provider.on('connection-error', () => undefined)
    return provider
  }

  /** Whether it is an update that this window did not have. */
  #isNews(message: Message): boolean {
    // An update merged with others' may have this window's id.
    return isKind(message, 'update') && (!this.#link?.outbox.has(message.id) || Boolean(message.body.owners))
  }

  #openOutbox(options: OutboxOptions, listener: OutboxListener): Outbox {
    const { limits, mergeMs } = this.#start
    const { window, timers } = options
    const documents = documentPolicy({
      window,
      bounds: { messages: limits.outboxMessages, bytes: limits.outboxBytes },
      random: Math.random,
      // The drafts wait for another session.
      waitsIfDenied: true,
    })
    const policy = mergingPolicy(documents, {
      mergeUpdates,
      pauseMs: mergeMs,
      maxBytes: limits.maxMessageBytes,
    })
    const outbox = new Outbox(options, policy, listener)
    outbox.listeners.add({
      onOutbox: (state) => this.#onOutbox(state),
      onStored: (draft) => this.#onStored(draft),
      onRefused: (draft, sentence) => {
        // The provider reports refused updates.
        if (!isUpdate(draft)) this.#store.change({ refusal: sentence })
      },
    })
    this.#draftKeeper = new DraftKeeper(outbox, { window, store: this.#drafts, timers, savesOnClose: false })
    return outbox
  }

  /** Connects, shows the page's embedded content, and looks for drafts that closed windows left. */
  async open(): Promise<void> {
    const { messages, sessionEndsAt, hasSensor } = this.#start
    if (!hasSensor) this.#windFeed.leaveOut(messages)
    this.#showTitle('')
    for (const message of messages) this.#show(message, whenDue(message, browserTimers.now()))
    this.#showHeading()
    this.#document.doc.on('update', () => {
      this.#cancelHeading ??= browserTimers.later(() => {
        this.#cancelHeading = null
        this.#showHeading()
      }, headingDelayMs)
    })
    this.#browserHttp.watch(() => this.#store.change({ link: this.#shownLink(this.#connection.state) }))
    keepSession(browserTimers, sessionEndsAt, renewSession)
    this.#store.subscribe(() => this.#watchLoss())
    addEventListener('storage', ({ key, newValue }) => {
      if (key === nameKey) this.presence.chooseName(newValue ?? '')
    })
    this.#link = await this.#followRest().link
    void this.#drafts.look()
  }

  /** Follows the second channel, beside the document: the wind or, for the lab, probes. */
  #followRest() {
    const { isProbing } = this.#options
    const follower: Follower = {
      from: isProbing ? undefined : this.#start.cursor,
      take: (message, _cursor, receivedAt, dueAt) => {
        this.#recorder?.received(message, receivedAt)
        this.#show(message, dueAt)
      },
      newLog: () => this.#onNewLog(),
      end: () => undefined,
      presence: { heard: () => undefined, refused: () => undefined },
    }
    return this.#connection.follow(isProbing ? probesChannel : windChannel, follower)
  }

  /** From now on, this browser can show the document without the server. `given`: the document sent with the page. */
  keepBy(createKeeper: (parts: Omit<PageKeeperParts, 'keep'>) => PageKeeper, given: PageStart): void {
    const keeper = createKeeper({
      timers: browserTimers,
      isOpen: () => this.#store.view().link.state === 'open',
      snapshot: () => this.#snapshot(given),
    })
    this.#keeper = keeper
    keeper.leave()
    addEventListener('pagehide', () => keeper.leave())
    document.addEventListener('visibilitychange', () => document.hidden && keeper.leave())
  }

  /** Data that the server would open the page with. Null while a reload would lose some of it. */
  #snapshot(given: PageStart): PageStart | 'erased' | null {
    const { title, versions, deletion, outbox, isUnshared } = this.#store.view()
    if (deletion?.isErased) return 'erased'
    if (!outbox.canPersist || outbox.isFull || isUnshared) return null
    const cursor = this.#link?.cursor ?? given.cursor
    const now = browserTimers.now()
    const from = this.#window
    const common = {
      channel: given.channel,
      from,
      at: now,
      seq: parseCursor(cursor)?.seq ?? 0,
      acceptedAt: now,
    }
    const messages: Message[] = [
      { ...common, id: `${from}-title`, kind: 'title', body: { title } },
      { ...common, id: `${from}-versions`, kind: 'versions', body: { versions } },
      { ...common, id: `${from}-update`, kind: 'update', body: this.#document.state },
    ]
    if (deletion) {
      const { seq, until } = deletion
      const acceptedAt = until - deletedForMs
      messages.push({
        ...common,
        id: `${from}-deletion`,
        kind: 'deletion',
        body: { deleted: true },
        seq,
        acceptedAt,
      })
    }
    return { ...given, cursor, messages }
  }

  /** False for readers, and while the document is deleted. */
  get mayWrite(): boolean {
    return this.#start.mayWrite && this.#store.view().deletion === null
  }

  /** Binds the document to the editor in this element. */
  attach(element: HTMLElement): MountedEditor {
    const { mayWrite } = this
    const detach = this.#document.attach(element, (parts) => new Binding(parts), {
      mayWrite,
      onSelection: this.presence.showSoon,
      onDrawn: () => this.#carets?.draw(),
    })
    const { binding } = this.#document
    if (!binding) throw new Error('The editor is not bound.')
    // A reader is listed, but has no caret.
    this.presence.attach(mayWrite ? binding.drawn : null)
    const carets = new Carets({
      root: element,
      rectsOf: (...given) => binding.drawn.rectsOf(...given),
      carets: () => this.presence.carets(),
      timers: browserTimers,
    })
    this.#carets = carets
    const stopCopies = takeCopies({ root: element, binding, mayWrite })
    const release = () => {
      this.#carets = null
      stopCopies()
      carets.stop()
      this.presence.attach(null)
      detach()
    }
    return { commands: binding.editor.commands, release }
  }

  /** The document's current lines. */
  get lines(): readonly Line[] {
    return this.#document.lines
  }

  /** Replaces the document's lines, as an edit that can be undone. */
  replace(lines: readonly Line[]): void {
    this.#document.binding?.editor.replace(lines)
  }

  /** False if there is no room for it. */
  rename(title: string): boolean {
    const isTaken = this.publish(this.#start.channel, 'title', { title }) !== null
    if (isTaken) this.#showTitle(title)
    return isTaken
  }

  /** Names the version whose last update was accepted `at`. False if there is no room for it. */
  nameVersion(at: number, name: string): boolean {
    const named = { versions: [{ at, name }] }
    const isTaken = this.publish(this.#start.channel, 'versions', named) !== null
    if (isTaken) this.#showVersions(named)
    return isTaken
  }

  /** Null if there is no room for it. */
  publish<K extends Kind>(channel: string, kind: K, body: Bodies[K]): Draft<K> | null {
    return this.#link?.publish(channel, kind, body) ?? null
  }

  switchMode({ name }: WindowMode): void {
    this.#connection.switch(name)
  }

  /** Tries to connect at once. */
  retryNow(): void {
    // If it fails, the state says why.
    this.#connection.retry().catch(() => undefined)
  }

  /** Stops the comparison of clocks. */
  rest(): void {
    this.#link?.rest()
  }

  // Events from the connection

  #onState(state: ConnectionState): void {
    const before = this.#store.view()
    const { windows = null, browserHttp1Streams = 0 } = state
    const link = this.#shownLink(state)
    const isOpen = link.state === 'open'
    const changed = {
      link,
      // An erased document is not followed any more.
      windows: before.deletion?.isErased ? null : windows,
      browserHttp1Streams,
      outage: outageAfter(before.outage, link),
      keptAt: isOpen ? null : before.keptAt,
    }
    this.#store.change(changed)
    if (isOpen !== (before.link.state === 'open')) this.#keeper?.keep()
  }

  /** With the HTTP version that the browser uses, where the server sees only a proxy's. */
  #shownLink({ status, outbox: _, pending: __, windows: ___, ...state }: ConnectionState): ShownLink {
    const link = { ...this.#store.view().link, ...state, state: status }
    const mode = windowModeNamed(link.mode)
    if (status !== 'open' || !mode || isDirect(this.#start, location)) return link
    // Browsers do not report the version of a WebSocket.
    const isTold = mode.uplink !== 'socket'
    const spokenHttp = isTold
      ? this.#browserHttp.versionFor(originFor(mode.http, this.#start, location))
      : null
    return { ...link, spokenHttp, mode: nameInUse(mode, spokenHttp) }
  }

  #onNewLog(): void {
    const { deletion } = this.#store.view()
    // After the log is lost, a deleted document cannot be restored.
    if (deletion) this.#erase(deletion)
    this.#windFeed.newLog()
  }

  /** Others may begin the document anew: this window must not bring its text back. */
  #erase(deletion: DeletionView): void {
    this.#store.change({ deletion: { ...deletion, isErased: true } })
    this.#provider.disconnect()
  }

  #onOutbox(outbox: OutboxState): void {
    this.#store.change({ outbox: this.#shownOutbox(outbox) })
    this.presence.settled(outbox.unstored === 0)
  }

  /** After the server lost its log, only a comparison with the log shows whether changes are stored. */
  #shownOutbox(outbox: OutboxState): OutboxState {
    const isErased = this.#store.view().deletion?.isErased === true
    return this.#provider.saved || isErased ? outbox : { ...outbox, unstored: Math.max(1, outbox.unstored) }
  }

  #onSaved(isSaved: boolean): void {
    const { outbox, refusal, isUnshared } = this.#store.view()
    this.#store.change({ outbox: this.#shownOutbox(this.#link?.outbox.state ?? outbox) })
    if (isSaved && isUnshared)
      this.#store.change({ isUnshared: false, refusal: refusal === this.#refusal ? null : refusal })
  }

  #onStored(draft: Draft): void {
    this.#keeper?.changed()
    if (isUpdate(draft) && draft.from === this.#window) this.presence.stored(draft.body.update)
  }

  #onDocumentRefused(sentence: string): void {
    // Updates that build on it are refused too, which needs no second report.
    if (this.#store.view().isUnshared) return
    this.#refusal = formatRefusedUpdate(sentence)
    this.#store.change({ isUnshared: true, refusal: this.#refusal })
  }

  // Displayed content

  #show(message: Message, dueAt: number): void {
    const { channel } = this.#start
    this.#windFeed.handle(message, dueAt)
    if (message.channel !== channel) return
    this.#keeper?.changed()
    if (isKind(message, 'title')) this.#showTitle(message.body.title)
    else if (isKind(message, 'versions')) this.#showVersions(message.body)
    else this.#showDeletion(message)
  }

  #showDeletion(message: Message): void {
    const { deletion } = this.#store.view()
    if (isKind(message, 'deletion')) {
      const { seq, acceptedAt, body } = message
      const next = { seq, until: acceptedAt + deletedForMs, isErased: false }
      this.#store.change({ deletion: body.deleted ? next : null })
    } else if (isKind(message, 'erasure') && deletion && deletion.seq <= message.body.head)
      this.#erase(deletion)
  }

  #showTitle(title: string): void {
    this.#store.change({ title })
    this.#showName()
  }

  /** The first heading is the title of a document that has none. */
  #showHeading(): void {
    const { binding } = this.#document
    this.#store.change({ heading: headingOf(binding?.drawn.lines ?? this.#document.lines) })
    this.#showName()
  }

  #showName(): void {
    document.title = `${nameOf(this.#store.view(), this.#start.channel)} – Crosswind`
  }

  #showVersions(named: Bodies['versions']): void {
    this.#store.change({ versions: joinVersions([this.#store.view(), named]).versions })
  }

  // Content that could be lost

  #takeLeft(drafts: readonly UnstoredDraft[]): void {
    const edits = drafts.map(({ draft }) => draft).filter(isEdit)
    const sent = drafts.filter(({ draft }) => draft.kind !== 'edit')
    if (sent.length > 0) this.#draftKeeper?.adopt(sent)
    const newest = edits.at(-1)
    if (!newest) return
    const left = { ids: edits.map(({ id }) => id), at: newest.at, html: newest.body.html }
    this.#store.change({ left: [...this.#store.view().left, left] })
  }

  /** Removes it from this browser, after what is unsent is kept. */
  forgetLeft(left: LeftEdit): void {
    this.#link?.outbox.flush()
    void this.#drafts.write([], left.ids)
    this.#store.change({ left: this.#store.view().left.filter((one) => one !== left) })
  }

  /**
   * Listens only while something could be lost: the listener can keep the page out of the
   * back-forward cache.
   */
  #watchLoss(): void {
    const { outbox, isUnshared } = this.#store.view()
    if (outbox.unstored > 0 || isUnshared) addEventListener('beforeunload', this.#askBeforeLoss)
    else removeEventListener('beforeunload', this.#askBeforeLoss)
  }

  readonly #askBeforeLoss = (event: Event): void => {
    this.#link?.outbox.flush()
    const { outbox, isUnshared } = this.#store.view()
    if (outbox.persisted < outbox.unstored || isUnshared) event.preventDefault()
  }
}

const isUpdate = (draft: Draft): draft is Draft<'update'> => draft.kind === 'update'
const isEdit = (draft: Draft): draft is Draft<'edit'> => draft.kind === 'edit'
