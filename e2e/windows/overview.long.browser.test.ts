// The overview counts what another window types, shared or not.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Mode, modes } from '../../server/wire/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { numbersShown, windowsAtServer } from './page.ts'
import { openStage, type Stage, untilOpen } from './stage.ts'

const [mode] = modes as readonly [Mode, ...Mode[]]

async function untilCounts(window: BrowserWindow, words: number, characters: number): Promise<void> {
  const isShown = async () => {
    const { Words, Characters } = await window.run(numbersShown)
    return Words === String(words) && Characters === String(characters)
  }
  await until(isShown, `the overview does not show ${words} words`).catch(async (error) => {
    throw new Error(`${error.message} It shows ${JSON.stringify(await window.run(numbersShown))}.`)
  })
}

async function openView(stage: Stage, each: Mode, channel: string, view: string): Promise<BrowserWindow> {
  const { transport, http } = each
  const window = await stage.browser.newWindow()
  const query = new URLSearchParams({ transport, http, channel, view, record: '' })
  await window.open(`${stage.server.origin[http]}/?${query}`)
  await untilOpen(window, each)
  return window
}

async function whoReads(window: BrowserWindow, channel: string): Promise<number> {
  return (await window.run(windowsAtServer)).filter(({ channels }) => channels.includes(channel)).length
}

for (const share of ['none', 'browser'] as const) {
  describe(`share: ${share}`, () => {
    let stage: Stage
    before(async () => {
      stage = await openStage({ share })
    })
    after(() => stage.close())

    // The transport contract tests the overview in every mode.
    test('one window types, another shows the server’s figures', async () => {
      const channel = 'overview-shown'
      const reader = await openView(stage, mode, channel, 'overview')
      await untilCounts(reader, 0, 0)
      const writer = await openView(stage, mode, channel, 'editor')
      await writer.click('#document')
      await writer.type('one two')
      await untilCounts(reader, 2, 7)
      const { 'Edits, last minute': edits = '' } = await reader.run(numbersShown)
      assert.ok(Number(edits) >= 1 && Number(edits) <= 7, edits)
      for (const window of [reader, writer]) await window.close()
    })

    test('a window switches to the overview without a reload, and gets the newest at once', async () => {
      const writer = await openView(stage, mode, 'turning', 'editor')
      await writer.click('#document')
      await writer.type('one two three')
      const reader = await openView(stage, mode, 'turning', 'wind')
      assert.equal(await whoReads(reader, 'overview.turning'), 0)
      await reader.run(() => {
        Object.assign(globalThis, { wasHere: true })
      })
      await reader.click('.view-link[href*="view=overview"]')
      await untilCounts(reader, 3, 13)
      await writer.type(' four')
      await untilCounts(reader, 4, 18)
      assert.equal(await reader.run(() => 'wasHere' in globalThis), true)
      assert.deepEqual(await reader.run(() => document.querySelector('.notice')?.textContent ?? null), null)
      for (const window of [reader, writer]) await window.close()
    })

    test('no policy violations and no other errors occurred', async () => {
      assert.deepEqual(await stage.browser.consoleMessages(), [])
    })
  })
}

describe('without a subscriber', () => {
  let stage: Stage
  before(async () => {
    stage = await openStage()
  })
  after(() => stage.close())

  test('a window that switches to another view is no longer sent the overview', async () => {
    const reader = await openView(stage, mode, 'main', 'overview')
    await untilCounts(reader, 0, 0)
    assert.equal(await whoReads(reader, 'overview.main'), 1)
    await reader.click('.view-link[href*="view=wind"]')
    await until(
      async () => (await whoReads(reader, 'overview.main')) === 0,
      'the server still counts it as a reader of the overview',
    )
  })
})
