// Unsent edits in real windows: stored on closing, offered again, or reported.

import assert from 'node:assert/strict'
import { after, afterEach, before, type TestContext, test } from 'node:test'
import { startTestServer, testConfig } from '../../app/testing.ts'
import { type Mode, modeNamed } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { type CuttingProxy, startProxy } from '../network/cutting-proxy.ts'
import { draftsKept, editsReceived, forgetCookies, isThere, placeCaret, shown } from './page.ts'
import {
  openStage,
  type Stage,
  untilKept,
  untilNotOpen,
  untilOpen,
  untilShows,
  untilStored,
  webFolder,
} from './stage.ts'

const mode: Mode = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')

let stage: Stage
let shared: CuttingProxy
before(async () => {
  stage = await openStage()
  // Browsers store unsent edits per origin: all windows use one.
  shared = await startProxy(stage.server.ports['2'])
})
after(async () => {
  await stage.close()
  await shared.close()
})
afterEach(() => stage.closeWindows())

const addressOf = (proxy: CuttingProxy, channel: string) =>
  `https://localhost:${proxy.port}/?transport=sse&http=2&channel=${channel}&record`

async function openThrough(proxy: CuttingProxy, channel: string): Promise<BrowserWindow> {
  const window = await stage.browser.newWindow()
  await window.open(addressOf(proxy, channel))
  await untilOpen(window, mode)
  return window
}

function offline(proxy: CuttingProxy): void {
  proxy.refuse(true)
  proxy.cut()
}

/** Types "stored " online, "unsent" offline, and closes. */
async function closeWithUnsent(proxy: CuttingProxy, channel: string): Promise<void> {
  const window = await openThrough(proxy, channel)
  await window.click('#document')
  await window.type('stored ')
  await untilStored(window)
  offline(proxy)
  await untilNotOpen(window)
  await window.type('unsent')
  await untilKept(window)
  await window.close()
  proxy.refuse(false)
}

/** Whether this window would ask before closing. */
function asksBeforeClosing(): boolean {
  return !window.dispatchEvent(new Event('beforeunload', { cancelable: true }))
}

/** Simulates a browser whose disk is full, or that stores nothing for a page. */
function denyDatabase(isDenied: boolean): void {
  const store = IDBObjectStore.prototype as IDBObjectStore & { realPut?: IDBObjectStore['put'] }
  store.realPut ??= store.put
  store.put = isDenied
    ? () => {
        throw new DOMException('There is no room.', 'QuotaExceededError')
      }
    : store.realPut
}

const noticeText = (window: BrowserWindow) => window.run(shown, '.notices')

test('if others have written since, the document has both texts, and no one is asked', async () => {
  // At another address, where the closed window's drafts are not visible.
  const [reader] = await stage.open(mode, 1, 'both')
  assert.ok(reader)
  await closeWithUnsent(shared, 'both')
  await untilOpen(reader, mode)
  await reader.run(placeCaret, 0, 0)
  await reader.type('since ')
  await untilStored(reader)
  const next = await openThrough(shared, 'both')
  for (const window of [next, reader]) await untilShows(window, 'since stored unsent')
  assert.equal(await noticeText(next), '')
})

test('kept text is sent once although the browser has lost its cookies, and so is text typed next', async () => {
  await closeWithUnsent(shared, 'cookies')
  const other = await openThrough(shared, 'elsewhere')
  await other.run(forgetCookies)
  assert.equal(await other.run(() => document.cookie), '')
  await other.close()
  const next = await openThrough(shared, 'cookies')
  // At another address, where the closed window's drafts are not visible.
  const [reader] = await stage.open(mode, 1, 'cookies')
  assert.ok(reader)
  for (const window of [next, reader]) await untilShows(window, 'stored unsent')
  await next.click('#document')
  await next.press('End')
  await next.type('!')
  for (const window of [next, reader]) await untilShows(window, 'stored unsent!')
  await untilStored(next)
  assert.doesNotMatch(await noticeText(next), /key|not shared/)
  const ids = await reader.run(editsReceived)
  assert.equal(new Set(ids).size, ids.length)
})

test('a title that was kept is sent, too', async () => {
  const window = await openThrough(shared, 'titled')
  await window.click('#document')
  await window.type('text')
  await untilStored(window)
  offline(shared)
  await untilNotOpen(window)
  await window.click('.title-button')
  await until(() => window.run(isThere, '.title-field'), 'there is no field for the title')
  await window.type('Wind plans')
  await window.press('Enter')
  await untilKept(window)
  await window.close()
  shared.refuse(false)
  const next = await openThrough(shared, 'titled')
  const [reader] = await stage.open(mode, 1, 'titled')
  assert.ok(reader)
  for (const window of [next, reader])
    await until(async () => (await window.run(shown, '.document-title')) === 'Wind plans', 'no title')
})

