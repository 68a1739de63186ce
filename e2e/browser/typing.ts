// Recording windows: opens pages, types into the first, reads stamps and clocks.

import { setTimeout as delay } from 'node:timers/promises'
import type { FallbackReason } from '../../client/connect.ts'
import type { Exchange } from '../../client/wire.ts'
import type { LabDoor, ReceivedStamp, SentStamp } from '../../web/lab.ts'
import {
  type CheckedClock,
  type ClockReading,
  checkClocks,
  type FollowedClock,
  followClock,
} from '../lab/clock.ts'
import type { EditorName } from '../lab/mode-names.ts'
import { watchForStandstill } from '../lab/standstill.ts'
import { type Browser, type BrowserWindow, until } from './browser.ts'

const clockTicks = 20
const clockRetries = 8
const closeEnoughMs = 0.02
const clockExchanges = 30
const openWithinMs = 20_000
const receiveWithinMs = 5000

/** A window that a measurement can drive: a browser's, over WebDriver, or a joined device's. */
export interface RecordingWindow extends Pick<BrowserWindow, 'open' | 'run' | 'close'> {
  /**
   * For windows that a measurement can do without: excludes this one until its next page, and says
   * why.
   */
  readonly miss?: (why: string) => void
}

export async function openWindows(browsers: readonly Browser[], count: number): Promise<BrowserWindow[]> {
  const windows: BrowserWindow[] = []
  for (let index = 0; index < count; index += 1) {
    const browser = browsers[index % browsers.length]
    if (browser) windows.push(await browser.newWindow())
  }
  return windows
}

/** `addresses`: the same for all, or one for each. */
export async function showPages(
  windows: readonly RecordingWindow[],
  addresses: string | readonly string[],
  { text, forgets }: { readonly text: string; readonly forgets: boolean },
): Promise<void> {
  const addressOf = (index: number) => (typeof addresses === 'string' ? addresses : (addresses[index] ?? ''))
  for (const [index, window] of windows.entries()) await window.open(addressOf(index))
  for (const [index, window] of windows.entries()) {
    const where = `A window at ${addressOf(index)}`
    const opens = async () => {
      if (await window.run(isLinked)) return true
      const why = forgets ? await window.run(readFailure) : null
      if (why !== null) throw new Error(`its page failed: ${why}`)
      return false
    }
    await untilOrMissed(window, opens, where, forgets ? 'is still in open()' : 'did not open its link')
    if (forgets && text !== '') await window.run(putText, text)
    await untilOrMissed(window, () => window.run(showsText, text), where, 'does not show its text')
  }
  await first(windows).run(placeCaretAtEnd)
}

export interface WindowState {
  /** Whether the page and its document have loaded. */
  readonly isShown: boolean
  /** Its link is open too. */
  readonly isOpen: boolean
  /** The mode in use; null if the page does not report it. */
  readonly mode: string | null
  /** Why `mode` is not the requested one; null if it is. */
  readonly fall: FallbackReason | null
}

const absent: WindowState = { isShown: false, isOpen: false, mode: null, fall: null }

/**
 * Opens windows one after the other, each for at most `patienceMs`; after a failure, all others
 * together. Places the caret in the first. For browsers that do not wait for the load.
 */
export async function openPatiently(
  windows: readonly BrowserWindow[],
  address: string,
  patienceMs: number,
  signal?: AbortSignal,
): Promise<WindowState[]> {
  const states = windows.map(() => absent)
  const see = async (window: BrowserWindow) => {
    const state = await window.run(readState).catch(() => absent)
    states[windows.indexOf(window)] = state
    return state.isOpen
  }
  const opensWithin = (window: BrowserWindow, withinMs: number) =>
    until(() => see(window), '', withinMs).then(
      () => true,
      () => false,
    )
  for (const [index, window] of windows.entries()) {
    signal?.throwIfAborted()
    await window.open(address)
    if (await opensWithin(window, patienceMs)) continue
    const others = windows.slice(index + 1)
    for (const other of others) await other.open(address)
    await delay(patienceMs, undefined, { signal })
    for (const other of [window, ...others]) await see(other)
    break
  }
  if (states[0]?.isOpen) await first(windows).run(placeCaretAtEnd)
  return states
}

/** States of windows whose pages have loaded. */
export async function readStates(windows: readonly RecordingWindow[]): Promise<WindowState[]> {
  const states: WindowState[] = []
  for (const window of windows) states.push(await window.run(readState))
  return states
}

/** Pages that are not Crosswind's have no exchanges of clocks. */
export async function restClocks(windows: readonly RecordingWindow[]): Promise<void> {
  for (const window of windows) await window.run(restClock)
}

