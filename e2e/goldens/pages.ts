// The page in its states, in Chromium: pictures, and the words and roles that it shows.

import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import pixelmatch from 'pixelmatch'
import { PNG } from 'pngjs'
import * as Y from 'yjs'
import { modeNamed, modes } from '../../protocol/modes.ts'
import { fragmentOf } from '../../web/compare/result-link.ts'
import { until } from '../browser/browser.ts'
import { type EditingPage, openEditingPage } from '../browser/editing.ts'
import { nameOf } from '../clients/client.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { openClient } from '../conformance/contract-client.ts'
import { type StartedServer, startServerProcess } from '../lab/server-process.ts'
import { clockFrom, frozen, type Golden, type GoldenSet } from './golden.ts'

const root = join(import.meta.dirname, '../..')
/** Within a day after the log was made (make-log.ts), so that deleted documents are not erased yet. */
const startsAt = Date.UTC(2100, 0, 1, 9, 41)
const log = join(frozen, 'logs/today/log.db.gz')

interface State {
  readonly name: string
  /** Path of the address; `read` and others are parts of the query. */
  readonly path: string
  /** Whether it is also recorded in the dark, and on a narrow screen. */
  readonly isMain?: boolean
  readonly isNarrow?: boolean
  /** Whether the server has a sensor, which always reads the same. */
  readonly hasSensor?: boolean
  /** Resolves to a function that ends the preparation, if that is needed. */
  readonly prepare?: (scene: Scene) => Promise<(() => void) | undefined>
}

type Page = EditingPage['page']

interface Scene {
  readonly page: Page
  readonly server: StartedServer
}

const states: readonly State[] = [
  { name: 'write-empty', path: '/d/empty?view=editor', isMain: true },
  { name: 'write', path: '/d/main?view=editor', isMain: true, prepare: showBen },
  { name: 'write-and-wind', path: '/d/main', hasSensor: true, prepare: untilBlown },
  { name: 'read-only', path: '/d/main?view=editor&read' },
  { name: 'deleted', path: '/d/deleted?view=editor' },
  { name: 'wind', path: '/d/main?view=wind', isMain: true, hasSensor: true, prepare: untilBlown },
  { name: 'no-sensor', path: '/d/main?view=wind' },
  { name: 'history', path: '/d/main?view=history', isMain: true, prepare: untilListed },
  { name: 'compare', path: '/d/main?view=compare' },
  { name: 'compared', path: `/d/main?view=compare${compared()}` },
  { name: 'compared', path: `/d/main?view=compare${compared()}`, isNarrow: true },
  { name: 'monitor', path: '/d/main?view=monitor', isMain: true, prepare: untilMeasured },
  { name: 'unknown-view', path: '/d/main?view=winds' },
  ...['Share', 'Menu', 'Link'].map((words) => ({
    name: `open-${words.toLowerCase()}`,
    path: '/d/main?view=editor',
    prepare: ({ page }: Scene) => press(page, words),
  })),
  {
    name: 'open-connection',
    path: '/d/main?view=editor',
    isMain: true,
    prepare: ({ page }) => press(page, 'Saved'),
  },
  { name: 'open-documents', path: '/d/main?view=editor', prepare: showDocuments },
  {
    name: 'open-more',
    path: '/d/main?view=editor',
    isNarrow: true,
    prepare: ({ page }: Scene) => press(page, 'More'),
  },
  { name: 'open-people', path: '/d/main?view=editor', prepare: showPeople },
]

/** Elements that differ in each run: sizes, counts and times of this server and this second. */
const masked = [
  '.monitor-head p',
  '.monitor-figure',
  '.monitor-beside',
  '.monitor-top',
  '.monitor-line',
  '#clock-line',
  '.history-words',
  '.plot',
  '.figure-so-far',
].join()
/** Elements that may be absent: a countdown, and findings about the network. */
const absent = '.comparison-findings'
/** The address of this server is shown as this one. */
const usualHost = 'localhost:8443'

const wide = { width: 1280, height: 800 }
const narrow = { width: 390, height: 740 }

