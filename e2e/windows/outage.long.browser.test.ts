// During an outage nothing moves around the document, and the header keeps one row.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Mode, modeNamed } from '../../protocol/modes.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { firstView, type View } from '../../web/store.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { startProxy } from '../network/cutting-proxy.ts'
import { linkState } from './page.ts'
import { openStage, type Stage, untilOpen } from './stage.ts'

const mode: Mode = modeNamed('websocket/1.1') ?? assert.fail('there is no mode websocket/1.1')

let stage: Stage
before(async () => {
  stage = await openStage()
})
after(() => stage.close())

/** In the page: records the document's position in each frame, and the header's words while offline. */
function watch(): void {
  const seen = { places: new Set<string>(), words: new Set<string>(), pauses: new Set<number>() }
  Object.assign(globalThis, { seen })
  let last = 'open'
  const look = () => {
    const { x, y, width } = document.querySelector('#document')?.getBoundingClientRect() ?? new DOMRect()
    seen.places.add([x, y, width].join())
    const { state, retryAt } = window.crosswind?.view().link ?? {}
    if (retryAt) seen.pauses.add(retryAt)
    if (state === 'waiting' && last === 'waiting')
      seen.words.add(document.querySelector('.bar')?.textContent ?? '')
    last = state ?? last
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}

function observations(): { places: string[]; words: string[]; pauses: number } {
  const { seen } = globalThis as unknown as {
    seen: Record<'places' | 'words', Set<string>> & { pauses: Set<number> }
  }
  return { places: [...seen.places], words: [...seen.words], pauses: seen.pauses.size }
}

test('during an outage and its retries the document does not move, and the header says nothing false', async (t) => {
  const proxy = await startProxy(stage.server.ports['1.1'])
  t.after(proxy.close)
  const windows: BrowserWindow[] = []
  for (const width of [360, 700, 1100]) {
    const window = await stage.browser.newWindow()
    await window.resize(width, 700)
    await window.open(`https://localhost:${proxy.port}/?transport=websocket&http=1.1&channel=outage&record`)
    windows.push(window)
  }
  const isCounted = async (window: BrowserWindow) => ((await window.run(linkState)).windows ?? 0) === 3
  for (const window of windows) {
    await untilOpen(window, mode)
    await until(() => isCounted(window), 'three windows are not counted')
    await window.run(watch)
  }
  proxy.refuse(true)
  proxy.cut()
  const isLongOut = async (window: BrowserWindow) => (await window.run(observations)).pauses >= 4
  for (const window of windows) await until(() => isLongOut(window), 'it did not retry', 30_000)
  proxy.refuse(false)
  for (const window of windows) {
    await until(async () => (await window.run(linkState)).state === 'open', 'it did not reconnect', 30_000)
    const { places, words } = await window.run(observations)
    assert.equal(places.length, 1, places.join(' and '))
    assert.ok(words.length > 0)
    for (const said of words) assert.doesNotMatch(said, /in fact|instead|windows? open/)
    await window.close()
  }
})

const { link, outbox } = firstView('sse/2')
const open = { ...link, state: 'open', spokenHttp: '2' } as const
const waiting = { ...link, state: 'waiting', reason: 'The connection to the server was lost.' } as const

/** The header's long texts, alone and together. */
const links: readonly View['link'][] = [
  { ...open, mode: 'streaming/2', preferred: 'streaming/2' },
  {
    ...open,
    mode: 'long-polling/1.1',
    preferred: 'streaming/2',
    fallbackReason: 'unsupported',
    spokenHttp: '1.1',
  },
  { ...open, preferred: 'long-polling/1.1', mode: 'long-polling/1.1', spokenHttp: '2' },
  { ...link, mode: 'streaming/2', preferred: 'streaming/2' },
  { ...waiting, mode: 'streaming/2', preferred: 'streaming/2', retryAt: 1 },
  { ...waiting, mode: 'long-polling/1.1', preferred: 'streaming/2' },
]
const outboxes: readonly View['outbox'][] = [
  outbox,
  { ...outbox, unstored: 1999 },
  { ...outbox, unstored: 12, canPersist: false },
  { ...outbox, unstored: 2000, isFull: true },
]
const others: readonly Partial<View>[] = [
  { windows: 1, isUnshared: false },
  { windows: 1234, isUnshared: true },
  { windows: 12, isUnshared: false },
]

test('a countdown starts at its pause, not when the page was opened', async () => {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin[mode.http]}/?transport=websocket&http=1.1&channel=count&record`)
  await untilOpen(window, mode)
  assert.equal(await window.run(firstCountdown, waiting), 'in 2 s')
  await window.close()
})

/** In the page: the countdown's first text in a pause of 2 s. */
async function firstCountdown(link: View['link']): Promise<string> {
  const header = document.querySelector('.header') ?? document
  const first = new Promise<string>((resolve) => {
    const look = () => resolve(document.querySelector('.link-countdown')?.textContent.trim() ?? '')
    new MutationObserver(look).observe(header, { subtree: true, childList: true })
  })
  const retryAt = performance.timeOrigin + performance.now() + 2000
  window.crosswind?.show({ link: { ...link, retryAt }, outage: link.reason })
  return first
}

/** Each pair of a link and an outbox, with the others in turn. */
const parts = links.flatMap((link, row) =>
  outboxes.flatMap((outbox, column) =>
    [0, 5].map((browserHttp1Streams): Partial<View> => {
      const other = others[(row + column) % others.length]
      return { link, outbox, browserHttp1Streams, ...other }
    }),
  ),
)

for (const isReader of [false, true]) {
  test(`the header keeps one row in every state from 700 px up${isReader ? ', for a reader too' : ''}`, async (t) => {
    const random = createSeededRandom(16)
    const someone = isReader ? await openStage({ access: 'invited' }) : null
    t.after(() => someone?.close())
    const window = await (someone ?? stage).browser.newWindow()
    if (someone) await window.open(await someone.server.invite({ channels: ['main'], may: 'read' }))
    await window.open(`${(someone ?? stage).server.origin['2']}/?channel=main&record`)
    const isShown = async () => {
      const { state, isRendered } = await window.run(linkState)
      return state === 'open' && isRendered
    }
    await until(isShown, 'it did not open')
    const between = 701 + Math.floor(random() * 100)
    for (const width of isReader ? [700, 1080] : [700, between, 900, 1000, 1080, 1100, 1279, 1440]) {
      await window.resize(width, 700)
      for (const { height, overflow, isWhole, words } of await window.run(headersShowing, parts)) {
        const where = `${width} px: ${words}`
        assert.ok(height <= 64, `${height} px high at ${where}`)
        assert.ok(overflow <= 0, `${overflow} px too wide at ${where}`)
        assert.ok(isWhole, `the mode is cut at ${where}`)
      }
    }
    await window.close()
  })
}

test('the mode in use is readable at every width from 320 px, and the header keeps its height', async () => {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin['2']}/?channel=main&record`)
  await untilOpen(window, modeNamed('sse/2') ?? mode)
  for (const width of [320, 344, 360, 375, 390, 414, 480, 543, 545, 600, 699]) {
    await window.resize(width, 700)
    const heights = new Set<number>()
    for (const { height, overflow, isWhole, mode, words } of await window.run(headersShowing, parts)) {
      const where = `${width} px: ${words}`
      heights.add(height)
      assert.ok(overflow <= 0, `${overflow} px too wide at ${where}`)
      assert.ok(isWhole, `${mode} is cut at ${where}`)
    }
    assert.equal(heights.size, 1, `${[...heights].join(' and ')} px high at ${width} px`)
  }
  await window.close()
})

