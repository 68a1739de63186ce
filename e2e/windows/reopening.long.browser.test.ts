// Pages opened while the server is away: the service worker and the kept document, in real browsers.

import assert from 'node:assert/strict'
import { after, afterEach, before, type TestContext, test } from 'node:test'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { type Browser, type BrowserWindow, startBrowser, until } from '../browser/browser.ts'
import { type CuttingProxy, startProxy } from '../network/cutting-proxy.ts'
import { chooseFile, isThere, shown } from './page.ts'
import { browserName, openStage, type Stage, untilShows, webFolder } from './stage.ts'

let stage: Stage
let proxy: CuttingProxy
before(async () => {
  stage = await openStage()
  proxy = await startProxy(stage.server.ports['2'])
})
after(async () => {
  await stage.close()
  await proxy.close()
})
afterEach(() => stage.closeWindows())

/** Without `record`, since the page registers no service worker while its messages are timed. */
const addressOf = (channel: string, port = proxy.port) =>
  `https://localhost:${port}/d/${channel}?transport=sse&http=2`

const linkShown = () => document.querySelector('.connection')?.getAttribute('data-link') ?? ''

async function untilLink(window: BrowserWindow, state: string): Promise<void> {
  await until(async () => (await window.run(linkShown)) === state, `the link is not ${state}`)
}

async function untilSays(window: BrowserWindow, selector: string, words: RegExp): Promise<void> {
  await until(
    async () => words.test(await window.run(shown, selector)),
    `${selector} does not say ${words}`,
  ).catch(async (error) => {
    throw new Error(`${error.message} It says ${await window.run(shown, selector)}`)
  })
}

const kept = /kept on this device/

async function isReady(path: string): Promise<boolean> {
  const registration = await navigator.serviceWorker.getRegistration()
  return registration?.active?.state === 'activated' && (await caches.match(path)) !== undefined
}

/** Opens a document in a browser that has the worker and the document then. */
async function openReady(window: BrowserWindow, channel: string, port = proxy.port): Promise<void> {
  await window.open(addressOf(channel, port))
  await untilLink(window, 'open')
  await until(() => window.run(isReady, `/d/${channel}`), 'the page is not kept')
}

function leave(link: CuttingProxy): void {
  link.refuse(true)
  link.cut()
}

async function typeAtEnd(window: BrowserWindow, text: string): Promise<void> {
  await window.click('#document')
  await window.run(() => {
    getSelection()?.selectAllChildren(document.querySelector('#document') ?? document.body)
    getSelection()?.collapseToEnd()
  })
  await window.type(text)
}

/** The header says so a little late. */
async function untilStored(window: BrowserWindow, text: string): Promise<void> {
  const exported = async () => (await fetch(`${location.pathname}/export.md`)).text()
  await until(async () => (await window.run(exported)).trim() === text.trim(), `${text} is not stored`)
}

/** From the server, not from the service worker. */
const isServed = () => document.querySelector('#settings')?.textContent !== 'null'

test('a reload while the server is away shows the text, with a sentence; what is typed is sent once it is back', async () => {
  const window = await stage.browser.newWindow()
  await openReady(window, 'reloaded')
  await typeAtEnd(window, 'stored')
  await untilStored(window, 'stored')
  leave(proxy)
  await untilLink(window, 'waiting')
  await typeAtEnd(window, 'unsent')
  await untilSays(window, '.connection-word', kept)
  for (const more of ['', 'again']) {
    await window.reload()
    await untilShows(window, 'storedunsent')
    assert.equal(await window.run(isServed), false)
    await untilSays(window, '.notices', /as this browser had it at \d\d:\d\d\. You can keep writing/)
    if (more === '') continue
    await typeAtEnd(window, more)
    await untilSays(window, '.connection-word', kept)
  }
  // With the link, once.
  proxy.refuse(false)
  await untilLink(window, 'open')
  await untilStored(window, 'storedunsentagain')
  const other = await stage.browser.newWindow()
  await other.open(addressOf('reloaded', stage.server.ports['2']))
  await untilShows(other, 'storedunsentagain')
  assert.doesNotMatch(await window.run(shown, '.notices'), /as this browser had it/)
  // The server is back, and so is its page.
  await window.reload()
  await untilLink(window, 'open')
  assert.equal(await window.run(isServed), true)
  await untilShows(window, 'storedunsentagain')
})

