// During an outage nothing moves around the document, and the header keeps its height.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Mode, modeNamed } from '../../protocol/modes.ts'
import { firstView, type View } from '../../web/store.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { startProxy } from '../network/cutting-proxy.ts'
import { linkState } from './page.ts'
import { openConnection, openStage, type Stage, untilOpen } from './stage.ts'

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
  await openConnection(window)
  assert.match(await window.run(firstCountdown, waiting), /^Trying again in 2 s\./)
  await window.close()
})

/** In the page: the countdown's first text in a pause of 2 s. */
async function firstCountdown(link: View['link']): Promise<string> {
  const panel = document.querySelector('.connection-panel')
  if (!panel) throw new Error('The panel is not open.')
  const first = new Promise<string>((resolve) => {
    const look = () => resolve(panel.querySelector('.small')?.textContent ?? '')
    new MutationObserver(look).observe(panel, { subtree: true, childList: true, characterData: true })
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

for (const isReader of [false, true])
  test(`the header keeps its height and its controls in every state and at every width${isReader ? ', for a reader too' : ''}`, async (t) => {
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
    const widths = [320, 344, 360, 390, 414, 480, 543, 545, 600, 700, 900, 1080, 1279, 1440]
    for (const width of isReader ? [320, 700, 1080] : widths) {
      await window.resize(width, 700)
      const seen = await window.run(headersShowing, parts)
      assert.equal(seen.length, parts.length)
      for (const { height, overflow, overlaps, words } of seen) {
        const where = `${width} px: ${words}`
        assert.equal(height, 56, where)
        assert.ok(overflow <= 0, `${overflow} px too wide at ${where}`)
        assert.deepEqual(overlaps, [], where)
      }
    }
    await window.close()
  })

interface SeenHeader {
  readonly height: number
  readonly overflow: number
  /** Parts that overlap the one before. */
  readonly overlaps: readonly string[]
  readonly words: string
}

/** In the page: the header in each of the states. */
async function headersShowing(parts: readonly Partial<View>[]): Promise<SeenHeader[]> {
  const seen: SeenHeader[] = []
  for (const part of parts) {
    const soon = performance.timeOrigin + performance.now() + 14_000
    const link = part.link && { ...part.link, retryAt: part.link.retryAt && soon }
    window.crosswind?.show({ ...part, ...(link && { link, outage: link.reason }) })
    await new Promise((resolve) => setTimeout(resolve, 0))
    const bar = document.querySelector<HTMLElement>('.bar')
    const shown = [...(bar?.querySelectorAll('*') ?? [])].filter(
      (element) => element.checkVisibility() && !element.closest('.visually-hidden'),
    )
    const right = Math.max(...shown.map((element) => element.getBoundingClientRect().right))
    const places = [...(bar?.children ?? [])].filter((element) => element.checkVisibility())
    const overlaps = places.slice(1).filter((place, index) => {
      const before = places[index]?.getBoundingClientRect()
      return before !== undefined && before.right > place.getBoundingClientRect().left
    })
    seen.push({
      height: document.querySelector('.header')?.getBoundingClientRect().height ?? 0,
      overflow: Math.round(right - innerWidth),
      overlaps: overlaps.map(({ className }) => className),
      words: bar?.innerText.replaceAll('\n', ' ') ?? '',
    })
  }
  return seen
}
