// A person's use of the page, from opening it to comparing the modes: one browser, one server.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { documentPath } from '../../app/shared/document-api.ts'
import { testConfig } from '../../app/testing.ts'
import { type Mode, modeNamed, modes } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { startProxy } from '../network/cutting-proxy.ts'
import {
  bannerText,
  caretsShown,
  chooseFile,
  draftsKept,
  editsReceived,
  isThere,
  linkState,
  pageProtocol,
  peopleHere,
  placeCaret,
  press,
  readings,
  shown,
  switchMode,
} from './page.ts'
import { paste, selectAll, untilHtml, untilParagraphs } from './shared-editing.ts'
import {
  browserModes,
  chooseInMenu,
  openStage,
  type Stage,
  untilKept,
  untilNotOpen,
  untilOpen,
  untilShows,
  untilStored,
} from './stage.ts'

const sse = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')
const sharedMode = modeNamed('sse/1.1') ?? assert.fail('there is no mode sse/1.1')

const dataFolder = join(temporaryFolder(), 'data')

let stage: Stage
before(async () => {
  stage = await openStage({
    storage: 'sqlite',
    dataFolder,
    sensor: { ...testConfig.sensor, source: 'simulated', rateHz: 4 },
  })
})
after(() => stage.close())
afterEach(() => stage.closeWindows())

async function openPair(channel: string, mode: Mode = sse): Promise<[BrowserWindow, BrowserWindow]> {
  const [one, other] = await stage.open(mode, 2, channel)
  assert.ok(one && other)
  await one.click('#document')
  return [one, other]
}

/** A window whose connection can be cut. */
async function openThrough(port: number, channel: string): Promise<BrowserWindow> {
  const window = await stage.browser.newWindow()
  await window.open(`https://localhost:${port}${documentPath(channel)}?record`)
  await untilOpen(window, sse)
  return window
}

async function openView(view: string, channel = 'main'): Promise<BrowserWindow> {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin['2']}${documentPath(channel)}?record&view=${view}`)
  await untilOpen(window, sse)
  return window
}

async function assertOnce(window: BrowserWindow): Promise<void> {
  const ids = await window.run(editsReceived)
  assert.equal(new Set(ids).size, ids.length, 'an edit arrived twice')
}

test('a first window opens in the default mode, ready to type', async () => {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin['2']}/?record`)
  await untilOpen(window, sse)
  assert.equal(await window.run(pageProtocol), 'h2')
  await window.type('at once')
  await untilShows(window, 'at once')
  await untilStored(window)
  assert.deepEqual(await stage.browser.consoleMessages(), [])
})

test('two windows: both type, and each shows the other’s text, caret and name', async () => {
  const [one, other] = await openPair('pair')
  await one.type('Hello wind')
  await untilShows(other, 'Hello wind')
  const [name = ''] = await one.run(peopleHere)
  for (let step = 0; step < 4; step += 1) await one.press('ArrowLeft')
  const hasCaret = async () => (await other.run(caretsShown)).join() === `${name}: Hello |wind`
  await until(hasCaret, 'the caret of the other window is not shown')
  await other.run(placeCaret, 0, 5)
  await other.type(',')
  for (const window of [one, other]) await untilShows(window, 'Hello, wind')
  const counted = async () => (await one.run(linkState)).windows
  await until(async () => (await counted()) === 2, 'two windows are not counted')
  await other.close()
  await until(async () => (await counted()) === 1, 'a closed window is still counted')
})

test('a window switches through every mode while both type, and nothing is lost', async () => {
  const [typist, reader] = await openPair('switching')
  let expected = ''
  for (const next of [...browserModes.slice(1), ...browserModes.slice(0, 1)]) {
    await typist.run(switchMode, next.name)
    await typist.type('ab')
    await untilOpen(typist, next)
    await typist.type('c')
    expected += 'abc'
    await untilShows(reader, expected)
    assert.equal((await typist.run(linkState)).spokenHttp, next.http)
    const { searchParams } = new URL(await typist.address())
    // The server's choice needs no words in the address.
    const asked = next === sse ? [null, null] : [next.transport, next.http]
    assert.deepEqual([searchParams.get('transport'), searchParams.get('http')], asked)
  }
  // Then it switches back and receives in each mode.
  await reader.run(placeCaret, 0, 0)
  for (const next of browserModes.toReversed()) {
    await typist.run(switchMode, next.name)
    await untilOpen(typist, next)
    await reader.type('x')
    expected = `x${expected}`
    await untilShows(typist, expected)
  }
  await assertOnce(reader)
  assert.deepEqual(await stage.browser.consoleMessages(), [])
})

