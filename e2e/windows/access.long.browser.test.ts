// Invitations in a real browser, over EventSource, XHR and WebSocket; readers cannot write.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fingerprintIn } from '../../protocol/messages.ts'
import { modeNamed } from '../../protocol/modes.ts'
import { type BrowserWindow, startBrowser, until } from '../browser/browser.ts'
import { linkState, switchMode, windowsAtServer } from './page.ts'
import {
  browserModes,
  browserName,
  openStage,
  type Stage,
  untilOpen,
  untilShows,
  untilStored,
} from './stage.ts'

let stage: Stage
before(async () => {
  stage = await openStage({ access: 'invited' })
})
after(() => stage.close())

const sse = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')

test('without an invitation, a page says so and shows no document', async () => {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin['2']}/`)
  const text: string = await window.run(() => document.body.innerText)
  assert.match(text, /invitation/i)
  assert.equal(await window.run(() => document.querySelector('#document')), null)
  await window.close()
})

test('a link gives a writer access in every mode; the address keeps no trace of it', async () => {
  const window = await stage.browser.newWindow()
  await window.open(await stage.server.invite({ channels: ['main'], may: 'write' }))
  const address = await window.address()
  assert.doesNotMatch(address, /invitation/)
  await window.open(`${address}?record`)
  await untilOpen(window, sse)
  await window.click('#document')
  let typed = ''
  for (const mode of browserModes) {
    await window.run(switchMode, mode.name)
    await untilOpen(window, mode)
    await window.type('x')
    typed += 'x'
    await untilStored(window)
  }
  await untilShows(window, typed)
  await window.close()
})

test('a link that allows something else replaces the session of the browser, once that is confirmed', async () => {
  const browser = await stage.anotherBrowser()
  for (const channel of ['first', 'second']) {
    const window = await browser.newWindow()
    await window.open(await stage.server.invite({ channels: [channel], may: 'write' }))
    if (channel === 'second') {
      assert.match(await window.run(() => document.body.innerText), /already has a session/)
      await window.click('form button')
    }
    await until(async () => (await window.address()).endsWith(`/d/${channel}`), 'the link was not taken')
    await window.close()
  }
})

async function idsAt(window: BrowserWindow): Promise<string[]> {
  const here: { id: string }[] = await window.run(windowsAtServer)
  return here.map(({ id }) => id)
}

test('windows on both ports share one key; a polling window announces its closing', async () => {
  const browser = await stage.anotherBrowser()
  const guest = await browser.newWindow()
  await guest.open(await stage.server.invite({ channels: ['main'], may: 'write' }))
  await guest.open('about:blank')
  const open = (name: string) => {
    const mode = modeNamed(name) ?? assert.fail(`there is no mode ${name}`)
    return stage.open(mode, 1, 'main', { browser })
  }
  const [staying] = await open('sse/1.1')
  assert.ok(staying)
  for (const name of ['long-polling/2', 'polling/1.1']) {
    const earlier: ReadonlySet<string> = new Set(await idsAt(staying))
    const [going] = await open(name)
    const added: string[] = (await idsAt(staying)).filter((id) => !earlier.has(id))
    assert.equal(added.length, 1)
    const [id = ''] = added
    // Windows of both ports share this browser's key.
    assert.ok([...earlier].some((other) => fingerprintIn(other) === fingerprintIn(id)))
    await going?.close()
    // Without a leave request it would stay for two and a half heartbeats.
    const isGone = async () => !(await idsAt(staying)).includes(id)
    await until(isGone, `a closed window still counts over ${name}`)
  }
  await staying.close()
})

test('a reader follows, but cannot write', async () => {
  // Another browser: sessions belong to a browser, not a window.
  const browser = await startBrowser({ name: browserName })
  try {
    const reader = await browser.newWindow()
    await reader.open(await stage.server.invite({ channels: ['main'], may: 'read' }))
    await reader.open(`${await reader.address()}?record`)
    await untilOpen(reader, sse)
    const isEditable = await reader.run(() =>
      document.querySelector('#document')?.getAttribute('contenteditable'),
    )
    assert.equal(isEditable, 'false')
    const [writer] = await stage.open(sse, 1, 'main')
    assert.ok(writer)
    await writer.click('#document')
    await writer.key('\uE010')
    await writer.type('y')
    await until(
      async () => (await reader.run(() => document.body.innerText)).includes('xy'),
      'the reader does not follow',
    )
    assert.match(await reader.run(() => document.body.innerText), /Read-only/)
    // A window of an earlier test may still count: its leave request can be late or lost.
    const isCounted = async () => ((await reader.run(linkState)).windows ?? 0) >= 2
    await until(isCounted, 'two windows were not counted')
    await writer.close()
  } finally {
    await browser.quit()
  }
})
