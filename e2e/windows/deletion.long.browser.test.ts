// A document is deleted and brought back in real windows.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { modeNamed } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { startProxy } from '../network/cutting-proxy.ts'
import { draftsKept, isThere, press } from './page.ts'
import { chooseInMenu, openStage, type Stage, untilNotOpen, untilOpen, untilShows } from './stage.ts'

const mode = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')

let stage: Stage
before(async () => {
  stage = await openStage()
})
after(() => stage.close())

async function openWindow(address: string, origin = stage.server.origin['2']): Promise<BrowserWindow> {
  const window = await stage.browser.newWindow()
  await window.open(`${origin}${address}`)
  await untilOpen(window, mode)
  return window
}

/** The text of all matches; empty if there are none. */
const allShown = (selector: string) =>
  Array.from(document.querySelectorAll(selector), ({ textContent }) => textContent).join(' ')

const isEditable = () => document.querySelector('#document')?.getAttribute('contenteditable') === 'true'

async function untilDeleted(window: BrowserWindow): Promise<void> {
  await until(
    async () => /^This document was deleted\. Until \d/.test(await window.run(allShown, '.notice p')),
    'a window was not told of the deletion',
  )
  assert.equal(await window.run(isEditable), false, 'it can still be edited')
  assert.equal(await window.run(isThere, '.title-button'), false, 'its title can still be changed')
}

async function untilBack(window: BrowserWindow): Promise<void> {
  await until(async () => !(await window.run(isThere, '.notice')), 'the notice stays')
  await until(() => window.run(isEditable), 'the document cannot be edited')
}

/** Opens the list and asks to delete a document. */
async function askForDeletion(window: BrowserWindow, name: string): Promise<void> {
  await chooseInMenu(window, 'Documents')
  await until(() => window.run(isThere, '.document-entry'), 'the list did not open')
  await window.run(press, '.document-entry button', `Delete ${name}`)
}

test('the list asks before it deletes; all windows stop editing, and say why, until the document is back', async () => {
  const one = await openWindow('/d/doomed?record')
  const other = await openWindow('/d/doomed?record')
  await one.click('#document')
  await one.type('hello')
  await untilShows(other, 'hello')

  await askForDeletion(one, 'doomed')
  assert.equal(
    await one.run(allShown, '.document-question legend'),
    'Delete “doomed” for everyone? It can be brought back for a day.',
  )
  assert.equal(await other.run(isThere, '.notice'), false, 'it did not wait for the answer')
  await one.run(press, '.document-question button', 'Keep')
  await until(async () => !(await one.run(isThere, '.document-question')), 'the question stays open')
  await one.run(press, '.document-entry button', 'Delete doomed')
  await one.run(press, '.document-question button', 'Delete')
  for (const window of [one, other]) await untilDeleted(window)
  await until(
    async () => /^doomedCan be brought back until \d/.test(await one.run(allShown, 'h3 + .document-list')),
    'the list does not show it among the deleted ones',
  )
  assert.equal(await other.run(allShown, '.connection-word'), 'Deleted')
  await other.click('#document')
  await other.type('lost')
  await untilShows(other, 'hello')

  // A window opened after the deletion.
  const late = await openWindow('/d/doomed?record')
  await untilShows(late, 'hello')
  await untilDeleted(late)
  await late.run(press, '.notice button', 'Bring back')
  for (const window of [one, other, late]) await untilBack(window)
  await other.click('#document')
  await other.run(() => getSelection()?.modify('move', 'forward', 'documentboundary'))
  await other.type(' again')
  for (const window of [one, other, late]) await untilShows(window, 'hello again')
  for (const window of [one, other, late]) await window.close()
})

test('the list brings a document back; a reader gets neither choice', async () => {
  const window = await openWindow('/d/listed?record')
  await window.click('#document')
  await window.type('kept')
  await askForDeletion(window, 'listed')
  await window.run(press, '.document-question button', 'Delete')
  await untilDeleted(window)
  await until(() => window.run(isThere, 'h3 + .document-list button'), 'the list does not have it')
  const reader = await openWindow('/d/listed?record&read')
  await until(() => reader.run(isThere, '.notice'), 'a reader is not told')
  assert.equal(await reader.run(allShown, '.notice button'), '')
  await window.run(press, '.document-entry button', 'Bring listed back')
  for (const each of [window, reader])
    await until(async () => !(await each.run(isThere, '.notice')), 'the notice stays')
  assert.equal(await reader.run(isEditable), false)
  await window.close()
  await reader.close()
})

test('drafts unsent before the deletion are kept, and stored once the document is back', async (t) => {
  const proxy = await startProxy(stage.server.ports['2'])
  t.after(proxy.close)
  const away = await openWindow('/d/away?record&transport=sse&http=2', `https://localhost:${proxy.port}`)
  await away.click('#document')
  await away.type('sent ')
  const other = await openWindow('/d/away?record')
  await untilShows(other, 'sent ')
  proxy.refuse(true)
  proxy.cut()
  await untilNotOpen(away)
  await away.type('unsent')
  await askForDeletion(other, 'away')
  await other.run(press, '.document-question button', 'Delete')
  await untilDeleted(other)
  proxy.refuse(false)
  await untilOpen(away, mode)
  await untilDeleted(away)
  await until(
    async () => (await away.run(allShown, '.connection-word')) === 'Deleted: kept on this device',
    'it does not say what is kept',
  )
  assert.equal(await away.run(allShown, '#document'), 'sent unsent')
  assert.ok((await away.run(draftsKept)) > 0)
  assert.equal(await other.run(allShown, '#document'), 'sent ')
  await other.run(press, '.notice button', 'Bring back')
  await untilBack(away)
  for (const window of [away, other]) await untilShows(window, 'sent unsent')
  await until(async () => (await away.run(draftsKept)) === 0, 'it is still kept')
  await away.close()
  await other.close()
})