/** Pictures depend on the browser and its fonts: those of another browser are made only for an update. */
export async function pageGoldens(isUpdate: boolean): Promise<GoldenSet> {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-golden-'))
  const data = join(folder, 'data')
  await mkdir(data)
  await writeFile(join(data, 'log.db'), gunzipSync(await readFile(log)))
  const frames = join(folder, 'wind.txt')
  await writeFile(frames, `${steadyFrame}\n`.repeat(1000))
  const aheadMs = startsAt - Date.now()
  const server = await startPageServer(`--sensor-source none --data-folder ${data}`)
  const windy = await startPageServer(`--storage memory --sensor-source recorded --sensor-file ${frames}`)
  const editing = await openEditingPage('chromium', 'about:blank', { clockShiftMs: aheadMs })
  try {
    const goldens: Golden[] = []
    const { page } = editing
    await prepareBrowser(page, server.origin['2'])
    const found = { chromium: await page.browser().version(), fonts: await fontsOf(page) }
    for (const state of states)
      goldens.push(...(await showIn(state, editing, state.hasSensor ? windy : server)))
    goldens.push(...(await showOffline(editing, server)))
    const file = 'pages/browser.json'
    const known = await readFile(join(frozen, file), 'utf8').then(JSON.parse, () => found)
    const isKnown = isUpdate || (known.chromium === found.chromium && known.fonts === found.fonts)
    const texts = goldens.filter(({ path }) => path.endsWith('.txt'))
    if (isKnown)
      return { goldens: [...goldens, { path: file, content: `${JSON.stringify(found, null, 2)}\n` }] }
    const sentence = `The ${goldens.length - texts.length} pictures were not compared, only the words of ${texts.length} states: the pictures are of ${known.chromium} with fonts ${known.fonts}, and this is ${found.chromium} with fonts ${found.fonts}.`
    return { goldens: texts, skipped: { sentence, endings: ['.png', '.json'] } }
  } finally {
    await editing.close()
    await Promise.all([server.close(), windy.close()])
    await rm(folder, { recursive: true, force: true })
  }
}

/** A WindSonic's, in its default format: 229°, 2.74 m/s (user manual, 5). */
const steadyFrame = '\u0002Q,229,002.74,M,00,\u000316'

function startPageServer(flags: string): Promise<StartedServer> {
  const args = `--port 0 --http1-port 0 ${flags}`.split(' ')
  return startServerProcess(join(root, 'app/main.ts'), args, { imports: [clockFrom(startsAt)] })
}

async function prepareBrowser(page: Page, origin: string): Promise<void> {
  await page.emulateTimezone('UTC')
  await page.emulateFocusedPage(true)
  await page.evaluateOnNewDocument(makeRandomnessFixed)
  await page.evaluateOnNewDocument(() => localStorage.setItem('crosswind.name', 'Ada'))
  // From then on, the browser has its key.
  await page.goto(origin)
  await until(() => page.evaluate(isReady), 'the page did not open')
}

/** Fixes the randomness that names, colours and clients in the document come from. */
function makeRandomnessFixed(): void {
  let state = 4711
  const next = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state >>> 8
  }
  crypto.getRandomValues = <Bytes extends ArrayBufferView | null>(into: Bytes) => {
    if (into) {
      const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength)
      for (let index = 0; index < bytes.length; index += 1) bytes[index] = next() & 255
    }
    return into
  }
  Math.random = () => next() / 2 ** 24
}

/** How letters are drawn with the fonts of the page. */
async function fontsOf(page: Page): Promise<string> {
  const drawn = await page.evaluate(() => {
    const canvas = document.createElement('canvas')
    canvas.width = 400
    const context = canvas.getContext('2d')
    const families = ['body', '#document', 'button'].map((selector) => {
      const element = document.querySelector(selector) ?? document.body
      return getComputedStyle(element).fontFamily
    })
    for (const [index, family] of families.entries()) {
      if (!context) break
      context.font = `20px ${family}`
      context.fillText('Hamburgefonstiv 0123 Ŝ💨', 0, 30 + 30 * index)
    }
    return canvas.toDataURL()
  })
  return createHash('sha256').update(drawn).digest('hex').slice(0, 16)
}

