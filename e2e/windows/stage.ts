// A real server and real windows for one test file; all that was opened is closed again.

import { join } from 'node:path'
import type { Config } from '../../server/config/config.ts'
import { startTestServer, type TestServer } from '../../server/testing.ts'
import type { HttpVersion, Mode } from '../../server/wire/modes.ts'
import { type Browser, type BrowserWindow, startBrowser } from '../browser/browser.ts'
import { until } from '../browser/until.ts'
import { linkState, textShown } from './page.ts'

/** The web app as it was built. */
export const webFolder = join(import.meta.dirname, '../../web/dist')

export interface Stage {
  readonly server: TestServer
  readonly browser: Browser
  /** One more, with connections of its own: a browser has no more than six to a host over HTTP/1.1. */
  readonly anotherBrowser: () => Promise<Browser>
  /** Opens windows in that mode, at the mode's own listener, and waits until their links are open. */
  readonly open: (
    mode: Mode,
    count: number,
    channel: string,
    otherwise?: { readonly pageHttp?: HttpVersion; readonly browser?: Browser },
  ) => Promise<BrowserWindow[]>
  readonly close: () => Promise<void>
}

export async function openStage(change: Partial<Config> = {}): Promise<Stage> {
  const server = await startTestServer(change, webFolder)
  const first = await startBrowser()
  const browsers = [first]
  return {
    server,
    browser: first,
    async anotherBrowser() {
      const browser = await startBrowser()
      browsers.push(browser)
      return browser
    },
    async open(mode, count, channel, { pageHttp = mode.http, browser = first } = {}) {
      const query = new URLSearchParams({ transport: mode.transport, http: mode.http, channel, record: '' })
      const windows: BrowserWindow[] = []
      for (let index = 0; index < count; index += 1) {
        const window = await browser.newWindow()
        await window.open(`${server.origin[pageHttp]}/?${query}`)
        windows.push(window)
      }
      for (const window of windows) await untilOpen(window, mode)
      return windows
    },
    async close() {
      for (const browser of browsers) await browser.quit()
      await server.close()
    },
  }
}

export async function untilOpen(window: BrowserWindow, mode: Mode): Promise<void> {
  const isOpen = async () => {
    const link = await window.run(linkState)
    return link.state === 'open' && link.mode === mode.name
  }
  await until(isOpen, `a window did not open in ${mode.name}`)
}

/** Rejects, with what it shows instead, when the window does not come to show that text. */
export async function untilShows(window: BrowserWindow, text: string): Promise<void> {
  await until(
    async () => (await window.run(textShown)) === text,
    `a window does not show ${JSON.stringify(text)}`,
  ).catch(async (error) => {
    throw new Error(`${error.message} It shows ${JSON.stringify(await window.run(textShown))}.`)
  })
}

export async function type(window: BrowserWindow, text: string): Promise<void> {
  for (const key of text) await window.key(key)
}