test('a window asks before closing only if edits would be lost', async () => {
  const window = await openThrough(shared, 'full')
  assert.equal(await window.run(asksBeforeClosing), false)
  await window.run(denyDatabase, true)
  offline(shared)
  await untilNotOpen(window)
  await window.click('#document')
  await window.type('nowhere else')
  await until(async () => window.run(asksBeforeClosing), 'it does not ask')
  await until(async () => /cannot keep/.test(await noticeText(window)), 'no notice about it')
  await window.run(denyDatabase, false)
  await window.type('!')
  await until(async () => !(await window.run(asksBeforeClosing)), 'it still asks')
  shared.refuse(false)
  await untilStored(window)
  assert.equal(await window.run(asksBeforeClosing), false)
})

/** On a server that has room for the first one's document alone. */
async function openOnSmall(t: TestContext) {
  const limits = { ...testConfig.limits, maxChannels: 1 }
  const server = await startTestServer({ limits }, webFolder)
  t.after(server.close)
  const [first] = await stage.open(mode, 1, 'first', { server })
  const [second] = await stage.open(mode, 1, 'second', { server })
  assert.ok(first && second)
  return [first, second] as const
}

test('a refused update of the shared document is shown with its reason and a way out, and never called stored', async (t) => {
  const [first, second] = await openOnSmall(t)
  await first.click('#document')
  await first.type('stored')
  await untilStored(first)
  await second.click('#document')
  await second.type('one')
  const header = () => second.run(shown, '.header')
  await until(async () => /Not saved/.test(await header()), 'the header does not say so')
  await second.type('more')
  assert.match(await noticeText(second), /limits\.maxChannels.* copy what you need, then reload the page/)
  assert.doesNotMatch(await header(), /Saved/)
  assert.equal(await second.run(asksBeforeClosing), true)
})

/** As a window of version 0.2 with the mirror editor kept what it could not send: whole contents. */
async function leaveEdits(channel: string, ...contents: readonly string[]): Promise<void> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const asked = indexedDB.open('crosswind', 1)
    asked.onupgradeneeded = () => {
      const drafts = asked.result.createObjectStore('drafts', { keyPath: 'draft.id' })
      drafts.createIndex('channel', 'channel')
    }
    asked.onsuccess = () => resolve(asked.result)
    asked.onerror = () => reject(asked.error)
  })
  const transaction = database.transaction('drafts', 'readwrite')
  for (const [index, html] of contents.entries()) {
    const draft = { id: `w0-${index + 1}`, channel, kind: 'edit', from: 'w0', at: Date.now(), body: { html } }
    const record = { draft, cursor: null, edits: 1, channel, window: 'w0', order: index }
    transaction.objectStore('drafts').put(record)
  }
  await new Promise((resolve) => {
    transaction.oncomplete = resolve
  })
  database.close()
}

for (const [choice, text] of [
  ['Restore', 'typed in 0.2'],
  ['Discard', ''],
] as const)
  test(`the newest edit that a window of version 0.2 left is offered, and leaves the browser: ${choice}`, async () => {
    const browser = await stage.anotherBrowser()
    const channel = `of-0.2-${choice}`
    const window = await browser.newWindow()
    await window.open(`https://localhost:${shared.port}/healthz`)
    await window.run(leaveEdits, channel, '<p>typed</p>', '<p>typed <b>in 0.2</b></p>')
    await window.open(addressOf(shared, channel))
    await untilOpen(window, mode)
    const offered = async () => /earlier version of this page/.test(await window.run(shown, '.notices'))
    await until(offered, 'the edit is not offered')
    await window.run((name) => {
      const buttons = [...document.querySelectorAll<HTMLElement>('.notices button')]
      buttons.find(({ textContent }) => textContent === name)?.click()
    }, choice)
    await until(async () => !(await offered()), 'the edit is still offered')
    await untilShows(window, text)
    await untilStored(window)
    await until(
      async () => (await window.run(draftsKept, 'crosswind', channel)) === 0,
      'drafts are still kept',
    )
  })

// Last: its four windows stay open.
test("a closed window's unsent edit is sent once, by one of the windows that open after it", async () => {
  const reader = await openThrough(shared, 'closed')
  await closeWithUnsent(shared, 'closed')
  await untilOpen(reader, mode)
  await reader.run(
    (address: string) => {
      for (let count = 0; count < 4; count += 1) open(address, '_blank', 'noopener')
    },
    addressOf(shared, 'closed'),
  )
  await untilShows(reader, 'stored unsent')
  await until(async () => (await reader.run(draftsKept)) === 0, 'the edit is still kept')
  const later = await openThrough(shared, 'closed')
  await untilShows(later, 'stored unsent')
  assert.equal(await noticeText(later), '')
  const ids = await reader.run(editsReceived)
  assert.ok(ids.length > 0)
  assert.equal(new Set(ids).size, ids.length)
})
