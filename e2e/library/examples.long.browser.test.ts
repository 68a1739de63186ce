// The packages from outside: in strict TypeScript, through bundlers, each example, and the lab,
// in a folder of its own, in Chromium. CROSSWIND_NODE is another Node for the servers. `CROSSWIND_MODES=all CROSSWIND_SECONDS=120 npm test --
// library/examples --test-name-pattern=cut --test-timeout=3600000` writes for two minutes in every editor
// over every mode; CROSSWIND_SEED repeats what is drawn at random.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { ensureCertificate } from '../../certs/certificate.ts'
import { parseCursor } from '../../protocol/messages.ts'
import { connections, type Mode, modes } from '../../protocol/modes.ts'
import { startNatsServer } from '../../scripts/nats-server.ts'
import { pack } from '../../scripts/pack.mjs'
import { type EditingPage, openEditingPage } from '../browser/editing.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { programs } from '../lab/programs.ts'
import { commitNow } from '../lab/run-environment.ts'
import { makeServerFolder, startServerProcess } from '../lab/server-process.ts'
import type { Summary } from '../scenarios/keystrokes-report.ts'
import { bundlers, writePage } from './bundlers.ts'
import { type Editor, editors, play, recordingPage } from './editors.ts'
import { execute, installPacked } from './installing.ts'
import { renderings, writeRendering } from './server-rendering.ts'
import { checkTypes, resolutions } from './type-checks.ts'

const root = join(import.meta.dirname, '../..')

const isWhole = process.env.CROSSWIND_MODES === 'all'
const seconds = Number(process.env.CROSSWIND_SECONDS ?? 2)
const seed = Number(process.env.CROSSWIND_SEED ?? 1)

let folder: string
let tarballs: string
/** The client's built files. */
let client: string
/** Its browser has all windows. */
let browser: EditingPage
before(async () => {
  browser = await openEditingPage('chromium', 'about:blank')
  folder = await mkdtemp(join(tmpdir(), 'crosswind-examples-'))
  tarballs = await pack(join(folder, 'tarballs'))
  const app = await installed(await emptyFolder('client-'), ['client'])
  client = join(app, 'node_modules/@crosswind/client/dist')
  await ensureCertificate({
    directory: folder,
    now: new Date(),
    names: ['localhost'],
    addresses: ['127.0.0.1'],
  })
})
after(async () => {
  await browser.close()
  await rm(folder, { recursive: true, force: true })
})

/** An example in a folder of its own, with the packed tarballs. */
async function install(example: string, names?: readonly string[]): Promise<string> {
  const app = join(folder, example)
  await cp(join(root, 'examples', example), app, { recursive: true })
  return installed(app, names)
}

const emptyFolder = (name: string) => mkdtemp(join(folder, name))

const installed = (
  app: string,
  names: readonly string[] = ['client', 'server'],
  more: readonly string[] = [],
) => installPacked(app, tarballs, names, more)

