// The views in real windows: each alone, the reader's unit, and the history by keyboard.

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { testConfig } from '../../app/testing.ts'
import { type Mode, modeNamed, modes } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { bannerText, isThere, shown, switchMode } from './page.ts'
import {
  browserName,
  chooseInMenu,
  openConnection,
  openStage,
  type Stage,
  untilOpen,
  untilShows,
} from './stage.ts'

/** WebDriver's names of keys (W3C WebDriver, 17.4.2). */
const keys = { left: '\uE012', right: '\uE014', tab: '\uE004' }

const [mode] = modes as readonly [Mode, ...Mode[]]

let stage: Stage
before(async () => {
  stage = await openStage({ sensor: { ...testConfig.sensor, source: 'simulated', rateHz: 4 } })
})
after(() => stage.close())
afterEach(() => stage.closeWindows())

async function openView(query: string): Promise<BrowserWindow> {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin[mode.http]}/?record&${query}`)
  await untilOpen(window, mode)
  return window
}

function sides(): { document: boolean; wind: boolean; current: string | undefined; query: string } {
  return {
    document: document.querySelector('#document') !== null,
    wind: document.querySelector('#wind') !== null,
    current: document.querySelector('.tabs [aria-current]')?.textContent ?? undefined,
    query: location.search,
  }
}

test('each view shows its parts of the service', async () => {
  for (const [view, tab, hasDocument, hasWind] of [
    ['write', 'Write', true, true],
    ['all', 'Write', true, true],
    ['editor', 'Write', true, false],
    ['wind', 'Wind', false, true],
    ['monitor', 'Lab', false, false],
  ] as const) {
    const window = await openView(`view=${view}`)
    const { document, wind, current } = await window.run(sides)
    assert.deepEqual({ document, wind, current }, { document: hasDocument, wind: hasWind, current: tab })
    await window.close()
  }
})

test('the switch changes views without a reload, and shows what was typed meanwhile', async () => {
  const writer = await openView('channel=views')
  const reader = await openView('channel=views&view=wind')
  await reader.run(() => {
    Object.assign(globalThis, { wasHere: true })
  })
  await writer.click('#document')
  await writer.type('nobody looks')
  await reader.click('.tabs .tab:first-child')
  await untilShows(reader, 'nobody looks')
  assert.equal(await reader.run(() => 'wasHere' in globalThis), true)
  assert.equal((await reader.run(sides)).query, '?record=')

  // After switching back and forth, the reader can write too.
  await reader.click('.tabs .tab:last-child')
  await reader.click('.tabs .tab:first-child')
  await untilShows(reader, 'nobody looks')
  await reader.click('#document')
  await reader.type('I do: ')
  await until(async () => /I do: /.test(await writer.run(shown, '#document')), "the reader's text is lost")
})

const choose = (window: BrowserWindow, name: string) =>
  window.run((words: string) => {
    const link = [...document.querySelectorAll<HTMLElement>('.tabs .tab')].find(
      ({ textContent }) => textContent === words,
    )
    link?.click()
  }, name)

const untilCurrent = (window: BrowserWindow, name: string) =>
  until(async () => (await window.run(sides)).current === name, `the view ${name} is not shown`)

test('typing can be undone after a visit to another view, and redone after the next', async () => {
  const window = await openView('channel=undone')
  await window.click('#document')
  // One key: a pause between two may end a step.
  await window.type('x')
  await untilShows(window, 'x')
  const canUndo = () => !document.querySelector('[data-tool=undo]')?.hasAttribute('aria-disabled')
  for (const [view, keys, text] of [
    ['Wind', 'Control+z', ''],
    ['History', 'Control+Shift+Z', 'x'],
    ['Wind', 'Control+z', ''],
  ] as const) {
    await choose(window, view)
    await untilCurrent(window, view)
    await choose(window, 'Write')
    await untilCurrent(window, 'Write')
    assert.equal(await window.run(canUndo), text === '', 'the tool does not show it')
    await window.click('#document')
    await window.press(keys)
    await untilShows(window, text)
  }
})

test('Back and Forward lead through the views, in the mode that was chosen last, and do not leave the document', async () => {
  const window = await openView('channel=back&transport=sse&http=2')
  await window.run(() => {
    Object.assign(globalThis, { wasHere: true })
  })
  for (const view of ['Wind', 'History']) {
    await choose(window, view)
    await untilCurrent(window, view)
  }
  await window.run(() => history.back())
  await untilCurrent(window, 'Wind')
  await window.run(switchMode, 'polling/2')
  await window.run(() => history.back())
  await untilCurrent(window, 'Write')
  const { query } = await window.run(sides)
  assert.match(query, /transport=polling/)
  assert.doesNotMatch(query, /view=/)
  await window.run(() => history.forward())
  await untilCurrent(window, 'Wind')
  assert.match((await window.run(sides)).query, /transport=polling.*view=wind|view=wind.*transport=polling/)
  assert.equal(await window.run(() => 'wasHere' in globalThis), true)
})

test('after a reload, too, Back leads through the views in the mode that was chosen last', async () => {
  const window = await openView('channel=back-reloaded&transport=sse&http=2')
  for (const view of ['Wind', 'History']) {
    await choose(window, view)
    await untilCurrent(window, view)
  }
  await window.run(switchMode, 'polling/2')
  await window.reload()
  await untilOpen(window, modeNamed('polling/2') ?? mode)
  await untilCurrent(window, 'History')
  for (const view of ['Wind', 'Write']) {
    await window.run(() => history.back())
    await untilCurrent(window, view)
    assert.match((await window.run(sides)).query, /transport=polling/, view)
  }
  assert.equal((await window.run(sides)).document, true)
  await window.reload()
  await untilOpen(window, modeNamed('polling/2') ?? mode)
  await window.run(() => history.forward())
  await untilCurrent(window, 'Wind')
})

test('Back leads through the views of a document that may only be read, and it stays so', async () => {
  const writer = await openView('channel=back-read')
  await writer.click('#document')
  await writer.type('written')
  const reader = await openView('channel=back-read&read')
  const mayWrite = () => document.querySelector<HTMLElement>('#document')?.isContentEditable
  for (const view of ['Wind', 'History']) {
    await choose(reader, view)
    await untilCurrent(reader, view)
  }
  for (const view of ['Wind', 'Write']) {
    await reader.run(() => history.back())
    await untilCurrent(reader, view)
    assert.match((await reader.run(sides)).query, /[?&]read\b/, view)
  }
  await untilShows(reader, 'written')
  assert.equal(await reader.run(mayWrite), false)
  await reader.reload()
  await untilOpen(reader, mode)
  await untilShows(reader, 'written')
  assert.equal(await reader.run(mayWrite), false)
})

test('after the mouse was used elsewhere, keys still reach the text', async () => {
  const window = await openView('channel=mouse&transport=banana')
  await window.click('#document')
  await window.type('a')
  await openConnection(window)
  await window.click('.mode-more')
  await window.click('[data-mode="long-polling/2"]')
  await window.type('b')
  await untilShows(window, 'ab')
  await window.click('.notice-dismiss')
  await window.type('c')
  await untilShows(window, 'abc')
  await window.click('.people-button')
  await window.press('Escape')
  await window.type('d')
  await untilShows(window, 'abcd')
  await openConnection(window)
  await window.click('.connection-button')
  await window.type('e')
  await untilShows(window, 'abcde')
})

test('by keyboard, a panel that closes returns to its button', async () => {
  const window = await openView('channel=keyboard')
  await window.click('#document')
  await window.run(() => document.querySelector<HTMLElement>('.connection-button')?.focus())
  await window.press('Enter')
  await until(() => window.run(isThere, '.connection-panel'), 'the panel did not open')
  await window.press('Escape')
  assert.equal(await window.run(() => document.activeElement?.className), 'connection-button row')
})

test('in a narrow window the menu has no “New window”, and is used by keyboard', async () => {
  const window = await openView('channel=narrow')
  await window.resize(520, 700)
  await window.run(() => document.querySelector<HTMLElement>('.menu-button')?.focus())
  await window.press('Enter')
  const focused = () => document.activeElement?.textContent
  await until(async () => (await window.run(focused)) === 'Documents…', 'the first item has no focus')
  for (const item of ['Print…', 'Export as Markdown']) {
    await window.press('ArrowUp')
    assert.equal(await window.run(focused), item)
  }
  await window.press('Home')
  assert.equal(await window.run(focused), 'Documents…')
})

test('“New window” asks for a window, in this one’s mode and of its size', async () => {
  const window = await openView('channel=opened')
  await window.run(switchMode, 'polling/2')
  await window.run(() => {
    const calls: string[][] = []
    Object.assign(globalThis, { calls })
    globalThis.open = (...given) => {
      calls.push(given.map(String))
      return null
    }
    document.querySelector<HTMLElement>('.sheet-offer .text-button')?.click()
  })
  await chooseInMenu(window, 'New window')
  const asked = await window.run(() => {
    const { calls = [] } = globalThis as typeof globalThis & { calls?: string[][] }
    return { calls, size: `width=${innerWidth},height=${innerHeight}` }
  })
  assert.equal(asked.calls.length, 2)
  for (const [address = '', target, features] of asked.calls) {
    assert.match(address, /transport=polling&http=2/)
    assert.deepEqual([target, features], ['_blank', `noopener,popup,${asked.size}`])
  }
})

test('an unknown view shows the document and the wind, and says so until dismissed', async () => {
  const window = await openView('view=winds&transport=banana')
  const { document, wind } = await window.run(sides)
  assert.deepEqual({ document, wind }, { document: true, wind: true })
  assert.match(
    await window.run(bannerText),
    /no view “winds”.*write, editor, wind, history, compare and monitor/,
  )
  assert.match(await window.run(bannerText), /no transport “banana”.*This window uses SSE \+ XHR, HTTP\/2\./)
  await window.click('.notice .button')
  await until(async () => !/winds|banana/.test(await window.run(bannerText)), 'the notice stayed')
})

test('the unit applies everywhere, after a reload and in the next window', async () => {
  const window = await openView('view=wind')
  const shown = () =>
    Array.from(
      document.querySelectorAll('.plot-name, .history-words'),
      ({ textContent }) => textContent,
    ).join()
  const isKnots = async (where: BrowserWindow) => /\bkn\b.*Speed, knots/.test(await where.run(shown))
  await until(async () => /m\/s.*Speed, m\/s/.test(await window.run(shown)), 'no speed has a unit')
  await window.run(() => {
    const select = document.querySelector('select')
    if (!select) throw new Error('There is no choice of units.')
    select.value = 'N'
    select.dispatchEvent(new Event('change', { bubbles: true }))
  })
  await until(() => isKnots(window), 'the unit did not change')
  await window.reload()
  await untilOpen(window, mode)
  await until(() => isKnots(window), 'the unit did not survive a reload')
  const next = await openView('')
  await until(() => isKnots(next), 'the next window has another unit')
})

test('the history follows the keyboard, and describes the moment at its cursor', async () => {
  const window = await openView('view=wind')
  const checked = () => document.querySelector<HTMLInputElement>('.segment input:checked')?.value
  await window.run(() => document.querySelector<HTMLInputElement>('.segment input:checked')?.focus())
  await window.key(keys.left)
  assert.equal(await window.run(checked), '1')
  await until(
    async () => / to .* mean /.test(await window.run(shown, '.history-words')),
    'there is no summary',
  )

  await window.key(keys.tab)
  await window.key(keys.left)
  await until(
    async () => /\d\d:\d\d:\d\d {2}/.test(await window.run(shown, '.history-words')),
    'there is no moment at the cursor',
  )
  const spoken = () => document.querySelector('.history-plots')?.getAttribute('aria-valuetext')
  assert.match((await window.run(spoken)) ?? '', /\d\d:\d\d:\d\d {2}/)
  await window.key(keys.right)
})

test('the dial is drawn, and has a text alternative', async () => {
  const window = await openView('view=wind')
  const label = () => document.querySelector('.dial [role=img]')?.getAttribute('aria-label')
  await until(
    async () => /^Wind dial: (calm|\d)/.test((await window.run(label)) ?? ''),
    'the dial has no text alternative',
  )
  const painted = () =>
    Array.from(document.querySelectorAll<HTMLCanvasElement>('.dial canvas, .plot canvas'), (canvas) => {
      const { data } = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height) ?? {
        data: [],
      }
      return data.some((value) => value > 0)
    }).join()
  await until(async () => (await window.run(painted)) === 'true,true,true,true', 'a dial or a plot is empty')
  assert.match(await window.run(shown, '.wind-source'), /Simulated/)
})

test('the wind’s speed is in the largest type in its own view, and smaller beside the document', async () => {
  const sizes = () => {
    const of = (selector: string) =>
      getComputedStyle(document.querySelector(selector) ?? document.body).fontSize
    return [of('.wind-number'), of('.wind-unit')]
  }
  for (const [query, width, number] of [
    ['view=wind', 1440, '96px'],
    ['', 1440, '56px'],
  ] as const) {
    const sized = await openView(query)
    await sized.resize(width, 900)
    await until(async () => (await sized.run(sizes)).join() === `${number},20px`, `“${query}”: ${number}`)
  }
})

test('the connection’s panel names the mode in use, and why this browser cannot run a mode', async () => {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin['2']}/?record&transport=streaming`)
  const canStream = browserName === 'chromium'
  const used = canStream ? 'streaming/2' : 'sse/2'
  await untilOpen(window, modeNamed(used) ?? mode)
  await openConnection(window)
  const name = canStream ? 'SSE \\+ streamed uplink, HTTP/2' : 'SSE \\+ XHR, HTTP/2'
  assert.match(await window.run(shown, '.connection-panel'), new RegExp(`Connected over ${name}`))
  const item = () => {
    const streaming = document.querySelector('[data-mode="streaming/2"]')
    return {
      pressed: document.querySelector('.mode-item[aria-pressed=true]')?.getAttribute('data-mode'),
      isOff: streaming?.getAttribute('aria-disabled'),
      words: streaming?.textContent ?? '',
    }
  }
  const { pressed, isOff, words } = await window.run(item)
  assert.deepEqual({ pressed, isOff }, { pressed: used, isOff: String(!canStream) })
  assert.equal(/Not available here\. This browser cannot stream a request\./.test(words), !canStream)
  if (!canStream) {
    await window.click('[data-mode="streaming/2"]')
    assert.equal((await window.run(item)).pressed, used, 'the panel closed')
  }
})

