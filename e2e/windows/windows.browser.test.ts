// Windows of a real browser keep in step: in every mode, through live switches, with text, caret and scroll intact.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestServer } from '../../server/testing.ts'
import { connections, modeNamed, modes, type TransportName } from '../../server/wire/modes.ts'
import type { BrowserWindow } from '../browser/browser.ts'
import { until } from '../browser/until.ts'
import {
  bannerText,
  caretShown,
  htmlShown,
  linkState,
  markRan,
  pageProtocol,
  placeCaret,
  requestsTo,
  scrollTo,
  scrollTop,
  textShown,
  windowsAtServer,
  writeHtml,
} from './page.ts'
import { openStage, type Stage, type as typeText, untilOpen, untilShows, webFolder } from './stage.ts'

/** WebDriver's names of keys (W3C WebDriver, 17.4.2). */
const keys = { up: '\uE013', enter: '\uE007' }

/** What each transport asks for, and by which means (Resource Timing, initiatorType). */
const requestsOf: Readonly<Record<TransportName, readonly (readonly [path: string, initiator: string])[]>> = {
  sse: [
    ['/api/stream', 'other'],
    ['/api/messages', 'xmlhttprequest'],
  ],
  websocket: [],
  'long-polling': [
    ['/api/long-poll', 'xmlhttprequest'],
    ['/api/messages', 'xmlhttprequest'],
  ],
  polling: [
    ['/api/poll', 'xmlhttprequest'],
    ['/api/messages', 'xmlhttprequest'],
  ],
  streaming: [['/api/streaming', 'fetch']],
}
interface Entry {
  readonly protocol: string
  readonly initiator: string
}

const uplinkPaths = ['/api/messages', '/api/streaming', '/api/poll', '/api/long-poll', '/api/stream']
const isOpenEnded: ReadonlySet<string> = new Set(['/api/stream', '/api/streaming'])

let stage: Stage
before(async () => {
  stage = await openStage()
})
after(() => stage.close())

async function closeAll(windows: readonly BrowserWindow[]): Promise<void> {
  for (const window of windows) await window.close()
}

function mode(name: string) {
  const found = modeNamed(name)
  if (!found) throw new Error(`No mode ${name}`)
  return found
}