/** Resolves once it listens. */
async function start(app: string, env: Readonly<Record<string, string>> = {}, cwd = app) {
  const certificate = { CERT: join(folder, 'server.pem'), KEY: join(folder, 'server.key') }
  const server = spawn(process.env.CROSSWIND_NODE ?? process.execPath, [join(app, 'server.mjs')], {
    cwd,
    env: { ...process.env, PORT: '0', ...certificate, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(server, 'exit')
  const said = async () => String((await once(server.stdout, 'data'))[0]).trim()
  const address = await Promise.race([
    said(),
    exited.then(() => Promise.reject(new Error(`${app} ended before it listened.`))),
  ])
  const kill = async () => {
    server.kill('SIGKILL')
    await exited
  }
  return { address, kill, [Symbol.asyncDispose]: kill }
}

async function openWindow(opened: AsyncDisposableStack, address: string) {
  const window = await openEditingPage('chromium', address, { beside: browser })
  opened.defer(window.close)
  return window
}

type Window = Awaited<ReturnType<typeof openWindow>>

function shows({ page }: Window, selector: string, texts: readonly string[]) {
  return page.waitForFunction(
    (selector, expected) =>
      JSON.stringify(Array.from(document.querySelectorAll(selector), ({ textContent }) => textContent)) ===
      expected,
    { polling: 50 },
    selector,
    JSON.stringify(texts),
  )
}

/** Two windows that chat, perhaps on different servers, and a third that comes later. */
async function chat(opened: AsyncDisposableStack, addresses: readonly [string, string]): Promise<Window> {
  const say = async ({ page }: Window, text: string) => {
    await page.type('#text', text)
    await page.keyboard.press('Enter')
  }
  const ann = await openWindow(opened, addresses[0])
  const bob = await openWindow(opened, addresses[1])
  await say(ann, 'hello')
  for (const window of [ann, bob]) await shows(window, 'li', ['hello'])
  await say(bob, 'hi')
  const late = await openWindow(opened, addresses[1])
  for (const window of [ann, bob, late]) await shows(window, 'li', ['hello', 'hi'])
  for (const window of [ann, bob, late])
    assert.deepEqual(
      window.errors().filter((text) => !text.includes('404')),
      [],
    )
  return ann
}

/** Bytes that a page loads if it uses only these parts of the client. */
async function sizeOf(code: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: client },
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
  })
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
}

test('the client is small, and smaller over one transport or without rooms', async (t) => {
  const sizes = {
    all: await sizeOf(`export { connect } from './connect.js'`),
    sse: await sizeOf(`import { connectOver, sse } from './connect.js'
      export const open = (url) => connectOver(url, { transports: [sse] })`),
    follow: await sizeOf(`export { connect } from './follow.js'`),
    followSse: await sizeOf(`import { connectOver, sse } from './follow.js'
      export const open = (url) => connectOver(url, { transports: [sse] })`),
    sharing: await sizeOf(`export { connect } from './connect.js'
      export { sharedConnection } from './share.js'`),
    drafts: await sizeOf(`export { connect } from './connect.js'
      export { keptDrafts } from './drafts.js'`),
    stores: await sizeOf(`export { connect } from './connect.js'
      export { Stores } from './stores.js'`),
  }
  t.diagnostic(`bytes: ${JSON.stringify(sizes)}`)
  assert.ok(sizes.all <= 15_160)
  assert.ok(sizes.sse <= 13_400)
  assert.ok(sizes.follow <= 12_400)
  assert.ok(sizes.followSse <= 10_660)
  assert.ok(sizes.sharing <= sizes.all + 6_350)
  assert.ok(sizes.drafts <= sizes.all + 3_040)
  assert.ok(sizes.stores <= sizes.all + 1_910)
})

test('errors have the same class in all entry points of the client', async () => {
  const classes = ['connect', 'follow', 'node', 'node-follow', 'transports'].map(async (door) => {
    return (await import(join(client, `${door}.js`))).RefusedError
  })
  assert.equal(new Set(await Promise.all(classes)).size, 1)
})

test('each package has a README and the licence', async () => {
  for (const file of await readdir(tarballs)) {
    const { stdout } = await execute('tar', ['-tzf', join(tarballs, file)])
    for (const name of ['README.md', 'LICENSE', 'package.json'])
      assert.ok(stdout.split('\n').includes(`package/${name}`), `${file} has no ${name}`)
  }
})

for (const [peers, packages] of Object.entries({
  'without yjs': ['@types/node', '@types/react', 'react'],
  'with yjs': ['@types/node', '@types/react', 'react', 'yjs', 'y-protocols'],
}))
  test(`strict TypeScript takes every door ${peers}, the packages' own declarations too`, async () => {
    const app = await installed(
      await emptyFolder('types-'),
      ['client', 'postgres', 'react', 'redis', 'server'],
      packages,
    )
    for (const resolution of resolutions)
      assert.equal(await checkTypes(app, resolution, packages.includes('yjs')), '', resolution)
  })

