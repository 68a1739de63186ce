// Windows of a browser share a connection; all follow, and nothing is lost when it moves.

import assert from 'node:assert/strict'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { documentsPath } from '../../app/shared/document-api.ts'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { type Mode, modeNamed } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { editsReceived, linkState, switchMode, windowsAtServer } from './page.ts'
import {
  browserModes,
  browserName,
  openStage,
  type Stage,
  untilOpen,
  untilShows,
  webFolder,
} from './stage.ts'

let stage: Stage
let byDefault: TestServer
before(async () => {
  stage = await openStage({ share: 'browser' })
  byDefault = await startTestServer({}, webFolder)
})
after(async () => {
  await stage.close()
  await byDefault.close()
})
afterEach(() => stage.closeWindows())

/** The page's own decisions are the same in every browser: tested in one. */
const ourRules = { skip: browserName === 'firefox' && 'as in Chromium' }

function mode(name: string): Mode {
  return modeNamed(name) ?? assert.fail(`there is no mode ${name}`)
}

/**
 * Modes of the server's streams and polls on the window's page. A poll of an earlier test may still
 * be listed: a worker that ends with its last window cannot always send its leave request.
 */
async function streamModes(window: BrowserWindow): Promise<string[]> {
  const page = new URL(await window.address()).pathname.slice(documentsPath.length) || 'main'
  const listed = (await window.run(windowsAtServer)).filter(({ channels }) => channels.includes(page))
  return listed.map(({ mode }) => mode)
}

async function untilStreams(window: BrowserWindow, expected: readonly string[]): Promise<void> {
  const hold = async () => (await streamModes(window)).toSorted().join() === expected.toSorted().join()
  await until(hold, `the server does not hold ${expected.join() || 'nothing'}`).catch(async (error) => {
    throw new Error(`${error.message} It holds ${await streamModes(window)}.`)
  })
}

async function untilCounted(window: BrowserWindow, windows: number): Promise<void> {
  const isCounted = async () => (await window.run(linkState)).windows === windows
  await until(isCounted, `${windows} windows were not counted`).catch(async (error) => {
    throw new Error(`${error.message} It counts ${(await window.run(linkState)).windows}.`)
  })
}

const editsSent = (from: BrowserWindow): Promise<string[]> =>
  from.run(() => window.crosswind?.take().sent.map(({ id }) => id) ?? [])

/** Each window shows the text and receives each edit once, in the order sent. */
async function assertAllFollow(windows: readonly BrowserWindow[], typist: BrowserWindow, text: string) {
  for (const window of windows) await untilShows(window, text)
  const sent = await editsSent(typist)
  assert.ok(sent.length > 0)
  for (const window of windows) {
    // The typist shows its text before its edits return, with polling up to an interval later.
    const hasAll = async () => (await window.run(editsReceived)).length >= sent.length
    await until(hasAll, `a window did not receive ${sent.length} edits`)
    assert.deepEqual(await window.run(editsReceived), sent)
  }
}

test(
  'default settings: a window shares over HTTP/1.1 but not over HTTP/2, and may switch while it types',
  ourRules,
  async () => {
    const windows = await stage.open(mode('sse/2'), 3, 'changing', { server: byDefault })
    const [typist, reader] = windows
    assert.ok(typist && reader)
    await untilStreams(reader, ['sse/2', 'sse/2', 'sse/2'])
    await typist.click('#document')
    let expected = ''
    for (const [next, held] of [
      ['sse/1.1', ['sse/1.1', 'sse/2', 'sse/2']],
      ['long-polling/1.1', ['long-polling/1.1', 'sse/2', 'sse/2']],
      ['sse/2', ['sse/2', 'sse/2', 'sse/2']],
    ] as const) {
      await typist.run(switchMode, next)
      await typist.type('ab')
      await untilOpen(typist, mode(next))
      await typist.type('c')
      expected += 'abc'
      await assertAllFollow(windows, typist, expected)
      await untilStreams(reader, held)
    }
    for (const each of windows) await each.run(switchMode, 'sse/1.1')
    await untilStreams(reader, ['sse/1.1'])
    await untilCounted(reader, 3)
  },
)

for (const [http, modes] of Map.groupBy(browserModes, ({ http }) => http))
  test(`three windows share a connection over ${modes.map(({ name }) => name).join(', ')}, and each may type`, async () => {
    const [first] = modes
    assert.ok(first)
    const windows = await stage.open(first, 3, `three-${http}`)
    const reader = windows.at(-1) ?? assert.fail('there is no window')
    let expected = ''
    for (const each of modes) {
      for (const window of windows) await window.run(switchMode, each.name)
      for (const window of windows) await untilOpen(window, each)
      await untilCounted(reader, 3)
      await untilStreams(reader, [each.name])
      for (const [index, typist] of windows.entries()) {
        await typist.click('#document')
        // WebDriver clicks the middle: moves the caret to the end.
        await typist.key('\uE010')
        await typist.type(`${index}`)
        expected += `${index}`
        for (const window of windows) await untilShows(window, expected)
      }
      assert.equal((await reader.run(linkState)).spokenHttp, each.http)
    }
  })