test('other views, files and the start page work without the server; a document that was never here does not', async () => {
  const window = await stage.browser.newWindow()
  await openReady(window, 'parts')
  await typeAtEnd(window, 'text')
  await untilStored(window, 'text')
  await window.open(`https://localhost:${proxy.port}/?transport=sse&http=2`)
  await untilLink(window, 'open')
  await until(() => window.run(isReady, '/d/main'), 'the start page is not kept')
  leave(proxy)
  try {
    await window.open(`${addressOf('parts')}&view=wind`)
    await until(() => window.run(isThere, '.desk-main > .desk-wind'), 'the wind is not shown')
    await window.run(chooseFile, '# Title', 'notes.md')
    await untilShows(window, 'textTitle')
    await window.open(`https://localhost:${proxy.port}/`)
    await until(() => window.run(isThere, '#document'), 'the start page is not shown')
    await window.open(addressOf('never'))
    await untilSays(window, 'body', /The server does not answer.*no copy of this document/s)
  } finally {
    proxy.refuse(false)
  }
  await window.click('.absence .button')
  await untilLink(window, 'open')
})

test('links from another site and exports pass the service worker', async () => {
  const window = await stage.browser.newWindow()
  await openReady(window, 'linked')
  await typeAtEnd(window, 'text')
  await untilStored(window, 'text')
  // Another host is another site.
  await window.open(`https://127.0.0.1:${stage.server.ports['1.1']}/nowhere`)
  await window.run((address: string) => {
    const link = document.createElement('a')
    link.href = address
    document.body.append(link)
    link.click()
  }, addressOf('linked'))
  await until(async () => (await window.address()).includes('/d/linked'), 'the link was not followed')
  await untilShows(window, 'text')
  assert.equal(await window.run(isServed), true)
  const markdown = () => fetch('/d/linked/export.md').then((answer) => answer.text())
  assert.equal(await window.run(markdown), 'text\n')
})

/** A server with invitations, and a browser of one or several people. */
async function openInvited(
  t: TestContext,
): Promise<{ server: TestServer; link: CuttingProxy; browser: Browser }> {
  const opened = new AsyncDisposableStack()
  t.after(() => opened.disposeAsync())
  const server = await startTestServer({ access: 'invited' }, webFolder)
  opened.defer(server.close)
  const link = await startProxy(server.ports['2'])
  opened.defer(link.close)
  const browser = await startBrowser({ name: browserName })
  opened.defer(browser.quit)
  return { server, link, browser }
}

async function enter(window: BrowserWindow, server: TestServer, channel: string): Promise<void> {
  await window.open(await server.invite({ channels: [channel], may: 'write' }))
}

test('a later invitation does not show what an earlier one showed in this browser', async (t) => {
  const { server, link, browser } = await openInvited(t)
  const window = await browser.newWindow()
  await enter(window, server, 'diary')
  await openReady(window, 'diary', link.port)
  await typeAtEnd(window, 'private')
  await untilStored(window, 'private')
  leave(link)
  await untilLink(window, 'waiting')
  await window.reload()
  await untilShows(window, 'private')
  link.refuse(false)
  // Another person opens a link of their own, at another port: another origin, with a service worker of its own.
  await enter(window, server, 'notes')
  await window.click('button')
  await until(async () => (await window.address()).includes('/d/notes'), 'the link was not taken')
  leave(link)
  await window.open(addressOf('diary', link.port))
  await untilSays(window, 'body', /no copy of this document/)
  assert.doesNotMatch(await window.run(() => document.body.textContent ?? ''), /private/)
})

test('an ended session is reported by the server, and shows nothing without it either', async (t) => {
  const { server, link, browser } = await openInvited(t)
  const window = await browser.newWindow()
  await enter(window, server, 'diary')
  await openReady(window, 'diary', link.port)
  await typeAtEnd(window, 'private')
  await untilStored(window, 'private')
  // As if the cookies had expired: the page cannot remove the session's own.
  await window.run(() => {
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser yet.
    document.cookie = '__Host-crosswind-invitation=; path=/; Max-Age=0; Secure'
  })
  leave(link)
  await untilLink(window, 'waiting')
  await window.open(addressOf('diary', link.port))
  await untilSays(window, 'body', /no copy of this document/)
  assert.doesNotMatch(await window.run(() => document.body.textContent ?? ''), /private/)
})