describe('bundlers', () => {
  let app: string
  before(async () => {
    const packages = ['yjs', 'y-protocols', 'webpack@5.113.0']
    app = await installed(await emptyFolder('bundlers-'), ['client', 'server'], packages)
    await writePage(app)
  })
  for (const [name, bundle] of Object.entries(bundlers))
    test(`two windows of a page built by ${name} share messages and a document`, async () => {
      await using opened = new AsyncDisposableStack()
      const { address } = opened.use(await start(app, { BUILT: await bundle(app) }))
      const windows = [await openWindow(opened, address), await openWindow(opened, address)]
      for (const [place, { page }] of windows.entries()) {
        await page.type('input', `hello ${place}`)
        await page.keyboard.press('Enter')
      }
      for (const { page } of windows)
        for (const selector of ['#messages', '#document'])
          await page.waitForFunction(
            (where) => {
              const text = document.querySelector(where)?.textContent ?? ''
              return text.includes('hello 0') && text.includes('hello 1')
            },
            { polling: 50 },
            selector,
          )
      for (const window of windows)
        assert.deepEqual(
          window.errors().filter((text) => !text.includes('404')),
          [],
        )
    })
})

describe('pages that a server renders', () => {
  for (const [name, rendering] of Object.entries(renderings))
    test(`by React and ${name}, with messages and without: nothing connects there, and the window takes them over`, async () => {
      await using opened = new AsyncDisposableStack()
      const app = await emptyFolder('rendering-')
      await writeRendering(app, rendering)
      const react = ['react@19', 'react-dom@19', 'yjs', 'y-protocols']
      await installed(app, ['client', 'react', 'server'], [...react, ...rendering.packages])
      const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }
      await execute('sh', ['-c', rendering.build], { cwd: app, env, timeout: 200_000 })
      const { address } = opened.use(await start(app, { NODE_ENV: 'production' }))
      const htmls = await Promise.all(
        ['/', '/static'].map(async (path) => (await fetch(address + path)).text()),
      )
      assert.deepEqual(
        htmls.map((html) => html.includes('<li>early</li>')),
        [true, false],
      )
      assert.equal(await (await fetch(`${address}/connected`)).text(), 'false')
      const windows = [await openWindow(opened, address), await openWindow(opened, `${address}/static`)]
      for (const { page } of windows)
        await page.waitForFunction(
          () => ['u', 'b'].map((name) => document.querySelector(name)?.textContent).join() === 'open,true',
          { polling: 50 },
        )
      await windows[0]?.page.type('#text', 'late')
      await windows[0]?.page.keyboard.press('Enter')
      for (const window of windows) {
        await shows(window, 'li', ['early', 'late'])
        assert.deepEqual(
          window.errors().filter((text) => !text.includes('404')),
          [],
        )
      }
    })
})

test('the quick start of docs/library.md, in an empty folder: two windows chat', async () => {
  await using opened = new AsyncDisposableStack()
  const app = await installed(await emptyFolder('quick-start-'))
  const guide = await readFile(join(root, 'docs/library.md'), 'utf8')
  const listing = /```\w+\n(?:\/\/|<!--) (server\.mjs|page\.html)(?: -->)?\n(.*?)```/gs
  const listings = new Map(Array.from(guide.matchAll(listing), ([, name = '', text = '']) => [name, text]))
  assert.match(listings.get('server.mjs') ?? '', /^server\.listen\(8080, 'localhost'\)$/m)
  for (const [name, text] of listings)
    await writeFile(
      join(app, name),
      text.replace(
        "server.listen(8080, 'localhost')",
        'server.listen(0, "localhost", () => console.log("http://localhost:" + server.address().port))',
      ),
    )
  const { address } = opened.use(await start(app))
  const windows = [await openWindow(opened, address), await openWindow(opened, address)]
  for (const [place, { page }] of windows.entries()) {
    await page.type('input', `hello ${place}`)
    await page.keyboard.press('Enter')
  }
  for (const { page } of windows)
    await page.waitForFunction(
      () => /hello 0/.test(document.body.innerText) && /hello 1/.test(document.body.innerText),
    )
})

