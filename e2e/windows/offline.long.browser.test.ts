// Text typed offline survives window, browser and server restarts, and arrives once.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Config } from '../../app/config/config.ts'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { type Mode, modeNamed } from '../../protocol/modes.ts'
import { type Browser, type BrowserWindow, startBrowser, until } from '../browser/browser.ts'
import { startProxy } from '../network/cutting-proxy.ts'
import { draftsKept, textShown, unstored } from './page.ts'
import {
  browserName,
  untilKept,
  untilNotOpen,
  untilOpen,
  untilShows,
  untilStored,
  webFolder,
} from './stage.ts'

const mode: Mode = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')

let folder: string
let server: TestServer
let browser: Browser
let other: Browser

/**
 * Uses the same log and ports as the previous one. Merges for so long that a closing window still
 * has updates to merge.
 */
async function startServer(): Promise<TestServer> {
  const ports: Partial<Config> = server ? { port: server.ports['2'], http1Port: server.ports['1.1'] } : {}
  const change = { storage: 'sqlite', dataFolder: join(folder, 'data'), mergeMs: 1000, ...ports } as const
  return startTestServer(change, webFolder)
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crosswind-offline-'))
  server = await startServer()
  browser = await startBrowser({ name: browserName, profile: join(folder, 'profile') })
  other = await startBrowser({ name: browserName })
})
after(async () => {
  for (const one of [browser, other]) await one.quit()
  await server.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

const addressOf = (channel: string, port = server.ports['2']) =>
  `https://localhost:${port}/?transport=sse&http=2&channel=${channel}&record`

async function openWindow(channel: string, { at = browser, port = server.ports['2'] } = {}) {
  const window = await at.newWindow()
  await window.open(addressOf(channel, port))
  await untilOpen(window, mode)
  return window
}

async function untilNoneKept(window: BrowserWindow): Promise<void> {
  await until(async () => (await window.run(draftsKept)) === 0, 'drafts are still kept')
}

/** Opens a browser without stored data, which shows the log's content. */
async function assertStored(channel: string, text: string): Promise<void> {
  const window = await openWindow(channel, { at: other })
  await untilShows(window, text)
  await window.close()
}

test("an open window takes over closed windows' drafts, and merges them with what others wrote meanwhile", async (t) => {
  const proxy = await startProxy(server.ports['2'])
  t.after(proxy.close)
  const windows: BrowserWindow[] = []
  for (let n = 0; n < 3; n += 1) windows.push(await openWindow('several', { port: proxy.port }))
  const writer = await openWindow('several', { at: other })
  proxy.refuse(true)
  proxy.cut()
  for (const window of windows) await untilNotOpen(window)
  await writer.click('#document')
  await writer.type('abc')
  await untilStored(writer)
  const [last, ...closed] = windows
  assert.ok(last)
  for (const [index, window] of closed.entries()) {
    await window.click('#document')
    await window.type(`${index}${index}${index}`)
    await untilKept(window)
    await window.close()
  }
  proxy.refuse(false)
  await untilOpen(last, mode)
  const isWhole = async () => [...(await last.run(textShown))].toSorted().join('') === '000111abc'
  await until(isWhole, 'not every text is there exactly once').catch(async (error) => {
    throw new Error(`${error.message} It shows ${JSON.stringify(await last.run(textShown))}.`)
  })
  const text = await last.run(textShown)
  for (const part of ['000', '111', 'abc']) assert.ok(text.includes(part), text)
  await untilShows(writer, text)
  await untilStored(last)
  await untilNoneKept(last)
  for (const window of [last, writer]) await window.close()
})

test('hundreds of edits without a server are counted one by one, stored together, and sent once', async () => {
  const window = await openWindow('many')
  await window.click('#document')
  await window.type('!')
  await untilStored(window)
  await server.close()
  await untilNotOpen(window)
  for (let n = 0; n < 150; n += 1) await window.key(String.fromCharCode(97 + (n % 26)))
  const text = await window.run(textShown)
  assert.equal(text.length, 151)
  assert.equal(await window.run(unstored), 150)
  await untilKept(window)
  await until(async () => (await window.run(draftsKept)) < 100, 'the edits are not merged')
  await window.close()
  server = await startServer()
  const next = await openWindow('many')
  await untilShows(next, text)
  await untilStored(next)
  await untilNoneKept(next)
  await assertStored('many', text)
  await next.close()
})

test('browser and server both restart: text typed in between is there, once', async () => {
  const window = await openWindow('restarted')
  await window.click('#document')
  await window.type('stored ')
  await untilStored(window)
  await server.close()
  await untilNotOpen(window)
  await window.type('unsent')
  await untilKept(window)
  await browser.quit()
  server = await startServer()
  await assertStored('restarted', 'stored ')
  browser = await startBrowser({ name: browserName, profile: join(folder, 'profile') })
  const next = await openWindow('restarted')
  await untilShows(next, 'stored unsent')
  await untilStored(next)
  await untilNoneKept(next)
  await assertStored('restarted', 'stored unsent')
})
