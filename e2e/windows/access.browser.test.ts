// Invited people in a real browser: a link lets them in, for EventSource, XHR and WebSocket alike; readers only read.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { modeNamed, modes } from '../../server/wire/modes.ts'
import { startBrowser } from '../browser/browser.ts'
import { until } from '../browser/until.ts'
import { linkState } from './page.ts'
import { openStage, type Stage, type as typeText, untilOpen, untilShows } from './stage.ts'

let stage: Stage
before(async () => {
  stage = await openStage({ access: 'invited' })
})
after(() => stage.close())

const sse = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')

test('without an invitation there is a page that says so, and no document', async () => {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin['2']}/`)
  const text: string = await window.run(() => document.body.innerText)
  assert.match(text, /invitation/i)
  assert.equal(await window.run(() => document.querySelector('#document')), null)
  await window.close()
})

test('a link lets a writer in, in every mode; the address keeps no trace of it', async () => {
  const window = await stage.browser.newWindow()
  await window.open(await stage.server.invite({ channels: ['main'], may: 'write' }))
  const address: string = await window.run(() => location.href)
  assert.doesNotMatch(address, /invitation/)
  await window.open(`${address}&record`)
  await untilOpen(window, sse)
  await window.click('#document')
  let typed = ''
  for (const mode of modes) {
    await window.run((name: string) => globalThis.window.crosswind?.switchMode(name), mode.name)
    await untilOpen(window, mode)
    await typeText(window, 'x')
    typed += 'x'
    const isStored = async () => (await window.run(unstored)) === 0
    await until(isStored, `what was typed over ${mode.name} was not stored`)
  }
  await untilShows(window, typed)
  await window.close()
})

test('a reader follows, and cannot write', async () => {
  // Another browser: a session is the browser's, not the window's.
  const browser = await startBrowser()
  try {
    const reader = await browser.newWindow()
    await reader.open(await stage.server.invite({ channels: ['main'], may: 'read' }))
    await reader.open(`${await reader.run(() => location.href)}&record`)
    await untilOpen(reader, sse)
    const isEditable = await reader.run(() =>
      document.querySelector('#document')?.getAttribute('contenteditable'),
    )
    assert.equal(isEditable, 'false')
    const [writer] = await stage.open(sse, 1, 'main')
    assert.ok(writer)
    await writer.click('#document')
    await writer.key('\uE010')
    await typeText(writer, 'y')
    await until(
      async () => (await reader.run(() => document.body.innerText)).includes('xy'),
      'the reader does not follow',
    )
    assert.match(await reader.run(() => document.body.innerText), /Reading only/)
    await until(async () => (await reader.run(linkState)).windows === 2, 'two windows were not counted')
    await writer.close()
  } finally {
    await browser.quit()
  }
})

function unstored(): number | undefined {
  return window.crosswind?.view().outbox.unstored
}
