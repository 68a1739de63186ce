// Windows stay in step in every mode and through switches, with text, caret and scroll intact.

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { connections, type Mode, modeNamed, modes } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import {
  apiRequests,
  bannerText,
  caretShown,
  htmlShown,
  linkState,
  placeCaret,
  press,
  scrollTo,
  scrollTop,
  switchMode,
  windowsAtServer,
  writeHtml,
} from './page.ts'
import {
  browserModes,
  chooseInMenu,
  openConnection,
  openStage,
  type Stage,
  untilOpen,
  untilShows,
} from './stage.ts'

/** WebDriver's names of keys (W3C WebDriver, 17.4.2). */
const keys = { up: '\uE013', enter: '\uE007' }

/** Requests not needed by any transport's stream or uplink. */
const beside = /^\/api\/(awareness|clock|heartbeat|windows|wind\/history)$/

let stage: Stage
before(async () => {
  // Each window has its own connection, so that its name gives its mode.
  stage = await openStage({ share: 'none' })
})
after(() => stage.close())
afterEach(() => stage.closeWindows())

function mode(name: string) {
  const found = modeNamed(name)
  if (!found) throw new Error(`No mode ${name}`)
  return found
}

for (const each of browserModes) {
  test(`${each.name}: text typed in one of two windows shows in the other, over that protocol`, async () => {
    const channel = `two-${each.name.replace('/', '-')}`
    const windows = await stage.open(each, 2, channel)
    const [typist] = windows
    assert.ok(typist)
    await typist.click('#document')
    await typist.type('Hello wind')
    for (const window of windows) await untilShows(window, 'Hello wind')
    const counted = async () => (await typist.run(linkState)).windows
    await until(async () => (await counted()) === 2, 'two windows were not counted')
    await assertSpoken(typist, each, channel)
    for (const window of windows.slice(1)) await window.close()
    await until(async () => (await counted()) === 1, 'a closed window is still counted')
  })
}

/** As reported by the browser and by the server. */
async function assertSpoken(window: BrowserWindow, each: Mode, channel: string): Promise<void> {
  assert.equal((await window.run(linkState)).spokenHttp, each.http)
  const seen = (await window.run(windowsAtServer)).filter(({ channels }) => channels.includes(channel))
  assert.deepEqual(new Set(seen.map(({ mode }) => mode)), new Set([each.name]))
  // Requests are listed once they end: an open stream is not. `initiator`: Resource Timing.
  const asXhr = { initiator: 'xmlhttprequest', protocol: connections[each.http].alpn }
  const requests = async (isUplink: boolean) => {
    const all = (await window.run(apiRequests)).filter(({ path }) => !beside.test(path))
    return all.filter(({ path }) => (path === '/api/messages') === isUplink)
  }
  const areXhr = async (isUplink: boolean) => {
    await until(async () => (await requests(isUplink)).length > 0, 'no request has ended')
    for (const { path, ...how } of await requests(isUplink)) assert.deepEqual(how, asXhr, path)
  }
  if (each.uplink === 'xhr') await areXhr(true)
  else assert.deepEqual(await requests(true), [])
  if (each.isPush) assert.deepEqual(await requests(false), [])
  else await areXhr(false)
}

for (const each of modes.filter((each) => !browserModes.includes(each))) {
  test(`${each.name}: a browser that lacks the mode uses the next one at once, and says so`, async () => {
    const window = await stage.browser.newWindow()
    const [transport, http] = each.name.split('/')
    await window.open(`${stage.server.origin[each.http]}/?transport=${transport}&http=${http}&record`)
    const next = mode(each.fallback ?? '')
    await untilOpen(window, next)
    const notice = await window.run(bannerText)
    assert.ok(
      notice.includes(`This browser does not support ${each.label}`) && notice.includes(next.label),
      notice,
    )
    await window.run(switchMode, 'websocket/1.1')
    await untilOpen(window, mode('websocket/1.1'))
    assert.equal(await window.run(bannerText), '')
    await window.run(switchMode, each.name)
    await untilOpen(window, next)
    await until(
      async () => (await window.run(bannerText)).includes(each.label),
      'the notice did not reappear',
    )
    assert.deepEqual(await stage.browser.consoleMessages(), [])
    await window.close()
  })
}

test('the mode switches from the menu, by keyboard too', async () => {
  const [typist, reader] = await stage.open(mode('sse/2'), 2, 'menu')
  assert.ok(typist && reader)
  await openConnection(typist)
  await typist.click('[data-mode="websocket/1.1"]')
  await untilOpen(typist, mode('websocket/1.1'))
  await openConnection(typist)
  for (const key of [keys.up, keys.enter]) await typist.key(key)
  await untilOpen(typist, mode('sse/2'))
  await typist.click('#document')
  await typist.type('on it goes')
  await untilShows(reader, 'on it goes')
})

