// What the browser tests look at and do in a page. These functions run in it: they use nothing from outside themselves.

import type { LabDoor } from '../../web/lab/door.ts'

/** Before the app runs, `crosswind` is the page's element of that id, as browsers have it. */
type Page = typeof globalThis & { readonly crosswind?: Partial<LabDoor> }

export function linkState() {
  const { link, windows, browserHttp1Streams } = (globalThis as Page).crosswind?.view?.() ?? {}
  return { state: link?.state, mode: link?.mode, spokenHttp: link?.spokenHttp, windows, browserHttp1Streams }
}

export function textShown(): string {
  return document.querySelector('#document')?.textContent ?? ''
}

export function htmlShown(): string {
  return document.querySelector('#document')?.innerHTML ?? ''
}

/** Replaces the content as if the user had: the page notices and sends it. */
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

/** The caret as the text around it, `before|after`, within its paragraph. */
export function caretShown(): string {
  const { anchorNode, anchorOffset = 0 } = getSelection() ?? {}
  const text = anchorNode?.nodeValue ?? ''
  return `${text.slice(0, anchorOffset)}|${text.slice(anchorOffset)}`
}

/** Finished requests of this page to that path: the protocol, and the means, as the browser names them. */
export function requestsTo(path: string): { protocol: string; initiator: string }[] {
  return performance
    .getEntriesByType('resource')
    .filter(({ name }) => new URL(name).pathname === path)
    .map((entry) => entry as PerformanceResourceTiming)
    .map(({ nextHopProtocol, initiatorType }) => ({ protocol: nextHopProtocol, initiator: initiatorType }))
}

interface ServerWindow {
  readonly id: string
  readonly mode: string
  readonly channels: string[]
  readonly heardAt: number | null
}

/** Every window that the server knows of. */
export async function windowsAtServer(): Promise<ServerWindow[]> {
  return (await (await fetch('/api/windows')).json()).windows
}

/** Ids of the edits that came, in the order in which they came. */
export function editsReceived(): string[] {
  const received = (globalThis as Page).crosswind?.take?.().received ?? []
  return received.filter(({ kind }) => kind === 'edit').map(({ id }) => id)
}

export function pageProtocol(): string {
  const [entry] = performance.getEntriesByType('navigation')
  return (entry as PerformanceNavigationTiming).nextHopProtocol
}

/** The log's numbers of the readings that came, in the order in which they came, and the newest one's frame. */
export function readings(): { seqs: number[]; newest: string | undefined } {
  const { take, view } = (globalThis as Page).crosswind ?? {}
  const received = take?.().received.filter(({ kind }) => kind === 'reading') ?? []
  return { seqs: received.map(({ seq }) => seq), newest: view?.().wind.reading?.raw }
}

export function markRan(): boolean {
  return (globalThis as typeof globalThis & { ran?: boolean }).ran === true
}

export function bannerText(): string {
  return [...document.querySelectorAll('[role=status], [role=alert], .notice')]
    .map(({ textContent }) => textContent)
    .join(' ')
}

export function scrollTop(): number {
  return document.scrollingElement?.scrollTop ?? 0
}

export function scrollTo(top: number): void {
  document.scrollingElement?.scrollTo(0, top)
}
