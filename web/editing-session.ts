// One page's editing session: its document, its link with the outbox, and its presence.

import {
  browserTimers,
  type DocumentDrafts,
  type DraftDatabase,
  DraftKeeper,
  DraftStore,
  documentPolicy,
  type LeftDrafts,
  type Link,
  LinkClock,
  type LinkListener,
  type LinkOptions,
  type LinkState,
  mergingPolicy,
  Outbox,
  type OutboxState,
  watchWakeUps,
  whenDue,
} from '../client/engine.ts'
import type { Line } from '../server/document/rich-text.ts'
import {
  type AwarenessState,
  deletedForMs,
  joinVersions,
  type PageStart,
  probesChannel,
  windChannel,
} from '../server/page/page-messages.ts'
import {
  type AwarenessFrame,
  type Bodies,
  type Draft,
  isKind,
  type Message,
  type Presence as PresenceFrame,
  parseCursor,
} from '../server/wire/messages.ts'
import { nameInUse, type WindowMode, windowModeNamed } from '../server/wire/modes.ts'
import { BrowserHttp } from './browser-http.ts'
import { Binding } from './editor/binding.ts'
import { Carets } from './editor/carets.ts'
import { takeCopies } from './editor/clipboard.ts'
import type { MountedEditor } from './editor/commands.ts'
import type { LeftEdits, Mirror } from './editor/mirror.ts'
import { Presence } from './editor/presence.ts'
import { mergeUpdates, SharedDocument } from './editor/shared-document.ts'
import type { PageKeeper, PageKeeperParts } from './kept-pages.ts'
import type { Recorder } from './lab.ts'
import { refusalAfter, refusedUpdateWords } from './page/wording.ts'
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
import { nameKey, outageAfter, readItem, type ShownLink, type Store, type Unshared } from './store.ts'
import type { createWindFeed } from './wind/wind-feed.ts'

interface SessionOptions extends Pick<LinkOptions, 'transports' | 'window'> {
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
  /** Null unless whole contents are mirrored. */
  readonly mirror: typeof Mirror | null
  /** One that tells what happens, if it was asked to. */
  readonly LinkClass: typeof Link
}

/** Keeps the store up to date with the document, the connection and the people on the page. */
export class EditingSession implements LinkListener {
  readonly link: Link<DocumentDrafts>
  readonly presence: Presence
  readonly #start: PageStart
  readonly #window: string
  readonly #store: Store
  readonly #windFeed: SessionOptions['windFeed']
  readonly #recorder: Recorder | null
  readonly #isProbing: boolean
  readonly #drafts: DraftStore
  readonly #draftKeeper: DraftKeeper
  /** Exactly one of these two is not null. */
  readonly #document: SharedDocument | null
  readonly #mirror: Mirror | null
  readonly #content: SharedDocument | Mirror
  readonly #browserHttp = new BrowserHttp()
  #lastState: LinkState | null = null
  /** Null while this browser cannot show the page without the server. */
  #keeper: PageKeeper | null = null
  /** The newest of a mirrored page. */
  #edit: Message<'edit'> | null = null
  #refusal: string | null = null
  /** Null while no editor is attached. */
  #carets: Carets | null = null

