// The clients of one load process, opened per browser and closed together.

import { nameOf, newKey } from '../clients/client.ts'
import { type Browser, openBrowser } from './lean-http.ts'
import { type LoadClient, openClient, type Target } from './load-client.ts'
import { type Author, createMarkReader } from './marked-messages.ts'

export interface FleetPlan {
  readonly target: Target
  /** First of its window numbers. */
  readonly firstWindow: number
  readonly windows: number
  /** Over HTTP/2 the windows of a browser share its session. */
  readonly perBrowser: number
  readonly channel: string
  readonly openingAtOnce: number
}

export type Fleet = Awaited<ReturnType<typeof openFleet>>

interface FleetListener {
  /** `window` counts from 0 in this fleet. */
  readonly onMark: (window: number, mark: number) => void
  readonly onFailure: (why: string) => void
}

/** Rejects when a client is refused. */
export async function openFleet(plan: FleetPlan, listener: FleetListener) {
  const { target, firstWindow, windows, perBrowser, openingAtOnce, channel } = plan
  const browsers: Browser[] = []
  const clients: LoadClient[] = []
  // The windows of a browser share a key, as pages do.
  const keys = Array.from({ length: Math.ceil(windows / perBrowser) }, newKey)
  const nameAt = (key: string, window: number) => nameOf(key, `w${firstWindow + window}`)

  async function openClientAt(browser: Browser, key: string, window: number): Promise<void> {
    clients[window] = await openClient(target, {
      browser,
      query: new URLSearchParams({ window: nameAt(key, window), key, channels: channel }),
      onBytes: createMarkReader((mark) => listener.onMark(window, mark)),
      onFailure: (why) => listener.onFailure(`Window ${firstWindow + window}: ${why}.`),
    })
  }

  // Shared by all lanes: an idle one opens the next browser.
  const waiting = keys.entries()
  async function lane(): Promise<void> {
    for (const [place, key] of waiting) {
      const browser = await openBrowser(target.origin, target.http)
      browsers.push(browser)
      const first = place * perBrowser
      // Sequential: over HTTP/1.1 each window opens a connection, which counts against the bound.
      for (let window = first; window < Math.min(first + perBrowser, windows); window += 1)
        await openClientAt(browser, key, window)
    }
  }
  await Promise.all(Array.from({ length: Math.min(openingAtOnce, keys.length) }, lane))

  const [first] = clients
  const author: Author | null =
    first && firstWindow === 0 ? { name: nameAt(keys[0] ?? '', 0), channel, publish: first.publish } : null
  return {
    /** Window 0, which publishes; null in other processes. */
    author,
    close(): void {
      for (const client of clients) client.close()
      for (const browser of browsers) browser.close()
    },
  }
}
