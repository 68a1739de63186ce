// Assembles the window: settings, store, link, editor, page.

import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import {
  browserTimers,
  createLink,
  DraftStore,
  type LeftDrafts,
  newName,
  openDraftDatabase,
  shareHere,
  shareTransports,
  transports,
  watchWakeUps,
  whenDue,
} from '../client/index.ts'
import {
  type Bodies,
  deletedForMs,
  isKind,
  joinVersions,
  type Message,
  nameUnder,
  type PageStart,
  probesChannel,
} from '../server/wire/messages.ts'
import { modeNamed } from '../server/wire/modes.ts'
import { App, loadView } from './App.tsx'
import { addressOfDocument, createDocument, deleteDocument } from './documents/document-requests.ts'
import { bindDocument } from './editor/binding.ts'
import { drawCarets } from './editor/carets.ts'
import type { EditorCommands, MountedEditor } from './editor/commands.ts'
import { takeCopies } from './editor/copy.ts'
import { createPresence } from './editor/presence.ts'
import { createSharedDocument, mergeUpdates } from './editor/shared-document.ts'
import { createLabDoor, createRecorder, noRecorder } from './lab.ts'
import type { Actions } from './page/hooks.ts'
import { addressInView, channelsFor, notLoaded, type ViewName, viewAsked } from './page/views.ts'
import { http1Warning, refusalAfter, refusedUpdateWords, unkeptWords } from './page/wording.ts'
import {
  addressInMode,
  type BrowserKey,
  browserKey,
  keepSession,
  modeAsked,
  originFor,
  renewSession,
  succeed,
} from './page-session.ts'
import {
  createStore,
  firstView,
  keepChoices,
  keepName,
  nameKey,
  outageAfter,
  readChoices,
  readName,
  type Unshared,
} from './store.ts'
import { askForPast, createWindFeed, fillInPast } from './wind/wind-feed.ts'

const given: PageStart = JSON.parse(document.getElementById('settings')?.textContent ?? 'null')

const noRoom = 'There is no room for another unsent change; give the name once they are stored.'

// No top-level await: it would split the view chunks, which import this one, into many more.
Promise.all([browserKey(), given.editor === 'mirror' ? import('./editor/mirror.ts') : null]).then(
  (parts) => openWindow(...parts),
  () => document.getElementById('crosswind')?.append('A part of this page could not be loaded. Reload it.'),
)