interface SeenHeader {
  readonly height: number
  readonly overflow: number
  /** Whether the mode in use is shown in full. */
  readonly isWhole: boolean
  readonly mode: string
  readonly words: string
}

/** In the page: the header's height, overflow and words in each of the states. */
async function headersShowing(parts: readonly Partial<View>[]): Promise<SeenHeader[]> {
  const seen: SeenHeader[] = []
  for (const part of parts) {
    const soon = performance.timeOrigin + performance.now() + 14_000
    const link = part.link && { ...part.link, retryAt: part.link.retryAt && soon }
    window.crosswind?.show({ ...part, ...(link && { link, outage: link.reason }) })
    await new Promise((resolve) => setTimeout(resolve, 0))
    const header = document.querySelector('.header')
    const bar = document.querySelector('.bar')
    const children = [...(bar?.querySelectorAll('*') ?? [])].filter(
      (element) => element.checkVisibility() && !element.closest('.visually-hidden, .mode-list'),
    )
    const right = Math.max(...children.map((element) => element.getBoundingClientRect().right))
    const words = (bar as HTMLElement | null)?.innerText.replaceAll('\n', ' ') ?? ''
    const inStatus = document.querySelectorAll('.status :is(.link-words, .mode-button)')
    const counts = document.querySelector('.counts')?.getBoundingClientRect() ?? new DOMRect()
    const inner = Math.max(...[...inStatus].map((element) => element.getBoundingClientRect().right))
    const status = document.querySelector('.status')?.getBoundingClientRect() ?? new DOMRect()
    const isBeside = counts.top < status.bottom && counts.bottom > status.top && counts.left > status.left
    const overflow = Math.max(right - innerWidth, isBeside ? inner - counts.left : 0)
    const name = document.querySelector('.mode-name')
    const box = name?.getBoundingClientRect() ?? new DOMRect()
    const isWhole =
      name !== null &&
      name.scrollWidth <= Math.ceil(box.width) &&
      box.height < 2.5 * Number.parseFloat(getComputedStyle(name).lineHeight)
    seen.push({
      height: header?.getBoundingClientRect().height ?? 0,
      overflow: Math.round(overflow),
      isWhole,
      mode: name?.textContent ?? '',
      words,
    })
  }
  return seen
}