test('a reloaded window rejoins and continues', async () => {
  const windows = await stage.open(mode('sse/1.1'), 3, 'reloaded')
  const [typist, reloaded, reader] = windows
  assert.ok(typist && reloaded && reader)
  await typist.click('#document')
  await typist.type('before ')
  await reloaded.run(() => location.reload())
  await typist.type('after')
  await untilOpen(reloaded, mode('sse/1.1'))
  for (const window of windows) await untilShows(window, 'before after')
  await untilCounted(reader, 3)
  await untilStreams(reader, ['sse/1.1'])
})

test('one of three windows changes its mode and returns while typing', ourRules, async () => {
  const windows = await stage.open(mode('sse/1.1'), 3, 'switching')
  const [typist, reader, last] = windows
  assert.ok(typist && reader && last)
  await typist.click('#document')
  let expected = ''
  for (const next of ['websocket/1.1', 'polling/2', 'sse/1.1']) {
    await typist.run(switchMode, next)
    await typist.type('ab')
    await untilOpen(typist, mode(next))
    await typist.type('c')
    expected += 'abc'
    await assertAllFollow(windows, typist, expected)
  }
  await untilStreams(reader, ['sse/1.1'])
  await untilCounted(reader, 3)
})

test(
  'windows on different pages share one connection, and each gets only its own page',
  ourRules,
  async () => {
    const [main] = await stage.open(mode('sse/1.1'), 1, 'page-one')
    const [other] = await stage.open(mode('sse/1.1'), 1, 'page-two')
    assert.ok(main && other)
    for (const [window, text] of [
      [main, 'one'],
      [other, 'two'],
    ] as const) {
      await window.click('#document')
      await window.type(text)
    }
    await untilShows(main, 'one')
    await untilShows(other, 'two')
    await untilStreams(main, ['sse/1.1'])
    for (const window of [main, other]) await untilCounted(window, 1)
  },
)

test('after a server restart all return to one connection, with the text typed meanwhile', async () => {
  await using opened = new AsyncDisposableStack()
  const server = await startTestServer({ share: 'browser' }, webFolder)
  opened.defer(server.close)
  const { ports } = server
  const windows = await stage.open(mode('sse/1.1'), 4, 'restart', { server })
  const [typist, reader] = windows
  assert.ok(typist && reader)
  await typist.click('#document')
  await typist.type('before')
  for (const window of windows) await untilShows(window, 'before')
  await server.close()
  await until(async () => (await reader.run(linkState)).state === 'waiting', 'the loss was not noticed')
  await typist.type('during')
  const change = { port: ports['2'], http1Port: ports['1.1'], share: 'browser' } as const
  const again = await startTestServer(change, webFolder)
  opened.defer(again.close)
  for (const window of windows) await untilShows(window, 'beforeduring')
  await untilStreams(reader, ['sse/1.1'])
})

/** Serves the web app with changed files. */
async function startChanged(
  opened: AsyncDisposableStack,
  change: (folder: string) => Promise<void>,
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-share-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  await cp(webFolder, folder, { recursive: true })
  await change(folder)
  const server = await startTestServer({ share: 'browser' }, folder)
  opened.defer(server.close)
  return server
}

/** Simulates a browser without SharedWorker. */
async function takeSharedWorkerAway(folder: string): Promise<void> {
  await writeFile(join(folder, 'assets', 'taken.js'), 'delete globalThis.SharedWorker')
  const page = await readFile(join(folder, 'index.html'), 'utf8')
  const taken = page.replace('<head>', '<head><script src="/assets/taken.js"></script>')
  await writeFile(join(folder, 'index.html'), taken)
}

async function breakSharedWorker(folder: string): Promise<void> {
  const assets = join(folder, 'assets')
  const files = (await readdir(assets)).filter((name) => name.startsWith('shared-worker'))
  assert.ok(files.length > 0, 'there is no worker to break')
  // Compressed variants too.
  for (const file of files) await rm(join(assets, file))
}

test('without SharedWorker one window leads; when it closes another takes over, and nothing is lost', async () => {
  await using opened = new AsyncDisposableStack()
  const server = await startChanged(opened, takeSharedWorkerAway)
  await stage.browser.consoleMessages()
  const used = mode('sse/1.1')
  const windows = await stage.open(used, 4, 'led', { server })
  const [leader, nextLeader, typist, ...readers] = windows
  assert.ok(leader && nextLeader && typist)
  assert.equal(await typist.run(() => 'SharedWorker' in globalThis), false)
  await untilStreams(typist, [used.name])
  await untilCounted(typist, 4)
  await typist.click('#document')
  await typist.type('one ')
  await leader.close()
  await typist.type('two ')
  await nextLeader.close()
  await typist.type('three')
  await assertAllFollow([typist, ...readers], typist, 'one two three')
  await untilStreams(typist, [used.name])
  await untilCounted(typist, 2)
  assert.deepEqual(await stage.browser.consoleMessages(), [])
})

test('if the SharedWorker does not load, a window leads', ourRules, async () => {
  await using opened = new AsyncDisposableStack()
  const used = mode('sse/1.1')
  const server = await startChanged(opened, breakSharedWorker)
  const windows = await stage.open(used, 3, 'unloaded', { server })
  const [typist] = windows
  assert.ok(typist)
  await typist.click('#document')
  await typist.type('led')
  await assertAllFollow(windows, typist, 'led')
  await untilStreams(typist, [used.name])
})
