// Pages like those of programs and sites: copied and pasted by key, and read as a document.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { openPort } from '../../scripts/open-port.ts'
import { copiedPages } from '../../server/document/clipboards-testing.ts'
import { readHtml, writeHtml } from '../../server/document/html.ts'
import { modeNamed } from '../../server/wire/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { htmlShown } from './page.ts'
import { browserName, openStage, type Stage } from './stage.ts'

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
const server = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.end('<!doctype html><title>Page</title><div id="page"></div><div id="sink" contenteditable></div>')
})

before(async () => {
  stage = await openStage()
  window = await stage.browser.newWindow()
  await window.open(`http://127.0.0.1:${await openPort(server)}/`)
})
after(async () => {
  await stage?.close()
  server.closeAllConnections()
  server.close()
})

/** Resolves to the clipboard's HTML. */
async function copy(page: string): Promise<string> {
  await window.run(showPage, page)
  await window.press('Control+c')
  await window.run(awaitPaste)
  await window.press('Control+v')
  await until(async () => (await window.run(pasted)) !== null, 'nothing was pasted')
  return (await window.run(pasted)) ?? ''
}

const here = copiedPages.filter(({ only }) => only === undefined || only === browserName)

test('there are thirty pages', () => assert.ok(here.length >= 30, `there are ${here.length}`))

for (const { name, page, kept, keptCopied = kept, unkept = [] } of here)
  test(`a copied page, ${name}`, async () => {
    const html = await copy(page)
    const { lines, unkept: left } = readHtml(html)
    const own = readHtml(keptCopied, { isOwn: true }).lines
    assert.equal(writeHtml(lines), writeHtml(own), html)
    assert.deepEqual(left, unkept)
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
