// Builds the page from its settings, address and browser, and mounts it.

import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { documentPath } from '../app/shared/document-api.ts'
import type { PageStart } from '../app/shared/page-messages.ts'
import { serviceWorkerPath } from '../app/shared/page-paths.ts'
import { viewAsked } from '../app/shared/views.ts'
import { openDraftDatabase } from '../client/drafts.ts'
import { limitedStreams, sharedConnection, shareHere } from '../client/share.ts'
import { browserTimers, newName } from '../client/transports.ts'
import { nameUnder } from '../protocol/messages.ts'
import { App, loadBeside, loadMain, loadView } from './App.tsx'
import { importCode } from './documents/import-code.ts'
import { EditingSession } from './editing-session.ts'
import { inNextFrame } from './frames.ts'
import { type KeptPage, keptPages, PageKeeper, registerServiceWorker } from './kept-pages.ts'
import { loadCodeWhileServed } from './late-code.ts'
import { PageActions } from './page/actions.ts'
import { followKeyboard } from './page/keyboard.ts'
import { overlaysCode } from './page/overlays-code.ts'
import { notLoaded } from './page/wording.ts'
import { type BrowserKey, browserKey, modeAsked } from './page-session.ts'
import { createStore, firstView, readChoices, readItem, type Store } from './store.ts'
import { askForPast, askForWeek, createWindFeed, fillInPast } from './wind/wind-feed.ts'

/** `keptAt`: null if the server answered. */
type Opened = Pick<KeptPage, 'start'> & { readonly keptAt: number | null }

const query = new URLSearchParams(location.search)

/** Sections of traces, such as `link,outbox`. */
const traced = query.get('debug') ?? readItem(() => localStorage, 'crosswindDebug')

const database = openDraftDatabase(() => indexedDB)

// No top-level await: it would split the view chunks, which import this module, into many more.
openDocument().catch(() =>
  document.getElementById('crosswind')?.append('A part of this page could not be loaded. Reload it.'),
)

async function openDocument(): Promise<void> {
  // The script runs before the whole page is there; all that can be done without the settings is begun at once.
  const parts = Promise.all([
    browserKey(database),
    query.has('record') ? import('./lab.ts') : null,
    traced ? import('../client/debug.ts') : null,
  ])
  // The page says so later if it does not load.
  loadMain(viewAsked(location.search).name).catch(() => undefined)
  const given = await readGiven()
  const opened = given ? { start: given, keptAt: null } : await readKept()
  if (opened === null) return
  openPage(opened, ...(await parts))
}

/** Null from the service worker, while the server is away. */
async function readGiven(): Promise<PageStart | null> {
  const element = await parsed('settings')
  return JSON.parse(element?.textContent ?? 'null')
}

/** Resolves once the parser has passed an element, or the page's end. */
function parsed(id: string): Promise<HTMLElement | null> {
  return new Promise((resolve) => {
    const observer = new MutationObserver(look)
    function look(): void {
      const element = document.getElementById(id)
      if (!element?.nextSibling && document.readyState === 'loading') return
      observer.disconnect()
      document.removeEventListener('readystatechange', look)
      resolve(element)
    }
    observer.observe(document, { childList: true, subtree: true })
    document.addEventListener('readystatechange', look)
    look()
  })
}

/** The server is away. Null, with a page that says so, if this browser has nothing to show. */
async function readKept(): Promise<KeptPage | null> {
  const kept = await keptPages().read(location.pathname)
  const root = document.getElementById('crosswind')
  if (kept === null && root) {
    const { Absence } = await import('./page/Absence.tsx')
    createRoot(root).render(<Absence />)
  }
  return kept
}

function openPage(
  opened: Opened,
  browser: BrowserKey,
  lab: typeof import('./lab.ts') | null,
  debugging: typeof import('../client/debug.ts') | null,
): void {
  // A read-only link to an open server; nothing but the address enforces it.
  const { keptAt } = opened
  const start = { ...opened.start, mayWrite: opened.start.mayWrite && !query.has('read') }
  const { mode, notice: modeNotice } = modeAsked(start, location.search)
  const { name: view, notice: viewNotice } = viewAsked(location.search)
  const recorder = lab?.createRecorder(browserTimers.now) ?? null
  const share = shareHere(start.share)
  // Vite needs this literal expression to bundle the worker.
  const openWorker = () =>
    new SharedWorker(new URL('../client/shared-worker.ts', import.meta.url), {
      type: 'module',
      name: 'crosswind',
    })

  const sentence = [viewNotice, modeNotice].filter(Boolean).join(' ')
  const shown = { name: view, notice: sentence ? { tone: 'warning' as const, sentence } : null }
  const store = createStore({
    ...firstView(
      mode.name,
      shown,
      readChoices(() => localStorage),
    ),
    share,
    keptAt,
    outage: keptAt === null ? null : 'The server does not answer.',
  })
  loadCodeWhileServed(store, () => Boolean(navigator.serviceWorker?.controller))
  const windFeed = createWindFeed(store, browserTimers)
  const session = new EditingSession({
    start,
    browser,
    database,
    mode,
    store,
    windFeed,
    recorder,
    // The drafts have the key.
    share: limitedStreams(sharedConnection({ user: '', share: start.share, worker: openWorker })),
    window: nameUnder(browser.fingerprint, newName('w')),
    isProbing: lab !== null && query.has('probes'),
    debug: debugging?.debug(traced ?? ''),
  })
  const actions = new PageActions({ start, browser, mode, store, session, loadView })
  addEventListener('popstate', () => void actions.followAddress())

  // First, so that the view's files load while the link opens.
  const isLoaded = loadMain(view)
  void session.open()
  if (lab && recorder)
    globalThis.window.crosswind = lab.createLabDoor(
      store,
      recorder,
      (name) => actions.switchMode(name),
      session,
    )
  // Not while recording, which needs otherwise idle connections.
  else {
    fillInPast({ store, feed: windFeed, ask: askForPast, askWeek: askForWeek, now: browserTimers.now })
    void prepareForOutages(opened.start, store, session)
  }

  followKeyboard(visualViewport, () => innerHeight, document.documentElement.style)
  const element = document.getElementById('crosswind')
  if (!element) throw new Error('The page has no element #crosswind to put the app in.')
  const root = createRoot(element)
  const show = () =>
    root.render(
      <StrictMode>
        <App store={store} actions={actions} start={start} history={windFeed.history} />
      </StrictMode>,
    )
  const onFailure = () => actions.notify(notLoaded(view))
  isLoaded.catch(onFailure).finally(() => {
    show()
    // What is beside the text comes after it.
    inNextFrame(() => void loadBeside(view).then(show, onFailure))
  })
}

/** Prepares the page for outages of its server, once it is open and its own files are loaded. */
async function prepareForOutages(start: PageStart, store: Store, session: EditingSession): Promise<void> {
  if (document.readyState !== 'complete')
    await new Promise((resolve) => addEventListener('load', resolve, { once: true }))
  // Vite's server has no service worker.
  if (!import.meta.env.PROD) return
  const worker = await registerServiceWorker(navigator.serviceWorker, serviceWorkerPath)
  store.change({ canReopen: worker !== null })
  // The service worker has all code.
  if (worker === null) {
    for (const code of [importCode, overlaysCode]) code.preload()
    return
  }
  const address = location.pathname
  const keep = (page: KeptPage | null) => {
    const keeping = keptPages().keeping(address, documentPath(start.channel), page)
    if (keeping) worker.postMessage(keeping)
  }
  session.keepBy((parts) => new PageKeeper({ ...parts, keep }), start)
}