async function showIn(state: State, editing: EditingPage, server: StartedServer): Promise<Golden[]> {
  const { page } = editing
  const looks = [
    ...(state.isNarrow ? [] : [{ suffix: '', viewport: wide, scheme: 'light' }]),
    ...(state.isMain ? [{ suffix: '-dark', viewport: wide, scheme: 'dark' }] : []),
    ...(state.isMain || state.isNarrow ? [{ suffix: '-narrow', viewport: narrow, scheme: 'light' }] : []),
  ]
  const goldens: Golden[] = []
  for (const { suffix, viewport, scheme } of looks) {
    await page.setViewport(viewport)
    await page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: scheme },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ])
    // A change of the fragment alone would keep the page.
    await page.goto('about:blank')
    await page.goto(`${server.origin['2']}${state.path}`)
    await until(async () => (await page.evaluate(isReady)) === true, `${state.name} did not open`)
    const finish = await state.prepare?.({ page, server })
    const name = `pages/${state.name}${suffix}`
    const { words, picture } = await atRest(page)
    // The words are the same in light and dark.
    if (scheme === 'light') goldens.push({ path: `${name}.txt`, content: words })
    goldens.push({ path: `${name}.png`, content: picture })
    await finish?.()
  }
  return goldens
}

function isReady(): boolean {
  const isConnected = document.querySelector('.connection')?.getAttribute('data-link') === 'open'
  const isCounted = document.querySelector('#crosswind')?.textContent.includes('Only you are here') === true
  return isConnected && isCounted && document.fonts.status === 'loaded'
}

/**
 * Waits until both have stayed the same for a moment: fonts, answers and parts of the page may still
 * arrive.
 */
async function atRest(page: Page): Promise<{ readonly words: string; readonly picture: Buffer }> {
  let last = { words: '', picture: '' }
  for (let count = 0; count < maxLooks; count += 1) {
    await page.evaluate(hideChanging, masked, absent, usualHost)
    const words = `${await page.evaluate(wordsShown, masked, absent, usualHost)}\n`
    const picture = await page.screenshot({ encoding: 'base64', captureBeyondViewport: false })
    const isSame = words === last.words && picture === last.picture
    if (isSame && !/Loading…|Asking the server…/.test(words))
      return { words, picture: Buffer.from(picture, 'base64') }
    last = { words, picture }
  }
  throw new Error(`The page at ${page.url()} does not come to rest.`)
}

const maxLooks = 100

/** Adds a style sheet, which the page's policy allows. Also stops animations and blinking. */
function hideChanging(masked: string, absent: string, usualHost: string): void {
  const [known] = document.adoptedStyleSheets
  const sheet = known ?? new CSSStyleSheet()
  if (!known) document.adoptedStyleSheets = [sheet]
  if (sheet.cssRules.length === 0)
    sheet.replaceSync(`
    ${masked} { visibility: hidden !important }
    ${absent} { display: none !important }
    *, *::before, *::after {
      animation: none !important; transition: none !important; caret-color: transparent !important;
      scroll-behavior: auto !important
    }`)
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text = texts.nextNode(); text; text = texts.nextNode())
    if (text.nodeValue?.includes(location.host))
      text.nodeValue = text.nodeValue.replaceAll(location.host, usualHost)
  for (const field of document.querySelectorAll('input'))
    if (field.value.includes(location.host)) field.value = field.value.replaceAll(location.host, usualHost)
}

