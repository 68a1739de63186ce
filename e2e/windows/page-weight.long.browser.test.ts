// Transfer size of each view, cold, in a real browser; each view loads only its own parts.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { testConfig } from '../../app/testing.ts'
import { type Browser, type BrowserWindow, until } from '../browser/browser.ts'
import { openStage, type Stage } from './stage.ts'

const maxBytes = 201_500

let stage: Stage
const browsers: Browser[] = []
before(async () => {
  stage = await openStage({ sensor: { ...testConfig.sensor, source: 'simulated', rateHz: 4 } })
})
after(() => stage.close())

/** Opens in a cold browser; resolves when the link is open and the history, if any, is drawn. */
async function openCold(query: string): Promise<BrowserWindow> {
  const browser = await stage.anotherBrowser()
  browsers.push(browser)
  const window = await browser.newWindow()
  await window.open(`${stage.server.origin['2']}/?${query}`)
  await until(() => window.run(isThere), 'the window is not there')
  return window
}

const opened = new Map<string, Promise<BrowserWindow>>()

/** The window of an earlier test with this query, which was not used since it opened. */
function untouched(query: string): Promise<BrowserWindow> {
  const window = opened.get(query) ?? openCold(query)
  opened.set(query, window)
  return window
}

function isThere(): boolean {
  const words = document.querySelector('.history-words')
  return (
    document.querySelector('.connection')?.getAttribute('data-link') === 'open' &&
    (words === null || / mean /.test(words.textContent ?? ''))
  )
}

interface Transfer {
  readonly name: string
  readonly bytes: number
  readonly encoded: number
  readonly plain: number
  readonly initiator: string
}

/** All transfers, the page first; a stream is listed when it ends. */
function transfers(): Transfer[] {
  const entries = [
    ...performance.getEntriesByType('navigation'),
    ...performance.getEntriesByType('resource'),
  ] as PerformanceResourceTiming[]
  return entries.map(({ name, transferSize, encodedBodySize, decodedBodySize, initiatorType }) => ({
    name: new URL(name).pathname,
    bytes: transferSize,
    encoded: encodedBodySize,
    plain: decodedBodySize,
    initiator: initiatorType,
  }))
}

const partsLoaded = (all: readonly Transfer[]) =>
  all.flatMap(({ name }) => /\/(Sheet|Versions|WindPanel)-.*js$/.exec(name)?.[1] ?? []).sort()

test(`the first view has at most ${maxBytes / 1000} kB on the wire: the page and every file it requests`, async (t) => {
  const window = await untouched('')
  const all = await window.run(transfers)
  // API responses vary with their content and with time.
  const files = all.filter(({ name }) => !name.startsWith('/api/'))
  const sum = files.reduce((bytes, transfer) => bytes + transfer.bytes, 0)
  for (const { name, bytes, plain } of all) t.diagnostic(`${bytes} of ${plain} bytes  ${name}`)
  t.diagnostic(`${sum} bytes without the API`)
  assert.ok(all.length > 4 && all.every(({ bytes }) => bytes > 0), 'the browser was not cold')
  assert.ok(sum <= maxBytes, `${sum} bytes`)
})

test('scripts, styles and the wind’s history are compressed; the page and other API responses are not', async () => {
  const window = await untouched('')
  for (const { name, encoded, plain } of await window.run(transfers)) {
    if (/\.(js|css)$/.test(name)) assert.ok(encoded < plain * 0.6, name)
    else if (name.endsWith('/api/wind/history')) assert.ok(encoded < plain, name)
    else if (!name.endsWith('.svg')) assert.equal(encoded, plain, name)
  }
})

test('a view loads only its own parts, in parallel with the first script', async () => {
  for (const [query, parts] of [
    ['', ['Sheet', 'WindPanel']],
    ['view=editor', ['Sheet']],
    ['view=wind', ['WindPanel']],
    ['view=history', ['Versions']],
  ] as const) {
    const window = await untouched(query)
    assert.deepEqual(partsLoaded(await window.run(transfers)), parts, query)
    const preloaded = await window.run(() =>
      Array.from(document.querySelectorAll('head > link[rel$=preload]'), (link) => link.getAttribute('href')),
    )
    assert.deepEqual(
      preloaded.flatMap((href) => /\/(Sheet|Versions|WindPanel)-.*js$/.exec(href ?? '')?.[1] ?? []).sort(),
      parts,
      query,
    )
    const styles = preloaded.filter((href) => href?.endsWith('.css'))
    assert.equal(styles.length, query === 'view=history' ? 1 : 0, query)
  }
})

