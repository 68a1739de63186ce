// The lab's own adapters as clients of theirs see them, the page, and adapters that do not start.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Socket as EngineIo } from 'engine.io-client'
import { io } from 'socket.io-client'
import socketCluster from 'socketcluster-client'
import { WebSocket } from 'ws'
import type { HttpVersion } from '../../client/wire.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { type MeasuredServer, startServerProcess } from '../lab/server-process.ts'
import type { Starting } from './adapter-process.ts'
import { cert, key } from './serving.ts'

/** Its clock is another process's. */
const clockErrorMs = 1000

const insecure = { rejectUnauthorized: false }
const draft = { id: 'a-1', channel: 'main', kind: 'edit', from: 'a', at: 1, body: { html: '<p>a</p>' } }

interface Client {
  readonly received: Promise<object>
  readonly send: () => void
  readonly close: () => void
}

const ofJson = (text: unknown): object => JSON.parse(String(text))

/** Each opens a client as the page does. */
const clients: Readonly<Record<string, (origin: string) => Promise<Client>>> = {
  async bare(origin) {
    const socket = new WebSocket(`${origin.replace('https', 'wss')}/socket`, insecure)
    const received = once(socket, 'message').then(([data]) => ofJson(data))
    await once(socket, 'open')
    return { received, send: () => socket.send(JSON.stringify(draft)), close: () => socket.terminate() }
  },

  async 'socket.io'(origin) {
    const socket = io(origin, { ...insecure, reconnection: false })
    const received = new Promise<object>((resolve) => socket.on('message', resolve))
    await new Promise((resolve) => socket.io.on('open', () => socket.io.engine.on('upgrade', resolve)))
    return { received, send: () => socket.emit('message', draft), close: () => socket.close() }
  },

  async 'engine.io'(origin) {
    const socket = new EngineIo(origin, insecure)
    const received = new Promise<object>((resolve) => socket.on('message', (text) => resolve(ofJson(text))))
    await new Promise((resolve) => socket.on('upgrade', resolve))
    return { received, send: () => socket.send(JSON.stringify(draft)), close: () => socket.close() }
  },

  async socketcluster(origin) {
    const { hostname, port } = new URL(origin)
    const socket = socketCluster.create({ hostname, port: Number(port), secure: true, wsOptions: insecure })
    const channel = socket.subscribe('keys')
    const received = firstOf(channel)
    await channel.listener('subscribe').once()
    return {
      received,
      send: () => socket.transmitPublish('keys', draft),
      close: () => socket.disconnect(),
    }
  },
}

async function firstOf(messages: AsyncIterable<object>): Promise<object> {
  for await (const message of messages) return message
  throw new Error('The channel was closed.')
}

async function startAdapter(t: TestContext, starting: Starting) {
  const program = join(import.meta.dirname, 'adapter-process.ts')
  const started = await startServerProcess(program, [JSON.stringify(starting)])
  t.after(started.kill)
  return started
}

const builtIn = (name: string) => join(import.meta.dirname, 'adapters', `${name}.ts`)

for (const [name, open] of Object.entries(clients)) {
  test(`${name}: a message reaches all windows, including its own, with the time of acceptance`, {
    timeout: 60_000,
  }, async (t) => {
    const relay = await startAdapter(t, { file: builtIn(name) })
    const opened: Client[] = []
    t.after(() => {
      for (const { close } of opened) close()
    })
    for (let count = 0; count < 3; count += 1) opened.push(await open(relay.origin['1.1']))

    const now = () => performance.timeOrigin + performance.now()
    const sentAt = now()
    opened[0]?.send()
    for (const { received } of opened) {
      const { acceptedAt, ...message } = (await received) as { acceptedAt: number }
      assert.deepEqual(message, draft)
      const earliest = sentAt - clockErrorMs
      const latest = now() + clockErrorMs
      assert.ok(acceptedAt > earliest && acceptedAt < latest, `${earliest} ${acceptedAt} ${latest}`)
    }
    assert.ok((await relay.figures()).rssBytes > 0)

    // Its clients are still there, and `close()` would kill it in the end.
    process.kill(relay.pid, 'SIGTERM')
    await relay.exited
    assert.equal(relay.errors(), '')
  })
}

const folder = temporaryFolder()

