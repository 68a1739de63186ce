// Hooks of React in a real window, in StrictMode: components that are mounted, replaced and unmounted.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { build } from 'esbuild'
import { type Before, Refusal } from '../../server/index.ts'
import { until } from '../browser/browser.ts'
import { type MeasuredPage, openMeasuredPage } from '../browser/editing.ts'
import { type Said, start } from './testing.ts'

let page: MeasuredPage
let script: Uint8Array
before(async () => {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'react-page.tsx')],
    bundle: true,
    format: 'esm',
    write: false,
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"development"' },
  })
  script = outputFiles[0]?.contents ?? assert.fail('the page was not built')
  page = await openMeasuredPage()
})
after(() => page.close())

async function serve(t: TestContext, rule: { readonly before?: Before<Said> } = {}) {
  const requests: string[] = []
  const server = await start(t, {
    channels: { 'room.*': { kind: 'json', ...rule }, 'doc.*': { kind: 'yjs' } },
    application({ url }, response) {
      response.setHeader('Content-Type', url === '/page.js' ? 'text/javascript' : 'text/html')
      response.end(
        url === '/page.js'
          ? script
          : '<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="/page.js"></script>',
      )
    },
    cuts(url) {
      if (url.startsWith('/realtime/')) requests.push(url.slice('/realtime/'.length))
      return false
    },
  })
  t.after(() => page.page.goto('about:blank'))
  await page.open(server.origin)
  await page.page.waitForFunction(() => window.hooks, { polling: 50 })
  const channels = () => server.crosswind.clients().flatMap((client) => client.channels)
  return {
    ...server,
    /** The requests since the last call whose address begins so. */
    requested: (beginning: string) => requests.splice(0).filter((url) => url.startsWith(beginning)),
    untilChannels: (names: readonly string[]) =>
      until(async () => channels().join() === names.join(), `the channels are not ${names}`),
    say: (name: string, text: string) => server.crosswind.publish(name, { text }),
    untilShown: (selector: string, text: string) =>
      page.page.waitForFunction(
        (where, wanted) => document.querySelector(where)?.textContent === wanted,
        { polling: 50 },
        selector,
        text,
      ),
  }
}

const mount = (names: readonly string[], key?: string) =>
  page.run((...given) => window.hooks?.mount(...given), names, key)