test('the lab in an empty folder: a running server beside two peers, the doctor, and the conformance suite', async () => {
  await using opened = new AsyncDisposableStack()
  const app = await installed(await emptyFolder('lab-'), ['lab'], ['better-sse@0.16.1'])
  const packages = await readdir(join(app, 'node_modules'))
  for (const name of ['koa', 'serialport', 'prom-client', '@nats-io'])
    assert.ok(!packages.includes(name), name)
  await cp(join(root, 'examples/adapters/better-sse.mjs'), join(app, 'better-sse.mjs'))
  const settings = await makeServerFolder('package')
  opened.defer(settings.remove)
  const flags = settings.flags({ host: 'localhost', port: 0, 'http1-port': 0, 'sensor-source': 'none' })
  const { origin, close } = await startServerProcess(programs.server, flags)
  opened.defer(close)
  // The conformance suite is no part of this test run.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const lab = (words: string) =>
    execute('npx', ['@crosswind/lab', ...words.split(' ')], { cwd: app, env, timeout: 60_000 })
  const few = '--modes sse/2 --sessions 1 --keys 3 --blocks 1 --warmup 0 --windows 2'
  await lab(`keystrokes --server ${origin['2']} --peers ./better-sse.mjs,bare ${few} --out report`)
  const { command, environment, figures } = JSON.parse(
    await readFile(join(app, 'report/summary.json'), 'utf8'),
  ) as Summary
  assert.deepEqual(Object.fromEntries(figures.map(({ mode, n }) => [mode, n])), {
    'sse/2': 3,
    'better-sse:sse/2': 3,
    'bare:sse/2': 3,
  })
  assert.match(command, /^npx @crosswind\/lab keystrokes --server /)
  assert.equal(environment.commit, commitNow())
  for (const words of ['windows --out none', 'frames'])
    await assert.rejects(lab(words), { stderr: /a clone of the repository/ })
  const [found, conforming] = await Promise.all([
    lab(`doctor --url ${origin['2']} --idle 1`),
    lab(`conformance --server ${origin['2']} --modes sse/2`),
  ])
  assert.match(found.stdout, /Choose sse\/2/)
  assert.match(conforming.stdout, /^ℹ pass [1-9]/m)
})

test('a chat beside a Koa application', async () => {
  await using opened = new AsyncDisposableStack()
  const { address } = opened.use(await start(await install('chat-koa')))
  await chat(opened, [address, address])
})

test('a chat beside an Express application, whose route and WebSocket go on working', async () => {
  await using opened = new AsyncDisposableStack()
  const { address } = opened.use(await start(await install('express')))
  const window = await chat(opened, [address, address])
  const answers = await window.run(async () => {
    const socket = new WebSocket(new URL('/echo', location.href))
    const echoed = new Promise((resolve) => {
      socket.onmessage = ({ data }) => resolve(data)
    })
    socket.onopen = () => socket.send('still here')
    const ordered = await fetch('/orders', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"item":"tea"}',
    })
    return [await echoed, await ordered.json()]
  })
  assert.deepEqual(answers, ['still here', { ordered: 'tea' }])
})

for (const example of ['vue', 'svelte'])
  test(`a chat in ${example}`, async () => {
    await using opened = new AsyncDisposableStack()
    const { address } = opened.use(await start(await install(example)))
    await chat(opened, [address, address])
  })