async function untilOrMissed(
  window: RecordingWindow,
  holds: () => Promise<boolean>,
  where: string,
  what: string,
): Promise<void> {
  try {
    await until(holds, `${where} ${what}`, openWithinMs)
  } catch (error) {
    if (!window.miss) throw error
    window.miss(`${what} in time`)
  }
}

/** Fills the first window's empty document; resolves when all show it, with the caret at its end. */
export async function fillPages(
  windows: readonly RecordingWindow[],
  paragraphs: readonly string[],
  editor: EditorName,
): Promise<void> {
  await first(windows).run(fillEditor, paragraphs, editor === 'shared')
  const length = paragraphs.join('').length
  for (const window of windows)
    await untilOrMissed(window, () => window.run(editorShows, length), 'A window', 'does not show its text')
  await first(windows).run(placeCaretAtEnd)
}

export async function warmUp(
  windows: readonly RecordingWindow[],
  keys: number,
  intervalMs: number,
  receivedWithinMs = receiveWithinMs,
): Promise<void> {
  const backspace = '\uE003'
  const marks = await typeKeys(windows, [...'x'.repeat(keys), ...backspace.repeat(keys)], intervalMs)
  await stampsOf(windows, marks, receivedWithinMs)
}

/**
 * Types on a fixed schedule: a slow key does not delay the next. Resolves to the windows' stamp
 * counts at the start. Rejects with `Standstill` if the machine stood still.
 */
export async function typeKeys(
  windows: readonly RecordingWindow[],
  keys: readonly string[],
  intervalMs: number,
  onKey: (typed: number) => void = () => undefined,
  signal?: AbortSignal,
) {
  const counts = await Promise.all(windows.map((window) => window.run(countStamps)))
  const typist = first(windows)
  const start = performance.now()
  const stepped = watchForStandstill()
  for (const [index, key] of keys.entries()) {
    signal?.throwIfAborted()
    const earlyMs = start + index * intervalMs - performance.now()
    if (earlyMs > 0) await delay(earlyMs)
    await typist.key(key)
    stepped()
    onKey(index + 1)
  }
  return { sent: counts[0]?.sent ?? 0, received: counts.map(({ received }) => received) }
}

/** Waits for all messages, at most `receivedWithinMs` in total. `marks`: where the stamps begin. */
export async function stampsOf(
  windows: readonly RecordingWindow[],
  marks: Awaited<ReturnType<typeof typeKeys>>,
  receivedWithinMs = receiveWithinMs,
) {
  const typist = first(windows)
  const sentSince = (await typist.run(readStamps, marks.sent, 0)).sent
  const ids = sentSince.map(({ id }) => id)
  const received: ReceivedStamp[][] = []
  const end = performance.now() + receivedWithinMs
  for (const [index, window] of windows.entries()) {
    const from = marks.received[index] ?? 0
    const leftMs = Math.max(0, end - performance.now())
    // A timeout is not an error here: lost messages are counted later.
    await until(() => window.run(hasAll, ids, from), '', leftMs).catch(() => undefined)
    received.push((await window.run(readStamps, 0, from)).received)
  }
  return { sent: sentSince, received }
}

interface Probing {
  /** Size of a probe's text. */
  readonly bytes: number
  readonly times: number
  /**
   * Pause before asking the windows, which would disturb a message in flight; doubled if that is
   * too early.
   */
  readonly intervalMs: number
  readonly receivedWithinMs: number
}

/**
 * Sends from the first window, one by one: the next once all windows have the previous one, or its
 * time is over.
 */
export async function sendProbes(windows: readonly BrowserWindow[], probing: Probing, signal?: AbortSignal) {
  const { bytes, times, receivedWithinMs } = probing
  const sent: SentStamp[] = []
  const received: ReceivedStamp[][] = windows.map(() => [])
  let pauseMs = probing.intervalMs
  for (let time = 1; time <= times; time += 1) {
    signal?.throwIfAborted()
    const counts = await Promise.all(windows.map((window) => window.run(countStamps)))
    const marks = { sent: counts[0]?.sent ?? 0, received: counts.map((count) => count.received) }
    const publishedAt = performance.now()
    if (!(await first(windows).run(publishProbe, bytes))) break
    await delay(pauseMs)
    const stamps = await stampsOf(windows, marks, receivedWithinMs - pauseMs)
    sent.push(...stamps.sent)
    for (const [index, one] of stamps.received.entries()) received[index]?.push(...one)
    const last = Math.max(...stamps.received.flat().map(({ receivedAt }) => receivedAt))
    const [{ sentAt } = { sentAt: last }] = stamps.sent
    if (performance.now() - publishedAt < receivedWithinMs && last - sentAt > pauseMs)
      pauseMs = Math.min(2 * pauseMs, receivedWithinMs / 2)
  }
  return { sent, received }
}

