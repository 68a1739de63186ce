// The windows of one load process: opened browser by browser, tallied together, closed together.

import { type Browser, openBrowser } from './browser.ts'
import { inParallel } from './in-parallel.ts'
import { createMarkReader } from './mark.ts'
import { openingFor, type Target } from './target.ts'
import type { LoadWindow } from './window.ts'

export interface FleetPlan {
  readonly target: Target
  /** Numbers of its windows among all: from `firstWindow`, as many as `windows`. */
  readonly firstWindow: number
  readonly windows: number
  /** Windows that share a browser, and over HTTP/2 its session. */
  readonly perBrowser: number
  readonly channel: string
  /** Browsers that may be opening at a time. */
  readonly openingAtOnce: number
}

export interface Fleet {
  readonly windows: readonly LoadWindow[]
  readonly close: () => void
}

export interface FleetEvents {
  readonly onMark: (window: number, mark: number) => void
  readonly onFailure: (why: string) => void
}

/** Window ids begin with the channel, so that runs at one server do not meet. */
export const windowName = ({ channel }: Pick<FleetPlan, 'channel'>, number: number) => `${channel}-w${number}`

/** Rejects when a window is refused. */
export async function openFleet(plan: FleetPlan, on: FleetEvents): Promise<Fleet> {
  const { target, windows, perBrowser, openingAtOnce } = plan
  const starts = Array.from({ length: Math.ceil(windows / perBrowser) }, (_, index) => index * perBrowser)
  const browsers: Browser[] = []
  const opened = await inParallel(starts, openingAtOnce, async (start) => {
    const browser = await openBrowser(target.origin, target.http)
    browsers.push(browser)
    const places = Array.from({ length: Math.min(perBrowser, windows - start) }, (_, index) => start + index)
    // Over HTTP/1.1 each of them is a connection of its own: one after the other keeps the bound.
    return inParallel(places, 1, (place) => openWindow(plan, browser, place, on))
  })
  const all = opened.flat()
  return {
    windows: all,
    close() {
      for (const window of all) window.close()
      for (const browser of browsers) browser.close()
    },
  }
}

function openWindow(plan: FleetPlan, browser: Browser, place: number, on: FleetEvents): Promise<LoadWindow> {
  const { target, firstWindow, perBrowser, channel } = plan
  const number = firstWindow + place
  const query = new URLSearchParams({
    window: windowName(plan, number),
    channels: channel,
    browser: `${channel}-b${Math.floor(number / perBrowser)}`,
  })
  return openingFor(target)({
    browser,
    query,
    polling: target.polling,
    onBytes: createMarkReader((mark) => on.onMark(place, mark)),
    onFailure: (why) => on.onFailure(`Window ${number}: ${why}.`),
  })
}
