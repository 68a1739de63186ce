// Builds the page from its settings, address and browser, and mounts it.

import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import {
  browserTimers,
  Link,
  newName,
  openDraftDatabase,
  shareHere,
  shareTransports,
} from '../client/engine.ts'
import { nameUnder, type PageStart } from '../server/wire/messages.ts'
import { App, loadView } from './App.tsx'
import { transports } from './axios-http.ts'
import { EditingSession } from './editing-session.ts'
import { PageActions } from './page/actions.ts'
import { viewAsked } from './page/views.ts'
import { type BrowserKey, browserKey, modeAsked } from './page-session.ts'
import { createStore, firstView, readChoices, readItem } from './store.ts'
import { askForPast, createWindFeed, fillInPast } from './wind/wind-feed.ts'

const given: PageStart = JSON.parse(document.getElementById('settings')?.textContent ?? 'null')

const query = new URLSearchParams(location.search)

/** Sections of traces, such as `link,outbox`. */
const traced = query.get('debug') ?? readItem(() => localStorage, 'crosswindDebug')

const database = openDraftDatabase(() => indexedDB)

// No top-level await: it would split the view chunks, which import this module, into many more.
Promise.all([
  browserKey(database),
  given.editor === 'mirror' ? import('./editor/mirror.ts') : null,
  query.has('record') ? import('./lab.ts') : null,
  traced ? import('../client/debug.ts') : null,
]).then(
  (parts) => openPage(...parts),
  () => document.getElementById('crosswind')?.append('A part of this page could not be loaded. Reload it.'),
)

function openPage(
  browser: BrowserKey,
  mirrorModule: typeof import('./editor/mirror.ts') | null,
  lab: typeof import('./lab.ts') | null,
  debugging: typeof import('../client/debug.ts') | null,
): void {
  // A read-only link to an open server; nothing but the address enforces it.
  const start = { ...given, mayWrite: given.mayWrite && !query.has('read') }
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
  })
  const windFeed = createWindFeed(store, browserTimers)
  const session = new EditingSession({
    start,
    browser,
    database,
    mode,
    store,
    windFeed,
    recorder,
    transports: shareTransports(transports, share, openWorker),
    window: nameUnder(browser.fingerprint, newName('w')),
    isProbing: lab !== null && query.has('probes'),
    mirror: mirrorModule?.Mirror ?? null,
    LinkClass: debugging?.debug(traced ?? '') ?? Link,
  })
  const actions = new PageActions({ start, browser, mode, store, session, loadView })

  // First, so that the view's files load while the link opens.
  const isLoaded = actions.load(view)
  session.open()
  if (lab && recorder)
    globalThis.window.crosswind = lab.createLabDoor(
      store,
      recorder,
      (name) => actions.switchMode(name),
      session.link,
    )
  // Not while recording, which needs otherwise idle connections.
  else fillInPast({ store, feed: windFeed, ask: askForPast, now: browserTimers.now })

  const root = document.getElementById('crosswind')
  if (!root) throw new Error('The page has no element #crosswind to put the app in.')
  isLoaded.finally(() =>
    createRoot(root).render(
      <StrictMode>
        <App store={store} actions={actions} start={start} history={windFeed.history} />
      </StrictMode>,
    ),
  )
}