test('formatting, pasting, composing and undoing show in the other window', async () => {
  const windows = await openPair('formats')
  const [one, other] = windows
  await one.type('plain ')
  await one.click('[data-tool=bold]')
  await one.type('bold')
  await untilHtml(windows, '<p>plain <b>bold</b></p>')
  await one.run(selectAll)
  await one.run(paste, '<ul><li>A:</li></ul><p>B:</p>', 'A:\n\nB:')
  await untilHtml(windows, '<ul><li>A:</li></ul><p>B:</p>')
  await one.run(placeCaret, 1, 2)
  await other.click('#document')
  await other.run(placeCaret, 1, 0)
  await one.compose('k')
  await other.type('before ')
  await one.compose('かん')
  await one.commit('感じ')
  await untilHtml(windows, '<ul><li>A:</li></ul><p>before B:感じ</p>')
  const isUndone = async () => !(await one.run(shown, '#document')).includes('感')
  for (let step = 0; step < 4 && !(await isUndone()); step += 1) await one.press('Control+z')
  await untilHtml(windows, '<ul><li>A:</li></ul><p>before B:</p>')
})

test('text typed while the connection is cut arrives, once and in order', async (t) => {
  const proxy = await startProxy(stage.server.ports['2'])
  t.after(proxy.close)
  const typist = await openThrough(proxy.port, 'cut')
  const [reader] = await stage.open(sse, 1, 'cut')
  assert.ok(reader)
  await typist.click('#document')
  await typist.type('before ')
  proxy.refuse(true)
  proxy.cut()
  await typist.type('during ')
  await untilNotOpen(typist)
  proxy.refuse(false)
  await typist.type('after')
  for (const window of [reader, typist]) await untilShows(window, 'before during after')
  await assertOnce(reader)
})

test('a window reloaded before its text was sent shows it at once, and sends it', async (t) => {
  const proxy = await startProxy(stage.server.ports['2'])
  t.after(proxy.close)
  const typist = await openThrough(proxy.port, 'reloaded')
  const [reader] = await stage.open(sse, 1, 'reloaded')
  assert.ok(reader)
  await typist.click('#document')
  await typist.type('stored ')
  await untilShows(reader, 'stored ')
  proxy.hold()
  await typist.type('unsent')
  await untilKept(typist)
  proxy.cut()
  proxy.release()
  await typist.reload()
  for (const window of [typist, reader]) await untilShows(window, 'stored unsent')
  await assertOnce(reader)
})

test('while the server is away a window keeps what is typed, also when it closes; then all of it arrives', async () => {
  const [staying, closing] = await openPair('away')
  await staying.type('before ')
  await untilShows(closing, 'before ')
  await stage.server.close()
  for (const window of [staying, closing]) await untilNotOpen(window)
  await staying.type('during ')
  await closing.click('#document')
  await closing.run(placeCaret, 0, 0)
  await closing.type('offline ')
  await untilKept(closing)
  await closing.close()
  await stage.restartServer()
  await untilShows(staying, 'offline before during ')
  await untilStored(staying)
  await until(async () => (await staying.run(draftsKept)) === 0, 'drafts are still kept')
  const [next] = await stage.open(sse, 1, 'away')
  assert.ok(next)
  await untilShows(next, 'offline before during ')
  await assertOnce(staying)
})

test('seven windows over HTTP/1.1, more than a browser has connections, share one', async () => {
  const windows = await stage.open(sharedMode, 7, 'seven')
  const [first, second] = windows
  assert.ok(first && second)
  await first.click('#document')
  await first.type('seven')
  for (const window of windows) await untilShows(window, 'seven')
  assert.equal((await first.run(linkState)).browserHttp1Streams, 1)
  for (const window of windows) assert.equal(await window.run(bannerText), '')
  await first.close()
  await second.click('#document')
  await second.run(placeCaret, 0, 0)
  await second.type('all ')
  for (const window of windows.slice(1)) await untilShows(window, 'all seven')
})

test('Share gives a link to write and one to read only', async () => {
  const [writer] = await stage.open(sse, 1, 'shared')
  assert.ok(writer)
  await writer.click('#document')
  await writer.type('hello')
  await writer.click('.share-button')
  await until(() => writer.run(isThere, '.copy-field'), 'there is no link')
  const link = () => document.querySelector<HTMLInputElement>('.copy-field input')?.value ?? ''
  assert.equal(await writer.run(link), `${stage.server.origin['2']}/d/shared`)
  assert.match(await writer.run(shown, '.dialog'), /works only on this computer.*npm start -- --invite/)
  await writer.run(press, '.share-rights label', 'can read')
  const toRead = `${stage.server.origin['2']}/d/shared?read`
  await until(async () => (await writer.run(link)) === toRead, 'there is no link to read only')
  assert.match(await writer.run(shown, '.dialog'), /Anyone who edits the address can write.*access: invited/)
  const reader = await stage.browser.newWindow()
  await reader.open(`${toRead}&record`)
  await untilShows(reader, 'hello')
  assert.equal(
    await reader.run(() => document.querySelector('#document')?.getAttribute('contenteditable')),
    'false',
  )
  assert.equal(await reader.run(isThere, '.title-button'), false)
})

