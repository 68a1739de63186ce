// The windows of a site that are real: Chromium's, each on the app's own page, through its own link.

import type { Mode } from '../../../server/wire/modes.ts'
import type { LabDoor } from '../../../web/lab/door.ts'
import type { Browser, BrowserWindow } from '../../browser/browser.ts'
import { exchangeClocks } from '../../browser/page-clock.ts'
import { readClocks } from '../../browser/typing.ts'
import { type ClockReading, type FollowedClock, followClock } from '../../lab/clock.ts'
import { clockName } from '../../lab/windcomm/clocks.ts'
import type { Receipt } from '../../lab/windcomm/matching.ts'
import type { Ground } from './ground.ts'
import { channelOf, type ListeningWindow, refuseOtherMode } from './window.ts'

export interface Page extends ListeningWindow {
  /** Against the server, by the way that no link slows down. */
  readonly clock: FollowedClock
  /** Against the machine's clock. */
  readonly readTicks: () => Promise<ClockReading>
}

/** Small, as all of them are painted by the same processors. */
const size = { width: 520, height: 640 }

export async function openPage(browser: Browser, ground: Ground, site: string, mode: Mode): Promise<Page> {
  const window = await browser.newWindow()
  await window.resize(size.width, size.height)
  await window.open(addressOf(ground.originOf(site, mode.name), site, mode))
  return pageOf(window, ground, site, mode.name)
}

/**
 * The page takes the wind in and does not draw it: in the paper a computer had one window and left its display out, here six
 * would draw on the processors that carry the server and the links.
 */
function addressOf(origin: string, site: string, { name, transport, http }: Mode): string {
  const channel = channelOf(site, name)
  return `${origin}/?${new URLSearchParams({ transport, http, channel, view: 'editor', record: '' })}`
}

function pageOf(window: BrowserWindow, ground: Ground, site: string, mode: string): Page {
  const direct = ground.server.origin['1.1']
  return {
    site,
    mode,
    isOpen: async () => (await window.run(linkNow)).state === 'open',
    count: () => window.run(countReadings),
    has: (id) => window.run(hasReading, id),
    async receipts() {
      refuseOtherMode(site, mode, (await window.run(linkNow)).mode)
      return window.run(readReceipts)
    },
    // The browser is closed as a whole.
    close: () => undefined,
    clock: followClock(clockName(site, mode), (times) => window.run(exchangeClocks, times, direct)),
    async readTicks() {
      const [reading] = await readClocks([window], 'one machine')
      if (!reading) throw new Error(`The clock of ${clockName(site, mode)} was not read.`)
      return reading
    },
  }
}

// What follows runs in the page.

type InPage = typeof globalThis & { readonly crosswind?: LabDoor }

function linkNow(): { state: string | undefined; mode: string | undefined } {
  const { view } = (globalThis as InPage).crosswind ?? {}
  // Until the app runs, that name is the element that it will be put in.
  const link = typeof view === 'function' ? view().link : undefined
  return { state: link?.state, mode: link?.mode }
}

function countReadings(): number {
  const received = (globalThis as InPage).crosswind?.take().received ?? []
  return received.filter(({ kind }) => kind === 'reading').length
}

function hasReading(wanted: string): boolean {
  return (globalThis as InPage).crosswind?.take().received.some(({ id }) => id === wanted) ?? false
}

function readReceipts(): Receipt[] {
  const received = (globalThis as InPage).crosswind?.take().received ?? []
  return received.filter(({ kind }) => kind === 'reading').map(({ id, receivedAt }) => ({ id, receivedAt }))
}