function openWindow(
  { key, fingerprint }: BrowserKey,
  mirrorModule: typeof import('./editor/mirror.ts') | null,
): void {
  const query = new URLSearchParams(location.search)
  // A read-only link of an open server; nothing but the address enforces it.
  const start = { ...given, mayWrite: given.mayWrite && !query.has('read') }
  const { channel } = start
  const { mode, notice: modeNotice } = modeAsked(start, location.search)
  const view = viewAsked(location.search)
  /** For the lab: the link carries probes alone, whose log has cursors of its own. */
  const isProbing = query.has('record') && query.has('probes')
  const recorder = query.has('record') ? createRecorder(browserTimers.now) : noRecorder
  const window = nameUnder(fingerprint, newName('w'))

  const choiceStorage = () => localStorage
  const sentence = [view.notice, modeNotice].filter(Boolean).join(' ')
  const shown = { name: view.name, notice: sentence ? { tone: 'warning' as const, sentence } : null }
  const share = shareHere(start.share)
  const store = createStore({ ...firstView(mode.name, shown, readChoices(choiceStorage)), share })

  // First, so that the view's files load while the link opens.
  const firstShown = loadOrNotify(store.view().shown.name)
  const windFeed = createWindFeed(store, browserTimers)
  const draftStore = new DraftStore({
    database: openDraftDatabase(() => indexedDB),
    locks: 'locks' in navigator ? navigator.locks : null,
    window,
    predecessor: succeed(() => sessionStorage, window),
    mayTake: start.mayWrite,
    channel,
    timers: browserTimers,
    onLeft: takeLeft,
  })
  let refusedSentence: string | null = null

  const editingParts = {
    channel,
    recorder,
    maxBytes: start.limits.maxMessageBytes,
    onUnshared: (unshared: Unshared | null) =>
      store.change({ unshared, refusal: refusalAfter(unshared, store.view()) }),
  }
  const mirror = mirrorModule?.createMirror({
    ...editingParts,
    link: () => link,
    store: draftStore,
    hasUnstored: () => store.view().outbox.unstored > 0 || store.view().unshared !== null,
    onOffer: (left) => store.change({ left }),
  })
  const shared = createSharedDocument({
    ...editingParts,
    publish(update) {
      const draft = link.publish(channel, 'update', { update })
      if (draft) presence.published(update)
      return draft
    },
    author: () => presence.name(),
    onRemote: (message) => presence.received(message),
    onWaiting(isWaiting) {
      waiting = isWaiting ? 1 : 0
      showOutbox()
    },
    timers: browserTimers,
    random: Math.random,
    mergeMs: start.mergeMs,
    isConnected: () => store.view().link.state === 'open',
  })
  const editing = mirror ?? shared

  let { outbox } = store.view()
  /** Edits that the outbox has not been given yet: what waits to be merged will be one. */
  let waiting = 0
  const showOutbox = () => store.change({ outbox: { ...outbox, unstored: outbox.unstored + waiting } })

  /** A page that ends gets no second turn. */
  function saveAll(): void {
    editing.publishUnsent()
    link.save()
  }

  const link = createLink({
    transports: shareTransports(transports, share),
    originFor: (http) => originFor(http, start, location),
    polling: start.polling,
    window,
    key,
    channels: isProbing ? [probesChannel] : channelsFor(channel, store.view().shown.name),
    mode,
    cursor: isProbing ? null : start.cursor,
    bounds: { messages: start.limits.outboxMessages, bytes: start.limits.outboxBytes },
    store: draftStore,
    mergeUpdates,
    mergesWaiting: start.mergeMs > 0,
    renewSession: async () => (await renewSession()) !== null,
    timers: browserTimers,
    random: Math.random,
    onState(state) {
      if (state.state === 'open' && store.view().link.state !== 'open') void draftStore.look()
      store.change({ link: state, outage: outageAfter(store.view().outage, state) })
      if (state.state !== 'open') editing.publishUnsent()
    },
    onMessage(message, receivedAt, dueAt) {
      recorder.received(message, receivedAt)
      show(message, dueAt)
    },
    onAwareness: (frame) => presence.heard(frame),
    onPresence: ({ windows, browserHttp1Streams }) => store.change({ windows, browserHttp1Streams }),
    onNewLog() {
      const { deletion } = store.view()
      // A log that was lost gets no document back that was deleted.
      if (deletion) store.change({ deletion: { ...deletion, isErased: true } })
      else editing.newLog()
      windFeed.newLog()
    },
    onOutbox(next) {
      const hasRoomAgain = outbox.isFull && !next.isFull
      outbox = next
      showOutbox()
      if (hasRoomAgain) editing.publishUnsent()
    },
    onStored(id, seq) {
      editing.stored(id, seq)
      // A stored edit contains the whole document, including refused content.
      const { refusal, unshared } = store.view()
      if (refusal !== null && refusal === refusedSentence && unshared === null)
        store.change({ refusal: null })
    },
    onRefused(id, refusal) {
      const wasRefused = store.view().unshared?.reason === 'refused'
      if (!editing.refused(id)) return
      // Updates that build on a refused one are refused for lack of it, which says nothing new.
      if (wasRefused && !mirror) return
      refusedSentence = mirror ? refusal : refusedUpdateWords(refusal)
      store.change({ refusal: refusedSentence })
    },
    onSuperseded: editing.superseded,
    onRenamed(id, draft) {
      recorder.renamed(id, draft)
      editing.renamed(id, draft)
    },
  })

  let carets: ReturnType<typeof drawCarets> | null = null
  const presence = createPresence({
    window,
    doc: mirror ? null : shared.doc,
    timers: browserTimers,
    name: readName(choiceStorage),
    send: isProbing ? () => undefined : link.setAwareness,
    onPeople: (people) => store.change({ people }),
    onCarets: () => carets?.redraw(),
  })
  store.subscribe(() => presence.settled(store.view().outbox.unstored === 0))
  addEventListener('storage', ({ key, newValue }) => {
    if (key === nameKey) presence.chooseName(newValue ?? '')
  })

  if (!start.hasSensor) windFeed.leaveOut(start.messages)

  showTitle('')
  for (const message of start.messages) show(message, whenDue(message, browserTimers.now()))

  // Not while recording, which needs otherwise idle connections.
  if (!query.has('record')) fillInPast({ store, feed: windFeed, ask: askForPast, now: browserTimers.now })

  void draftStore.look()

  watchWakeUps(document, globalThis.window, { ...link, save: saveAll })
  keepSession(browserTimers, start.sessionEndsAt, renewSession)

  function askBeforeLoss(event: Event): void {
    saveAll()
    const { outbox, unshared } = store.view()
    if ((outbox.unstored > 0 && !outbox.isSaved) || outbox.isFull || unshared !== null) event.preventDefault()
  }

  store.subscribe(() => {
    const { outbox, unshared } = store.view()
    // Only then: the listener can keep the page out of the back-forward cache.
    if (outbox.unstored > 0 || outbox.isFull || unshared !== null)
      addEventListener('beforeunload', askBeforeLoss)
    else removeEventListener('beforeunload', askBeforeLoss)
  })

  /** Updates commute, so they are sent without asking. */
  function takeLeft(left: LeftDrafts): void {
    const updates = left.drafts.filter(({ draft }) => draft.kind === 'update')
    if (updates.length > 0) link.adopt(updates)
    if (mirror) mirror.left.take(left)
    else shared.restore(updates.map(({ draft }) => draft))
  }

  function show(message: Message, dueAt: number): void {
    // An erased document may have been begun anew, without what this window shows.
    if (!store.view().deletion?.isErased) {
      if (mirror && isKind(message, 'edit')) presence.received(message)
      editing.received(message)
    }
    windFeed.take(message, dueAt)
    if (isKind(message, 'title') && message.channel === channel) showTitle(message.body.title)
    if (isKind(message, 'versions') && message.channel === channel) showVersions(message.body)
    if (message.channel === channel) showDeletion(message)
    if (isKind(message, 'overview'))
      store.change({ overview: { body: message.body, at: message.at, receivedAt: dueAt } })
  }

  function showDeletion(message: Message): void {
    const { deletion } = store.view()
    if (isKind(message, 'deletion')) {
      // What was typed before is sent, or waits.
      editing.publishUnsent()
      const { seq, acceptedAt, body } = message
      const next = { seq, until: acceptedAt + deletedForMs, isErased: false }
      store.change({ deletion: body.deleted ? next : null })
    } else if (isKind(message, 'erasure') && deletion && deletion.seq <= message.body.head)
      store.change({ deletion: { ...deletion, isErased: true } })
  }

  function showTitle(title: string): void {
    store.change({ title })
    document.title = `${title || channel} – Crosswind`
  }

  function showVersions(named: Bodies['versions']): void {
    store.change({ versions: joinVersions([store.view(), named]).versions })
  }

  /** False, with a notice, when the view does not load. */
  async function loadOrNotify(name: ViewName): Promise<boolean> {
    try {
      await loadView(name)
      return true
    } catch {
      actions.notify(notLoaded(name))
      return false
    }
  }

  const mayWriteNow = () => start.mayWrite && store.view().deletion === null

  let mounted: { readonly root: HTMLElement; readonly commands: EditorCommands } | null = null
  let onMounted: () => void = () => undefined
  let viewChosen = store.view().shown.name

  const actions: Actions = {
    switchMode(name) {
      const next = modeNamed(name)
      if (!next) return
      // For reloads and bookmarks.
      history.replaceState(null, '', addressInMode(location.href, next))
      link.switchMode(next)
    },
    openWindow() {
      const { link, browserHttp1Streams } = store.view()
      const current = modeNamed(link.mode) ?? mode
      const next =
        http1Warning(current, browserHttp1Streams, share)?.wayOut ?? modeNamed(link.wished) ?? current
      // Without an opener the window gets its own process.
      open(addressInMode(location.href, next), '_blank', 'noopener')
    },
    retryNow: link.retryNow,
    dismissRefusal: () => store.change({ refusal: null }),
    restoreLeft: (id) => mirror?.left.restore(id),
    discardLeft: (id) => mirror?.left.discard(id),
    async chooseView(name) {
      viewChosen = name
      if (!(await loadOrNotify(name)) || viewChosen !== name) return
      history.replaceState(null, '', addressInView(location.href, name))
      store.change({ shown: { name, notice: null } })
      link.read(channelsFor(channel, name))
    },
    chooseName: (name) => keepName(choiceStorage, presence.chooseName(name)),
    dismissViewNotice: () => store.change({ shown: { ...store.view().shown, notice: null } }),
    notify: (sentence, tone = 'warning') =>
      store.change({ shown: { ...store.view().shown, notice: { tone, sentence } } }),
    rename(title) {
      if (link.publish(channel, 'title', { title })) showTitle(title)
      else actions.notify(noRoom)
    },
    nameVersion(at, name) {
      const named = { versions: [{ at, name }] }
      if (link.publish(channel, 'versions', named)) showVersions(named)
      else actions.notify(noRoom)
    },
    deleteDocument: (channel, deleted) => deleteDocument({ key, fingerprint }, channel, deleted),
    async createDocument(name, next, isNew) {
      if (isNew) await createDocument({ key, fingerprint }, next, name)
      location.assign(addressOfDocument(location.href, next))
    },
    async importFile(file) {
      try {
        const { readImport } = await import('./documents/import-file.ts')
        const { lines, unkept, assumed } = await readImport(file)
        const { root, commands } = await shownEditor()
        root.focus()
        getSelection()?.selectAllChildren(root)
        getSelection()?.collapseToEnd()
        // Begins a line of its own.
        const isFirst = root.textContent.trim() === ''
        commands.insert(isFirst ? lines : [{ runs: [], block: 'p', align: null }, ...lines])
        const notes = [
          assumed !== null && `It was read as ${assumed}, since it is not in UTF-8.`,
          unkeptWords(unkept),
        ].filter(Boolean)
        const done = `${file.name} is imported at the end of the document.`
        actions.notify([done, ...notes].join(' '), notes.length === 0 ? 'success' : 'information')
      } catch (error) {
        actions.notify(error instanceof Error ? error.message : String(error))
      }
    },
    async restoreVersion(version) {
      await shownEditor()
      shared.binding()?.replace(version)
      actions.notify('The earlier version is restored. Undo brings the later one back.', 'success')
    },
    chooseWind(change) {
      const { wind } = store.view()
      const choices = { ...wind.choices, ...change }
      keepChoices(choiceStorage, choices)
      store.change({ wind: { ...wind, choices } })
    },
  }

  if (query.has('record'))
    globalThis.window.crosswind = createLabDoor(store, recorder, actions.switchMode, (body) =>
      link.publish(probesChannel, 'probe', body),
    )

  const viewOpened = store.view().shown.name
  let isFirstEditor = true

  function mountEditor(element: HTMLElement): MountedEditor {
    const { commands, release } = attachEditor(element)
    mounted = { root: element, commands }
    if (isFirstEditor && store.view().shown.name === viewOpened && mayWriteNow()) focusIfEmpty(element)
    isFirstEditor = false
    onMounted()
    return {
      commands,
      release() {
        mounted = null
        release()
      },
    }
  }

  /** Shows the document if the view has none. */
  async function shownEditor() {
    while (mounted === null) {
      const ready = new Promise<void>((resolve) => {
        onMounted = resolve
      })
      await actions.chooseView('all')
      if (store.view().shown.name !== 'all') throw new Error(notLoaded('all'))
      await ready
    }
    return mounted
  }

  function attachEditor(element: HTMLElement): MountedEditor {
    const mayWrite = mayWriteNow()
    if (mirror) return mirror.attach(element)
    const detach = shared.attach(element, bindDocument, {
      mayWrite,
      onSelection: presence.selectionChanged,
    })
    const binding = shared.binding()
    if (!binding) throw new Error('The editor is not bound.')
    // A reader is listed, without a caret.
    presence.attach(mayWrite ? binding : null)
    const rectsOf = (from: number, to: number) => binding.rectsOf(from, to)
    const drawn = drawCarets({ root: element, rectsOf, carets: presence.carets, timers: browserTimers })
    carets = drawn
    const stopCopies = takeCopies({ root: element, binding, mayWrite })
    const release = () => {
      carets = null
      stopCopies()
      drawn.stop()
      presence.attach(null)
      detach()
    }
    return { commands: binding.commands, release }
  }

  const root = document.getElementById('crosswind')
  if (!root) throw new Error('The page has no element #crosswind to put the app in.')
  firstShown.finally(() =>
    createRoot(root).render(
      <StrictMode>
        <App
          store={store}
          actions={actions}
          start={start}
          onEditorReady={mountEditor}
          history={windFeed.history}
        />
      </StrictMode>,
    ),
  )
}

/** One can type at once in an empty page, but for a reload, an address of a place in it, and a field in use. */
function focusIfEmpty(editor: HTMLElement): void {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  const isOpening = navigation?.type === 'navigate' && location.hash === ''
  const isEmpty = editor.textContent.trim() === '' && !editor.querySelector('img')
  const isFree = document.activeElement === null || document.activeElement === document.body
  if (isOpening && isEmpty && isFree) editor.focus({ preventScroll: true })
}