/**
 * Offsets to the machine's clock or, for windows on several machines, to the clock of the server at
 * `origin`.
 */
export async function readClocks(
  windows: readonly RecordingWindow[],
  method: 'one machine' | 'server exchange',
  origin = '',
  enoughMs = closeEnoughMs,
): Promise<ClockReading[]> {
  const overServer = (window: RecordingWindow) =>
    compareClock(pageClock(window, 'a window', origin), clockExchanges)
  const overSystem = (window: RecordingWindow) => readMachineClock(window, enoughMs)
  const read = method === 'one machine' ? overSystem : overServer
  const readings: ClockReading[] = []
  for (const window of windows) {
    const reading = await read(window).catch((error) => {
      if (!window.miss) throw error
      window.miss('had a clock that was changed meanwhile')
      return { offsetMs: 0, boundMs: 0 }
    })
    readings.push(reading)
  }
  return readings
}

/** `origin`: see `exchangeClocks`. */
export function pageClock(window: RecordingWindow, name: string, origin = ''): FollowedClock {
  return followClock(name, (times) => window.run(exchangeClocks, times, origin))
}

/** Accepts any bound: the caller decides. */
export async function compareClock(clock: FollowedClock, exchanges = 24): Promise<CheckedClock> {
  const [found] = await checkClocks([clock], { exchanges })
  if (!found) throw new Error(`The clock of ${clock.name} was not compared.`)
  return found
}

/**
 * Compares with the machine's clock. A busy machine widens the bound, so retries and keeps the
 * narrowest.
 */
export async function readMachineClock(
  window: RecordingWindow,
  enoughMs = closeEnoughMs,
): Promise<ClockReading> {
  let best = await window.run(readTickOffset, clockTicks)
  for (let again = 0; again < clockRetries && best.boundMs > enoughMs; again += 1) {
    const next = await window.run(readTickOffset, clockTicks)
    if (next.boundMs < best.boundMs) best = next
  }
  return best
}

/**
 * Keys from `from` to before `next`, numbered from 1: always letters, since editors treat spaces
 * specially.
 */
export function textBetween(from: number, next: number): string {
  const keys = Array.from({ length: next - from }, (_, index) => from + index)
  return keys.map((key) => String.fromCharCode(97 + ((key - 1) % 26))).join('')
}

function first(windows: readonly RecordingWindow[]): RecordingWindow & Pick<BrowserWindow, 'key'> {
  const [window] = windows
  if (!window || !isTypist(window)) throw new Error('There is no window to type into.')
  return window
}

const isTypist = (window: RecordingWindow): window is RecordingWindow & Pick<BrowserWindow, 'key'> =>
  'key' in window

// The functions below run in the page: no outer variables.

type Page = typeof globalThis & { readonly crosswind?: LabDoor }

/** The link opens in parallel with the page's parts: waits for both. */
export function isLinked(): boolean {
  return (
    document.querySelector('#document') !== null &&
    (globalThis as Page).crosswind?.view().link.state === 'open'
  )
}

/** The first error in the page of a peer; null without any. */
export function readFailure(): string | null {
  const link = (globalThis as Page).crosswind?.view().link as { readonly why?: string | null } | undefined
  return link?.why ?? null
}

/** A page that is not Crosswind's reports only its own state. */
function readState(): WindowState {
  const link: Partial<ReturnType<LabDoor['view']>['link']> | undefined = (
    globalThis as Page
  ).crosswind?.view().link
  return {
    isShown: document.querySelector('#document') !== null,
    isOpen: link?.state === 'open',
    mode: link?.mode ?? null,
    fall: link?.fallbackReason ?? null,
  }
}

function showsText(text: string): boolean {
  return document.querySelector('#document')?.textContent === text
}

function putText(text: string): void {
  const paragraph = document.createElement('p')
  paragraph.textContent = text
  document.querySelector('#document')?.replaceChildren(paragraph)
}

/** Pastes in the shared editor; in the mirror editor, changes the DOM and notifies the editor by an event. */
export function fillEditor(paragraphs: readonly string[], isShared: boolean): void {
  const editor = document.querySelector<HTMLElement>('#document')
  if (!editor) return
  if (isShared) {
    editor.focus()
    getSelection()?.selectAllChildren(editor)
    const clipboardData = new DataTransfer()
    clipboardData.setData('text/html', paragraphs.map((text) => `<p>${text}</p>`).join(''))
    const paste = { clipboardData, bubbles: true, cancelable: true }
    editor.dispatchEvent(new ClipboardEvent('paste', paste))
    return
  }
  const blocks = paragraphs.map((text) => {
    const paragraph = document.createElement('p')
    paragraph.textContent = text
    return paragraph
  })
  editor.replaceChildren(...blocks)
  editor.dispatchEvent(new InputEvent('input', { bubbles: true }))
}

