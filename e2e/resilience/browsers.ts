// Real Chromium windows in the midst of the faults: the first one types, and all must end equal to the log.

import type { HttpVersion, Mode } from '../../server/wire/modes.ts'
import type { LabDoor } from '../../web/lab/door.ts'
import { type Browser, type BrowserWindow, startBrowser } from '../browser/browser.ts'
import { until } from '../browser/until.ts'
import { requireMode } from '../lab/subject.ts'
import { linkState, textShown } from '../windows/page.ts'
import { accountFor } from './accounting.ts'
import type { BrowserRecord, Seen } from './record.ts'

/** In turns. */
const modeNames = ['sse/2', 'websocket/1.1']

/** A channel of their own: an editor shows the whole content of its channel, and the fleet's is no text. */
export const browserChannel = 'resilience-browsers'

const openWithinMs = 30_000

export interface BrowserPart {
  /** `chrome 156`; `none` without windows. */
  readonly version: string
  /** Types a letter every now and then until it is told to stop; resolves when it has. */
  readonly type: (signal: AbortSignal) => Promise<void>
  /** Waits, bounded, until every window shows what was typed. */
  readonly settle: (withinMs: number) => Promise<void>
  /** Holds what each window received and shows to the log. `content` is the text of the log's last edit. */
  readonly records: (log: readonly Seen[], content: string) => Promise<BrowserRecord[]>
  readonly close: () => Promise<void>
}

export async function openBrowsers(
  count: number,
  origin: Readonly<Record<HttpVersion, string>>,
): Promise<BrowserPart> {
  if (count === 0) return noBrowsers
  const browser = await startBrowser()
  try {
    const modes = Array.from({ length: count }, (_, place) =>
      requireMode(modeNames[place % modeNames.length] ?? ''),
    )
    const windows: Shown[] = []
    for (const mode of modes) windows.push({ mode, window: await openPage(browser, mode, origin) })
    return partOf(browser, windows)
  } catch (error) {
    await browser.quit()
    throw error
  }
}

interface Shown {
  readonly mode: Mode
  readonly window: BrowserWindow
}

const noBrowsers: BrowserPart = {
  version: 'none',
  type: async () => undefined,
  settle: async () => undefined,
  records: async () => [],
  close: async () => undefined,
}

async function openPage(
  browser: Browser,
  mode: Mode,
  origin: Readonly<Record<HttpVersion, string>>,
): Promise<BrowserWindow> {
  const { transport, http } = mode
  const query = new URLSearchParams({ transport, http, channel: browserChannel, record: '' })
  const window = await browser.newWindow()
  await window.open(`${origin[http]}/?${query}`)
  const isOpen = async () => (await window.run(linkState)).state === 'open'
  await until(isOpen, `a window of Chromium did not open in ${mode.name}`, openWithinMs)
  return window
}

function partOf(browser: Browser, shown: readonly Shown[]): BrowserPart {
  const typist = shown[0]?.window
  let typed = ''

  return {
    version: browser.version,
    async type(signal) {
      await typist?.click('#document')
      while (!signal.aborted) {
        const letter = String.fromCharCode(97 + (typed.length % 26))
        await typist?.key(letter)
        typed += letter
        await new Promise((resolve) => setTimeout(resolve, 250))
      }
    },
    async settle(withinMs) {
      for (const { window } of shown) {
        const isThere = async () => (await window.run(textShown)) === typed
        // What is missing is counted later: running out of time here is no error.
        await until(isThere, '', withinMs).catch(() => undefined)
      }
    },
    async records(log, content) {
      const accepted = new Map(log.map(({ id, seq }) => [id, seq]))
      const records: BrowserRecord[] = []
      for (const [place, { mode, window }] of shown.entries()) {
        const text = await window.run(textShown)
        const { n, lost, duplicated, reordered } = accountFor(await window.run(editsSeen), accepted)
        records.push({
          mode: mode.name,
          isWriter: place === 0,
          typed: place === 0 ? typed.length : 0,
          expected: accepted.size,
          n,
          lost: lost.length,
          duplicated: duplicated.length,
          reordered: reordered.length,
          isEqual: text === typed && text === content,
        })
      }
      return records
    },
    close: () => browser.quit(),
  }
}

// What follows runs in the page.

type Page = typeof globalThis & { readonly crosswind?: LabDoor }

function editsSeen(): { id: string; seq: number }[] {
  const received = (globalThis as Page).crosswind?.take().received ?? []
  return received.filter(({ kind }) => kind === 'edit').map(({ id, seq }) => ({ id, seq }))
}