test('a first window opens in the default mode, with an empty console', async () => {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin['2']}/?record`)
  await untilOpen(window, mode('sse/2'))
  assert.equal(await window.run(pageProtocol), 'h2')
  assert.deepEqual(await stage.browser.consoleMessages(), [])
  await window.close()
})

for (const each of modes) {
  test(`${each.name}: what is typed in one of five windows shows in the four others`, async () => {
    const windows = await stage.open(each, 5, `five-${each.name.replace('/', '-')}`)
    const [typist] = windows
    assert.ok(typist)
    await typist.click('#document')
    await typeText(typist, 'Hello wind')
    for (const window of windows) await untilShows(window, 'Hello wind')
    await until(async () => (await typist.run(linkState)).windows === 5, 'five windows were not counted')
    await closeAll(windows)
  })

  test(`${each.name}: that protocol is really spoken, by the browser’s word and the server’s`, async () => {
    const channel = `spoken-${each.name.replace('/', '-')}`
    const [window] = await stage.open(each, 1, channel)
    assert.ok(window)
    await window.click('#document')
    await typeText(window, 'x')
    await untilShows(window, 'x')
    assert.equal((await window.run(linkState)).spokenHttp, each.http)
    const [seen] = (await window.run(windowsAtServer)).filter(({ channels }) => channels.includes(channel))
    assert.equal(seen?.mode, each.name)
    const spoken = [connections[each.http].alpn]
    for (const [path, initiator] of requestsOf[each.transport]) {
      // A request stands in the browser's list once it has ended: a stream's, when it is closed.
      const entries = (): Promise<Entry[]> => window.run(requestsTo, path)
      if (!isOpenEnded.has(path))
        await until(async () => (await entries()).length > 0, `nothing went to ${path}`)
      for (const entry of await entries())
        assert.deepEqual([entry.initiator, [entry.protocol]], [initiator, spoken])
    }
    for (const path of uplinkPaths) {
      const isUsed = requestsOf[each.transport].some(([used]) => used === path)
      if (!isUsed) assert.deepEqual(await window.run(requestsTo, path), [])
    }
    await closeAll([window])
  })
}

test('the mode switches live, and typing goes on, in every direction', async () => {
  const [typist, reader] = await stage.open(mode('sse/2'), 2, 'switching')
  assert.ok(typist && reader)
  await typist.click('#document')
  let expected = ''
  for (const next of [...modes.slice(1), ...modes.toReversed()].map(({ name }) => name)) {
    await typist.run((name: string) => window.crosswind?.switchMode(name), next)
    // Typed while the link is changing over: nothing of it may be lost.
    await typeText(typist, 'ab')
    await untilOpen(typist, mode(next))
    await typeText(typist, 'c')
    expected += 'abc'
    await untilShows(reader, expected)
    const address: string = await typist.run(() => location.href)
    const query = new URL(address).searchParams
    assert.equal(`${query.get('transport')}/${query.get('http')}`, next)
  }
  assert.deepEqual(await stage.browser.consoleMessages(), [])
  await closeAll([typist, reader])
})

test('the mode switches from the menu, by keyboard too', async () => {
  const [typist, reader] = await stage.open(mode('sse/2'), 2, 'menu')
  assert.ok(typist && reader)
  await typist.click('.mode-button')
  await typist.click('[role=menuitemradio][data-mode="websocket/1.1"]')
  await untilOpen(typist, mode('websocket/1.1'))
  await typist.click('.mode-button')
  for (const key of [keys.up, keys.enter]) await typist.key(key)
  await untilOpen(typist, mode('sse/1.1'))
  await typist.click('#document')
  await typeText(typist, 'on it goes')
  await untilShows(reader, 'on it goes')
  await closeAll([typist, reader])
})

test('the server restarts: windows come back by themselves, and what was typed meanwhile arrives', async () => {
  await using opened = new AsyncDisposableStack()
  const own = await openStage()
  opened.defer(own.browser.quit)
  opened.defer(own.server.close)
  const { ports } = own.server
  const [typist, reader] = await own.open(mode('sse/2'), 2, 'restart')
  assert.ok(typist && reader)
  await typist.click('#document')
  await typeText(typist, 'before')
  await untilShows(reader, 'before')
  await own.server.close()
  await until(async () => (await typist.run(linkState)).state === 'waiting', 'the loss was not noticed')
  await typeText(typist, 'during')
  const again = await startTestServer({ port: ports['2'], http1Port: ports['1.1'] }, webFolder)
  opened.defer(again.close)
  await untilShows(reader, 'beforeduring')
})

test('the reading window keeps its caret in its words, and its scroll', async () => {
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
  await typeText(typist, 'New ')
  await typist.run(placeCaret, 60, 3)
  await typeText(typist, '!')
  await until(async () => (await reader.run(htmlShown)).includes('Par!agraph 60'), 'the edit did not arrive')
  assert.match(await reader.run(htmlShown), /New.Paragraph 40/)
  assert.match(await reader.run(caretShown), /^New.Paragraph\| 40 of many$/)
  assert.equal(await reader.run(scrollTop), before)
  await closeAll([typist, reader])
})

test('scripts, handlers and javascript: links in an edit do not run where it is shown', async () => {
  const [sender, reader] = await stage.open(mode('sse/2'), 2, 'hostile')
  assert.ok(sender && reader)
  const hostile = [
    '<p>start</p>',
    '<script>window.ran = true</script>',
    '<img src="x" onerror="window.ran = true">',
    '<a href="javascript:window.ran = true" id="link">link</a>',
    '<svg onload="window.ran = true"><a xlink:href="javascript:window.ran = true"><text>t</text></a></svg>',
    '<iframe srcdoc="<script>parent.ran = true</script>"></iframe>',
    '<form action="javascript:window.ran = true"><button>go</button></form>',
    '<p style="position:fixed;inset:0">cover</p>',
    '<math><mtext><table><mglyph><style><img src=x onerror="window.ran = true">',
    '<p>end</p>',
  ].join('')
  // Sent by hand: no editor of ours would make it.
  await sender.run(postEdit, 'hostile', hostile)
  await until(async () => (await reader.run(textShown)).includes('start'), 'the edit did not arrive')
  const shown = await reader.run(htmlShown)
  assert.doesNotMatch(shown, /<script|onerror|onload|javascript:|<iframe|<form|<button|style=|<svg/i)
  await reader.run(() => document.querySelector<HTMLElement>('#document a')?.click())
  assert.equal(await reader.run(markRan), false)
  await closeAll([sender, reader])
})

test('on HTTP/1.1 the fifth window warns, before the sixth could not type and the seventh would hang', async () => {
  const windows = await stage.open(mode('sse/1.1'), 5, 'crowd', { pageHttp: '2' })
  const [first] = windows
  assert.ok(first)
  const streams = async () => (await first.run(linkState)).browserHttp1Streams
  await until(async () => (await streams()) === 5, 'five streams were not counted')
  const warning = /Five windows of this browser are open over HTTP\/1\.1/
  await until(async () => warning.test(await first.run(bannerText)), 'no warning was shown')
  await closeAll(windows.slice(4))
  await until(async () => (await streams()) === 4, 'four streams were not counted')
  await until(async () => !warning.test(await first.run(bannerText)), 'the warning stayed')
  await closeAll(windows.slice(0, 4))
})

async function postEdit(channel: string, html: string): Promise<void> {
  const draft = {
    id: `hostile-${Math.random()}`,
    channel,
    kind: 'edit',
    from: 'hostile',
    at: Date.now(),
    body: { html },
  }
  await fetch('/api/messages', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(draft),
  })
}
