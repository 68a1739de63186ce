// axe-core (WCAG 2.2 A and AA, best practices) in every view, dialog and menu, light and dark.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import axe from 'axe-core'
import { views } from '../../app/shared/views.ts'
import { startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import { modes } from '../../protocol/modes.ts'
import { fragmentOf } from '../../web/compare/result-link.ts'
import { until } from '../browser/browser.ts'
import { type EditingPage, openEditingPage } from '../browser/editing.ts'
import { linkState } from './page.ts'
import { paste } from './shared-editing.ts'
import { chooseInMenu, webFolder } from './stage.ts'

const everyFormat =
  '<h1>One</h1><h2>Two</h2><h3>Three</h3><p><b>bold</b> <i>italic</i> <u>under</u> <s>struck</s> ' +
  '<code>code</code> <a href="https://example.org">a link</a></p><ul><li>item<ul><li>below</li></ul></li></ul>' +
  '<ol><li>first</li></ol><blockquote>quote</blockquote><pre>code\nblock</pre>'

let server: TestServer
let page: EditingPage
let other: EditingPage
before(async () => {
  server = await startTestServer(
    { sensor: { ...testConfig.sensor, source: 'simulated', rateHz: 4 } },
    webFolder,
  )
  page = await openEditingPage('chromium', 'about:blank')
  other = await openEditingPage('chromium', 'about:blank')
  await go(other, '/d/full?record&view=editor')
  await other.page.click('#document')
  await other.run(paste, everyFormat, 'everything')
  await other.page.waitForSelector('#document blockquote')
})
after(async () => {
  await page.close()
  await other.close()
  await server.close()
})

async function go({ page, run }: EditingPage, path: string): Promise<void> {
  await page.goto(`${server.origin['2']}${path}`)
  await until(async () => (await run(linkState)).isRendered, `${path} did not open`)
}

/** One line for each element that violates a rule. */
async function findings(): Promise<string[]> {
  const found: string[] = []
  for (const width of [1280, 360])
    for (const value of ['light', 'dark']) {
      await page.page.setViewport({ width, height: 800 })
      await page.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }])
      await page.page.evaluate(axe.source)
      const { violations } = await page.run(() =>
        (globalThis as unknown as { axe: typeof axe }).axe.run({
          resultTypes: ['violations'],
          // WCAG 2.5.3: experimental in axe, and off by default.
          rules: { 'label-content-name-mismatch': { enabled: true } },
        }),
      )
      for (const { id, help, nodes } of violations)
        for (const { target, html } of nodes)
          found.push(`${width} px, ${value}: ${id} (${help}): ${target} ${html}`)
    }
  return found
}

async function pressButton(words: string): Promise<void> {
  await page.run((wanted) => {
    const buttons = [...document.querySelectorAll<HTMLElement>('button, [role=menuitem], summary')]
    const button = buttons.find(
      (one) =>
        (one.getAttribute('aria-label') ?? one.textContent).startsWith(wanted) && one.checkVisibility(),
    )
    if (!button) throw new Error(`There is no button ${wanted}.`)
    button.click()
  }, words)
}

describe('axe-core finds nothing', () => {
  test('in an empty document', async () => {
    await go(page, '/d/empty?record')
    assert.deepEqual(await findings(), [])
  })

  for (const { name, parts } of views)
    test(`in the view ${name}`, async () => {
      await go(page, `/d/full?record&view=${name}`)
      if (parts[0] === 'document') await page.page.waitForSelector('.caret-flag')
      assert.deepEqual(await findings(), [])
    })

  test('in a comparison measured elsewhere', async () => {
    const rows = modes.map((mode, index) => ({
      mode,
      serverHttp: mode.http,
      sent: 24,
      received: 23,
      failure: null,
      medians: [2, 3 + index, 4 + index, index === 0 ? null : 5],
    }))
    const fragment = fragmentOf({ at: 1_795_000_000_000, browser: 'Firefox 128', rows })
    await go(page, `/d/full?record&view=compare${fragment}`)
    await page.page.waitForSelector('.comparison-rows')
    assert.deepEqual(await findings(), [])
  })

  test('in a comparison measured here', async () => {
    await go(page, '/d/full?record&view=compare&rounds=1')
    await page.page.click('.comparison-start')
    await page.page.waitForSelector('.comparison-use button', { timeout: 60_000 })
    await page.run(() => {
      for (const part of document.querySelectorAll<HTMLDetailsElement>('.comparison-more')) part.open = true
    })
    assert.deepEqual(await findings(), [])
  })

  test('in a read-only document', async () => {
    await go(page, '/d/full?record&read')
    assert.deepEqual(await findings(), [])
  })

  for (const [opening, within] of [
    ['Documents', 'dialog'],
    ['Share', 'dialog'],
    ['Menu', '[role=menu]'],
    ['Saved', '.connection-panel'],
    ['More', '.tool-more'],
    ['Link', '.link-form'],
  ] as const)
    test(`with ${opening} open`, async () => {
      await page.page.setViewport({ width: opening === 'More' ? 360 : 1280, height: 800 })
      await go(page, '/d/full?record')
      await page.page.focus('#document')
      if (opening === 'Documents') await chooseInMenu(page, opening)
      else await pressButton(opening)
      await page.page.waitForSelector(within)
      assert.deepEqual(await findings(), [])
    })
})