  constructor({ start, store, recorder, window, isProbing, ...options }: SessionOptions) {
    const { channel, limits } = start
    this.#start = start
    this.#window = window
    this.#store = store
    this.#windFeed = options.windFeed
    this.#recorder = recorder
    this.#isProbing = isProbing
    const timers = browserTimers
    this.#drafts = new DraftStore({
      database: options.database,
      news: new BroadcastChannel('crosswind drafts'),
      locks: 'locks' in navigator ? navigator.locks : null,
      window,
      predecessor: succeed(() => sessionStorage, window),
      mayTake: start.mayWrite,
      channel,
      timers,
      onLeft: (left) => this.#takeLeft(left),
    })
    this.link = new options.LinkClass(
      {
        window,
        proof: [['key', options.browser.key]],
        mode: options.mode,
        modes: offeredModes(start),
        transports: options.transports,
        polling: start.polling,
        timers,
        random: Math.random,
        clock: LinkClock,
        channels: isProbing ? [probesChannel] : [channel, windChannel],
        baseFor: (http) => baseFor(http, start, location),
        outbox: (listener) =>
          new Outbox(
            { window, timers },
            mergingPolicy(
              documentPolicy({
                window,
                bounds: { messages: limits.outboxMessages, bytes: limits.outboxBytes },
                random: Math.random,
              }),
              { mergeUpdates, pauseMs: start.mergeMs, maxBytes: limits.maxMessageBytes },
            ),
            listener,
          ),
        renewSession,
      },
      this,
    )
    this.#draftKeeper = new DraftKeeper(this.link.outbox, {
      window,
      store: this.#drafts,
      timers,
      handsOver: false,
    })
    const content = {
      channel,
      link: this.link,
      recorder,
      onUnshared: (unshared: Unshared | null) =>
        store.change({ unshared, refusal: refusalAfter(unshared, store.view()) }),
    }
    this.#mirror =
      options.mirror &&
      new options.mirror({
        ...content,
        maxBytes: limits.maxMessageBytes,
        keeper: this.#draftKeeper,
        store: this.#drafts,
        hasUnstored: () => store.view().outbox.unstored > 0 || store.view().unshared !== null,
        onOffer: (left) => store.change({ left }),
      })
    const author = () => this.presence.name
    this.#document = this.#mirror
      ? null
      : new SharedDocument({ ...content, timers, random: Math.random, author })
    this.#content = this.#mirror ?? (this.#document as SharedDocument)
    this.presence = new Presence({
      window,
      timers,
      doc: this.#document?.doc ?? null,
      name: readItem(() => localStorage, nameKey),
      send: (state, isKnown) => {
        if (!isProbing) this.link.setAwareness({ state }, isKnown)
      },
      onPeople: (people) => store.change({ people }),
      onCarets: () => this.#carets?.redraw(),
    })
  }

  /** Connects, shows the page's embedded content, and looks for drafts that closed windows left. */
  open(): void {
    const { messages, sessionEndsAt, hasSensor, cursor } = this.#start
    this.link.open(this.#isProbing ? null : cursor)
    if (!hasSensor) this.#windFeed.leaveOut(messages)
    this.#showTitle('')
    for (const message of messages) this.#show(message, whenDue(message, browserTimers.now()))
    void this.#drafts.look()
    watchWakeUps(document, window, this.link)
    this.#browserHttp.watch(() => {
      if (this.#lastState) this.#store.change({ link: this.#shownLink(this.#lastState) })
    })
    keepSession(browserTimers, sessionEndsAt, renewSession)
    this.#store.subscribe(() => this.#watchLoss())
    addEventListener('storage', ({ key, newValue }) => {
      if (key === nameKey) this.presence.chooseName(newValue ?? '')
    })
  }

  /** From now on, this browser can show the document without the server. `given`: what the server opened the page with. */
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

  /** What the server would open the page with. Null while a reload would lose some of it. */
  #snapshot(given: PageStart): PageStart | 'erased' | null {
    const { title, versions, deletion, outbox, unshared } = this.#store.view()
    if (deletion?.isErased) return 'erased'
    if (!outbox.isSaved || outbox.isFull || unshared !== null) return null
    const cursor = this.link.cursor ?? given.cursor
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
    ]
    if (this.#document)
      messages.push({ ...common, id: `${from}-update`, kind: 'update', body: this.#document.state })
    if (this.#edit) messages.push(this.#edit)
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

  /** Edits of a mirrored page that are not shown; null for a shared document. */
  get left(): LeftEdits | null {
    return this.#mirror?.left ?? null
  }

  /** False for readers, and while the document is deleted. */
  get mayWrite(): boolean {
    return this.#start.mayWrite && this.#store.view().deletion === null
  }

  /** Binds the document to the editor in this element. */
  attach(element: HTMLElement): MountedEditor {
    const { mayWrite } = this
    if (!this.#document) return (this.#mirror as Mirror).mount(element)
    const detach = this.#document.attach(element, (parts) => new Binding(parts), {
      mayWrite,
      onSelection: this.presence.showSoon,
      onDrawn: () => this.#carets?.draw(),
    })
    const { binding } = this.#document
    if (!binding) throw new Error('The editor is not bound.')
    // A reader is listed, but has no caret.
    this.presence.attach(mayWrite ? binding : null)
    const carets = new Carets({
      root: element,
      rectsOf: (...given) => binding.rectsOf(...given),
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
    return { commands: binding.commands, release }
  }

  /** What the document has now. */
  get lines(): readonly Line[] {
    return this.#content.lines
  }

  /** Replaces the document's lines, as an edit that can be undone. */
  replace(lines: readonly Line[]): void {
    this.#document?.binding?.replace(lines)
  }

  /** False if there is no room for it. */
  rename(title: string): boolean {
    const isTaken = this.link.publish(this.#start.channel, 'title', { title }) !== null
    if (isTaken) this.#showTitle(title)
    return isTaken
  }

  /** Names the version whose last update was accepted `at`. False if there is no room for it. */
  nameVersion(at: number, name: string): boolean {
    const named = { versions: [{ at, name }] }
    const isTaken = this.link.publish(this.#start.channel, 'versions', named) !== null
    if (isTaken) this.#showVersions(named)
    return isTaken
  }

  // Events from the link

  onState(state: LinkState): void {
    const before = this.#store.view()
    this.#lastState = state
    const isOpen = state.state === 'open'
    this.#store.change({
      link: this.#shownLink(state),
      outage: outageAfter(before.outage, state),
      keptAt: isOpen ? null : before.keptAt,
    })
    if (isOpen !== (before.link.state === 'open')) this.#keeper?.keep()
  }

  /** With what the browser uses, where the server's view is that of a proxy. */
  #shownLink(state: LinkState): ShownLink {
    const mode = windowModeNamed(state.mode)
    if (state.state !== 'open' || !mode || isDirect(this.#start, location)) return state
    // Browsers do not tell a WebSocket's.
    const isTold = mode.uplink !== 'socket'
    const spokenHttp = isTold
      ? this.#browserHttp.versionFor(originFor(mode.http, this.#start, location))
      : null
    return { ...state, spokenHttp, mode: nameInUse(mode, spokenHttp) }
  }

  onMessage(message: Message, receivedAt: number, dueAt: number): void {
    this.#recorder?.received(message, receivedAt)
    this.#show(message, dueAt)
  }

  onAwareness(frame: AwarenessFrame): void {
    this.presence.heard(frame as AwarenessFrame<AwarenessState>)
  }

  onPresence({ windows, browserHttp1Streams }: PresenceFrame): void {
    this.#store.change({ windows, browserHttp1Streams })
  }

  onNewLog(): void {
    const { deletion } = this.#store.view()
    // After the log is lost, a deleted document cannot be restored.
    if (deletion) this.#store.change({ deletion: { ...deletion, isErased: true } })
    else this.#content.newLog()
    this.#windFeed.newLog()
  }

  onOutbox(outbox: OutboxState): void {
    this.#store.change({ outbox })
    this.presence.settled(outbox.unstored === 0)
  }

  onStored(draft: Draft, seq: number): void {
    this.#keeper?.changed()
    this.#mirror?.stored(draft, seq)
    if (isUpdate(draft) && draft.from === this.#window) this.presence.stored(draft.body.update)
    // A stored edit contains the whole document, including refused content.
    const { refusal, unshared } = this.#store.view()
    if (refusal !== null && refusal === this.#refusal && unshared === null)
      this.#store.change({ refusal: null })
  }

  onRefused(draft: Draft, sentence: string): void {
    const wasRefused = this.#store.view().unshared?.reason === 'refused'
    if (!this.#content.refused(draft)) return
    // Updates that build on a refused one are refused too, which needs no second report.
    if (wasRefused && this.#document) return
    this.#refusal = this.#document ? refusedUpdateWords(sentence) : sentence
    this.#store.change({ refusal: this.#refusal })
  }

  onSuperseded(draft: Draft): void {
    this.#mirror?.superseded(draft)
  }

  onAdopted(drafts: readonly Draft[]): void {
    this.#document?.restore(drafts)
  }

  onRenamed(id: string, draft: Draft): void {
    this.#recorder?.renamed(id, draft)
    this.#mirror?.renamed(id, draft)
  }

  // Displayed content

  #show(message: Message, dueAt: number): void {
    const { channel } = this.#start
    // An erased document may have been started again, without this window's content.
    if (!this.#store.view().deletion?.isErased) this.#showContent(message)
    this.#windFeed.take(message, dueAt)
    if (message.channel !== channel) return
    this.#keeper?.changed()
    if (isKind(message, 'title')) this.#showTitle(message.body.title)
    else if (isKind(message, 'versions')) this.#showVersions(message.body)
    else this.#showDeletion(message)
  }

  #showContent(message: Message): void {
    if (this.#document?.received(message)) this.presence.received(message)
    if (!this.#mirror) return
    if (isKind(message, 'edit')) {
      this.#edit = message
      this.presence.received(message)
    }
    this.#mirror.received(message)
  }

  #showDeletion(message: Message): void {
    const { deletion } = this.#store.view()
    if (isKind(message, 'deletion')) {
      const { seq, acceptedAt, body } = message
      const next = { seq, until: acceptedAt + deletedForMs, isErased: false }
      this.#store.change({ deletion: body.deleted ? next : null })
    } else if (isKind(message, 'erasure') && deletion && deletion.seq <= message.body.head)
      this.#store.change({ deletion: { ...deletion, isErased: true } })
  }

  #showTitle(title: string): void {
    this.#store.change({ title })
    document.title = `${title || this.#start.channel} – Crosswind`
  }

  #showVersions(named: Bodies['versions']): void {
    this.#store.change({ versions: joinVersions([this.#store.view(), named]).versions })
  }

  // Content that could be lost

  /** Whole contents are offered; what commutes, or is a name, is sent without asking. */
  #takeLeft(left: LeftDrafts): void {
    const sent = left.drafts.filter(({ draft }) => draft.kind !== 'edit')
    if (sent.length > 0) this.#draftKeeper.adopt(sent)
    this.#mirror?.left.take(left)
  }

  /**
   * Listens only while something could be lost: the listener can keep the page out of the
   * back-forward cache.
   */
  #watchLoss(): void {
    const { outbox, unshared } = this.#store.view()
    if (outbox.unstored > 0 || unshared !== null) addEventListener('beforeunload', this.#askBeforeLoss)
    else removeEventListener('beforeunload', this.#askBeforeLoss)
  }

  readonly #askBeforeLoss = (event: Event): void => {
    this.link.outbox.flush()
    const { outbox, unshared } = this.#store.view()
    if (outbox.kept < outbox.unstored || unshared !== null) event.preventDefault()
  }
}

const isUpdate = (draft: Draft): draft is Draft<'update'> => draft.kind === 'update'
