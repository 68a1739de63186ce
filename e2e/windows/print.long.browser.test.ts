// On paper: title and text only, on as many pages as the text needs.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestServer, type TestServer, testConfig } from '../../server/testing.ts'
import { until } from '../browser/browser.ts'
import { type EditingPage, openEditingPage } from '../browser/editing.ts'
import { shown, textShown } from './page.ts'
import { webFolder } from './stage.ts'

let server: TestServer
let window: EditingPage
before(async () => {
  server = await startTestServer(
    { sensor: { ...testConfig.sensor, source: 'simulated', rateHz: 4 } },
    webFolder,
  )
  window = await openEditingPage('chromium', `${server.origin['2']}/d/notes`)
})
after(async () => {
  await window.close()
  await server.close()
})

/** As Chromium prints it, with what it shows then. */
async function print() {
  await window.page.emulateMediaType('print')
  // Leaves out what is not displayed.
  const words = await window.run(() => document.body.innerText.replace(/\s+/g, ' ').trim())
  const background = await window.run(() => getComputedStyle(document.documentElement).backgroundColor)
  await window.page.emulateMediaType()
  const pdf = Buffer.from(await window.page.pdf({ format: 'A4', preferCSSPageSize: false })).toString(
    'latin1',
  )
  return { words, background, pages: pdf.match(/\/Type\s*\/Page\b(?!s)/g)?.length ?? 0 }
}

const paragraph = 'The wind has backed to the south-west and will freshen before the evening. '
  .repeat(4)
  .trim()

async function show(paragraphs: number): Promise<string> {
  await window.page.waitForSelector('#document')
  await window.page.click('#document')
  const present = await window.run(textShown)
  const missing = paragraphs - present.length / paragraph.length
  for (let n = 0; n < missing; n += 1) {
    await window.page.keyboard.sendCharacter(paragraph)
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

test('in the dark, and beside the wind, too', async () => {
  await window.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }])
  const { background, pages } = await print()
  assert.equal(background, 'rgb(255, 255, 255)')
  assert.equal(pages, 1)
  await window.page.emulateMediaFeatures([])
})

test('a long text takes the pages that it needs, whatever menu is open', async () => {
  await show(30)
  await window.page.click('.mode-button')
  await until(async () => window.run(() => document.querySelector('.mode-list') !== null), 'no menu opened')
  const { words, pages } = await print()
  // Five times the text of the page before.
  assert.ok(pages >= 2 && pages <= 5, `${pages} pages`)
  assert.doesNotMatch(words, /Polling|Undo|m\/s/)
  await window.key('Escape')
})

test('of the history, paper gets the version that is shown', async () => {
  await window.page.goto(`${server.origin['2']}/d/notes?view=history`)
  await until(async () => /freshen/.test(await window.run(shown, '.versions-text')), 'no version is shown')
  const { words } = await print()
  assert.ok(words.startsWith('notes The wind has backed'), words.slice(0, 80))
  assert.doesNotMatch(words, /Restore|Guest|Change \d/)
})
