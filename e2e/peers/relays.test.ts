// The peers' relays that run here: delivery, acceptance times, and the pages they serve.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Socket as EngineIo } from 'engine.io-client'
import { io } from 'socket.io-client'
import socketCluster from 'socketcluster-client'
import { WebSocket } from 'ws'
import type { HttpVersion } from '../../server/wire/modes.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { type MeasuredServer, startServerProcess } from '../lab/server-process.ts'

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

async function startRelay(t: TestContext, ...args: readonly string[]) {
  const relay = await startServerProcess(join(import.meta.dirname, 'relays.ts'), args)
  t.after(relay.kill)
  return relay
}

for (const [name, open] of Object.entries(clients)) {
  test(`${name}: a message reaches all windows, including its own, with the time of acceptance`, {
    timeout: 60_000,
  }, async (t) => {
    const relay = await startRelay(t, name)
    const opened: Client[] = []
    t.after(() => {
      for (const { close } of opened) close()
    })
    for (let count = 0; count < 3; count += 1) opened.push(await open(relay.origin['1.1']))

    const startedAt = performance.timeOrigin + performance.now()
    opened[0]?.send()
    for (const { received } of opened) {
      const { acceptedAt, ...message } = (await received) as { acceptedAt: number }
      assert.deepEqual(message, draft)
      assert.ok(Math.abs(acceptedAt - startedAt) < 5000, String(acceptedAt))
    }
    assert.equal((await relay.figures()).windows, 3)

    const closingAt = performance.now()
    await relay.close()
    // It would have been killed after 8 s.
    assert.ok(performance.now() - closingAt < 6000)
    assert.equal(relay.errors(), '')
  })
}

test('a page knows its peer and, if that is remote, its address', async (t) => {
  const address = 'https://localhost:3000/.well-known/mercure'
  const elsewhere = await startRelay(t, 'mercure', address)
  const here = await startRelay(t, 'socket.io')
  const { token: _, ...peer } = ofJson(await served(t, elsewhere, '2', '/peer.json')) as { token: unknown }
  assert.deepEqual(peer, { name: 'mercure', address })
  assert.match(await served(t, elsewhere, '1.1', '/'), /contenteditable/)
  assert.match(await served(t, here, '1.1', '/client.js'), /export\s*\{/)
})

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