test('another view is loaded when it is chosen, and is complete when it is shown', async () => {
  const window = await untouched('view=editor')
  // Checks at each change of the desk that its main part is there.
  await window.run(() => {
    const seen: string[] = []
    Object.assign(globalThis, { seen })
    const look = () => {
      const desk = document.querySelector('.desk')
      const main = desk?.querySelector('.desk-main > [class^="desk-"]')
      const parts = main?.childElementCount === 0 ? ' empty' : ''
      seen.push(`${desk?.getAttribute('data-view')}${parts}`)
    }
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true })
  })
  for (const [view, place] of [
    ['wind', 2],
    ['history', 3],
    ['write', 1],
  ] as const) {
    await window.click(`.tabs .tab:nth-child(${place})`)
    await until(
      () =>
        window.run((wanted) => document.querySelector('.desk')?.getAttribute('data-view') === wanted, view),
      `the view ${view} is not shown`,
    )
  }
  assert.deepEqual(partsLoaded(await window.run(transfers)), ['Sheet', 'Versions', 'WindPanel'])
  const seen = await window.run(() => (globalThis as typeof globalThis & { seen?: string[] }).seen ?? [])
  assert.deepEqual(
    seen.filter((view) => view.endsWith('empty')),
    [],
  )
})

interface LayoutShift extends PerformanceEntry {
  readonly sources: readonly { readonly node: Node | null }[]
}

test('no part of the first view moves while it loads', async () => {
  const window = await untouched('')
  const moved = await window.run(
    () =>
      new Promise<string[]>((resolve) => {
        // Text may grow within a place that does not move.
        const places =
          '.desk, .desk-main, .desk-beside, .sheet, .wind, .dial, .figures, .figure, .history, .plot'
        const told = (list: PerformanceObserverEntryList) => {
          const nodes = (list.getEntries() as LayoutShift[]).flatMap(({ sources }) => sources)
          const parts = nodes.flatMap(
            ({ node }) => (node instanceof Element ? node : node?.parentElement) ?? [],
          )
          resolve(parts.filter((part) => part.matches(places)).map(({ outerHTML }) => outerHTML.slice(0, 80)))
        }
        new PerformanceObserver(told).observe({ type: 'layout-shift', buffered: true })
        // Words may change length within a place that does not move. Two frames flush buffered
        // entries.
        requestAnimationFrame(() => requestAnimationFrame(() => resolve([])))
      }),
  )
  assert.deepEqual(moved, [])
})

test('the first lines are where the script shows them, to writers and readers, on screens of any width', async () => {
  const text = '# Title\n\nSome words.\n\n- one\n- two\n\n> quoted\n\n```\ncode\n\nmore\n```\n\nLast words.'
  const writer = await openCold('view=editor')
  await writer.run(
    (body) =>
      fetch('/api/documents/main?id=p-1&from=p', {
        method: 'PUT',
        headers: { 'content-type': 'text/markdown' },
        body,
      }),
    text,
  )
  for (const query of ['', 'view=editor', 'read'])
    for (const width of [360, 768, 1440]) {
      const window = await openCold(query)
      await window.resize(width, 900)
      const shown = await window.run(placesOfText)
      await window.run(showAgainWithoutScript)
      assert.deepEqual(await window.run(placesOfText), shown, `${query} at ${width} px`)
    }
})

/** Each word of the title and the text, and the place of its first letter. */
function placesOfText() {
  const places: string[] = []
  for (const part of document.querySelectorAll('.document-title, .document')) {
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const { currentNode: node } = walker
      for (const { 0: word, index } of (node.textContent ?? '').matchAll(/\S+/g)) {
        const range = document.createRange()
        range.setStart(node, index)
        range.setEnd(node, index + 1)
        const { left, top, height } = range.getBoundingClientRect()
        places.push(`${word} ${[left, top, height].map(Math.round).join(' ')}`)
      }
    }
  }
  return places
}

/** In place of what the script drew. */
async function showAgainWithoutScript(): Promise<void> {
  const answer = await fetch(location.href)
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  document.body.innerHTML = page.querySelector('#crosswind')?.outerHTML ?? ''
}

test('no policy violations and no other errors occurred', async () => {
  for (const browser of browsers) assert.deepEqual(await browser.consoleMessages(), [])
})

test("if a part's files do not load, the window says so and stays unchanged", async () => {
  // Excludes the files that the page prepares for outages.
  const window = await openCold('view=editor&record')
  await stage.server.close()
  await window.click('.tabs .tab:nth-child(3)')
  const notices = () =>
    Array.from(document.querySelectorAll('.notice'), ({ textContent }) => textContent).join()
  await until(
    async () => /“History” could not be loaded.*Choose it again/.test(await window.run(notices)),
    'the window does not say that the view is missing',
  )
  assert.equal(await window.run(() => document.querySelector('.desk')?.getAttribute('data-view')), 'editor')

  await window.run(() => {
    const clipboardData = new DataTransfer()
    clipboardData.setData('text/plain', 'pasted words')
    const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
    document.querySelector('.document')?.dispatchEvent(paste)
  })
  const toolNotice = () => document.querySelector('.tool-notice')?.textContent ?? ''
  await until(
    async () => /Not pasted.*Try again once connected/.test(await window.run(toolNotice)),
    'the window does not say that nothing was pasted',
  )
})
