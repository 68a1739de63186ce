// Sharing a connection, and drafts: an application's pages that have these doors, in real windows.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { type BuildOptions, build } from 'esbuild'
import type * as Y from 'yjs'
import { stopClock } from '../../app/testing.ts'
import type { CrosswindProvider } from '../../client/yjs.ts'
import { fingerprintIn } from '../../protocol/messages.ts'
import type { Authorize } from '../../server/index.ts'
import { type Browser, type BrowserWindow, startBrowser, until } from '../browser/browser.ts'
import { openEditingPage } from '../browser/editing.ts'
import { deleteDrafts, draftsKept, forgetCookies } from '../windows/page.ts'
import { browserName } from '../windows/stage.ts'
import { start } from './testing.ts'

async function bundle(from: Pick<BuildOptions, 'entryPoints' | 'stdin' | 'alias'>): Promise<Uint8Array> {
  const { outputFiles } = await build({
    ...from,
    absWorkingDir: import.meta.dirname,
    bundle: true,
    format: 'esm',
    write: false,
  })
  return outputFiles[0]?.contents ?? assert.fail()
}

async function offlineWorker(): Promise<Uint8Array> {
  const guide = await readFile(join(import.meta.dirname, '../../docs/yjs.md'))
  const [, worker = assert.fail('there is no worker')] =
    /\/\/ service-worker\.js\n(.*?)```/s.exec(`${guide}`) ?? []
  return Buffer.from(worker)
}

/** The example in docs/yjs.md, with the sources in place of the packages. */
async function offlineExample(): Promise<Uint8Array> {
  const guide = await readFile(join(import.meta.dirname, '../../docs/yjs.md'), 'utf8')
  const [, example = assert.fail('there is no example')] = /## Offline\n.*?```js\n(.*?)```/s.exec(guide) ?? []
  const [, discard = assert.fail('nothing is discarded')] = /\/\/ discard\.mjs\n(.*?)```/s.exec(guide) ?? []
  const [again = assert.fail('nothing is opened again')] = /^provider\.on\('discarded'.*/m.exec(guide) ?? []
  const contents = `${example}${discard}${again}
    window.example = { text: doc.getText('text'), provider, discard: () => discard(provider, kept) }`
  return bundle({
    stdin: { contents, resolveDir: import.meta.dirname },
    alias: { '@crosswind/client': '../../client' },
  })
}

declare global {
  interface Window {
    example?: {
      readonly text: Y.Text
      readonly provider: CrosswindProvider
      readonly discard: () => Promise<void>
    }
  }
}

let browser: Browser
let scripts: Readonly<Record<string, Uint8Array>>
before(async () => {
  scripts = {
    '/page.js': await bundle({ entryPoints: ['doors-page.ts'] }),
    '/worker.js': await bundle({ entryPoints: ['../../client/shared-worker.ts'] }),
    '/example.js': await offlineExample(),
    '/service-worker.js': await offlineWorker(),
  }
  browser = await startBrowser({ name: browserName })
})
after(() => browser.quit())

/** Beyond one window, scripts are loaded after the page, by all at the same time. */
function application(together: number): RequestListener {
  const waiting: (() => ServerResponse)[] = []
  const load =
    together > 1
      ? // Of two requests for one address, Chromium's cache would hold the second back.
        `>addEventListener('load', () => import('/page.js?' + Math.random()))`
      : ' type="module" src="/page.js">'
  // Signs the user of the address in.
  const example = `<!doctype html><script>localStorage.user = location.search.split('=')[1]</script>
    <script type="module" src="/example.js"></script>`
  return ({ url = '' }, response) => {
    const script = scripts[url.split('?')[0] ?? '']
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html')
    if (url.startsWith('/?example=')) return response.end(example)
    if (!script) return response.end(`<!doctype html><script${load}</script>`)
    waiting.push(() => response.end(script))
    if (waiting.length >= together) for (const answer of waiting.splice(0)) answer()
  }
}

const everyRoom: Authorize = ({ token }) => ({
  user: token ?? '',
  read: ['room.*', 'doc.*'],
  write: ['room.1', 'doc.1'],
})

/** A token is the user's name; everybody reads everything, and writes in `room.1` and `doc.1`. */
async function serve(t: TestContext, { authorize = everyRoom, together = 1, isSecure = false } = {}) {
  let cut = 'none'
  const streams: string[] = []
  const server = await start(t, {
    application: application(together),
    channels: { 'room.*': { kind: 'json' }, 'doc.*': { kind: 'yjs' } },
    authorize,
    isSecure,
    cuts(url) {
      if (url.startsWith('/realtime/stream'))
        streams.push(new URLSearchParams(url.split('?')[1]).get('window') ?? '')
      return url.startsWith(cut)
    },
  })
  const databaseOf = (user: string) => `crosswind ${server.origin}/realtime ${user}`
  return {
    database: databaseOf,
    /** The names of all streams until now: a name has one at a time. */
    streams: () => new Set(streams),
    /** The fingerprints of keys in these names. */
    fingerprints: () => new Set(streams.map((name) => fingerprintIn(name))),
    /** For Crosswind; the application's page goes on loading. */
    isOnline(isOnline: boolean) {
      cut = isOnline ? 'none' : '/realtime'
      if (!isOnline) server.cut()
    },
    /** Streams go on. */
    takesMessages(takes: boolean) {
      cut = takes ? 'none' : '/realtime/messages'
    },
    /** Clients get no tickets; messages pass. */
    takesSessions(takes: boolean) {
      cut = takes ? 'none' : '/realtime/session'
    },
    /** Messages stored in `room.1`. */
    stored: async () => {
      const read = await Array.fromAsync(server.crosswind.read('room.1', { after: 0 }))
      return read.map(({ data, user }) => [data, user])
    },
    /** The text of `doc.1`. */
    text: async () => (await server.crosswind.document('doc.1')).getText('text').toString(),
    /** Streams are cut, and messages pass. */
    takesStreams(takes: boolean) {
      cut = takes ? 'none' : '/realtime/stream'
      if (!takes) server.cut()
    },
    revoke: (user: string) => server.crosswind.revoke(user),
    address: (query: string) => `${server.origin}/?${query}`,
    /** A page that ends at once would take what the browser has not written yet. */
    async untilKept(window: BrowserWindow, user: string, count: number) {
      const kept = () => window.run(draftsKept, databaseOf(user))
      await until(async () => (await kept()) === count, 'the drafts are not kept')
    },
    async open(query: string): Promise<BrowserWindow> {
      const window = await browser.newWindow()
      let isOpen = true
      const close = async () => {
        if (isOpen) await window.close()
        isOpen = false
      }
      t.after(close)
      await window.open(`${server.origin}/?${query}`)
      return { ...window, close }
    },
  }
}

const isOpen = () => window.door?.state().status === 'open'
const pending = () => window.door?.state().pending
const reason = () => window.door?.state().reason
const publish = (text: string) => window.door?.publish(text)
const codeOf = (text: string) => window.door?.codeOf(text)
const codeOfNested = (levels: number) => window.door?.codeOfNested(levels)
const close = () => window.door?.close()
const retry = () => window.door?.retry()
const heardBy = () => window.door?.heard
const refusedBy = () => window.door?.refused

async function untilHeard(window: BrowserWindow, expected: readonly (readonly [string, string])[]) {
  const heard = () => window.run(heardBy)
  const isHeard = async () => JSON.stringify(await heard()) === JSON.stringify(expected)
  await until(isHeard, `a window did not hear ${JSON.stringify(expected)}`).catch(async (error) => {
    throw new Error(`${error.message} It heard ${JSON.stringify(await heard())}.`)
  })
}

for (const [by, streams] of [
  ['worker', 1],
  ['window', 2],
] as const)
  test(`seven windows over HTTP/1.1, more than a browser's connections, share one that a ${by} has`, async (t) => {
    const server = await serve(t)
    const windows: BrowserWindow[] = []
    for (let count = 0; count < 7; count += 1) windows.push(await server.open(`user=ada&share=${by}`))
    for (const window of windows) await until(() => window.run(isOpen), 'a window is not open')
    for (const [index, window] of windows.entries()) await window.run(publish, `${index}`)
    const said = (texts: readonly string[]) => texts.map((text) => [text, 'ada'] as const)
    for (const window of windows) await until(async () => (await window.run(pending)) === 0, 'not stored')
    const stored = await server.stored()
    assert.deepEqual(stored.toSorted(), said(['0', '1', '2', '3', '4', '5', '6']))
    for (const window of windows) await untilHeard(window, stored as [string, string][])
    assert.equal(server.streams().size, 1)
    const [first, second, ...others] = windows
    assert.ok(first && second)
    // The window that has the connection, if no worker has it.
    await first.close()
    await second.run(publish, 'after')
    for (const window of [second, ...others])
      await untilHeard(window, [...(stored as [string, string][]), ['after', 'ada']])
    assert.equal(server.streams().size, streams)
  })

for (const doors of ['share=worker', 'share=window', 'share=worker&drafts'])
  test(`${doors}: data nested too deep is refused, and the messages of all windows go on`, async (t) => {
    const server = await serve(t)
    const windows = [await server.open(`user=ada&${doors}`), await server.open(`user=ada&${doors}`)] as const
    for (const window of windows) await until(() => window.run(isOpen), 'a window is not open')
    const [one, other] = windows
    assert.equal(await one.run(codeOfNested, 101), 'bad-shape')
    // Browsers differ in how deep they copy and write.
    for (let levels = 1000; levels <= 10_000; levels += 1000)
      assert.match((await one.run(codeOfNested, levels)) ?? '', /^bad-shape|^\w+Error/, `${levels}`)
    await one.run(publish, 'one')
    await untilHeard(other, [['one', 'ada']])
    await other.run(publish, 'two')
    for (const window of windows)
      await untilHeard(window, [
        ['one', 'ada'],
        ['two', 'ada'],
      ])
    assert.equal(await one.run(pending), 0)
  })

test('windows of different users do not share, and each writes as its own', async (t) => {
  const server = await serve(t)
  const ada = await server.open('user=ada&share')
  const bob = await server.open('user=bob&share')
  for (const window of [ada, bob]) await until(() => window.run(isOpen), 'a window is not open')
  await ada.run(publish, 'one')
  await untilHeard(bob, [['one', 'ada']])
  await bob.run(publish, 'two')
  for (const window of [ada, bob])
    await untilHeard(window, [
      ['one', 'ada'],
      ['two', 'bob'],
    ])
  assert.equal(server.streams().size, 2)
})

test('a refusal reaches the window that published', async (t) => {
  const server = await serve(t)
  const window = await server.open('user=ada&room=room.2&share')
  const code = await window.run(codeOf, 'no')
  assert.equal(code, 'read-only-invitation')
})

test('messages published offline are stored by the next page: once, in order, under their user', async (t) => {
  const server = await serve(t)
  const window = await server.open('user=ada&share&drafts')
  await window.run(publish, 'before')
  await untilHeard(window, [['before', 'ada']])
  server.isOnline(false)
  for (const text of ['one', 'two']) await window.run(publish, text)
  await server.untilKept(window, 'ada', 2)
  await window.open(server.address('user=ada&share&drafts&say=three'))
  await until(async () => (await window.run(pending)) === 3, 'the drafts are not back')
  server.isOnline(true)
  const stored = [
    ['before', 'ada'],
    ['one', 'ada'],
    ['two', 'ada'],
    ['three', 'ada'],
  ] as const
  await untilHeard(window, stored)
  await until(async () => (await window.run(pending)) === 0, 'something is left')
  await window.open(server.address('user=ada&share&drafts'))
  await untilHeard(window, stored)
  assert.deepEqual([await window.run(pending), await server.stored()], [0, stored])
})

test('an open window sends what a closed one of the same user left', async (t) => {
  const server = await serve(t)
  const ada = await server.open('user=ada&drafts')
  const other = await server.open('user=ada&drafts')
  const bob = await server.open('user=bob&drafts')
  for (const window of [ada, other, bob]) await until(() => window.run(isOpen), 'a window is not open')
  server.isOnline(false)
  await ada.run(publish, 'left')
  await server.untilKept(ada, 'ada', 1)
  await ada.close()
  await bob.run(publish, 'from bob')
  server.isOnline(true)
  await until(async () => (await server.stored()).length === 2, 'not stored')
  assert.deepEqual((await server.stored()).toSorted(), [
    ['from bob', 'bob'],
    ['left', 'ada'],
  ])
})

test('drafts of users who share a database wait for theirs: another neither sees nor sends them', async (t) => {
  const server = await serve(t)
  const window = await server.open('user=ada&drafts&kept=all')
  await until(() => window.run(isOpen), 'the window is not open')
  server.isOnline(false)
  await window.run(publish, 'from ada')
  await server.untilKept(window, 'all', 1)
  await window.open(server.address('user=bob&drafts&kept=all&say=from bob'))
  server.isOnline(true)
  await untilHeard(window, [['from bob', 'bob']])
  await until(async () => (await window.run(pending)) === 0, 'something is pending')
  await server.untilKept(window, 'all', 1)
  assert.deepEqual(await window.run(refusedBy), [])
  await window.open(server.address('user=ada&drafts&kept=all'))
  await untilHeard(window, [
    ['from bob', 'bob'],
    ['from ada', 'ada'],
  ])
})

test('a closed connection leaves its drafts to another of the same user, though its page stays', async (t) => {
  const server = await serve(t)
  const closing = await server.open('user=ada&drafts')
  const next = await server.open('user=ada&drafts')
  for (const window of [closing, next]) await until(() => window.run(isOpen), 'a window is not open')
  server.isOnline(false)
  await closing.run(publish, 'left')
  await closing.run(close)
  server.isOnline(true)
  await untilHeard(next, [['left', 'ada']])
})

test('drafts of a closed window are sent by another whose connection was never lost', async (t) => {
  const server = await serve(t)
  const closing = await server.open('user=ada&drafts')
  const next = await server.open('user=ada&drafts')
  for (const window of [closing, next]) await until(() => window.run(isOpen), 'a window is not open')
  server.takesMessages(false)
  await closing.run(publish, 'left')
  await server.untilKept(closing, 'ada', 1)
  await closing.close()
  server.takesMessages(true)
  await untilHeard(next, [['left', 'ada']])
})

test('a draft that is refused after a reload is reported, and not sent again', async (t) => {
  const server = await serve(t)
  const window = await server.open('user=ada&room=room.2&drafts')
  await until(() => window.run(isOpen), 'the window is not open')
  server.isOnline(false)
  await window.run(publish, 'no')
  await server.untilKept(window, 'ada', 1)
  await window.reload()
  server.isOnline(true)
  const refused = () => window.run(refusedBy)
  await until(async () => (await refused())?.length === 1, 'nothing was refused')
  assert.deepEqual(await refused(), [['no', 'read-only-invitation']])
  await window.reload()
  await until(() => window.run(isOpen), 'the window is not open')
  assert.deepEqual([await refused(), await window.run(pending)], [[], 0])
})

test('the first windows of a user have one key, though they open at the same time', async (t) => {
  const server = await serve(t, { together: 2 })
  const one = await browser.newWindow()
  const other = await browser.newWindow()
  t.after(() => Promise.all([one.close(), other.close()]))
  for (let users = 1; users <= 12; users += 1) {
    await Promise.all([one, other].map((window) => window.open(server.address(`user=ada${users}&drafts`))))
    for (const window of [one, other]) await until(() => window.run(isOpen), 'a window is not open')
    assert.equal(server.fingerprints().size, users)
  }
})

test('a page that is left while it opens its database does not keep the next one from it', async (t) => {
  const server = await serve(t)
  // Chromium under WebDriver keeps no page that is left.
  const { page, run, close } = await openEditingPage(browserName, 'about:blank')
  t.after(close)
  for (let users = 1; users <= 5; users += 1) {
    server.isOnline(true)
    const query = `user=bob${users}&drafts`
    await page.goto(server.address(query))
    await page.goto(server.address(`${query}&again`))
    await until(() => run(isOpen), 'the window is not open')
    server.isOnline(false)
    await run(publish, 'kept')
    const isKept = async () => (await run(draftsKept, server.database(`bob${users}`))) === 1
    await until(isKept, 'the draft is not kept')
  }
})

test('kept drafts are sent once, under their name, whatever else the browser has lost', async (t) => {
  const server = await serve(t)
  const window = await server.open('user=ada&drafts')
  await window.run(publish, 'before')
  await untilHeard(window, [['before', 'ada']])
  server.isOnline(false)
  await window.run(publish, 'kept')
  await server.untilKept(window, 'ada', 1)
  await window.run(forgetCookies)
  await window.run(() => localStorage.clear())
  await window.reload()
  server.isOnline(true)
  await untilHeard(window, [
    ['before', 'ada'],
    ['kept', 'ada'],
  ])
  await until(async () => (await window.run(pending)) === 0, 'it is not answered')
  assert.deepEqual([server.fingerprints().size, await window.run(refusedBy)], [1, []])
})

test('drafts kept after everything was cleared are sent by a window that was opened in between', async (t) => {
  const server = await serve(t)
  const staying = await server.open('user=ada&drafts')
  await until(() => staying.run(isOpen), 'the window is not open')
  server.isOnline(false)
  await staying.run(publish, 'kept before')
  await server.untilKept(staying, 'ada', 1)
  await staying.run(() => localStorage.clear())
  await staying.run(deleteDrafts, server.database('ada'))
  await server.untilKept(staying, 'ada', 1)
  const next = await server.open('user=ada&drafts')
  const bob = await server.open('user=bob&drafts')
  await staying.run(publish, 'kept after')
  await server.untilKept(staying, 'ada', 2)
  await staying.close()
  server.isOnline(true)
  for (const window of [next, bob])
    await untilHeard(window, [
      ['kept before', 'ada'],
      ['kept after', 'ada'],
    ])
  assert.deepEqual([server.fingerprints().size, await next.run(refusedBy)], [2, []])
})

/** In a turn of its own, after this script was answered. */
const typeAndReload = (letters: string) =>
  void setTimeout(() => {
    window.door?.type(letters)
    location.reload()
  })
const typeAndLeave = (letters: string) =>
  void setTimeout(() => {
    window.door?.type(letters)
    location.href = 'about:blank'
  })
const isSynced = () => window.door?.isSynced()
const shownBy = () => document.querySelector('textarea')?.value

const letters = 'abcdefghijklmnopqrstuvwxyz'

/** Plain HTTP is HTTP/1.1. */
const typingPages: (readonly [query: string, isSecure: boolean])[] = [
  ['mode=sse/2', true],
  ...(browserName === 'chromium' ? [['mode=streaming/2', true] as const] : []),
  ['mode=long-polling/2', true],
  ['mode=polling/2', true],
  ['mode=websocket/1.1', true],
  ['mode=sse/1.1', false],
  ['mode=long-polling/1.1', false],
  ['mode=polling/1.1', false],
  ['mode=websocket/1.1', false],
  ['drafts', true],
  ['share', true],
  ['share=worker', false],
  ['mode=websocket/1.1&share', false],
  ['drafts&share', false],
]
for (const [query, isSecure] of typingPages)
  test(`${query}, ${isSecure ? 'https' : 'http'}: what is typed as the page ends is stored, once and in order`, async (t) => {
    const server = await serve(t, { isSecure })
    const stored = async () => (await server.stored()).map(([text]) => text).join('')
    let expected = ''
    for (const end of [typeAndReload, typeAndLeave]) {
      const window = await server.open(`user=ada&doc&${query}`)
      await until(() => window.run(isOpen), 'the window is not open')
      await until(async () => (await window.run(isSynced)) === true, 'the document is not synced')
      await window.run(end, letters)
      expected += letters
      await until(
        async () => `${await stored()} ${await server.text()}` === `${expected} ${expected}`,
        'not all is stored',
      ).catch(async (error) => {
        throw new Error(`${error.message} These are: ${await stored()}, and ${await server.text()}.`)
      })
      await window.close()
    }
  })

/** Each key is a character of its own. */
const keysOf = (round: number) =>
  String.fromCharCode(...Array.from({ length: 10 }, (_, key) => 0x4e00 + 10 * round + key))

for (const query of ['doc', 'doc&drafts', 'doc&share=worker', 'doc&drafts&share'])
  test(`${query}: ten keys and a reload at once, ten times: each key is stored, and shown`, async (t) => {
    const server = await serve(t)
    const window = await server.open(`user=ada&${query}`)
    for (let round = 0; round < 10; round += 1) {
      await window.type(keysOf(round))
      await window.reload()
    }
    const typed = Array.from({ length: 10 }, (_, round) => keysOf(round)).join('')
    const inOrder = (text = '') => Array.from(text).sort().join('')
    await until(async () => inOrder(await window.run(shownBy)) === typed, 'not all is shown')
    assert.equal(inOrder(await server.text()), typed)
  })

test('a page that ends before it has a ticket sends what was typed', async (t) => {
  const server = await serve(t)
  server.takesSessions(false)
  const window = await server.open('user=ada&doc')
  await until(async () => (await window.run(reason)) !== null, 'the loss was not noticed')
  await window.run(typeAndLeave, 'ab')
  await until(async () => (await server.text()) === 'ab', 'not all is stored')
  assert.deepEqual(await server.stored(), [
    ['a', 'ada'],
    ['b', 'ada'],
  ])
})

test('a page that ends before it has its key sends what was typed in its document', async (t) => {
  const server = await serve(t)
  await server.open('user=ada&doc&drafts&leaves=ab')
  await until(async () => (await server.text()) === 'ab', 'not all is stored')
})

test('a page that ends at once sends what was typed past the service worker of docs/yjs.md', async (t) => {
  const server = await serve(t)
  const window = await server.open('user=ada')
  await window.run(() => navigator.serviceWorker.register('/service-worker.js'))
  await window.run(() => navigator.serviceWorker.ready.then(() => undefined))
  let all = ''
  for (const letter of 'abcdefgh') {
    all = letter + all
    await window.open(server.address(`user=ada&doc&drafts&leaves=${letter}`))
    await until(async () => (await server.text()).length === all.length, `${letter} is not stored`)
  }
  await window.close()
})

test('a page that ends before its stream is open, or between two, sends what was typed', async (t) => {
  const server = await serve(t)
  for (const [index, isOpened] of [false, true].entries()) {
    server.takesStreams(isOpened)
    const window = await server.open('user=ada&mode=sse/1.1')
    if (isOpened) await until(() => window.run(isOpen), 'the window is not open')
    server.takesStreams(false)
    await until(async () => (await window.run(reason)) !== null, 'the loss was not noticed')
    await window.run(typeAndReload, 'ab')
    await until(async () => (await server.stored()).length === 2 * (index + 1), 'not all is stored')
    await window.close()
  }
  assert.deepEqual(
    (await server.stored()).map(([text]) => text),
    ['a', 'b', 'a', 'b'],
  )
})

test('the example of docs/yjs.md opens its document without the server, with all that was typed, and sends it later', async (t) => {
  const all = ['doc.*']
  let user = 'ada'
  const write = all
  const server = await serve(t, { authorize: () => ({ user, read: all, write }) })
  const window = await server.open('example=ada')
  const isSaved = () => window.run(() => globalThis.window.example?.provider.saved === true)
  await window.run(() => globalThis.window.example?.text.insert(0, 'stored'))
  await until(isSaved, 'the first word is not saved')
  server.isOnline(false)
  await window.run(() => globalThis.window.example?.text.insert(6, ', kept'))
  await server.untilKept(window, 'ada', 1)
  await window.reload()
  const shown = () => window.run(() => String(globalThis.window.example?.text))
  await until(async () => (await shown()) === 'stored, kept', 'not all is shown')
  assert.deepEqual([await isSaved(), await server.text()], [false, 'stored'])
  // Another user of the browser neither sees nor sends it.
  user = 'ben'
  server.isOnline(true)
  const bens = await server.open('example=ben')
  await until(() => bens.run(() => globalThis.window.example?.provider.synced === true), 'ben reads nothing')
  await bens.run(() => globalThis.window.example?.text.insert(6, ', by ben'))
  await until(async () => (await server.text()).includes('by ben'), 'ben writes nothing')
  assert.deepEqual(
    [await bens.run(() => String(globalThis.window.example?.text)), await server.text()],
    ['stored, by ben', 'stored, by ben'],
  )
  await bens.close()
  user = 'ada'
  const again = await server.open('example=ada')
  await until(async () => /^stored.*, kept/.test(await server.text()), 'what was kept is not saved')
  await again.close()
})

test('what is refused after the right to write has ended is discarded as docs/yjs.md says, for good and in each window', async (t) => {
  const all = ['doc.*']
  let write = all
  const server = await serve(t, { authorize: () => ({ user: 'eve', read: all, write }) })
  const window = await server.open('example=eve')
  const stateOf = (one: typeof window) => one.run(() => globalThis.window.example?.provider.saveState)
  const shownBy = (one: typeof window) => one.run(() => String(globalThis.window.example?.text))
  await window.run(() => globalThis.window.example?.text.insert(0, 'stored'))
  await until(async () => (await stateOf(window)) === 'saved', 'nothing is saved')
  write = []
  await server.revoke('eve')
  await until(
    () => window.run(() => globalThis.window.example?.provider.mayWrite === false),
    'she may still write',
  )
  await window.run(() => globalThis.window.example?.text.insert(6, ', refused'))
  await until(async () => (await stateOf(window)) === 'refused', 'it is not refused')
  await window.reload()
  await until(async () => (await stateOf(window)) === 'refused', 'it is forgotten')
  assert.equal(await shownBy(window), 'stored, refused')
  const second = await server.open('example=eve')
  await until(async () => (await stateOf(second)) === 'refused', 'the second window has nothing refused')
  assert.equal(await shownBy(second), 'stored, refused')
  await window.run(() => void globalThis.window.example?.discard())
  const isAnew = async (one: typeof window) =>
    (await shownBy(one)) === 'stored' && (await stateOf(one)) === 'saved'
  for (const one of [window, second]) await until(() => isAnew(one), 'it is not opened anew')
  await server.untilKept(window, 'eve', 0)
  await second.reload()
  await until(() => isAnew(second), 'what was discarded comes back')
  write = all
  await server.revoke('eve')
  await until(
    () => second.run(() => globalThis.window.example?.provider.mayWrite === true),
    'she may not write',
  )
  await second.run(() => globalThis.window.example?.text.insert(6, '!'))
  await until(async () => (await stateOf(second)) === 'saved', 'nothing is saved')
  await until(async () => (await shownBy(window)) === 'stored!', 'the first window shows something else')
  assert.equal(await server.text(), 'stored!')
  await second.close()
})

test('a channel that the next permit lacks is refused, and the others go on, though EventSource gives no reason', async (t) => {
  let asked = 0
  const clock = stopClock(t)
  const minuteMs = 60_000
  const server = await serve(t, {
    authorize({ token }) {
      asked += 1
      const user = token ?? ''
      const write = ['room.1']
      if (asked > 1) return { user, read: ['room.1'], write }
      return { user, read: ['room.*'], write, expiresAt: clock.now() + minuteMs }
    },
  })
  const window = await server.open('user=ada&also=room.2')
  await until(() => window.run(isOpen), 'the window is not open')
  clock.pass(minuteMs)
  await until(async () => (await window.run(refusedBy))?.length === 1, 'nothing was refused')
  await window.run(publish, 'after')
  await untilHeard(window, [['after', 'ada']])
  assert.deepEqual([await window.run(refusedBy), asked <= 4], [[['room.2', 'not-invited-there']], true])
})

test('messages of a user whose access has ended are rejected, kept, and stored once the user is admitted again', async (t) => {
  let isAllowed = true
  const server = await serve(t, { authorize: (asking) => (isAllowed ? everyRoom(asking) : null) })
  const window = await server.open('user=ada&drafts')
  await until(() => window.run(isOpen), 'the window is not open')
  isAllowed = false
  await server.revoke('ada')
  assert.equal(await window.run(codeOf, 'kept'), 'no-session')
  assert.deepEqual(await window.run(refusedBy), [['connection', 'no-session']])
  await server.untilKept(window, 'ada', 1)
  assert.equal(await window.run(pending), 1)
  isAllowed = true
  await window.run(retry)
  await untilHeard(window, [['kept', 'ada']])
  await until(async () => (await window.run(pending)) === 0, 'the draft is not stored')
  assert.deepEqual(await server.stored(), [['kept', 'ada']])
})
