// Documents in real windows: titles, the list, read-only links, and the history with restoring.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { modeNamed } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { openEditingPage } from '../browser/editing.ts'
import { chooseFile, isThere, press, shown, unstored } from './page.ts'
import { paste } from './shared-editing.ts'
import { browserName, chooseInMenu, openStage, type Stage, untilOpen, untilShows } from './stage.ts'

const _keys = { enter: '\uE007' }

const mode = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')

let stage: Stage
before(async () => {
  stage = await openStage()
})
after(() => stage.close())

async function openWindow(address: string): Promise<BrowserWindow> {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin['2']}${address}`)
  await untilOpen(window, mode)
  return window
}

/** As a person would, for React. */
function fill(selector: string, text: string): void {
  const field = document.querySelector<HTMLInputElement>(selector)
  if (!field) throw new Error(`There is no ${selector}.`)
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(field, text)
  field.dispatchEvent(new Event('input', { bubbles: true }))
}

test('a new document opens in the same window and mode, and is listed', async () => {
  const window = await openWindow('/?record&transport=sse&http=2')
  await chooseInMenu(window, 'Documents')
  await until(() => window.run(isThere, '.new-document input'), 'there is no field')
  await window.run(fill, '.new-document input', 'Plan für Mai')
  await window.run(press, '.new-document button', 'Create')
  await until(
    async () => new URL(await window.address()).pathname === `/d/${encodeURIComponent('Plan-für-Mai')}`,
    'it did not open',
  )
  await untilOpen(window, mode)
  assert.equal(new URL(await window.address()).search, '?record=&transport=sse&http=2')
  assert.equal(await window.run(shown, '.document-title'), 'Plan für Mai')
  await window.type('at once')
  await untilShows(window, 'at once')
  await window.close()
})

const isEditorFocused = () => document.activeElement?.id === 'document'

test('an empty document can be typed in at once; the editor gets the focus in no other case', async () => {
  const window = await openWindow('/d/blank?record')
  assert.equal(await window.run(isEditorFocused), true)
  await window.type('now')
  await untilShows(window, 'now')
  await until(async () => (await window.run(unstored)) === 0, 'it is not stored')
  await window.close()
  for (const address of ['/d/blank?record', '/d/empty?record#end', '/d/empty?record&read']) {
    const other = await openWindow(address)
    assert.equal(await other.run(isEditorFocused), false, address)
    await other.close()
  }
  const reader = await openWindow('/d/empty?record&view=wind')
  await reader.click('.tabs .tab:first-child')
  await untilShows(reader, '')
  assert.equal(await reader.run(isEditorFocused), false, 'another view was opened')
  await reader.close()
  const reloaded = await openWindow('/d/empty?record')
  await reloaded.reload()
  await untilOpen(reloaded, mode)
  assert.equal(await reloaded.run(isEditorFocused), false, 'it was reloaded')
  await reloaded.close()
})

test('a translation of the page leaves the text and titles, which are shared, unchanged', async () => {
  const window = await openWindow('/d/translated?record')
  await chooseInMenu(window, 'Documents')
  await until(() => window.run(isThere, '.document-name'), 'the list did not open')
  const isTranslated = (selector: string) => document.querySelector<HTMLElement>(selector)?.translate
  for (const selector of ['#document', '.document-title', '.document-name'])
    assert.equal(await window.run(isTranslated, selector), false, selector)
  await window.close()
})

test('the logo leads home, where the main page is listed even while empty', async () => {
  const window = await openWindow('/d/away?record&view=editor')
  assert.equal(
    await window.run(() => document.querySelector('.home')?.getAttribute('aria-label')),
    'Crosswind, home',
  )
  await window.click('.home')
  await until(async () => new URL(await window.address()).pathname === '/', 'it did not lead home')
  await untilOpen(window, mode)
  assert.equal(new URL(await window.address()).search, '?record=')
  assert.equal(await window.run(shown, '.document-title'), 'main')
  await chooseInMenu(window, 'Documents')
  await until(
    async () => (await window.run(shown, '.document-list')).includes('mainNothing written yet'),
    'the list lacks the main page',
  )
  await window.close()
})

test('the first heading is the title until the document is named, and again when its title is cleared', async () => {
  const one = await openWindow('/d/headed?record')
  const other = await openWindow('/d/headed?record&view=wind')
  const title = (window: BrowserWindow) => window.run(shown, '.document-title')
  await one.click('#document')
  await one.type('# From the pier')
  for (const window of [one, other])
    await until(async () => (await title(window)) === 'From the pier', 'the heading is not the title')
  const tab = () => document.title
  assert.equal(await other.run(tab), 'From the pier – Crosswind')
  await one.click('.title-button')
  await one.type('Named')
  await one.press('Enter')
  await until(async () => (await title(other)) === 'Named', 'the title is not that of the heading')
  await one.click('.title-button')
  await one.run(() => document.querySelector<HTMLInputElement>('.title-field')?.select())
  await one.press('Backspace')
  await one.press('Enter')
  await until(async () => (await title(other)) === 'From the pier', 'the heading is not the title again')
  await chooseInMenu(one, 'Documents')
  await until(() => one.run(isThere, '.document-name'), 'the list did not open')
  await one.type('pier')
  await until(
    async () => (await one.run(shown, '.document-found')) === 'From the pier',
    'the text is not found',
  )
  assert.equal(await one.run(shown, '.document-found mark'), 'pier')
  await one.close()
  await other.close()
})

test('the list is searched and sorted by keyboard, and says how many it found', async () => {
  const window = await openWindow('/d/searching?record')
  for (const name of ['Beta 10', 'Alpha', 'Beta 9']) await window.run(createNamed, name)
  await chooseInMenu(window, 'Documents')
  const names = () =>
    Array.from(document.querySelectorAll('.document-name'), ({ textContent }) => textContent)
  await until(async () => (await window.run(names)).includes('Alpha'), 'the list did not open')
  assert.equal(await window.run(() => document.activeElement?.getAttribute('aria-label')), 'Search documents')
  await window.type('beta')
  await until(async () => (await window.run(names)).length === 2, 'other documents were not filtered out')
  assert.deepEqual(await window.run(names), ['Beta 9', 'Beta 10'])
  assert.equal(await window.run(shown, '.dialog output'), '2 documents found.')
  await window.press('Tab')
  await window.press('ArrowRight')
  assert.deepEqual(await window.run(names), ['Beta 9', 'Beta 10'], 'by name, with numbers as numbers')
  await window.run(() => document.querySelector<HTMLInputElement>('.dialog [type=search]')?.select())
  await window.press('Backspace')
  await until(async () => (await window.run(names)).length > 3, 'the list stayed short')
  const inOrder = (await window.run(names)).filter((name) => /^(Alpha|Beta)/.test(name))
  assert.deepEqual(inOrder, ['Alpha', 'Beta 9', 'Beta 10'])
  await window.close()
})

/** Adds a document to the list, as another window would. */
async function createNamed(title: string): Promise<void> {
  const from = `t${performance.now()}`.replace('.', '')
  const draft = { id: `${from}-1`, channel: title.replaceAll(' ', '-'), kind: 'title', from, at: 0 }
  const headers = { 'Content-Type': 'application/json' }
  const body = JSON.stringify({ ...draft, body: { title } })
  const { ok } = await fetch('/api/messages', { method: 'POST', headers, body })
  if (!ok) throw new Error(`${title} was refused.`)
}

test('the history shows earlier versions and their authors; restoring one is an edit that can be undone', async () => {
  const one = await openWindow('/d/past?record')
  const other = await openWindow('/d/past?record')
  await one.click('#document')
  await one.type('first')
  await untilShows(other, 'first')
  await other.click('#document')
  await other.run(() => {
    const text = document.querySelector('#document')
    if (text) getSelection()?.selectAllChildren(text)
    getSelection()?.collapseToEnd()
  })
  await other.type(' second')
  await untilShows(one, 'first second')
  await one.run(press, '.tab', 'History')
  await until(
    async () => (await one.run(shown, '.versions-text')) === 'first second',
    'the history lacks the newest version',
  )
  assert.match(await one.run(shown, '.versions-head'), /every change since the document began/)
  assert.equal(await one.run(() => document.querySelectorAll('.versions-authors li').length), 2)
  // Keystrokes in quick succession are one version.
  await until(async () => {
    if ((await one.run(shown, '.versions-text')) === 'first') return true
    await one.run(() => {
      const slider = document.querySelector<HTMLInputElement>('.versions-slider')
      if (slider === null) throw new Error('There is no slider.')
      const earlier = String(Math.max(1, Number(slider.value) - 1))
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(slider, earlier)
      slider.dispatchEvent(new Event('input', { bubbles: true }))
    })
    return false
  }, 'no version shows the first word alone')
  await one.run(press, '.versions-controls button', 'Restore')
  await until(
    async () => /earlier version is restored/.test((await one.run(notice)).words),
    'no notice says that it is restored',
  )
  assert.equal((await one.run(notice)).kind, 'success')
  for (const window of [one, other]) await untilShows(window, 'first')
  await one.run(() => {
    const undo = [...document.querySelectorAll('.sheet button')].find((button) =>
      button.getAttribute('aria-label')?.startsWith('Undo'),
    )
    if (!(undo instanceof HTMLElement)) throw new Error('There is no undo.')
    undo.click()
  })
  for (const window of [one, other]) await untilShows(window, 'first second')
  await one.close()
  await other.close()
})

test('what a person types in one sitting is one version; its name appears in every window and survives a reload', async () => {
  const one = await openWindow('/d/named?record')
  const other = await openWindow('/d/named?record')
  await one.type('some words and more')
  await untilShows(other, 'some words and more')
  await until(async () => (await one.run(unstored)) === 0, 'it is not stored')
  for (const window of [one, other]) {
    await window.run(press, '.tab', 'History')
    await until(() => window.run(isThere, '.versions-entry'), 'there is no version')
    assert.equal(await window.run(() => document.querySelectorAll('.versions-entry').length), 1)
  }
  const steps = () => Number(document.querySelector<HTMLInputElement>('.versions-slider')?.max)
  assert.ok((await one.run(steps)) > 1, 'the steps of the sitting are missing')
  const names = () =>
    Array.from(document.querySelectorAll('.versions-name'), ({ textContent }) => textContent)
  await one.click('.version-name input')
  await one.type('Before review')
  await one.press('Enter')
  for (const window of [one, other])
    await until(async () => (await window.run(names)).join() === 'Before review', 'a window lacks the name')
  // A step within the sitting becomes a version of its own.
  await other.run(press, '.versions-controls button', '‹')
  await other.click('.version-name input')
  await other.type('One step less')
  await other.press('Enter')
  await one.reload()
  await untilOpen(one, mode)
  for (const window of [one, other])
    await until(
      async () => (await window.run(names)).join() === 'Before review,One step less',
      'a window lacks the second name',
    )
  await one.run(press, '.versions-entry', 'One step less')
  await until(
    async () => (await one.run(shown, '.versions-entry[aria-current=true]')).startsWith('One step less'),
    'the named step is not shown',
  )
  // Keystrokes in quick succession are one step.
  const earlier = await one.run(shown, '.versions-text')
  assert.ok('some words and more'.startsWith(earlier) && earlier.length < 19, JSON.stringify(earlier))
  await one.close()
  await other.close()
})

test('author colours stay within the text, and headings look as in the document', async () => {
  const { page, run, close } = await openEditingPage(
    browserName,
    `${stage.server.origin['2']}/d/coloured?record`,
  )
  const headingLook = (selector: string) => {
    const heading = document.querySelector(selector)
    if (heading === null) throw new Error(`There is no ${selector}.`)
    const { fontSize, fontWeight, lineHeight, marginTop, marginBottom } = getComputedStyle(heading)
    return { fontSize, fontWeight, lineHeight, marginTop, marginBottom }
  }
  try {
    await page.waitForSelector('#document')
    await page.click('#document')
    const twoLines = 'two lines by one author '.repeat(4)
    await run(paste, `<h1>Title</h1><ul><li>${twoLines}</li></ul>`, twoLines)
    await page.waitForSelector('#document h1')
    const inDocument = await run(headingLook, '#document h1')
    await until(async () => (await run(unstored)) === 0, 'it is not stored')
    await run(press, '.tab', 'History')
    await page.waitForSelector('.versions-text li .by')
    assert.deepEqual(await run(headingLook, '.versions-text [data-block="h1"]'), inDocument)
    // For part of a page, Firefox draws only what is laid out in it.
    const picture = await page.screenshot({ encoding: 'base64' })
    assert.equal(await run(colourCountAtLeftEdge, picture), 1)
  } finally {
    await close()
  }
})

/** Counts colours at the left edge, below the header, in a base64 PNG. */
async function colourCountAtLeftEdge(picture: string): Promise<number> {
  const bytes = Uint8Array.from(atob(picture), (sign) => sign.charCodeAt(0))
  const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
  const context = new OffscreenCanvas(image.width, image.height).getContext('2d')
  context?.drawImage(image, 0, 0)
  const pixels = context?.getImageData(0, 100, 1, image.height - 100).data.buffer
  return new Set(new Uint32Array(pixels ?? new ArrayBuffer(0))).size
}

test('with any number of documents, a new one can be created without scrolling', async () => {
  const window = await openWindow('/d/many?record')
  await window.run(async () => {
    for (let count = 1; count <= 15; count += 1)
      await fetch('/api/messages', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          id: `filler-${count}`,
          channel: `many-${count}`,
          kind: 'title',
          from: 'filler',
          at: 0,
          body: { title: `One of many, ${count}` },
        }),
      })
  })
  await chooseInMenu(window, 'Documents')
  await until(
    async () => (await window.run(shown, '.document-list')).includes('One of many, 15'),
    'the list is not there',
  )
  for (const [width, height] of [
    [1000, 700],
    [360, 640],
  ] as const) {
    await window.resize(width, height)
    const room = await window.run(() => {
      const edges = (selector: string) => document.querySelector(selector)?.getBoundingClientRect()
      const [dialog, field, list] = ['.dialog', '.new-document', '.document-list'].map(edges)
      return {
        belowField: (dialog?.bottom ?? 0) - (field?.bottom ?? 0),
        listHeight: list?.height ?? 0,
      }
    })
    assert.ok(room.belowField > 0 && room.listHeight > 150, JSON.stringify(room))
  }
  await window.close()
})

test('imported Markdown is exported unchanged', async () => {
  const window = await openWindow('/d/markdown?record')
  const text = `# Wind