test('a component in StrictMode opens one stream; its replacement keeps the stream and the messages', async (t) => {
  const { say, untilShown, untilChannels, requested } = await serve(t)
  for (const text of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await say('room.1', text)
  await mount(['room.1'])
  await untilShown('#room-1 p', 'c d e f g')
  await untilShown('u', 'open')
  await untilChannels(['room.1'])
  const opened = requested('')
  assert.deepEqual(
    ['stream', 'channels/room.1?after', 'channels/room.1?before'].map(
      (one) => opened.filter((url) => url.startsWith(one)).length,
    ),
    [1, 1, 1],
  )
  for (let times = 0; times < 20; times += 1) {
    await mount(['room.1'], String(times))
    await say('room.1', String(times))
  }
  await untilShown('#room-1 p', '15 16 17 18 19')
  await page.run(() => window.hooks?.loadEarlier())
  await untilShown('#room-1 p', '10 11 12 13 14 15 16 17 18 19')
  assert.deepEqual(requested('stream'), [])
  assert.deepEqual([await page.run(() => window.hooks?.made()), page.errors()], [1, []])
})

test('a suspended component opens nothing before it is shown, and misses nothing while it is hidden', async (t) => {
  const { say, untilShown, untilChannels, requested } = await serve(t)
  await say('room.1', 'a')
  await page.run(() => window.hooks?.suspend())
  await mount(['room.1'])
  await untilShown('em', 'waiting')
  assert.deepEqual(requested('channels'), [])
  await page.run(() => window.hooks?.resume())
  await untilShown('#room-1 p', 'a')
  await untilChannels(['room.1'])
  requested('')
  await page.run(() => window.hooks?.suspend())
  await mount(['room.1'])
  await untilShown('em', 'waiting')
  await say('room.1', 'b')
  await page.run(() => window.hooks?.resume())
  await untilShown('#room-1 p', 'a b')
  assert.deepEqual([requested('stream'), page.errors()], [[], []])
})

test('an own message is shown at once, then in the list, never twice; a refused one until it is dropped', async (t) => {
  const stored = Promise.withResolvers<void>()
  const { untilShown, crosswind, open } = await serve(t, {
    async before({ data }) {
      if (data.text === 'spam') throw new Refusal('declined', 'No advertisements.')
      await stored.promise
    },
  })
  await mount(['room.1'])
  await page.page.waitForSelector('[data-status="ready"]')
  await page.run(() => {
    window.hooks?.watch()
    window.hooks?.publish('tea')
  })
  await untilShown('#room-1 button', 'tea')
  stored.resolve()
  await untilShown('#room-1 p', 'tea')
  const shown = (await page.run(() => window.hooks?.rendered())) ?? []
  assert.deepEqual([...new Set(shown)], ['tea'])
  await page.run(() => window.hooks?.publish('spam'))
  await untilShown('#room-1 button', 'spam: declined')
  await page.page.click('#room-1 button')
  await page.page.waitForFunction(() => !document.querySelector('#room-1 button'), { polling: 50 })
  assert.equal((await Array.fromAsync(crosswind.read('room.1'))).length, 1)

  const other = open().channel<Said>('room.1')
  const heard = new Promise((resolve) => other.on('volatile', ({ data }) => resolve(data.text)))
  await until(
    async () => (await crosswind.clientsOn('room.1')).length === 2,
    'the other client does not follow',
  )
  await page.run(() => window.hooks?.sendVolatile('typing'))
  assert.equal(await heard, 'typing')
  await other.sendVolatile({ text: 'typing, too' })
  await untilShown('#room-1 s', 'typing, too')
})

test('an effect that notes the newest message survives a burst of them, also after the connection was cut', async (t) => {
  const { say, cut, untilShown, untilChannels } = await serve(t)
  await mount(['room.read'])
  await untilChannels(['room.read'])
  const texts = Array.from({ length: 260 }, (_nothing, place) => String(place + 1))
  const sayAll = (some: readonly string[]) => Promise.all(some.map((text) => say('room.read', text)))
  await sayAll(texts.slice(0, 130))
  await untilShown('#room-read b', '130')
  cut()
  await sayAll(texts.slice(130))
  await untilShown('#room-read b', '260')
  await untilShown('#room-read p', texts.join(' '))
  assert.deepEqual(
    page.errors().filter((error) => !error.startsWith('Failed to load resource')),
    [],
  )
})

test('clients are shown while a component is mounted, and documents are shared', async (t) => {
  const { open, untilShown, crosswind } = await serve(t)
  await mount(['room.1', 'doc.1'])
  const other = open().channel('room.1')
  other.presence.set('Ann')
  await untilShown('#room-1 b', 'Ann')
  const shown = () => Array.from(other.presence.states.values())
  await page.run(() => window.hooks?.show('Bob'))
  await until(async () => shown().join() === 'Bob', 'the window is not shown')
  await mount(['room.1', 'doc.1'], 'anew')
  await untilShown('#doc-1', 'true saved ')
  await page.run(() => window.hooks?.write('text'))
  await untilShown('#doc-1', 'true saved text')
  assert.equal((await crosswind.document('doc.1')).getText('text').toString(), 'text')
  await mount(['doc.1'])
  await until(async () => shown().length === 0, 'the window is still shown')
})

const ten = Array.from({ length: 10 }, (_nothing, place) => `room.${place}`)

/** Mounts components so often beside one that stays, and waits for their channels; runs in the page. */
async function comeAndGo(names: readonly string[], rounds: number) {
  const turn = () => new Promise((resolve) => setTimeout(resolve))
  for (let round = 0; round < rounds; round += 1) {
    window.hooks?.mount(['room.stays', ...names])
    while (document.querySelectorAll('[data-status="ready"]').length <= names.length) await turn()
    window.hooks?.mount(['room.stays'])
    await turn()
  }
  // React measures components while it is developed with.
  performance.clearMeasures()
  performance.clearResourceTimings()
}

test('a thousand components that come and go leave no channel, no listener and no memory', async (t) => {
  const { untilChannels } = await serve(t)
  const figures = async () => {
    const { heapBytes } = await page.memory()
    return { heapBytes, listeners: await page.eventListeners() }
  }
  await page.run(comeAndGo, ten, 10)
  const before = await figures()
  // StrictMode mounts each twice.
  await page.run(comeAndGo, ten, 50)
  await untilChannels(['room.stays'])
  const later = await figures()
  t.diagnostic(JSON.stringify({ before, later }))
  // The stores of a channel, its presence, its volatile messages and the connection.
  assert.deepEqual(await page.countObjects(() => window.hooks?.prototypes() ?? []), [4, 1])
  assert.ok(later.listeners <= before.listeners + 10)
  // Compiled code remains.
  assert.ok(later.heapBytes < before.heapBytes + 1_000_000)
})

test('a provider that is unmounted closes its connection, a moment later', async (t) => {
  const { untilShown, crosswind } = await serve(t)
  await mount(['room.1'])
  await untilShown('u', 'open')
  await page.run(() => window.hooks?.unmount())
  await until(async () => crosswind.clients().length === 0, 'the client is still there')
})
