// A real server and browser windows for one test file.

import { join } from 'node:path'
import type { Config } from '../../app/config/config.ts'
import { documentPath } from '../../app/shared/document-api.ts'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { type HttpVersion, type Mode, modes } from '../../protocol/modes.ts'
import {
  type Browser,
  type BrowserName,
  type BrowserWindow,
  browserNames,
  startBrowser,
  until,
} from '../browser/browser.ts'
import { isKept, isThere, linkState, press, textShown, unstored } from './page.ts'

export const webFolder = join(import.meta.dirname, '../../web/dist')

/** Set by `CROSSWIND_BROWSER=firefox`; default Chromium. */
export const browserName: BrowserName = readBrowserName(process.env.CROSSWIND_BROWSER || 'chromium')

function readBrowserName(name: string): BrowserName {
  const found = browserNames.find((each) => each === name)
  if (!found) throw new Error(`CROSSWIND_BROWSER is ${name}: must be ${browserNames.join(' or ')}.`)
  return found
}

/** Firefox cannot stream request bodies. */
export const modesIn = (name: BrowserName): readonly Mode[] =>
  modes.filter(({ uplink }) => name === 'chromium' || uplink !== 'streamed')

export const browserModes = modesIn(browserName)

export interface Stage {
  /** The one that runs, or ran last. */
  readonly server: TestServer
  /** Starts another on the same ports. */
  readonly restartServer: () => Promise<void>
  readonly browser: Browser
  /** Has its own connections: a browser opens at most six per host over HTTP/1.1. */
  readonly anotherBrowser: () => Promise<Browser>
  /** Resolves when the links of all windows are open. */
  readonly open: (
    mode: Mode,
    count: number,
    channel: string,
    otherwise?: {
      readonly pageHttp?: HttpVersion
      readonly browser?: Browser
      readonly server?: Pick<TestServer, 'origin'>
    },
  ) => Promise<BrowserWindow[]>
  /** Closes the browsers' windows: each costs processor time while open, and a failed test leaves its own. */
  readonly closeWindows: () => Promise<void>
  readonly close: () => Promise<void>
}

export async function openStage(change: Partial<Config> = {}, name = browserName): Promise<Stage> {
  let server = await startTestServer(change, webFolder)
  const browsers: Browser[] = []
  const opened = new Set<BrowserWindow>()

  async function start(): Promise<Browser> {
    const browser = await startBrowser({ name })
    browsers.push(browser)
    async function newWindow(): Promise<BrowserWindow> {
      const window = await browser.newWindow()
      const own: BrowserWindow = {
        ...window,
        async close() {
          if (opened.delete(own)) await window.close()
        },
      }
      opened.add(own)
      return own
    }
    return { ...browser, newWindow }
  }

  const first = await start()

  return {
    get server() {
      return server
    },
    async restartServer() {
      const { '2': port, '1.1': http1Port } = server.ports
      server = await startTestServer({ ...change, port, http1Port }, webFolder)
    },
    browser: first,
    anotherBrowser: start,
    async open(mode, count, channel, { pageHttp = mode.http, browser = first, server: from = server } = {}) {
      const query = new URLSearchParams({ transport: mode.transport, http: mode.http, record: '' })
      const windows: BrowserWindow[] = []
      for (let index = 0; index < count; index += 1) {
        const window = await browser.newWindow()
        await window.open(`${from.origin[pageHttp]}${documentPath(channel)}?${query}`)
        windows.push(window)
      }
      for (const window of windows) await untilOpen(window, mode)
      return windows
    },
    async closeWindows() {
      for (const window of opened) await window.close()
    },
    async close() {
      for (const browser of browsers) await browser.quit()
      await server.close()
    },
  }
}

/** The link opens in parallel with the page's parts: waits for both. */
export async function untilOpen(window: BrowserWindow, mode: Pick<Mode, 'name'>): Promise<void> {
  const isOpen = async () => {
    const { state, mode: name, isRendered } = await window.run(linkState)
    return state === 'open' && name === mode.name && isRendered
  }
  await until(isOpen, `a window did not open in ${mode.name}`)
}

/** A page that ends at once would take what the browser has not written yet. */
export async function untilKept(window: BrowserWindow): Promise<void> {
  await until(() => window.run(isKept), 'the typed text is not kept')
}

export async function untilStored(window: BrowserWindow): Promise<void> {
  await until(async () => (await window.run(unstored)) === 0, 'the typed text was not stored')
}

export async function untilNotOpen(window: BrowserWindow): Promise<void> {
  await until(async () => (await window.run(linkState)).state !== 'open', 'the loss was not noticed')
}

/** Rejects with the text that is shown instead. */
export async function untilShows(window: BrowserWindow, text: string): Promise<void> {
  await until(
    async () => (await window.run(textShown)) === text,
    `a window does not show ${JSON.stringify(text)}`,
  ).catch(async (error) => {
    throw new Error(`${error.message} It shows ${JSON.stringify(await window.run(textShown))}.`)
  })
}

/** Chooses an item of the document's menu; one that opens a dialog ends with `…`. */
export async function chooseInMenu({ run }: Pick<BrowserWindow, 'run'>, item: string): Promise<void> {
  await run(press, '.menu-button', 'Menu')
  await until(() => run(isThere, '.menu-item'), 'the menu did not open')
  await run(press, '.menu-item', item)
}

/** Opens the panel of the page's state. */
export async function openConnection(window: Pick<BrowserWindow, 'run' | 'click'>): Promise<void> {
  await window.click('.connection-button')
  await until(() => window.run(isThere, '.connection-panel'), 'the panel did not open')
}
