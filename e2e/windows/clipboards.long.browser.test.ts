// Pages like those of programs and sites: copied and pasted by key, and read as a document.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { copiedPages } from '../../app/document/copied-pages-testing.ts'
import { readHtml, writeHtml } from '../../app/document/html.ts'
import { modeNamed } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { htmlShown, textShown } from './page.ts'
import { paste } from './shared-editing.ts'
import { browserName, openStage, type Stage, untilStored } from './stage.ts'

type Pasting = typeof globalThis & { pasted?: string | null }

// The functions below run in the page: no outer variables.

function showPage(html: string): void {
  const page = document.querySelector('#page') ?? document.body
  page.innerHTML = html
  document.querySelector<HTMLElement>('#sink')?.blur()
  getSelection()?.selectAllChildren(page)
}

function awaitPaste(): void {
  const sink = document.querySelector<HTMLElement>('#sink')
  const here = globalThis as Pasting
  here.pasted = null
  sink?.addEventListener(
    'paste',
    (event) => {
      here.pasted = event.clipboardData?.getData('text/html') ?? ''
      event.preventDefault()
    },
    { once: true },
  )
  sink?.focus()
}

const pasted = () => (globalThis as Pasting).pasted ?? null

let stage: Stage
let window: BrowserWindow
let site: string
const emptyPage =
  '<!doctype html><title>Page</title><div id="page"></div><div id="sink" contenteditable></div>'
const server = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.end(emptyPage)
})

before(async () => {
  stage = await openStage()
  window = await stage.browser.newWindow()
  site = `http://127.0.0.1:${await openPort(server)}/`
  await window.open(site)
})
after(async () => {
  await stage?.close()
  server.closeAllConnections()
  server.close()
})

/** Resolves to the clipboard's HTML. */
async function copy(page: string, from = window): Promise<string> {
  await from.run(showPage, page)
  await from.press('Control+c')
  await from.run(awaitPaste)
  await from.press('Control+v')
  await until(async () => (await from.run(pasted)) !== null, 'nothing was pasted')
  return (await from.run(pasted)) ?? ''
}

/** A window with a page that was saved on this machine. */
async function openSaved(t: TestContext): Promise<BrowserWindow> {
  const file = join(temporaryFolder(t), 'page.html')
  await writeFile(file, emptyPage)
  const saved = await stage.browser.newWindow()
  t.after(saved.close)
  await saved.open(pathToFileURL(file).href)
  return saved
}

const here = copiedPages.filter(({ only }) => only === undefined || only === browserName)
const withInnerLinks = here.filter(({ unkeptCopied }) => unkeptCopied !== undefined)

test('there are thirty pages', () => assert.ok(here.length >= 30, `there are ${here.length}`))

for (const { name, page, kept, keptCopied = kept, unkept = [], unkeptCopied = unkept } of here)
  test(`a copied page, ${name}`, async () => {
    const html = await copy(page)
    const { lines, unkept: left } = readHtml(html)
    const own = readHtml(keptCopied.replaceAll('PAGE', site), { isOwn: true }).lines
    assert.equal(writeHtml(lines), writeHtml(own), html)
    assert.deepEqual(left, unkeptCopied)
  })

for (const { name, page, kept } of withInnerLinks)
  test(`a copy of a page that was saved on this machine, ${name}`, async (t) => {
    const { lines, unkept } = readHtml(await copy(page, await openSaved(t)))
    assert.equal(writeHtml(lines), writeHtml(readHtml(kept, { isOwn: true }).lines))
    // Chromium leaves such addresses as they are.
    if (browserName === 'chromium') assert.deepEqual(unkept, ['links to places within the text'])
    else
      for (const left of unkept) assert.match(left, /^(?:the address file:|links to places within the text$)/)
  })

test('links to places within the source page are gone from a pasted text, also from its next export', async (t) => {
  const mode = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')
  const [document] = await stage.open(mode, 1, 'inner-links')
  assert.ok(document)
  await document.click('#document')
  const saved = await openSaved(t)
  for (const { page } of withInnerLinks) {
    for (const from of [window, saved]) {
      await copy(page, from)
      await document.press('Control+End')
      await document.press('Control+v')
    }
    // As other programs write it.
    await document.run(paste, page, '')
  }
  const text = 'and so on'
  await until(async () => (await document.run(textShown)).split(text).length === 4, 'not all was pasted')
  await untilStored(document)
  const exported = (type: string) => fetch(`/d/inner-links/export.${type}`).then((answer) => answer.text())
  for (const [type, links] of [
    ['md', /\]\(([^)]*)\)/g],
    ['html', /<a href="([^"]*)"/g],
  ] as const) {
    const all: string[] = Array.from(
      (await document.run(exported, type)).matchAll(links),
      ([, address = '']) => address,
    )
    assert.equal(all.length, 4, type)
    for (const address of all) assert.ok(address.startsWith(`${site}#`), address)
  }
})

test('a copy from another page reaches the document by key', async () => {
  const mode = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')
  const github = copiedPages.find(({ name }) => name.startsWith('GitHub: a row')) ?? assert.fail()
  await copy(github.page)
  const [document] = await stage.open(mode, 1, 'clipboards')
  assert.ok(document)
  await document.click('#document')
  await document.press('Control+v')
  await until(
    async () => /^<p>See<\/p>(<pre>)?.*if \(x\) \{.* {2}y\(\)/s.test(await document.run(htmlShown)),
    'the copy is not shown',
  ).catch(async (error) => {
    throw new Error(`${error.message} It shows ${await document.run(htmlShown)}`)
  })
})