test('a reading window keeps its caret at its text, and its scroll position', async () => {
  const [typist, reader] = await stage.open(mode('sse/2'), 2, 'caret')
  assert.ok(typist && reader)
  const paragraphs = Array.from({ length: 80 }, (_, n) => `<p>Paragraph ${n} of many</p>`)
  await typist.run(writeHtml, paragraphs.join(''))
  await until(async () => (await reader.run(htmlShown)) === paragraphs.join(''), 'the text did not arrive')
  await reader.run(placeCaret, 40, 9)
  await reader.run(scrollTo, 900)
  const before = await reader.run(scrollTop)
  assert.ok(before > 0)

  await typist.run(placeCaret, 40, 0)
  await typist.type('New ')
  await typist.run(placeCaret, 60, 3)
  await typist.type('!')
  await until(async () => (await reader.run(htmlShown)).includes('Par!agraph 60'), 'the edit did not arrive')
  assert.match(await reader.run(htmlShown), /New.Paragraph 40/)
  assert.match(await reader.run(caretShown), /^New.Paragraph\| 40 of many$/)
  assert.equal(await reader.run(scrollTop), before)
})

test('five of seven windows get HTTP/1.1’s connections, with a warning; the others use HTTP/2 at once, say why, and stay in step', async () => {
  const wished = mode('sse/1.1')
  const roomy = mode(wished.whenFull ?? '')
  const channel = 'seven'
  const held = await stage.open(wished, 5, channel)
  const [first] = held
  assert.ok(first)
  const streams = async () => (await first.run(linkState)).browserHttp1Streams
  await until(async () => (await streams()) === 5, 'five streams were not counted')
  const warning = /5 windows of this browser are open over HTTP\/1\.1/
  await until(async () => warning.test(await first.run(bannerText)), 'no warning was shown')
  const query = new URLSearchParams({ transport: wished.transport, http: wished.http, channel, record: '' })
  const others: BrowserWindow[] = []
  for (let n = 0; n < 2; n += 1) {
    const window = await stage.browser.newWindow()
    await window.open(`${stage.server.origin[wished.http]}/?${query}`)
    await untilOpen(window, roomy)
    assert.match(
      await window.run(bannerText),
      /Other windows of this browser use all of its connections for [^;]+; using [^;]+, HTTP\/2 instead/,
    )
    others.push(window)
  }
  const [typist] = others
  assert.ok(typist)
  await typist.click('#document')
  await typist.type('seven')
  for (const window of [...held, ...others]) await untilShows(window, 'seven')
  for (const window of held) assert.equal((await window.run(linkState)).mode, wished.name)
  for (const window of held.slice(4)) await window.close()
  await until(async () => (await streams()) === 4, 'four streams were not counted')
  await until(async () => !warning.test(await first.run(bannerText)), 'the warning stayed')
})

/** An address without a mode. */
const theServersChoice = 'null/null'

/** Resolves to the mode in the address that “New window” opens. */
async function newWindowAsked(window: BrowserWindow): Promise<string> {
  await window.run(() => {
    globalThis.open = (address) => {
      Object.assign(globalThis, { asked: String(address) })
      return null
    }
  })
  await chooseInMenu(window, 'New window')
  const address = await window.run(() => (globalThis as typeof globalThis & { asked?: string }).asked ?? '')
  const { searchParams } = new URL(address)
  return `${searchParams.get('transport')}/${searchParams.get('http')}`
}

test('“New window” asks for a mode with room once HTTP/1.1 has none; a window that fell back asks for the mode that it wished', async () => {
  const wished = mode('sse/1.1')
  const roomy = mode(wished.whenFull ?? '')
  const channel = 'asked'
  const held = await stage.open(wished, 4, channel)
  const [first] = held
  assert.ok(first)
  const untilHeld = (window: BrowserWindow, count: number) =>
    until(
      async () => (await window.run(linkState)).browserHttp1Streams === count,
      `${count} streams were not counted`,
    )
  await untilHeld(first, 4)
  assert.equal(await newWindowAsked(first), 'sse/1.1')
  held.push(...(await stage.open(wished, 1, channel)))
  for (const window of held) {
    await untilHeld(window, 5)
    assert.equal(await newWindowAsked(window), theServersChoice)
  }

  const query = new URLSearchParams({ transport: wished.transport, http: wished.http, channel, record: '' })
  const fallen = await stage.browser.newWindow()
  await fallen.open(`${stage.server.origin[wished.http]}/?${query}`)
  await untilOpen(fallen, roomy)
  assert.equal(await newWindowAsked(fallen), 'sse/1.1')

  await first.run(press, '.notice .button', 'Switch this window to HTTP/2')
  await untilOpen(first, roomy)
  assert.equal(await newWindowAsked(first), theServersChoice)
  assert.doesNotMatch(await first.run(bannerText), /HTTP\/1\.1/)
})
