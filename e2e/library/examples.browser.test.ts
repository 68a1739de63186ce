// The library from outside: each example in a folder of its own, from the packed tarballs, in Chromium.
// `CROSSWIND_MODES=all CROSSWIND_SECONDS=120 npm test -- library/examples --test-name-pattern=cut
// --test-timeout=3600000` writes for two minutes in every editor over every mode; `CROSSWIND_SEED` repeats
// what is drawn at random, and without `all` selects the modes.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { ensureCertificate } from '../../certs/certificate.ts'
import { pack } from '../../scripts/pack.mjs'
import { startNatsServer } from '../../server/log/nats-testing.ts'
import { modes } from '../../server/wire/modes.ts'
import { type EditingPage, openEditingPage } from '../browser/editing.ts'
import { type Editor, editors, play, recordingPage } from './editors.ts'

const root = join(import.meta.dirname, '../..')

const isWhole = process.env.CROSSWIND_MODES === 'all'
const seconds = Number(process.env.CROSSWIND_SECONDS ?? 2)
/** Another mode every day. */
const seed = Number(process.env.CROSSWIND_SEED ?? Math.floor(Date.now() / 86_400_000))

let folder: string
let files: readonly string[]
/** Its browser has all windows. */
let browser: EditingPage
before(async () => {
  browser = await openEditingPage('chromium', 'about:blank')
  folder = await mkdtemp(join(tmpdir(), 'crosswind-examples-'))
  const tarballs = await pack(join(folder, 'tarballs'))
  files = (await readdir(tarballs)).map((name) => join(tarballs, name))
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
async function install(example: string): Promise<string> {
  const app = join(folder, example)
  await cp(join(root, 'examples', example), app, { recursive: true })
  const npm = promisify(execFile)
  await npm('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefer-offline', ...files], {
    cwd: app,
    timeout: 120_000,
  })
  return app
}

/** Resolves once it listens. */
async function start(app: string, env: Readonly<Record<string, string>> = {}) {
  const certificate = { CERT: join(folder, 'server.pem'), KEY: join(folder, 'server.key') }
  const server = spawn(process.execPath, ['server.mjs'], {
    cwd: app,
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

/** Bytes of what a page loads that uses no more of the client than this. */
async function sizeOf(code: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: join(root, 'client/dist') },
    ...{ bundle: true, minify: true, format: 'esm', write: false },
  })
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
}

test('the client is small, and smaller over one transport', async (t) => {
  const sizes = {
    all: await sizeOf(`export { connect } from './connect.js'`),
    sse: await sizeOf(`import { connectOver, sse } from './connect.js'
      export const open = (url) => connectOver(url, { transports: [sse] })`),
  }
  t.diagnostic(`bytes: ${JSON.stringify(sizes)}`)
  assert.ok(sizes.all <= 12_000)
  assert.ok(sizes.sse <= 9_000)
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

describe('editors', { concurrency: 4 }, () => {
  const opened = new AsyncDisposableStack()
  const servers = new Map<string, { readonly address: string; readonly page: string }>()
  before(async () => {
    const begin = async (name: string) => {
      const app = await install(name)
      const { address } = opened.use(await start(app))
      const page = await recordingPage(app, await (await fetch(address)).text())
      servers.set(name, { address, page })
    }
    await Promise.all(Object.keys(editors).map(begin))
  })
  after(() => opened.disposeAsync())

  for (const [place, [name, editor]] of Object.entries(editors).entries()) {
    const server = () => servers.get(name) ?? assert.fail()

    test(`two windows write in one ${name}, see each other’s caret, and a later one has what they wrote`, () =>
      share(server().address, editor))

    for (const mode of isWhole ? modes : [modes[(seed + place) % modes.length] ?? assert.fail()])
      test(`${name} over ${mode.name} for ${seconds} s, cut at random, with killed servers`, async (t) => {
        t.diagnostic(`CROSSWIND_SEED=${seed}`)
        const documents = join(folder, 'documents', name, mode.name)
        await mkdir(documents, { recursive: true })
        const happened = await play(t, {
          ...{ editor, mode, seconds, seed, beside: browser, page: server().page },
          ...{ certificate: folder, folder: documents },
        })
        t.diagnostic(JSON.stringify(happened))
        assert.ok(happened.edits > 0 && happened.kills > 0)
      })
  }
})

async function share(address: string, { content, caret }: Editor): Promise<void> {
  await using opened = new AsyncDisposableStack()
  const open = () => openWindow(opened, address)
  const has = ({ page }: Window, selector: string, text: string) =>
    page.waitForFunction(
      (where, wanted) => document.querySelector(where)?.textContent?.includes(wanted),
      { polling: 50 },
      ...([selector, text] as const),
    )
  const [ann, bob] = [await open(), await open()]
  await ann.page.click(content)
  await ann.page.keyboard.type('hello ')
  await has(bob, content, 'hello ')
  await has(bob, caret, 'Guest')
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
}

test('an answer of 2,000 tokens survives a reload and two killed servers, to the byte', async () => {
  await using opened = new AsyncDisposableStack()
  const app = await install('token-stream')
  let server = await start(app)
  opened.defer(() => server.kill())
  const { page } = await openWindow(opened, server.address)
  const until = (token: number) =>
    page.waitForFunction(
      (token) => document.querySelector('#answer')?.textContent?.includes(` ${token} `),
      { polling: 20 },
      token,
    )
  const { port } = new URL(server.address)
  for (const token of [100, 300]) {
    await until(token)
    await server.kill()
    server = await start(app, { PORT: port })
  }
  await until(500)
  await page.reload()
  await until(2000)
  const tokens = Array.from({ length: 2000 }, (_, index) => `${index + 1} `)
  assert.equal(await page.$eval('#answer', ({ textContent }) => textContent), tokens.join(''))
})