From the *west*, **strong**; see [the manual](https://example.org/).

- first
  1. nested
- second

> quoted

\`\`\`
code
  indented
\`\`\`
`
  await window.run(chooseFile, text, 'wind.md')
  await assertExports(window, 'wind.md', text)
  await window.close()
})

/** The newest notice: its kind, whether screen readers announce it, and its colours. */
function notice() {
  const found = [...document.querySelectorAll('.notice')].at(-1)
  const { backgroundColor = '', borderColor = '' } = found ? getComputedStyle(found) : {}
  return {
    kind: found?.getAttribute('data-kind'),
    isStatus: found?.closest('[role=status]') != null,
    shape: found?.querySelector('svg path')?.getAttribute('d') ?? '',
    colours: `${backgroundColor} ${borderColor}`,
    words: found?.textContent ?? '',
  }
}

test('success, partial success and failure look like success, information and a warning', async () => {
  const window = await openWindow('/d/tones?record')
  const looks = new Set<string>()
  for (const [text, name, kind, words] of [
    ['<p>all of it</p>', 'whole.html', 'success', /whole\.html is imported at the end of the document\.D/],
    ['<p>some</p><video></video>', 'part.html', 'information', /part\.html is imported.* Not kept: /],
    ['a\0b', 'none.txt', 'warning', /none\.txt is not text/],
  ] as const) {
    await window.run(chooseFile, text, name)
    await until(async () => words.test((await window.run(notice)).words), `no notice about ${name}`)
    const { kind: shown, isStatus, shape, colours } = await window.run(notice)
    assert.deepEqual([shown, isStatus], [kind, true])
    looks.add(shape).add(colours)
  }
  assert.equal(looks.size, 6, 'two tones look alike')
  await window.close()
})

/** Exports once, since the server limits the rate. */
async function assertExports(window: BrowserWindow, file: string, markdown: string): Promise<void> {
  const isDone = async () => {
    const notices = await window.run(shown, '.notices')
    return notices.includes(`${file} is imported`) && (await window.run(unstored)) === 0
  }
  await until(isDone, `no notice says that ${file} is imported and stored`)
  const text = await window.run(async () => (await fetch(`${location.pathname}/export.md`)).text())
  assert.equal(text, markdown)
}

test('no policy violations and no other errors occurred', async () => {
  assert.deepEqual(await stage.browser.consoleMessages(), [])
})
