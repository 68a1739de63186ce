// Puts the window together: settings, store, link, mirroring, page.

import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import type { Message } from '../server/wire/envelope.ts'
import { modeNamed } from '../server/wire/modes.ts'
import type { PageStart } from '../server/wire/settings.ts'
import { App } from './App.tsx'
import { createMirroring } from './editor/mirroring.ts'
import { installLabDoor } from './lab/door.ts'
import { createRecorder, noRecorder } from './lab/recorder.ts'
import { addressInMode, firstMode, originFor } from './link/address.ts'
import { whenDue } from './link/due.ts'
import { browserName, newName } from './link/identity.ts'
import { createLink } from './link/link.ts'
import { openOutboxStore } from './link/outbox-store.ts'
import { keepSession, renewSession } from './link/session.ts'
import { browserTimers } from './link/timers.ts'
import { watchWakeUps } from './link/wake-ups.ts'
import { channelsFor, feedOverview } from './overview/overview-feed.ts'
import type { Actions } from './page/actions.ts'
import { http1Warning } from './page/http1-warning.ts'
import { addressInView, viewAsked } from './page/view-address.ts'
import { shareTransports } from './share/share.ts'
import { createStore, firstView } from './store/store.ts'
import { transports } from './transports/index.ts'
import { keepChoices, readChoices } from './wind/choices.ts'
import { createWindFeed } from './wind/wind-feed.ts'
import { askForPast, fillInPast } from './wind/wind-past.ts'

const start: PageStart = JSON.parse(document.getElementById('settings')?.textContent ?? 'null')
const query = new URLSearchParams(location.search)
const { channel } = start
const mode = firstMode(start, location.search)
const recorder = query.has('record') ? createRecorder(browserTimers.now) : noRecorder
const window = newName('w')

const unreadableSentence =
  'Some of what was typed here before the reload and not stored yet could not be read; the rest is being sent.'

const choiceStorage = () => localStorage
const store = createStore(firstView(mode.name, viewAsked(location.search), readChoices(choiceStorage)))
const windFeed = createWindFeed(store, browserTimers)
const outboxStore = openOutboxStore(() => sessionStorage)

const mirroring = createMirroring({
  channel,
  recorder,
  publish: (...message) => link.publish(...message),
  maxBytes: start.limits.maxMessageBytes,
  onTooLarge: (bytes) => {
    const refusal = `This page has ${bytes} bytes, more than the ${start.limits.maxMessageBytes} that the server takes; the other windows keep what they had.`
    store.change({ refusal })
  },
})

const link = createLink({
  transports: start.share === 'browser' ? shareTransports(transports) : transports,
  originFor: (http) => originFor(http, start, location),
  polling: start.polling,
  window,
  browser: browserName(),
  channels: channelsFor(channel, store.view().shown.name),
  mode,
  cursor: start.cursor,
  bounds: { messages: start.limits.outboxMessages, bytes: start.limits.outboxBytes },
  store: outboxStore,
  renewSession: async () => (await renewSession()) !== null,
  timers: browserTimers,
  random: Math.random,
  onState: (state) => store.change({ link: state }),
  onMessage: take,
  onPresence: ({ windows, browserHttp1Streams }) => store.change({ windows, browserHttp1Streams }),
  onNewLog() {
    mirroring.newLog()
    windFeed.newLog()
  },
  onOutbox(outbox) {
    store.change({ outbox })
    if (!outbox.isFull) mirroring.publishUnsent()
  },
  onStored: mirroring.stored,
  onRefused(id, refusal) {
    mirroring.withdrawn(id)
    store.change({ refusal })
  },
  onSuperseded: mirroring.withdrawn,
})

// First what this window has to say, then what the page brought: so that the one holds the other back.
mirroring.restore(outboxStore.restored)
for (const message of start.messages) show(message, whenDue(message, browserTimers.now()))
if (outboxStore.unreadable > 0) store.change({ refusal: unreadableSentence })

// Not in a window that is measured: nothing but what is measured is to be on its connections.
if (!query.has('record')) fillInPast({ store, feed: windFeed, ask: askForPast, now: browserTimers.now })

watchWakeUps({ document, window: globalThis.window }, link)
keepSession(browserTimers, start.sessionEndsAt, renewSession)

function take(message: Message, receivedAt: number, dueAt: number): void {
  recorder.received(message, receivedAt)
  show(message, dueAt)
}

function show(message: Message, dueAt: number): void {
  mirroring.received(message)
  windFeed.take(message, dueAt)
  feedOverview(store, message, dueAt)
}

const actions: Actions = {
  switchMode(name) {
    const next = modeNamed(name)
    if (!next) return
    // The address says what the window does, so that a reload or a bookmark comes back to it.
    history.replaceState(null, '', addressInMode(location.href, next))
    link.switchMode(next)
  },
  openWindow() {
    const { link, browserHttp1Streams } = store.view()
    const current = modeNamed(link.mode) ?? mode
    const next = http1Warning(current, browserHttp1Streams)?.wayOut ?? modeNamed(link.wished) ?? current
    // Without an opener the window gets a process of its own, as one that a person opens by hand.
    open(addressInMode(location.href, next), '_blank', 'noopener')
  },
  retryNow: link.retryNow,
  dismissRefusal: () => store.change({ refusal: null }),
  chooseView(name) {
    history.replaceState(null, '', addressInView(location.href, name))
    store.change({ shown: { name, notice: null } })
    link.read(channelsFor(channel, name))
  },
  dismissViewNotice: () => store.change({ shown: { ...store.view().shown, notice: null } }),
  chooseWind(change) {
    const { wind } = store.view()
    const choices = { ...wind.choices, ...change }
    keepChoices(choiceStorage, choices)
    store.change({ wind: { ...wind, choices } })
  },
}

if (query.has('record')) installLabDoor({ store, recorder, switchMode: actions.switchMode })

const root = document.getElementById('crosswind')
if (!root) throw new Error('The page has no element #crosswind to put the app in.')
createRoot(root).render(
  <StrictMode>
    <App
      store={store}
      actions={actions}
      start={start}
      editor={{ onReady: mirroring.attach }}
      history={windFeed.history}
    />
  </StrictMode>,
)
