// Chromium windows during the faults: the first one types, and all must end equal to the log.

import { setTimeout as delay } from 'node:timers/promises'
import { linesIn } from '../../server/document/document-reader.ts'
import { textOf } from '../../server/document/rich-text.ts'
import type { Message } from '../../server/wire/messages.ts'
import type { HttpVersion } from '../../server/wire/modes.ts'
import type { LabDoor } from '../../web/lab.ts'
import { type Browser, type BrowserWindow, startBrowser, until } from '../browser/browser.ts'
import { requireMode } from '../lab/mode-names.ts'
import { linkState, textShown } from '../windows/page.ts'
import { accountFor, type BrowserRecord, type Outage } from './resilience-summary.ts'

const modes = ['sse/2', 'websocket/1.1'].map(requireMode)

/** The fleet's content is no text for an editor. */
export const browserChannel = 'resilience-browsers'

const openWithinMs = 30_000

export class BrowserWindows {
  /** `chrome 156`, or `none` without windows. */
  version = 'none'
  #browser: Browser | null = null
  readonly #shown: { readonly mode: string; readonly window: BrowserWindow }[] = []
  #typed = ''

  /** Rejects when a window does not open; call `close` in any case. */
  async open(count: number, origin: Readonly<Record<HttpVersion, string>>): Promise<void> {
    if (count === 0) return
    this.#browser = await startBrowser()
    this.version = this.#browser.version
    for (let place = 0; place < count; place += 1) {
      const mode = modes[place % modes.length]
      if (!mode) continue
      const { name, transport, http } = mode
      const query = new URLSearchParams({ transport, http, channel: browserChannel, record: '' })
      const window = await this.#browser.newWindow()
      await window.open(`${origin[http]}/?${query}`)
      const isOpen = async () => {
        const { state, isRendered } = await window.run(linkState)
        return state === 'open' && isRendered
      }
      await until(isOpen, `a window of Chromium did not open in ${name}`, openWithinMs)
      await window.run(watchOutages)
      this.#shown.push({ mode: name, window })
    }
  }

  /** Four letters a second until the signal aborts. */
  async type(signal: AbortSignal): Promise<void> {
    const typist = this.#shown[0]?.window
    await typist?.click('#document')
    while (typist && !signal.aborted) {
      const letter = String.fromCharCode(97 + (this.#typed.length % 26))
      await typist.key(letter)
      this.#typed += letter
      await delay(250)
    }
  }

  async settle(withinMs: number): Promise<void> {
    for (const { window } of this.#shown) {
      const isThere = async () => (await window.run(textShown)) === this.#typed
      // A timeout is no error: missing text is counted later.
      await until(isThere, '', withinMs).catch(() => undefined)
    }
  }

  /** `log`: of the windows' channel; `elapsedMs`: time since the run began. */
  async records(log: readonly Message[], elapsedMs: number): Promise<readonly BrowserRecord[]> {
    const beganAt = Date.now() - elapsedMs
    const accepted = new Map(log.map(({ id, seq }) => [id, seq]))
    const content = await contentOf(log)
    const shown = this.#shown.entries().map(async ([place, { mode, window }]) => {
      const text = await window.run(textShown)
      const { n, lost, duplicated, reordered } = accountFor(await window.run(editsSeen), accepted)
      const outages = (await window.run(outagesSeen)).map(({ fromMs, toMs }) => ({
        fromMs: fromMs - beganAt,
        toMs: toMs === null ? null : toMs - beganAt,
      }))
      return {
        name: `chromium-${place + 1}`,
        outages,
        mode,
        isWriter: place === 0,
        typed: place === 0 ? this.#typed.length : 0,
        expected: accepted.size,
        n,
        lost: lost.length,
        duplicated: duplicated.length,
        reordered: reordered.length,
        isEqual: text === this.#typed && text === content,
      }
    })
    return Promise.all(shown)
  }

  async close(): Promise<void> {
    await this.#browser?.quit()
  }
}

/** The text of the page that the log holds. */
async function contentOf(log: readonly Message[]): Promise<string> {
  return textOf(await linesIn(log))
}

// Runs in the page; must use nothing from this module.

type Page = typeof globalThis & { readonly crosswind?: LabDoor; outages?: Outage[] }

/** Samples 20 times a second; ms since the epoch. */
function watchOutages(): void {
  const page = globalThis as Page
  const outages: Outage[] = []
  page.outages = outages
  setInterval(() => {
    const isOpen = page.crosswind?.view().link.state === 'open'
    const last = outages.at(-1)
    if (!isOpen && last?.toMs !== null) outages.push({ fromMs: Date.now(), toMs: null })
    else if (isOpen && last?.toMs === null) last.toMs = Date.now()
  }, 50)
}

function outagesSeen(): Outage[] {
  return (globalThis as Page).outages ?? []
}

function editsSeen(): { id: string; seq: number }[] {
  const received = (globalThis as Page).crosswind?.take().received ?? []
  return received.filter(({ kind }) => kind === 'edit').map(({ id, seq }) => ({ id, seq }))
}
