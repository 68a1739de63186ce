// Functions that run in the page under test; none closes over outer variables.

import type { LabDoor } from '../../web/lab.ts'

/** Before the app runs, `crosswind` is the element of that id, a named global. */
type Page = typeof globalThis & { readonly crosswind?: Partial<LabDoor> }

export function linkState() {
  const { link, windows, browserHttp1Streams } = (globalThis as Page).crosswind?.view?.() ?? {}
  const isRendered = document.querySelector('.desk') !== null
  const { state, mode, spokenHttp } = link ?? {}
  return { state, mode, spokenHttp, windows, browserHttp1Streams, isRendered }
}

export function textShown(): string {
  return document.querySelector('#document')?.textContent ?? ''
}

/** Without the `dir` attribute of each block. */
export function htmlShown(): string {
  return (document.querySelector('#document')?.innerHTML ?? '').replaceAll(' dir="auto"', '')
}

/** Replaces the content; the page notices and sends it. */
export function writeHtml(html: string): void {
  const editor = document.querySelector('#document')
  if (editor) editor.innerHTML = html
}

export function placeCaret(paragraph: number, offset: number): void {
  const editor = document.querySelector<HTMLElement>('#document')
  const text = editor?.children[paragraph]?.firstChild
  if (!editor || !text) throw new Error(`There is no text in paragraph ${paragraph}.`)
  editor.focus()
  getSelection()?.collapse(text, offset)
}

/** Caret as `before|after` within its paragraph. */
export function caretShown(): string {
  const { anchorNode, anchorOffset = 0 } = getSelection() ?? {}
  const text = anchorNode?.nodeValue ?? ''
  return `${text.slice(0, anchorOffset)}|${text.slice(anchorOffset)}`
}

/** Finished requests to that path: the browser's names of protocol and initiator. */
export function apiRequests(): { path: string; protocol: string; initiator: string }[] {
  return (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
    .map(({ name, nextHopProtocol, initiatorType }) => ({
      path: new URL(name).pathname,
      protocol: nextHopProtocol,
      initiator: initiatorType,
    }))
    .filter(({ path }) => path.startsWith('/api/'))
}

interface ServerWindow {
  readonly id: string
  readonly mode: string
  readonly channels: string[]
  readonly heardAt: number | null
}

export async function windowsAtServer(): Promise<ServerWindow[]> {
  return (await (await fetch('/api/windows')).json()).windows
}

/** Ids in order of arrival. */
export function editsReceived(): string[] {
  const received = (globalThis as Page).crosswind?.take?.().received ?? []
  return received.filter(({ kind }) => kind === 'update').map(({ id }) => id)
}

/** Whether the browser has saved all edits that the server has not stored, of which there is at least one. */
export function isKept(): boolean {
  const { unstored = 0, persisted } = (globalThis as Page).crosswind?.view?.().outbox ?? {}
  return unstored > 0 && persisted === unstored
}

/** Changes that the page does not call stored or kept; `isUnshared`: they never will be. */
export function unpromised(): { unstored: number; unkept: number; isUnshared: boolean; text: string } {
  const { outbox, isUnshared = false } = (globalThis as Page).crosswind?.view?.() ?? {}
  const { unstored = -1, persisted = 0 } = outbox ?? {}
  const text = document.querySelector('#document')?.textContent ?? ''
  return { unstored, unkept: unstored - persisted, isUnshared, text }
}

/** Drafts that this browser stores, of all windows at this address; `name`: of a database of the library's. */
export async function draftsKept(name = 'crosswind', channel?: string): Promise<number> {
  // Opening it would create it.
  const isThere = (await indexedDB.databases()).some((one) => one.name === name)
  if (!isThere) return 0
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const opening = indexedDB.open(name)
    opening.onsuccess = () => resolve(opening.result)
    opening.onerror = () => reject(opening.error)
  })
  const drafts = database.transaction('drafts').objectStore('drafts').index('channel')
  const counting = channel === undefined ? drafts.count() : drafts.count(channel)
  await new Promise((resolve) => {
    counting.onsuccess = resolve
  })
  database.close()
  return counting.result
}

