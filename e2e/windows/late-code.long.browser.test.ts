// Code that is loaded when it is first needed, while the server is away since the page was opened.

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type Mode, modeNamed } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { openEditingPage } from '../browser/editing.ts'
import { type CuttingProxy, startProxy } from '../network/cutting-proxy.ts'
import { chooseFile, htmlShown, isThere, press, shown, textShown } from './page.ts'
import { faultsSaid, paste, selectAll } from './shared-editing.ts'
import {
  browserName,
  chooseInMenu,
  openStage,
  type Stage,
  untilNotOpen,
  untilOpen,
  untilStored,
} from './stage.ts'

const mode: Mode = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')

let stage: Stage
let proxy: CuttingProxy
before(async () => {
  stage = await openStage()
  proxy = await startProxy(stage.server.ports['2'])
})
after(async () => {
  await stage.close()
  await proxy.close()
})
afterEach(async () => {
  proxy.refuse(false)
  await stage.closeWindows()
})

/** The page prepares nothing while it records, and focuses nothing at an address with a fragment. */
async function openThenLeave(channel: string): Promise<BrowserWindow> {
  const window = await stage.browser.newWindow()
  await window.open(
    `https://localhost:${proxy.port}/d/${channel}?transport=sse&http=2&view=editor&record#top`,
  )
  await untilOpen(window, mode)
  proxy.refuse(true)
  proxy.cut()
  await untilNotOpen(window)
  return window
}

async function comeBack(window: BrowserWindow): Promise<void> {
  proxy.refuse(false)
  await untilOpen(window, mode)
}

/** Once the code is loaded, copied text is the document's own HTML. */
function copiesItsOwn(): boolean {
  const data = new DataTransfer()
  const event = new ClipboardEvent('copy', { bubbles: true, cancelable: true })
  // Firefox ignores it in the constructor.
  Object.defineProperty(event, 'clipboardData', { value: data })
  document.querySelector('#document')?.dispatchEvent(event)
  return data.getData('text/html').includes('data-crosswind')
}

async function untilSays(window: BrowserWindow, selector: string, words: RegExp): Promise<void> {
  await until(
    async () => words.test(await window.run(shown, selector)),
    `${selector} does not say ${words}`,
  ).catch(async (error) => {
    throw new Error(`${error.message} It says ${await window.run(shown, selector)}`)
  })
  assert.doesNotMatch(await window.run(shown, '#crosswind'), /assets|module|\.js/)
}

const openings = {
  Documents: (window: BrowserWindow) => chooseInMenu(window, 'Documents'),
  Share: (window: BrowserWindow) => window.click('.share-button'),
}

for (const [name, words] of [
  ['Documents', /Documents.*Changed/],
  ['Share', /Copy link/],
] as const)
  test(`${name}: the first dialog says that it could not be loaded, and opens once the server is back`, async () => {
    const window = await openThenLeave(`first-${name}`)
    await openings[name](window)
    await untilSays(window, '.notices', /could not be loaded: the server did not answer\. Try again once/)
    assert.equal(await window.run(isThere, 'dialog'), false)
    await comeBack(window)
    await window.click('#document')
    await window.type('listed')
    await untilStored(window)
    await openings[name](window)
    await untilSays(window, 'dialog', words)
  })

test('the first paste of HTML says that nothing was pasted, and the next one works once the server is back', async () => {
  const window = await openThenLeave('first-paste')
  await window.click('#document')
  await window.type('typed ')
  await window.run(paste, '<p>some <b>bold</b> words</p>', 'some bold words')
  await untilSays(window, '.tool-notice', /Not pasted: .* Try again once connected/)
  assert.equal(await window.run(shown, '#document'), 'typed ')
  await comeBack(window)
  await window.run(paste, '<p>some <b>bold</b> words</p>', 'some bold words')
  await until(
    async () => /typed.*some <b>bold<\/b> words/.test(await window.run(htmlShown)),
    'nothing was pasted',
  )
})

test('a text that was focused while the server was away takes a paste of HTML when it is away again', async () => {
  const window = await openThenLeave('focused')
  await window.click('#document')
  await window.type('typed ')
  await comeBack(window)
  await window.run(selectAll)
  await until(() => window.run(copiesItsOwn), 'the code is not loaded ahead')
  await window.run(() => getSelection()?.collapseToEnd())
  proxy.refuse(true)
  proxy.cut()
  await untilNotOpen(window)
  await window.run(paste, '<b>bold</b>', 'bold')
  await until(async () => /typed.*<b>bold<\/b>/.test(await window.run(htmlShown)), 'nothing was pasted')
})

/** Resolves once this file of the page is loaded and has run. */
async function hasRun(name: string): Promise<boolean> {
  const found = performance
    .getEntriesByType('resource')
    .find((file) => file.name.includes(`/${name}-`) && file.name.endsWith('.js'))
  if (found) await import(found.name)
  return found !== undefined
}

test('where there is no service worker, the page loads ahead what it needs without its server', async (t) => {
  const window = await openEditingPage(browserName, 'about:blank')
  t.after(window.close)
  await window.page.evaluateOnNewDocument(() =>
    Object.defineProperty(Navigator.prototype, 'serviceWorker', { get: () => undefined }),
  )
  await window.page.goto(`https://localhost:${proxy.port}/d/ahead?transport=sse&http=2#top`)
  for (const name of ['overlays', 'import-file'])
    await until(() => window.run(hasRun, name), `${name} is not loaded ahead`)
  proxy.refuse(true)
  proxy.cut()
  const isLost = () => document.querySelector('.connection')?.getAttribute('data-link') === 'waiting'
  await until(() => window.run(isLost), 'the loss was not noticed')
  await window.run(press, '.share-button', 'Share')
  await until(async () => /Copy link/.test(await window.run(shown, 'dialog')), 'the dialog is not there')
  await window.key('Escape')
  await window.run(chooseFile, '# Title', 'notes.md')
  await until(async () => (await window.run(textShown)) === 'Title', 'the file was not read')
})

test('a view that was not loaded is there once the server is back, by the switch and by Back', async () => {
  const window = await openThenLeave('views')
  const current = () => document.querySelector('.tabs [aria-current]')?.textContent ?? ''
  const untilCurrent = (view: string) =>
    until(async () => (await window.run(current)) === view, `the view ${view} is not shown`)
  for (const view of ['Wind', 'History']) {
    await window.run(press, '.tabs .tab', view)
    await untilSays(
      window,
      '.notices',
      new RegExp(`“${view}” could not be loaded: the server did not answer`),
    )
  }
  assert.equal(await window.run(current), 'Write')
  await comeBack(window)
  for (const view of ['Wind', 'History']) {
    await window.run(press, '.tabs .tab', view)
    await untilCurrent(view)
  }
  await window.run(() => history.back())
  await untilCurrent('Wind')
})

test('no policy violations and no other errors occurred', async () => {
  assert.deepEqual(await faultsSaid(stage.browser), [])
})
