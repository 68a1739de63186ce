// Carets and names of others in real windows: position, removal and cost.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import * as Y from 'yjs'
import { type DownFrame, isKind } from '../../protocol/messages.ts'
import { modeNamed } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { openClient } from '../conformance/contract-client.ts'
import { caretsShown, peopleHere } from './page.ts'
import { openStage, type Stage, untilShows } from './stage.ts'

const keys = {
  left: '\uE012',
  home: '\uE011',
  up: '\uE013',
  down: '\uE015',
  enter: '\uE007',
  erase: '\uE003',
}

/** After this time a page no longer shows a typist as typing, for which it requests another frame. */
const typingMs = 3000

let stage: Stage
before(async () => {
  // A silent window is missed after two minutes at the earliest.
  stage = await openStage({ heartbeatMs: 60_000 })
})
after(() => stage.close())

const sse = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')

let pairs = 0

async function openPair() {
  pairs += 1
  const channel = `pair-${pairs}`
  const [typist, reader] = await stage.open(sse, 2, channel)
  assert.ok(typist && reader)
  await untilPeople(reader, 2)
  await untilPeople(typist, 2)
  await typist.click('#document')
  return { typist, reader, channel, name: (await typist.run(peopleHere))[0] ?? '' }
}

function untilPeople(window: BrowserWindow, count: number): Promise<void> {
  const isSo = async () => (await window.run(peopleHere)).length === count
  return until(isSo, `a window does not list ${count}`)
}

async function untilCarets(window: BrowserWindow, ...expected: readonly string[]): Promise<void> {
  const isSo = async () => String(await window.run(caretsShown)) === String(expected)
  await until(isSo, `a window does not show ${expected}`).catch(async (error) => {
    throw new Error(`${error.message} It shows ${await window.run(caretsShown)}.`)
  })
}

// The transport contract tests awareness in every mode.
test('a caret is shown with its name, and follows typing, keys and edits above', async (t) => {
  const { typist, reader, name } = await openPair()
  t.after(stage.closeWindows)
  await typist.type('Hello')
  await untilCarets(reader, `${name}: Hello|`)
  assert.ok((await reader.run(peopleHere)).includes(`${name} is typing`))
  for (const _ of 'lo') await typist.key(keys.left)
  await untilCarets(reader, `${name}: Hel|lo`)
  await reader.click('#document')
  await reader.key(keys.home)
  await reader.type('Above')
  await reader.key(keys.enter)
  await untilCarets(reader, `${name}: Hel|lo`)
  await typist.type('p')
  await untilCarets(reader, `${name}: Help|lo`)
  await typist.key(keys.erase)
  await untilCarets(reader, `${name}: Hel|lo`)
  const [readerName] = await reader.run(peopleHere)
  await untilCarets(typist, `${readerName}: |Hello`)
  // Clicks below the text, which puts the caret at its end.
  await reader.click('#document')
  await untilCarets(typist, `${readerName}: Hello|`)
})

test('a late window sees the caret of someone who has only typed', async (t) => {
  t.after(stage.closeWindows)
  const [typist] = await stage.open(sse, 1, 'typed')
  assert.ok(typist)
  await typist.click('#document')
  await typist.type('Hello')
  const [late] = await stage.open(sse, 1, 'typed')
  assert.ok(late)
  await untilShows(late, 'Hello')
  await untilCarets(late, `${(await typist.run(peopleHere))[0]}: Hello|`)
})

test('a closed window disappears long before heartbeats tell, as does one of a killed browser', async (t) => {
  const { typist, reader, channel, name } = await openPair()
  t.after(stage.closeWindows)
  await typist.type('Hello')
  await untilCarets(reader, `${name}: Hello|`)
  await typist.close()
  await untilPeople(reader, 1)
  await untilCarets(reader)
  const browser = await stage.anotherBrowser()
  const [victim] = await stage.open(sse, 1, channel, { browser })
  assert.ok(victim)
  await victim.click('#document')
  await victim.type('!')
  await until(async () => (await reader.run(caretsShown)).length === 1, 'the caret did not appear')
  await browser.kill()
  await untilPeople(reader, 1)
  await untilCarets(reader)
})

test('typing sends nothing for presence', async (t) => {
  const { typist, channel } = await openPair()
  t.after(stage.closeWindows)
  const { origin, ca } = stage.server
  const query = new URLSearchParams({ window: 'observer', channels: channel })
  const observer = openClient({ mode: sse, origin: origin['2'], ca, query })
  t.after(() => observer.close())
  await observer.next('welcome')
  const letters = 'the quick brown fox jumps over the lazy dog again! '
  for (const letter of letters) await typist.key(letter)
  const hasAll = async () => textIn(observer.waiting()) === `${letters}\n`
  await until(hasAll, 'the observer does not have every letter')
  const types = observer.waiting().map(({ type }) => type)
  // The click's report may arrive after the first letter.
  const reports = types.slice(types.indexOf('message')).filter((type) => type === 'awareness')
  assert.ok(reports.length <= 1, `${reports.length} reports for ${letters.length} letters`)
})

function textIn(frames: readonly DownFrame[]): string {
  const doc = new Y.Doc()
  for (const frame of frames)
    if (frame.type === 'message' && isKind(frame.message, 'update'))
      Y.applyUpdate(doc, Buffer.from(frame.message.body.update, 'base64'))
  return doc.getText('text').toString()
}

// A frame costs a layout and a paint, and until a key's frame Chromium holds back network data.
test('for a letter the typist’s page asks for no animation frame, and each other page for one', async (t) => {
  const { typist, reader, name } = await openPair()
  t.after(stage.closeWindows)
  await typist.type('Hello')
  await untilCarets(reader, `${name}: Hello|`)
  const isQuiet = async () => !(await reader.run(peopleHere)).some((who) => who.endsWith(' is typing'))
  await until(isQuiet, 'the typist is still shown as typing')
  for (const window of [typist, reader]) await window.run(watchFrames, typingMs)
  await typist.type('!')
  await untilCarets(reader, `${name}: Hello!|`)
  assert.deepEqual([await typist.run(framesAsked), await reader.run(framesAsked)], [[], ['Hello']])
})

test('a chosen name is shown in the other windows, as plain text', async (t) => {
  const { typist, reader } = await openPair()
  t.after(stage.closeWindows)
  await typist.click('.people-button')
  const isFocused = () => document.activeElement?.matches('.people-own .field') ?? false
  await until(() => typist.run(isFocused), 'the list did not open')
  await typist.type('Ada <b>')
  await typist.key(keys.enter)
  await untilPeople(reader, 2)
  await until(async () => (await reader.run(peopleHere)).includes('Ada <b>'), 'the name did not appear')
  await typist.click('#document')
  await typist.type('x')
  await untilCarets(reader, 'Ada <b>: x|')
  await typist.run(() => localStorage.removeItem('crosswind.name'))
})

// Run in the page.

/** The document's content at each of the page's animation frame requests. */
type Watched = typeof globalThis & { framesAsked?: string[] }

/** Records the requests up to `forMs` after the first. */
function watchFrames(forMs: number): void {
  const page = globalThis as Watched
  const asked: string[] = []
  const request = page.requestAnimationFrame.bind(page)
  let end = Number.POSITIVE_INFINITY
  page.framesAsked = asked
  page.requestAnimationFrame = (run) => {
    if (asked.length === 0) end = performance.now() + forMs
    if (performance.now() < end) asked.push(document.querySelector('#document')?.textContent ?? '')
    return request(run)
  }
}

const framesAsked = () => (globalThis as Watched).framesAsked
