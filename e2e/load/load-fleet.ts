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
  /** Each window reads and writes a channel of its own, `channel` with its number, not one that all share. */
  readonly hasOwnChannels?: boolean
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
  const { target, firstWindow, windows, perBrowser, openingAtOnce, channel, hasOwnChannels = false } = plan
  const browsers: Browser[] = []
  const clients: LoadClient[] = []
  // The windows of a browser share a key, as pages do.
  const keys = Array.from({ length: Math.ceil(windows / perBrowser) }, newKey)
  const nameAt = (window: number) =>
    nameOf(keys[Math.floor(window / perBrowser)] ?? '', `w${firstWindow + window}`)
  const channelAt = (window: number) => (hasOwnChannels ? `${channel}-${firstWindow + window}` : channel)

  async function openClientAt(browser: Browser, key: string, window: number): Promise<void> {
    clients[window] = await openClient(target, {
      browser,
      query: new URLSearchParams({ window: nameAt(window), key, channels: channelAt(window) }),
      onBytes: createMarkReader((mark) => listener.onMark(window, mark)),
      onEnd: (why) => listener.onFailure(`Window ${firstWindow + window}: ${why}.`),
    })
  }

  // Shared by all lanes: an idle one opens the next browser.
  const waiting = keys.entries()
  async function lane(): Promise<void> {
    for (const [place, key] of waiting) {
      const first = place * perBrowser
      const address = sourceAddress(firstWindow + first, target.origin)
      const browser = await openBrowser(target.origin, target.http, address)
      browsers.push(browser)
      // Sequential: over HTTP/1.1 each window opens a connection, which counts against the bound.
      for (let window = first; window < Math.min(first + perBrowser, windows); window += 1)
        await openClientAt(browser, key, window)
    }
  }
  await Promise.all(Array.from({ length: Math.min(openingAtOnce, keys.length) }, lane))

  /** Who publishes in the window's name. Throws for a window that is not of this fleet. */
  function authorAt(window: number): Author {
    const client = clients[window]
    if (!client) throw new RangeError(`There is no window ${window} among ${windows}.`)
    return { name: nameAt(window), channel: channelAt(window), publish: client.publish }
  }

  return {
    /** Window 0, which publishes; null in other processes. */
    author: firstWindow === 0 && windows > 0 ? authorAt(0) : null,
    authorAt,
    receivedBytes: () => browsers.reduce((sum, browser) => sum + browser.receivedBytes(), 0),
    close(): void {
      for (const client of clients) client.close()
      for (const browser of browsers) browser.close()
    },
  }
}

/** One address and one port of a server can be joined from 28,000 ports of Linux, of which other programs take some. */
const windowsPerAddress = 10_000

/**
 * Of 127.0.0.0/8, all of which is Linux's own; other systems have 127.0.0.1 alone. Each server is joined from addresses of its
 * own: a socket that is bound to an address takes its port towards all servers, a minute longer than it lives.
 */
export function sourceAddress(window: number, origin: string): string | undefined {
  if (process.platform !== 'linux') return undefined
  const port = Number(new URL(origin).port)
  return `127.${port >> 8}.${port & 255}.${Math.floor(window / windowsPerAddress) + 1}`
}