async function adapter(name: string, code: string): Promise<string> {
  const file = join(folder, `${name}.mjs`)
  await writeFile(file, code)
  return file
}

const open = 'export const open = () => undefined'

test('the page has what start() returned for it, and of the adapter only open() and its imports', async (t) => {
  const server = createServer({ cert, key })
  const address = `https://localhost:${await openPort(server)}/hub`
  t.after(() => server.close())
  await adapter(
    'words',
    `import fs from 'node:fs'
export const words = 'from another file'
export const constants = () => fs.constants`,
  )
  const file = await adapter(
    'page',
    `import fs from 'node:fs'
import { words } from './words.mjs'
export const start = ({ address }) => ({ mode: 'sse/1.1', address, page: { token: fs.constants.F_OK } })
export const open = () => words`,
  )
  const { origin, more } = await startAdapter(t, { file, address })
  assert.deepEqual(more, { modes: ['sse/1.1'], address, pid: null, version: null })
  assert.deepEqual(ofJson(await served(t, { origin }, '2', '/peer.json')), { token: 0, address })
  assert.match(await served(t, { origin }, '1.1', '/'), /contenteditable/)
  const code = await served(t, { origin }, '2', '/adapter.js')
  assert.match(code, /from another file/)
  assert.doesNotMatch(code, /node:fs|start/)
})

for (const [what, code, words, limits = {}] of [
  ['cannot be parsed', 'export const start =', /^it does not load: /],
  ['imports a package that is missing', `import 'no-such-package'`, /^it does not load: .*no-such-package/],
  ['has no open()', 'export const start = () => ({})', /^it exports no function open\(\)$/],
  [
    'never starts',
    `export const start = () => new Promise(() => {}); ${open}`,
    /^it did not start within 0\.3 s$/,
    { withinMs: 300 },
  ],
  ['dies at its start', `export const start = () => process.exit(3); ${open}`, /ended before it was ready/],
  [
    'names no mode',
    `export const start = () => ({ mode: 'sse/3' }); ${open}`,
    /^start\(\) returned mode "sse\/3": there are sse\/2, /,
  ],
  [
    'has an address where nothing answers',
    `export const start = () => ({ mode: 'sse/1.1', address: 'http://127.0.0.1:9' }); ${open}`,
    /^nothing answers at http:\/\/127\.0\.0\.1:9\/ \(ECONNREFUSED\)$/,
    { answersWithinMs: 0 },
  ],
  [
    'has a program that ends',
    `import { spawn } from 'node:child_process'
import { once } from 'node:events'
export async function start({ port }) {
  const code = 'console.error("the licence has ended"); process.exit(3)'
  const hub = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'ignore', 'inherit'] })
  await once(hub, 'exit')
  return { mode: 'sse/1.1', address: \`http://127.0.0.1:\${port}\`, pid: hub.pid }
}; ${open}`,
    /^its program ended, and nothing answers at http:\/\/127.* \(ECONNREFUSED\); it wrote: the licence has ended$/,
  ],
  [
    'starts a program that is not there',
    `import { spawn } from 'node:child_process'
export const start = () => ({ mode: 'sse/1.1', pid: spawn('no-such-hub').pid }); ${open}`,
    /^spawn no-such-hub ENOENT: there is no such program$/,
  ],
  [
    'has an address without HTTP/2, over which it is measured',
    `import { createServer } from 'node:https'
export const start = async ({ port, cert, key }) => {
  await new Promise((resolve) => createServer({ cert, key }).listen(port, resolve))
  return { mode: 'sse/2', address: \`https://localhost:\${port}\` }
}; ${open}`,
    /does not speak HTTP\/2, over which sse\/2 is measured$/,
  ],
] as const) {
  test(`an adapter that ${what} is refused with one sentence`, async (t) => {
    const file = await adapter(what.replaceAll(/\W+/g, '-'), code)
    const starting = { file, withinMs: 60_000, ...limits }
    await assert.rejects(startAdapter(t, starting), ({ message }) => words.test(message))
  })
}

async function served(
  t: TestContext,
  { origin }: Pick<MeasuredServer, 'origin'>,
  version: HttpVersion,
  path: string,
): Promise<string> {
  const client = connectHttp(version, origin[version], null)
  t.after(client.close)
  const { status, body } = await client.ask({ path })
  assert.equal(status, 200)
  return textOf(body)
}