/** Whether the editor shows at least this many characters. */
export function editorShows(length: number): boolean {
  return (document.querySelector('#document')?.textContent.length ?? 0) >= length
}

/** Places the caret at this fraction of the blocks and of the block's text. */
export function placeCaretIn(fraction: number): void {
  const editor = document.querySelector<HTMLElement>('#document')
  const block = editor?.children[Math.floor(editor.children.length * fraction)]
  const text = block?.firstChild
  if (!editor || !text) return
  editor.focus()
  getSelection()?.collapse(text, Math.floor((text.nodeValue?.length ?? 0) * fraction))
}

function placeCaretAtEnd(): void {
  const editor = document.querySelector<HTMLElement>('#document')
  if (!editor) return
  editor.focus()
  getSelection()?.selectAllChildren(editor.lastElementChild ?? editor)
  getSelection()?.collapseToEnd()
}

function publishProbe(bytes: number): boolean {
  return (globalThis as Page).crosswind?.probe(bytes) ?? false
}

/** Empty before the app runs: until then, the global `crosswind` is the element with that id. */
export function readLink(): {
  readonly state?: string | undefined
  readonly mode?: string | undefined
  readonly spokenHttp?: string | null | undefined
} {
  const { view } = (globalThis as Page).crosswind ?? {}
  if (typeof view !== 'function') return {}
  const { state, mode, spokenHttp } = view().link
  return { state, mode, spokenHttp }
}

function restClock(): void {
  const { restClock: rest }: Partial<LabDoor> = (globalThis as Page).crosswind ?? {}
  rest?.()
}

function countStamps() {
  const stamps = (globalThis as Page).crosswind?.take()
  return { sent: stamps?.sent.length ?? 0, received: stamps?.received.length ?? 0 }
}

export function readStamps(sentFrom: number, receivedFrom: number) {
  const stamps = (globalThis as Page).crosswind?.take()
  return { sent: stamps?.sent.slice(sentFrom) ?? [], received: stamps?.received.slice(receivedFrom) ?? [] }
}

export function hasAll(ids: readonly string[], from: number): boolean {
  const received = (globalThis as Page).crosswind?.take().received.slice(from) ?? []
  const known = new Set(received.map(({ id }) => id))
  return ids.every((id) => known.has(id))
}

/**
 * Offset of the page clock to the system clock, shared by all windows. `Date.now()` ticks at whole
 * milliseconds; the closest readings around a tick bound it best.
 */
export function readTickOffset(ticks: number): ClockReading {
  const now = () => performance.timeOrigin + performance.now()

  /** The tick lies between `before`, read ahead of the last old millisecond, and `after`. */
  function awaitTick() {
    const start = Date.now()
    let before = now()
    // Five ms always contain a tick; a clock set back must not block the page.
    for (const end = before + 5; before < end; ) {
      const ahead = now()
      const wholeMs = Date.now()
      if (wholeMs !== start) return { before, after: now(), wholeMs }
      before = ahead
    }
    return { before, after: before + 1, wholeMs: Date.now() }
  }

  let earliest = Number.NEGATIVE_INFINITY
  let latest = Number.POSITIVE_INFINITY
  for (let tick = 0; tick < ticks; tick += 1) {
    const { before, after, wholeMs } = awaitTick()
    latest = Math.min(latest, wholeMs - before)
    earliest = Math.max(earliest, wholeMs - after)
  }
  // The bounds cross if the system clock is slewed meanwhile; their distance is the uncertainty.
  return { offsetMs: (earliest + latest) / 2, boundMs: Math.abs(latest - earliest) / 2 }
}

/**
 * Sequential clock exchanges. `origin`: the server's, if the page was loaded over a slower path,
 * which must be in its `allowedOrigins`; empty for the page's own.
 */
export async function exchangeClocks(times: number, origin: string): Promise<Exchange[]> {
  const now = () => performance.timeOrigin + performance.now()
  const exchanges: Exchange[] = []
  for (let count = 0; count < times; count += 1) {
    const sentAt = now()
    const answer = await fetch(`${origin}/api/clock`, { cache: 'no-store', credentials: 'include' })
    const returnedAt = now()
    const { at } = (await answer.json()) as { at: number }
    exchanges.push({ sentAt, receivedAt: at, answeredAt: at, returnedAt })
  }
  return exchanges
}

/** Functions that a receiving window runs: a joined device loads them with its page. */
export const receiverFunctions = {
  isLinked,
  readLink,
  showsText,
  editorShows,
  countStamps,
  hasAll,
  readStamps,
  exchangeClocks,
  readTickOffset,
}