/**
 * As in a browser that was killed, or one that keeps no cookie for longer than a week. HttpOnly cookies
 * stay.
 */
export function forgetCookies(): void {
  for (const pair of document.cookie.split('; ')) {
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser yet.
    document.cookie = `${pair.split('=', 1)[0]}=; path=/; max-age=0; Secure`
  }
}

/** `name`: see `draftsKept`. */
export async function deleteDrafts(name = 'crosswind'): Promise<void> {
  await new Promise((resolve, reject) => {
    const asked = indexedDB.deleteDatabase(name)
    asked.onsuccess = resolve
    asked.onerror = reject
  })
}

export function pageProtocol(): string {
  const [entry] = performance.getEntriesByType('navigation')
  return (entry as PerformanceNavigationTiming).nextHopProtocol
}

/** Received sequence numbers in order, and the newest frame. */
export function readings(): { seqs: number[]; newest: string | undefined } {
  const { take, view } = (globalThis as Page).crosswind ?? {}
  const received = take?.().received.filter(({ kind }) => kind === 'reading') ?? []
  return { seqs: received.map(({ seq }) => seq), newest: view?.().wind.reading?.raw }
}

export function bannerText(): string {
  return [...document.querySelectorAll('[role=status], [role=alert], .notice')]
    .map(({ textContent }) => textContent)
    .join(' ')
    .trim()
}

export function scrollTop(): number {
  return document.scrollingElement?.scrollTop ?? 0
}

export function scrollTo(top: number): void {
  document.scrollingElement?.scrollTo(0, top)
}

/** Other windows' carets, each with the line's text around it: `Ada: Hel|lo`. */
export function caretsShown(): string[] {
  return [...document.querySelectorAll<HTMLElement>('.caret-of:not([hidden])')].map((box) => {
    const caret = box.querySelector('.caret')
    caret?.scrollIntoView({ block: 'center' })
    const { left = 0, top = 0, height = 0 } = caret?.getBoundingClientRect() ?? {}
    const at = document.caretPositionFromPoint(left + 0.1, top + height / 2)
    const text = at?.offsetNode.nodeValue ?? ''
    const name = box.querySelector('.caret-flag')?.textContent
    return `${name}: ${text.slice(0, at?.offset)}|${text.slice(at?.offset)}`
  })
}

export function peopleHere(): string[] {
  const people = (globalThis as Page).crosswind?.view?.().people ?? []
  return people.map(({ name, isTyping }) => (isTyping ? `${name} is typing` : name))
}

export function shown(selector: string): string {
  return document.querySelector(selector)?.textContent ?? ''
}

export function isThere(selector: string): boolean {
  return document.querySelector(selector) !== null
}

/** Presses the first match with these words in its text, or with exactly these as its label. */
export function press(selector: string, words: string): void {
  const found = [...document.querySelectorAll<HTMLElement>(selector)].find(
    ({ textContent, ariaLabel }) => textContent.includes(words) || ariaLabel === words,
  )
  if (!found) throw new Error(`There is no ${selector} with ${words}.`)
  found.click()
}

/** Drafts that the server has not stored. */
export function unstored(): number | undefined {
  return (globalThis as Page).crosswind?.view?.().outbox.unstored
}

/** Chooses a file to import, as a person would. */
export function chooseFile(text: string, name: string): void {
  const files = new DataTransfer()
  files.items.add(new File([text], name))
  const field = document.querySelector<HTMLInputElement>('.document-controls input[type=file]')
  if (field === null) throw new Error('There is no field for files.')
  field.files = files.files
  field.dispatchEvent(new Event('change', { bubbles: true }))
}

export function switchMode(name: string): void {
  ;(globalThis as Page).crosswind?.switchMode?.(name)
}
