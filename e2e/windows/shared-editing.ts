// Windows that write one document together; each connection can be cut and held.

import assert from 'node:assert/strict'
import { documentPath } from '../../app/shared/document-api.ts'
import type { Mode } from '../../protocol/modes.ts'
import type { LabDoor } from '../../web/lab.ts'
import { type Browser, type BrowserWindow, until } from '../browser/browser.ts'
import { type CuttingProxy, startProxy } from '../network/cutting-proxy.ts'
import { untilOpen } from './stage.ts'

export interface Writer extends BrowserWindow {
  readonly proxy: CuttingProxy
}

/** A window behind a relay of its own. */
export async function openWriter(
  browser: Browser,
  ports: Readonly<Record<Mode['http'], number>>,
  mode: Mode,
  channel: string,
): Promise<Writer> {
  const proxy = await startProxy(ports[mode.http])
  const window = await browser.newWindow()
  const query = new URLSearchParams({ transport: mode.transport, http: mode.http, record: '' })
  await window.open(`https://localhost:${proxy.port}${documentPath(channel)}?${query}`)
  await untilOpen(window, mode)
  return {
    ...window,
    proxy,
    async close() {
      await window.close()
      await proxy.close()
    },
  }
}

/** Resolves once the window has noticed. */
export async function cutOff(writer: Writer): Promise<void> {
  writer.proxy.refuse(true)
  writer.proxy.cut()
  await until(async () => !(await writer.run(editorShown)).isOpen, 'the loss was not noticed')
}

export async function reconnect(writer: Writer): Promise<void> {
  writer.proxy.refuse(false)
  // Otherwise it would wait for its next attempt.
  await writer.run(() => void globalThis.dispatchEvent(new Event('online')))
}

/** Windows type parts of their texts in turns, so that their updates cross in flight. */
export async function typeAtOnce(texts: readonly (readonly [BrowserWindow, string])[], part = 5) {
  const longest = Math.max(...texts.map(([, text]) => text.length))
  for (let at = 0; at < longest; at += part)
    for (const [window, text] of texts) if (at < text.length) await window.type(text.slice(at, at + part))
}

/** Waits until all are connected, have nothing unstored and show the same; resolves to that. */
export async function untilEqual(windows: readonly BrowserWindow[], withinMs = 20_000): Promise<string> {
  let shown: Awaited<ReturnType<typeof shownIn>>[] = []
  const areEqual = async () => {
    shown = await Promise.all(windows.map(shownIn))
    return shown.every(({ isOpen, unstored, html }) => isOpen && unstored === 0 && html === shown[0]?.html)
  }
  await until(areEqual, 'the windows are not equal', withinMs).catch((error) => {
    throw new Error(`${error.message} They show:\n${shown.map((one) => JSON.stringify(one)).join('\n')}`)
  })
  return shown[0]?.html ?? ''
}

/** All end with these paragraphs. */
export async function untilParagraphs(windows: readonly BrowserWindow[], texts: readonly string[]) {
  await untilHtml(windows, texts.map((text) => `<p>${text || '<br>'}</p>`).join(''))
}

export async function untilHtml(windows: readonly BrowserWindow[], expected: string): Promise<void> {
  await until(
    async () => (await Promise.all(windows.map(shownIn))).every(({ html }) => html === expected),
    `not all windows show ${expected}`,
    20_000,
  ).catch(() => undefined)
  assert.equal(await untilEqual(windows), expected)
}

/**
 * Console warnings and errors, except those of cut connections; 409 answers an upload whose stream
 * was cut meanwhile.
 */
export async function faultsSaid(browser: Browser): Promise<string[]> {
  const network =
    /net::ERR_|WebSocket connection to|can’t establish a connection|was interrupted|api\/streaming\?.* status of 409/
  return (await browser.consoleMessages()).filter((message) => !network.test(message))
}

const shownIn = (window: BrowserWindow) => window.run(editorShown)

// The functions below run in the page: no outer variables.

export function editorShown(): { isOpen: boolean; unstored: number; html: string } {
  const { link, outbox } = (globalThis as typeof globalThis & { crosswind?: LabDoor }).crosswind?.view() ?? {}
  return {
    isOpen: link?.state === 'open',
    unstored: outbox?.unstored ?? -1,
    html: (document.querySelector('#document')?.innerHTML ?? '').replaceAll(' dir="auto"', ''),
  }
}

export function selectAll(): void {
  const root = document.querySelector<HTMLElement>('#document')
  if (!root) return
  root.focus()
  getSelection()?.selectAllChildren(root)
}

export function paste(html: string, text: string): void {
  const data = new DataTransfer()
  if (html) data.setData('text/html', html)
  data.setData('text/plain', text)
  const event = new ClipboardEvent('paste', { bubbles: true, cancelable: true })
  // Firefox ignores it in the constructor.
  Object.defineProperty(event, 'clipboardData', { value: data })
  document.querySelector('#document')?.dispatchEvent(event)
}