test('a large screen is used, with lines of a readable length', async () => {
  const window = await openView('channel=large')
  await window.click('#document')
  await window.type('wide '.repeat(60))
  const measured = () => {
    const text = document.querySelector('#document p')
    const range = document.createRange()
    if (text?.firstChild) range.selectNodeContents(text)
    const [first] = range.getClientRects()
    const size = text ? Number.parseFloat(getComputedStyle(text).fontSize) : 1
    const sides = [...document.querySelectorAll('.desk-main, .desk-beside')].map((part) =>
      part.getBoundingClientRect(),
    )
    return {
      used:
        (Math.max(...sides.map(({ right }) => right)) - Math.min(...sides.map(({ left }) => left))) /
        innerWidth,
      lineInLetters: (first?.width ?? 0) / size / 0.45,
      overflow: document.documentElement.scrollWidth - innerWidth,
    }
  }
  for (const width of [1900, 1920, 2240, 2400, 2560]) {
    await window.resize(width, 1080)
    const { used, lineInLetters, overflow } = await window.run(measured)
    assert.ok(used > 0.85, `${width} px: ${used} of the width is used`)
    assert.ok(lineInLetters > 60 && lineInLetters < 90, `${width} px: lines of ${lineInLetters} letters`)
    assert.ok(overflow <= 0, `${width} px: ${overflow} px too wide`)
  }
  await window.close()
  for (const view of ['wind', 'history', 'compare', 'monitor']) {
    const other = await openView(`view=${view}`)
    await other.resize(2560, 1080)
    const { used } = await other.run(measured)
    assert.ok(used > 0.85, `${view}: ${used} of the width is used`)
    await other.close()
  }
})

test('no policy violations and no other errors occurred', async () => {
  assert.deepEqual(await stage.browser.consoleMessages(), [])
})
