// On paper: title and text only, on as many pages as the text needs.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import { until } from '../browser/browser.ts'
import { type EditingPage, openEditingPage } from '../browser/editing.ts'
import { shown, textShown } from './page.ts'
import { browserName, webFolder } from './stage.ts'

let server: TestServer
let window: EditingPage
before(async () => {
  server = await startTestServer(
    { sensor: { ...testConfig.sensor, source: 'simulated', rateHz: 4 } },
    webFolder,
  )
  window = await openEditingPage(browserName, `${server.origin['2']}/d/notes`)
})
after(async () => {
  await window.close()
  await server.close()
})

/** WebDriver BiDi cannot emulate paper: the rules for it apply to the screen meanwhile. */
function applyPaperRules(isOn: boolean): void {
  const from = isOn ? 'print' : 'all'
  for (const { cssRules } of document.styleSheets)
    for (const rule of cssRules)
      if (rule instanceof CSSMediaRule && rule.media.mediaText === from)
        rule.media.mediaText = isOn ? 'all' : 'print'
}

async function emulatePaper(isOn: boolean): Promise<void> {
  if (browserName === 'firefox') await window.run(applyPaperRules, isOn)
  else await window.page.emulateMediaType(isOn ? 'print' : undefined)
}

/** Firefox compresses some of them (ISO 32000-2, 7.5.7). */
function objectsIn(pdf: Uint8Array): string {
  const text = Buffer.from(pdf).toString('latin1')
  const compressed = /\/Type\s*\/ObjStm\b[^>]*>>\s*stream\r?\n(.*?)\r?\nendstream/gs
  const objects = Array.from(text.matchAll(compressed), ([, content = '']) =>
    inflateSync(Buffer.from(content, 'latin1')).toString('latin1'),
  )
  return [text, ...objects].join('\n')
}

/** As the browser prints it, with its content at that time. */
async function print() {
  await emulatePaper(true)
  // Leaves out what is not displayed.
  const words = await window.run(() => document.body.innerText.replace(/\s+/g, ' ').trim())
  const background = await window.run(() => getComputedStyle(document.documentElement).backgroundColor)
  await emulatePaper(false)
  const pdf = await window.page.pdf({ format: 'A4', preferCSSPageSize: false })
  return { words, background, pages: objectsIn(pdf).match(/\/Type\s*\/Page\b(?!s)/g)?.length ?? 0 }
}

const paragraph = 'The wind has backed to the south-west and will freshen before the evening. '
  .repeat(4)
  .trim()

function insertText(text: string): void {
  document.execCommand('insertText', false, text)
}

async function show(paragraphs: number): Promise<string> {
  await window.page.waitForSelector('#document')
  await window.page.click('#document')
  const present = await window.run(textShown)
  const missing = paragraphs - present.length / paragraph.length
  for (let n = 0; n < missing; n += 1) {
    await window.run(insertText, paragraph)
    await window.key('Enter')
  }
  return paragraph.repeat(paragraphs)
}

test('one page of text is one page: its title and nothing of the application', async () => {
  await show(6)
  const { words, pages } = await print()
  assert.equal(words, `notes ${Array(6).fill(paragraph).join(' ')}`)
  assert.equal(pages, 1)
})

const skip = browserName === 'firefox' && 'WebDriver BiDi cannot emulate a dark desktop.'

test('in the dark, and beside the wind, too', { skip }, async () => {
  await window.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }])
  const { background, pages } = await print()
  assert.equal(background, 'rgb(255, 255, 255)')
  assert.equal(pages, 1)
  await window.page.emulateMediaFeatures([])
})

test('a long text takes the pages that it needs, whatever menu is open', async () => {
  await show(30)
  await window.page.click('.connection-button')
  await until(
    async () => window.run(() => document.querySelector('.connection-panel') !== null),
    'no menu opened',
  )
  const { words, pages } = await print()
  // Five times the text of the page before.
  assert.ok(pages >= 2 && pages <= 5, `${pages} pages`)
  assert.doesNotMatch(words, /Polling|Undo|m\/s/)
  await window.key('Escape')
})

test('the history prints the version that is shown', async () => {
  await window.page.goto(`${server.origin['2']}/d/notes?view=history`)
  await until(async () => /freshen/.test(await window.run(shown, '.versions-text')), 'no version is shown')
  const { words } = await print()
  assert.ok(words.startsWith('notes The wind has backed'), words.slice(0, 80))
  assert.doesNotMatch(words, /Restore|Guest|Change \d/)
})