test('a chat in React, which keeps its connection when Vite replaces a component', async () => {
  await using opened = new AsyncDisposableStack()
  const app = await install('react', ['client', 'react', 'server'])
  const { address } = opened.use(await start(app))
  const { page } = await chat(opened, [address, address])
  const requests: string[] = []
  page.on('request', (request) => requests.push(new URL(request.url()).pathname))
  const source = await readFile(join(app, 'app.jsx'), 'utf8')
  await writeFile(join(app, 'app.jsx'), source.replace('>Send<', '>Say it<'))
  await page.waitForFunction(() => document.querySelector('form button')?.textContent === 'Say it', {
    polling: 50,
  })
  await page.type('#text', 'after')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => document.querySelector('li:last-child')?.textContent === 'after', {
    polling: 50,
  })
  assert.ok(!requests.includes('/realtime/stream'), 'another stream')
})

test('a chat on two Fastify servers that share a stream of NATS', async () => {
  await using opened = new AsyncDisposableStack()
  const nats = await startNatsServer()
  opened.defer(nats.stop)
  const app = await install('fastify')
  const env = { NATS: nats.address() }
  const one = opened.use(await start(app, env))
  const other = opened.use(await start(app, env))
  await chat(opened, [one.address, other.address])
})

/** The modules of docs/yjs.md for ProseMirror, in two editors in one page whose documents are joined. */
const prosemirrorScript = `
import { EditorState } from 'prosemirror-state'
import { EditorView } from 'prosemirror-view'
import { schema } from 'prosemirror-schema-basic'
import { undo, ySyncPlugin, yUndoPlugin } from 'y-prosemirror'
import * as Y from 'yjs'
import { addComment, commentsOn } from './comments-in-prosemirror.mjs'
import { restoreIn } from './restore-in-prosemirror.mjs'

const docs = [new Y.Doc(), new Y.Doc()]
for (const [index, doc] of docs.entries())
  doc.on('update', (update, origin) => origin !== 'other' && Y.applyUpdate(docs[1 - index], update, 'other'))
const [one, other] = docs.map((doc) => {
  const plugins = [ySyncPlugin(doc.getXmlFragment('prosemirror')), yUndoPlugin()]
  return new EditorView(document.body, { state: EditorState.create({ schema, plugins }) })
})
const type = (view, text, at) => view.dispatch(view.state.tr.insertText(text, at))
const told = (view) => view.state.doc.textContent + ' | ' + commentsOn(view).map(
  ({ from, to, words }) => view.state.doc.textBetween(from, to) + ': ' + words)
/** Resolves once both tell this. */
const untilTold = async (expected) => {
  while ([one, other].some((view) => told(view) !== expected)) await new Promise(requestAnimationFrame)
}
globalThis.run = async () => {
  // y-prosemirror shows its document some time after the view is made.
  await untilTold(' | ')
  type(one, 'one two three', 1)
  const old = new Y.Doc()
  Y.applyUpdate(old, Y.encodeStateAsUpdate(docs[0]))
  addComment(one, 5, 8, 'why?')
  await untilTold('one two three | two: why?')
  type(other, 'zero ', 1)
  await untilTold('zero one two three | two: why?')
  restoreIn(one, old)
  await untilTold('one two three | two: why?')
  undo(one.state)
  await untilTold('zero one two three | two: why?')
}`

test('in ProseMirror a comment keeps its words while an earlier version is restored, and that undone', async () => {
  await using opened = new AsyncDisposableStack()
  const app = await install('prosemirror')
  const { address } = opened.use(await start(app))
  const guide = await readFile(join(root, 'docs/yjs.md'), 'utf8')
  for (const name of ['comments-in-prosemirror.mjs', 'restore-in-prosemirror.mjs']) {
    const [, code = assert.fail(`there is no ${name}`)] =
      RegExp(`// ${name}[^\\n]*\\n(.*?)\`\`\``, 's').exec(guide) ?? []
    await writeFile(join(app, name), code)
  }
  const { outputFiles } = await build({
    stdin: { contents: prosemirrorScript, resolveDir: app },
    bundle: true,
    write: false,
  })
  // A secure context, as of every page that has Crosswind.
  const { page, close } = await openEditingPage('chromium', address)
  opened.defer(close)
  await page.addScriptTag({ content: outputFiles[0]?.text ?? '' })
  // Ends once each step is shown in both.
  await page.evaluate(() => (globalThis as typeof globalThis & { run: () => Promise<void> }).run())
})

