// Opens pages in windows, types into the first one, waits for what the others receive, and reads their stamps.

import type { LabDoor } from '../../web/lab/door.ts'
import type { ReceivedStamp, SentStamp } from '../../web/lab/recorder.ts'
import { type ClockReading, checkClocks, followClock } from '../lab/clock.ts'
import type { Browser, BrowserWindow } from './browser.ts'
import { exchangeClocks, readTickOffset } from './page-clock.ts'
import { until } from './until.ts'

const clockTicks = 20
const clockRetries = 8
const closeEnoughMs = 0.02
const clockExchanges = 30
const openWithinMs = 20_000
const receiveWithinMs = 5000

export async function openWindows(browsers: readonly Browser[], count: number): Promise<BrowserWindow[]> {
  const windows: BrowserWindow[] = []
  for (let index = 0; index < count; index += 1) {
    const browser = browsers[index % browsers.length]
    if (browser) windows.push(await browser.newWindow())
  }
  return windows
}

export interface Content {
  readonly text: string
  /** The page does not bring the text back by itself. */
  readonly forgets: boolean
}

/** Shows the page in every window, waits until all are linked and show the text, and puts the caret behind it. */
export async function showPages(
  windows: readonly BrowserWindow[],
  address: string,
  { text, forgets }: Content,
): Promise<void> {
  for (const window of windows) await window.open(address)
  for (const window of windows) {
    await until(() => window.run(isLinked), `a window at ${address} did not open its link`, openWithinMs)
    if (forgets && text !== '') await window.run(putText, text)
    await until(
      () => window.run(showsText, text),
      `a window at ${address} does not show its text`,
      openWithinMs,
    )
  }
  await first(windows).run(placeCaretAtEnd)
}

/** Types some keys and takes them back, so that the text is what it was. */
export async function warmUp(
  windows: readonly BrowserWindow[],
  keys: number,
  intervalMs: number,
): Promise<void> {
  const letters = Array.from({ length: keys }, () => 'x')
  const backspace = '\uE003'
  const marks = await typeKeys(windows, [...letters, ...letters.map(() => backspace)], intervalMs)
  await stampsOf(windows, marks)
}

/** How much each window had sent and received when the typing began. */
export interface Marks {
  readonly sent: number
  readonly received: readonly number[]
}

/** Types into the first window; each key is due at a set time, so that a slow one does not make the next ones slower. */
export async function typeKeys(
  windows: readonly BrowserWindow[],
  keys: readonly string[],
  intervalMs: number,
  onKey: (typed: number) => void = () => undefined,
  signal?: AbortSignal,
): Promise<Marks> {
  const counts = await Promise.all(windows.map((window) => window.run(countStamps)))
  const typist = first(windows)
  const start = performance.now()
  for (const [place, key] of keys.entries()) {
    signal?.throwIfAborted()
    await pause(start + place * intervalMs - performance.now())
    await typist.key(key)
    onKey(place + 1)
  }
  return { sent: counts[0]?.sent ?? 0, received: counts.map(({ received }) => received) }
}

/** Waits until every window has every message or the time is up, then reads all stamps since the marks. */
export async function stampsOf(windows: readonly BrowserWindow[], marks: Marks) {
  const typist = first(windows)
  const sentSince = (await typist.run(readStamps, marks.sent, 0)).sent
  const ids = sentSince.map(({ id }) => id)
  const received: ReceivedStamp[][] = []
  for (const [index, window] of windows.entries()) {
    const from = marks.received[index] ?? 0
    // What is lost is counted later: running out of time here is no error.
    await until(() => window.run(hasAll, ids, from), '', receiveWithinMs).catch(() => undefined)
    received.push((await window.run(readStamps, 0, from)).received)
  }
  return { sent: sentSince as readonly SentStamp[], received }
}

/** Against the machine's clock, or the server's where windows are on several machines. */
export async function readClocks(
  windows: readonly BrowserWindow[],
  method: 'one machine' | 'server exchange',
): Promise<ClockReading[]> {
  const readings: ClockReading[] = []
  for (const window of windows) readings.push(await readClock(window, method))
  return readings
}

/** A busy moment makes a reading wide, not wrong: it is taken again, and the closest one kept. */
async function readClock(
  window: BrowserWindow,
  method: 'one machine' | 'server exchange',
): Promise<ClockReading> {
  if (method === 'server exchange') return readAgainstServer(window)
  let best = await window.run(readTickOffset, clockTicks)
  for (let again = 0; again < clockRetries && best.boundMs > closeEnoughMs; again += 1) {
    const next = await window.run(readTickOffset, clockTicks)
    if (next.boundMs < best.boundMs) best = next
  }
  return best
}

/** However wide: the samples' own check judges that. */
async function readAgainstServer(window: BrowserWindow): Promise<ClockReading> {
  const clock = followClock('a window', (times) => window.run(exchangeClocks, times, ''))
  const [reading] = await checkClocks([clock], {
    exchanges: clockExchanges,
    mostBoundMs: Number.POSITIVE_INFINITY,
  })
  if (!reading) throw new Error('A window’s clock could not be read.')
  return reading
}

function first(windows: readonly BrowserWindow[]): BrowserWindow {
  const [window] = windows
  if (!window) throw new Error('There is no window to type into.')
  return window
}

function pause(ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms))
}

// What follows runs in the page.

type Page = typeof globalThis & { readonly crosswind?: LabDoor }

function isLinked(): boolean {
  return (globalThis as Page).crosswind?.view().link.state === 'open'
}

function showsText(text: string): boolean {
  return document.querySelector('#document')?.textContent === text
}

function putText(text: string): void {
  const paragraph = document.createElement('p')
  paragraph.textContent = text
  document.querySelector('#document')?.replaceChildren(paragraph)
}

function placeCaretAtEnd(): void {
  const editor = document.querySelector<HTMLElement>('#document')
  if (!editor) return
  editor.focus()
  const place = document.createRange()
  place.selectNodeContents(editor.lastElementChild ?? editor)
  place.collapse(false)
  getSelection()?.removeAllRanges()
  getSelection()?.addRange(place)
}

function countStamps() {
  const taken = (globalThis as Page).crosswind?.take()
  return { sent: taken?.sent.length ?? 0, received: taken?.received.length ?? 0 }
}

function readStamps(sentFrom: number, receivedFrom: number) {
  const taken = (globalThis as Page).crosswind?.take()
  return { sent: taken?.sent.slice(sentFrom) ?? [], received: taken?.received.slice(receivedFrom) ?? [] }
}

function hasAll(ids: readonly string[], from: number): boolean {
  const received = (globalThis as Page).crosswind?.take().received.slice(from) ?? []
  const known = new Set(received.map(({ id }) => id))
  return ids.every((id) => known.has(id))
}