/** Role, name and state of each element that has a role, and the text of the others, as it is nested. */
function wordsShown(masked: string, absent: string, usualHost: string): string {
  const roles: Record<string, string> = {
    a: 'link',
    button: 'button',
    textarea: 'textbox',
    select: 'combobox',
    summary: 'button',
    h1: 'heading 1',
    h2: 'heading 2',
    h3: 'heading 3',
    h4: 'heading 4',
    img: 'image',
    dialog: 'dialog',
    header: 'banner',
    nav: 'navigation',
    main: 'main',
    ul: 'list',
    ol: 'list',
    li: 'item',
    table: 'table',
    tr: 'row',
    th: 'header',
    td: 'cell',
    dt: 'term',
    dd: 'definition',
    output: 'status',
    form: 'form',
    caption: 'caption',
    label: 'label',
    fieldset: 'group',
    legend: 'legend',
    option: 'option',
  }
  const shownAttributes = ['aria-label', 'aria-valuetext', 'placeholder', 'title', 'href', 'aria-checked']
  const states = [
    'aria-expanded',
    'aria-pressed',
    'aria-current',
    'aria-selected',
    'aria-disabled',
    'aria-readonly',
  ]
  const lines: string[] = []

  function roleOf(element: Element): string | null {
    const given = element.getAttribute('role')
    if (given) return given
    const name = element.localName
    if (element instanceof HTMLInputElement)
      return ['checkbox', 'radio', 'range'].includes(element.type) ? element.type : 'textbox'
    if (element.getAttribute('contenteditable') === 'true') return 'textbox'
    if (name === 'section' && element.hasAttribute('aria-label')) return 'region'
    return roles[name] ?? null
  }

  function attributesOf(element: Element): string {
    const found = [...shownAttributes, ...states].flatMap((name) => {
      const value = element.getAttribute(name)
      return value === null
        ? []
        : [`${name.replace('aria-', '')}=${value.replaceAll(location.host, usualHost)}`]
    })
    if (element instanceof HTMLInputElement || element instanceof HTMLSelectElement) {
      found.push(`value=${element.value.replaceAll(location.host, usualHost)}`)
      if (element.matches(':checked')) found.push('checked')
    }
    if (element.matches(':disabled')) found.push('disabled')
    return found.map((one) => ` [${one}]`).join('')
  }

  function write(node: Node, depth: number): void {
    const indent = '  '.repeat(depth)
    if (node instanceof Text) {
      const text = node.data.replaceAll(/\s+/g, ' ').trim()
      if (text !== '') lines.push(`${indent}“${text}”`)
      return
    }
    if (!(node instanceof Element) || node.getAttribute('aria-hidden') === 'true') return
    if (node.matches(absent) || ['script', 'style', 'svg'].includes(node.localName)) return
    if (node.matches(masked)) return void lines.push(`${indent}(masked)`)
    // An element without a box of its own may have contents that are shown.
    if (!node.checkVisibility() && getComputedStyle(node).display !== 'contents') return
    const role = roleOf(node)
    if (role !== null) lines.push(`${indent}${role}${attributesOf(node)}`)
    for (const child of node.childNodes) write(child, role === null ? depth : depth + 1)
  }

  write(document.body, 0)
  return lines.join('\n')
}

/** Ben's caret, from a program, with his name, which is shown while the pointer is near. */
async function showBen({ page, server }: Scene): Promise<() => void> {
  const http = connectHttp('2', server.origin['2'], null)
  const { body } = await http.ask({ path: '/api/history?channel=main' })
  const { base, updates } = JSON.parse(await textOf(body))
  http.close()
  const doc = new Y.Doc()
  for (const { update } of [base, ...updates]) Y.applyUpdate(doc, Buffer.from(update, 'base64'))
  const placeAt = (index: number) =>
    Y.relativePositionToJSON(Y.createRelativePositionFromTypeIndex(doc.getText('text'), index))
  const key = 'golden-key-of-ben-00001'
  const window = nameOf(key, 'w1')
  const mode = modeNamed('sse/2')
  if (!mode) throw new Error('There is no mode sse/2.')
  const query = new URLSearchParams({ window, key, channels: 'main' })
  const ben = openClient({ mode, origin: server.origin['2'], ca: null, query })
  await ben.next('welcome')
  const state = { user: { name: 'Ben' }, cursor: { anchor: placeAt(10), head: placeAt(16) }, number: 1 }
  ben.sendAwareness({ state: { client: 4712, clock: 1, state } })
  await page.waitForSelector('.caret-of .caret')
  const place = await page.$eval('.caret-of .caret', (caret) => caret.getBoundingClientRect().toJSON())
  await page.mouse.move(place.left, place.top + place.height / 2)
  await page.waitForSelector('.caret-of[data-named]')
  await page.waitForFunction(() => document.body.textContent.includes('2 windows are here'))
  return () => ben.close()
}

