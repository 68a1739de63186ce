// A Firefox and a Chromium window write one document, in every mode that both support.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Mode } from '../../protocol/modes.ts'
import { type Browser, type BrowserWindow, startBrowser } from '../browser/browser.ts'
import { placeCaret, switchMode } from './page.ts'
import { faultsSaid, paste, selectAll, typeAtOnce, untilHtml, untilParagraphs } from './shared-editing.ts'
import { modesIn, openStage, type Stage, untilOpen } from './stage.ts'

const both = modesIn('firefox')

let stage: Stage
let chromium: Browser
let windows: [BrowserWindow, BrowserWindow]
before(async () => {
  stage = await openStage({ share: 'none' }, 'firefox')
  chromium = await startBrowser({ name: 'chromium' })
  const [mode] = both as readonly [Mode]
  const [inFirefox] = await stage.open(mode, 1, 'both')
  const [inChromium] = await stage.open(mode, 1, 'both', { browser: chromium })
  assert.ok(inFirefox && inChromium)
  windows = [inFirefox, inChromium]
})
after(async () => {
  await chromium?.quit()
  await stage?.close()
})

async function switchTo(mode: Mode): Promise<void> {
  for (const window of windows) {
    await window.run(switchMode, mode.name)
    await untilOpen(window, mode)
  }
}

async function typeInBoth(one: BrowserWindow, other: BrowserWindow): Promise<void> {
  await one.run(selectAll)
  await one.run(paste, '<p>A:</p><p>B:</p>', 'A:\n\nB:')
  await untilParagraphs(windows, ['A:', 'B:'])
  await one.run(placeCaret, 0, 2)
  await other.run(placeCaret, 1, 2)
  await typeAtOnce([
    [one, 'typed at once'],
    [other, 'with this'],
  ])
  await untilParagraphs(windows, ['A:typed at once', 'B:with this'])
}

for (const mode of both)
  test(`${mode.name}: text typed in one shows in the other`, async () => {
    await switchTo(mode)
    await typeInBoth(...windows)
  })

test('text composed, pasted and undone in one shows in the other', async () => {
  for (const [one, other] of [windows, windows.toReversed()] as [BrowserWindow, BrowserWindow][]) {
    await typeInBoth(one, other)
    await other.run(placeCaret, 0, 1)
    await one.compose('k')
    await other.type('x')
    await one.compose('感じ')
    await other.compose('n')
    await one.commit('感じ')
    await other.commit('な')
    await untilParagraphs(windows, ['Axな:typed at once感じ', 'B:with this'])

    await one.press('Enter')
    await other.run(paste, '<b>bold</b>', 'bold')
    await one.run(paste, '<ul><li>one</li><li>two</li></ul>', 'one\ntwo')
    const list = '<ul><li>one</li><li>two</li></ul><p>B:with this</p>'
    await untilHtml(windows, `<p>Axな<b>bold</b>:typed at once感じ</p>${list}`)
    await other.press('Control+z')
    await untilHtml(windows, `<p>Axな:typed at once感じ</p>${list}`)
    await one.press('Control+z')
    await untilParagraphs(windows, ['Axな:typed at once感じ', '', 'B:with this'])
    await one.press('Control+Shift+z')
    await untilHtml(windows, `<p>Axな:typed at once感じ</p>${list}`)
  }
})

test('neither logged an error', async () => {
  for (const browser of [stage.browser, chromium]) assert.deepEqual(await faultsSaid(browser), [])
})