describe('editors', { concurrency: 4 }, () => {
  const opened = new AsyncDisposableStack()
  const servers = new Map<string, { readonly address: string; readonly page: string }>()
  before(async () => {
    // In turn: together, npm takes minutes for them.
    for (const [name, editor] of Object.entries(editors)) {
      const app = await install(name)
      const { address } = opened.use(await start(app))
      const page = await recordingPage(app, await (await fetch(address)).text(), editor)
      servers.set(name, { address, page })
    }
  })
  after(() => opened.disposeAsync())

  for (const [place, [name, editor]] of Object.entries(editors).entries()) {
    const server = () => servers.get(name) ?? assert.fail()

    test(`two windows write in one ${name}, see each other’s caret, and a later one has what they wrote`, () =>
      share(server().address, editor))

    for (const mode of isWhole ? modes : [modes[place % modes.length] ?? assert.fail()])
      test(`${name} over ${mode.name} for ${seconds} s, cut at random, with killed servers`, async (t) => {
        t.diagnostic(`CROSSWIND_SEED=${seed}`)
        const documents = join(folder, 'documents', name, mode.name)
        await mkdir(documents, { recursive: true })
        const happened = await play(t, {
          editor,
          mode,
          seconds,
          seed,
          beside: browser,
          page: server().page,
          certificate: folder,
          folder: documents,
        })
        t.diagnostic(JSON.stringify(happened))
        assert.ok(happened.edits > 0 && happened.kills > 0)
      })
  }
})

async function share(address: string, { content, caret, isNameless }: Editor): Promise<void> {
  await using opened = new AsyncDisposableStack()
  const open = () => openWindow(opened, address)
  const has = ({ page }: Window, selector: string, text: string) =>
    page.waitForFunction(
      // Monaco draws spaces that do not break.
      (where, wanted) =>
        document.querySelector(where)?.textContent?.replaceAll('\u00a0', ' ').includes(wanted),
      { polling: 50 },
      selector,
      text,
    )
  const ann = await open()
  const bob = await open()
  await ann.page.click(content)
  await ann.page.keyboard.type('hello ')
  await has(bob, content, 'hello ')
  await has(bob, caret, isNameless ? '' : 'Guest')
  await bob.page.click(content)
  await bob.page.keyboard.press('End')
  await bob.page.keyboard.type('world')
  const late = await open()
  for (const window of [ann, bob, late]) {
    await has(window, content, 'hello')
    await has(window, content, 'world')
    await has(window, '#state', 'Saved')
    assert.deepEqual(
      window.errors().filter((text) => !text.includes('404')),
      [],
    )
  }
  await bob.page.keyboard.down('Control')
  for (let times = 0; times < 3; times += 1) await bob.page.keyboard.press('z')
  await bob.page.keyboard.up('Control')
  // Undo reverts only the user's own changes.
  for (const { page } of [ann, bob, late])
    await page.waitForFunction(
      (where) => {
        const text = document.querySelector(where)?.textContent ?? ''
        return text.includes('hello') && !text.includes('world')
      },
      { polling: 50 },
      content,
    )
}

