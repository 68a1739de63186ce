// Files in real windows: dropped and pasted into the text, and chosen while the server is away.

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type Mode, modeNamed } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { startProxy } from '../network/cutting-proxy.ts'
import { chooseFile, htmlShown, placeCaret, shown } from './page.ts'
import { faultsSaid } from './shared-editing.ts'
import { openStage, type Stage, untilNotOpen, untilOpen, untilShows } from './stage.ts'

const mode: Mode = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')

let stage: Stage
before(async () => {
  stage = await openStage()
})
after(() => stage.close())
afterEach(() => stage.closeWindows())

/** Drops or pastes files at the caret, or at the end of the text. */
function bringFiles(
  files: readonly (readonly [name: string, type: string, text: string])[],
  by: 'drop' | 'paste',
) {
  const data = new DataTransfer()
  for (const [name, type, text] of files) data.items.add(new File([text], name, { type }))
  const root = document.querySelector<HTMLElement>('#document')
  const { right = 0, bottom = 0 } = root?.lastElementChild?.getBoundingClientRect() ?? {}
  const init = { bubbles: true, cancelable: true }
  const event =
    by === 'paste'
      ? new ClipboardEvent('paste', init)
      : new DragEvent('drop', { ...init, dataTransfer: data, clientX: right - 5, clientY: bottom - 10 })
  // Firefox ignores it in the constructor.
  if (by === 'paste') Object.defineProperty(event, 'clipboardData', { value: data })
  root?.dispatchEvent(event)
}

/** By a service worker, or without one by the page. */
async function isPrepared(): Promise<boolean> {
  const isLoaded = performance.getEntriesByType('resource').some(({ name }) => /\/import-file-/.test(name))
  const hasWorker = navigator.serviceWorker.controller?.state === 'activated'
  return isLoaded || hasWorker
}

/** Loaded once the document has the focus. */
function hasClipboardCode(): boolean {
  return performance.getEntriesByType('resource').some(({ name }) => /\/clipboard-content-/.test(name))
}

async function openWith(text: string, channel: string): Promise<BrowserWindow> {
  const [window] = await stage.open(mode, 1, channel)
  assert.ok(window)
  await window.click('#document')
  await window.type(text)
  await untilShows(window, text)
  return window
}

const untilHtml = (window: BrowserWindow, expected: RegExp) =>
  until(async () => expected.test(await window.run(htmlShown)), `no ${expected}`).catch(async (error) => {
    throw new Error(`${error.message} It shows ${await window.run(htmlShown)}`)
  })

test('a Markdown file dropped into the text is read, at the place of the drop', async () => {
  const window = await openWith('before', 'dropped')
  await window.run(bringFiles, [['notes.md', '', '# Title\n\n- one\n- two\n']], 'drop')
  await untilHtml(window, /before.*Title.*<ul><li>one<\/li><li>two/s)
  assert.doesNotMatch(await window.run(htmlShown), /notes\.md/)
})

test('a file dropped beside the text does not take the place of the page: it is imported at the end', async () => {
  const window = await openWith('before', 'beside')
  const isTaken = await window.run(() => {
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File(['after\n'], 'notes.txt', { type: 'text/plain' }))
    const init = { dataTransfer, bubbles: true, cancelable: true }
    const tabs = document.querySelector('.tabs')
    return ['dragover', 'drop'].map((type) => !tabs?.dispatchEvent(new DragEvent(type, init)))
  })
  assert.deepEqual(isTaken, [true, true])
  await untilHtml(window, /<p[^>]*>before<\/p>.*<p[^>]*>after<\/p>$/s)
})

test('pasted files are read in their order, HTML and plain text too', async () => {
  const window = await openWith('x', 'pasted-files')
  await window.run(
    bringFiles,
    [
      ['one.html', 'text/html', '<p><b>bold</b></p>'],
      ['two.txt', 'text/plain', 'plain'],
    ],
    'paste',
  )
  await untilHtml(window, /<b>bold<\/b>.*plain/s)
})

test('an unreadable file adds nothing to the text, and a notice says why', async () => {
  const window = await openWith('x', 'unreadable')
  await window.run(bringFiles, [['data.bin', 'application/octet-stream', 'a\0b']], 'drop')
  await until(
    async () => /data\.bin is not text/.test(await window.run(shown, '.tool-notice')),
    'there is no notice',
  )
  await untilShows(window, 'x')
})

test('the first file, chosen while the server is away before the code that reads it is loaded, waits and is then read', async (t) => {
  const proxy = await startProxy(stage.server.ports['2'])
  t.after(proxy.close)
  const window = await stage.browser.newWindow()
  t.after(() => window.close())
  await window.open(`https://localhost:${proxy.port}/d/waiting?transport=sse&http=2&record`)
  await untilOpen(window, mode)
  // It shares files with that code, and Firefox remembers a failed import.
  await window.click('#document')
  await until(() => window.run(hasClipboardCode), 'the code of the clipboard is not loaded')
  proxy.refuse(true)
  proxy.cut()
  await untilNotOpen(window)
  await window.run(chooseFile, '# Title\n\ntext', 'notes.md')
  const notices = () => window.run(shown, '.notices')
  await until(
    async () => /notes\.md will be imported once the connection is back/.test(await notices()),
    'the file does not wait',
  )
  assert.doesNotMatch(await notices(), /assets|module/)
  proxy.refuse(false)
  await untilShows(window, 'Titletext')
})

test('once the page is prepared for it, a file is read without a server', async (t) => {
  const proxy = await startProxy(stage.server.ports['2'])
  t.after(proxy.close)
  const window = await stage.browser.newWindow()
  t.after(() => window.close())
  await window.open(`https://localhost:${proxy.port}/d/at-once?transport=sse&http=2`)
  await until(() => window.run(isPrepared), 'the code is not loaded ahead')
  await window.click('#document')
  await window.type('typed')
  await untilShows(window, 'typed')
  proxy.refuse(true)
  proxy.cut()
  const isLost = () => document.querySelector('.connection')?.getAttribute('data-link') === 'waiting'
  await until(() => window.run(isLost), 'the loss was not noticed')
  await window.run(chooseFile, '# Title', 'notes.md')
  await untilHtml(window, /typed.*<h1[^>]*>Title/s)
  await window.run(placeCaret, 0, 0)
  await window.run(bringFiles, [['more.md', '', '**more**']], 'paste')
  await untilHtml(window, /<b>more<\/b>typed/)
})

test('no policy violations and no other errors occurred', async () => {
  assert.deepEqual(await faultsSaid(stage.browser), [])
})