async function untilListed({ page }: Scene): Promise<undefined> {
  await page.waitForSelector('[aria-label=Versions]')
}

/** Waits until there are enough readings for each figure, which takes some seconds. */
async function untilBlown({ page }: Scene): Promise<undefined> {
  await page.waitForSelector('[aria-label*="over 3 seconds"][aria-label*=gust]')
  await page.waitForFunction(() => {
    const figures = document.querySelector('.figures')?.textContent ?? '–'
    return !figures.includes('–')
  })
}

async function untilMeasured({ page }: Scene): Promise<undefined> {
  await page.waitForSelector('.monitor-chart')
}

/** A button, tool or part of a menu whose words begin like this. */
async function press(page: Page, words: string): Promise<undefined> {
  await page.focus('#document')
  await page.evaluate((wanted) => {
    const buttons = [...document.querySelectorAll<HTMLElement>('button, [role=menuitem], summary')]
    const button = buttons.find(
      (one) =>
        (one.getAttribute('aria-label') ?? one.textContent).startsWith(wanted) && one.checkVisibility(),
    )
    if (!button) throw new Error(`There is no button ${wanted}.`)
    button.click()
  }, words)
  await page.waitForSelector('dialog[open], [role=dialog], [role=menu], .tool-more, .link-form')
}

async function showDocuments({ page }: Scene): Promise<undefined> {
  await press(page, 'Menu')
  await page.click('.menu-item[data-item^=Documents]')
  await page.waitForSelector('dialog[open]')
}

async function showPeople({ page }: Scene): Promise<undefined> {
  await page.click('.people-button')
  await page.waitForSelector('.people-list')
}

function compared(): string {
  const rows = modes.map((mode, index) => ({
    mode,
    serverHttp: mode.http,
    sent: 24,
    received: index === 3 ? 23 : 24,
    failure: null,
    medians: [2, 3 + index, 4 + index, index === 0 ? null : 5],
  }))
  return fragmentOf({ at: Date.UTC(2100, 0, 1, 12), browser: 'Firefox 128', rows })
}

/** The server is gone, and edits are kept: the last state, as the server stays gone. */
async function showOffline({ page, type }: EditingPage, server: StartedServer): Promise<Golden[]> {
  await page.setViewport(wide)
  await page.goto('about:blank')
  await page.goto(`${server.origin['2']}/d/notes?view=editor`)
  await until(() => page.evaluate(isReady), 'the page did not open')
  await server.kill()
  await page.waitForSelector('.connection[data-link=waiting]')
  await page.focus('#document')
  await type('Written while the server is gone')
  await until(
    () => page.evaluate(() => document.querySelector('.notices')?.textContent !== ''),
    'nothing is said',
  )
  const goldens: Golden[] = []
  for (const [suffix, viewport, scheme] of [
    ['', wide, 'light'],
    ['-dark', wide, 'dark'],
    ['-narrow', narrow, 'light'],
  ] as const) {
    await page.setViewport(viewport)
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
    const { words, picture } = await atRest(page)
    if (suffix !== '-dark') goldens.push({ path: `pages/offline${suffix}.txt`, content: words })
    goldens.push({ path: `pages/offline${suffix}.png`, content: picture })
  }
  return goldens
}

/** Pixels that may differ, besides those that differ as smoothed edges do. */
const maxDifferent = 30

/** `words` is null if they are the same; `picture` shows where they differ. */
export function comparePictures(former: Buffer, now: Buffer) {
  const one = PNG.sync.read(former)
  const other = PNG.sync.read(now)
  const { width, height } = other
  if (one.width !== width || one.height !== height)
    return {
      words: `has another size: ${width} × ${height}, and had ${one.width} × ${one.height}`,
      picture: null,
    }
  const difference = new PNG({ width, height })
  const count = pixelmatch(one.data, other.data, difference.data, width, height, { threshold: 0.1 })
  if (count <= maxDifferent) return { words: null, picture: null }
  return { words: `differs in ${count} pixels`, picture: PNG.sync.write(difference) }
}