test('two windows draw in one tldraw, each undoes its own, and a later one has the rest, without asking other hosts', async () => {
  await using opened = new AsyncDisposableStack()
  const { address } = opened.use(await start(await install('tldraw')))
  const elsewhere: string[] = []
  const open = async () => {
    const window = await openWindow(opened, 'about:blank')
    window.page.on('request', (request) => {
      const url = request.url()
      if (url.startsWith('http') && !url.startsWith(address)) elsewhere.push(url)
    })
    await window.page.goto(address)
    await window.page.waitForSelector('.tl-canvas')
    return window
  }
  const draw = async ({ page }: Window, left: number) => {
    await page.keyboard.press('r')
    await page.mouse.move(left, 200)
    await page.mouse.down()
    await page.mouse.move(left + 100, 300, { steps: 4 })
    await page.mouse.up()
  }
  const hasShapes = ({ page }: Window, count: number) =>
    page.waitForFunction(
      (wanted) => document.querySelectorAll('.tl-shape').length === wanted,
      { polling: 50 },
      count,
    )
  const ann = await open()
  const bob = await open()
  await draw(ann, 200)
  await hasShapes(bob, 1)
  await draw(bob, 400)
  await hasShapes(ann, 2)
  await ann.key('Control+z')
  await hasShapes(bob, 1)
  const late = await open()
  await hasShapes(late, 1)
  await shows(late, '#state', ['Saved'])
  assert.deepEqual(elsewhere, [])
})

const tokens = Array.from({ length: 2000 }, (_, index) => `${index + 1} `)
const wholeAnswer = tokens.join('')

/** Runs in the page after each change: returns the text once it has `least` tokens, or is wrong. */
function shownOnce(whole: string, least: number) {
  const shown = document.querySelector('#answer')?.textContent ?? ''
  return shown.split(' ').length > least || !whole.startsWith(shown) ? { shown } : null
}

/** Reloads at every fiftieth token; the server is killed twice, once while the page sleeps. */
async function readAnswer(opened: AsyncDisposableStack, app: string, { name, http }: Mode) {
  const home = await mkdtemp(join(folder, 'home-'))
  const env = http === '2' ? {} : { CERT: '' }
  let server = await start(app, env, home)
  opened.defer(() => server.kill())
  const { address } = server
  const window = await openWindow(opened, `${address}/?mode=${name}#question`)
  const protocol = await window.run(
    () => (performance.getEntriesByType('navigation')[0] as PerformanceNavigationTiming).nextHopProtocol,
  )
  assert.equal(protocol, connections[http].alpn)

  const restart = async () => {
    await server.kill()
    server = await start(app, { ...env, PORT: new URL(address).port }, home)
  }
  const sleep = async () => {
    await window.freeze(true)
    const before = await stored(address)
    await restart()
    while ((await stored(address)) < before + 200);
    await window.freeze(false)
  }
  const faults = [
    { at: 300, happens: restart },
    { at: 1000, happens: sleep },
  ]
  let shown = 0
  let reloads = 0
  for (;;) {
    const least = Math.min(shown + 50, tokens.length)
    const found = await window.page.waitForFunction(
      shownOnce,
      { polling: 'mutation', timeout: 60_000 },
      wholeAnswer,
      least,
    )
    const text = (await found.jsonValue())?.shown ?? ''
    assert.ok(wholeAnswer.startsWith(text), `after ${shown} tokens: …${text.slice(-200)}`)
    if (text === wholeAnswer) return reloads
    shown = text.split(' ').length - 1
    if (shown >= (faults[0]?.at ?? tokens.length)) await faults.shift()?.happens()
    else {
      await window.page.reload()
      reloads += 1
    }
  }
}

/** How many messages the example's server has. */
async function stored(address: string): Promise<number> {
  const client = connectHttp('1.1', address, null)
  const { body } = await client.ask({ path: '/realtime/channels/answer.question?after=newest' })
  const { cursor } = JSON.parse(await textOf(body))
  client.close()
  return parseCursor(cursor)?.seq ?? 0
}

describe('an answer of 2,000 tokens survives reloads, two killed servers and sleep, to the byte', {
  concurrency: 3,
}, () => {
  let app: string
  before(async () => {
    app = await install('token-stream')
  })
  for (const mode of modes)
    test(mode.name, { timeout: 120_000 }, async (t) => {
      await using opened = new AsyncDisposableStack()
      t.diagnostic(`${await readAnswer(opened, app, mode)} reloads`)
    })
})