test('a file is imported, and exported with what was typed before it', async () => {
  const [window] = await stage.open(sse, 1, 'imported')
  assert.ok(window)
  await window.click('#document')
  await window.type('before')
  await window.run(
    chooseFile,
    '<h2>Plan</h2><p onclick="x()">a <b>b</b><script>x()</script></p>',
    'plan.html',
  )
  await until(
    async () => (await window.run(shown, '.notices')).includes('plan.html is imported'),
    'no notice says that it is imported',
  )
  await untilStored(window)
  const exported = await window.run(async () => (await fetch(`${location.pathname}/export.md`)).text())
  assert.equal(exported, 'before\n\n## Plan\n\na **b**\n')
})

test('History shows an earlier version and restores it for everyone', async () => {
  const windows = await openPair('past')
  const [one, other] = windows
  await one.type('first')
  await untilShows(other, 'first')
  await other.click('#document')
  await other.run(placeCaret, 0, 5)
  await other.type(' second')
  await untilShows(one, 'first second')
  await untilStored(other)
  await one.run(press, '.tab', 'History')
  await until(
    async () => (await one.run(shown, '.versions-text')) === 'first second',
    'the newest version is not shown',
  )
  // Keystrokes in quick succession are one step.
  await until(async () => {
    if ((await one.run(shown, '.versions-text')) === 'first') return true
    await one.run(press, '.versions-controls button', '‹')
    return false
  }, 'no version shows the first word alone')
  await one.run(press, '.versions-controls button', 'Restore')
  for (const window of windows) await untilShows(window, 'first')
})

test('a title appears in both windows; a deleted document can be brought back', async () => {
  const windows = await openPair('titled')
  const [one, other] = windows
  await one.type('text')
  await one.click('.title-button')
  await until(() => one.run(isThere, '.title-field'), 'there is no field for the title')
  await one.type('Wind plans')
  await one.press('Enter')
  await until(
    async () => (await other.run(shown, '.document-title')) === 'Wind plans',
    'the other window did not get the title',
  )
  assert.equal(await other.run(() => document.title), 'Wind plans – Crosswind')
  await chooseInMenu(one, 'Documents')
  await until(
    async () => (await one.run(shown, '.document-list')).includes('Wind plans'),
    'the list lacks the title',
  )
  await one.run(press, '.document-entry button', 'Delete Wind plans')
  await one.run(press, '.document-question button', 'Delete')
  const isDeleted = async () => (await other.run(shown, '.notice')).includes('This document was deleted.')
  await until(isDeleted, 'the other window is not told of the deletion')
  await other.run(press, '.notice button', 'Bring back')
  await until(async () => !(await one.run(isThere, '.notice')), 'the document is not back')
  for (const window of windows) await untilParagraphs([window], ['text'])
})

test('the same wind moves in both windows, and its history is there after a reload', async () => {
  const one = await openView('wind')
  const other = await openView('write', 'windy')
  const seqsOf = async (window: BrowserWindow) => (await window.run(readings)).seqs
  for (const window of [one, other])
    await until(async () => (await seqsOf(window)).length >= 4, 'no readings arrive')
  const seqs = await seqsOf(one)
  const others = new Set(await seqsOf(other))
  assert.deepEqual(
    seqs,
    seqs.toSorted((a, b) => a - b),
  )
  assert.ok(seqs.some((seq) => others.has(seq)))
  const label = () => document.querySelector('.dial [role=img]')?.getAttribute('aria-label') ?? ''
  await until(async () => /^Wind dial: (calm|\d)/.test(await one.run(label)), 'the dial shows no wind')
  await one.reload()
  await until(async () => / to .* mean /.test(await one.run(shown, '.history-words')), 'there is no history')
})

test('the document’s menu says how long the text is, also in a view that does not show it', async () => {
  const [writer, reader] = await openPair('counted')
  await writer.type('one two')
  await untilShows(reader, 'one two')
  await reader.click('.tab[href*="view=wind"]')
  await until(async () => !(await reader.run(isThere, '#document')), 'the document is still shown')
  await reader.click('.menu-button')
  await until(() => reader.run(isThere, '#counts-line'), 'the menu did not open')
  assert.equal(await reader.run(shown, '#counts-line'), '2 words, 7 characters')
})

test('Compare gives every mode a median or a reason', async () => {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin['2']}/d/measured?record&view=compare&rounds=1`)
  await untilOpen(window, sse)
  await window.click('.comparison-start')
  await until(() => window.run(isThere, '.comparison-link'), 'the comparison does not end', 90_000)
  const rows = await window.run(() =>
    Array.from(document.querySelectorAll('.comparison-rows > li:has(.comparison-mode)'), (row) => ({
      mode: row.querySelector('.comparison-mode')?.textContent ?? '',
      figure: row.querySelector('.comparison-figure')?.textContent ?? '',
      note: row.querySelector('.comparison-note')?.textContent ?? '',
    })),
  )
  assert.deepEqual(rows.map(({ mode }) => mode).sort(), modes.map(({ label }) => label).sort())
  for (const { mode, figure, note } of rows)
    assert.match(`${figure} ${note}`, /^[\d.]+ ms|Not supported/, mode)
})
