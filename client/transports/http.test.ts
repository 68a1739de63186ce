// The POST uplink: reports, each of which holds until the next.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { mode } from '../testing.ts'
import { askClock, createPostUplink, sendLast } from './http.ts'
import type { Reply } from './send.ts'

interface Asked {
  readonly path: string
  readonly body: string | null
  readonly answer: (status?: number) => Promise<void>
  readonly fail: () => Promise<void>
}

function openUplink() {
  const asked: Asked[] = []
  const query = new URLSearchParams({ window: 'w1', key: 'k1', opening: '1' })
  const opening = {
    base: 'https://server',
    mode: mode('polling/1.1'),
    query,
    onFrame: () => undefined,
    onClose: () => undefined,
  }
  const uplink = createPostUplink(opening, {
    send(_method, address, body) {
      const { promise, resolve, reject } = Promise.withResolvers<Reply>()
      asked.push({
        path: new URL(address).pathname,
        body,
        async answer(status = 204) {
          resolve({ status, text: '', receivedAt: 0 })
          await turn()
        },
        async fail() {
          reject(new Error('There is no response.'))
          await turn()
        },
      })
      return promise
    },
  })
  return { uplink, asked, bodies: () => asked.map(({ body }) => JSON.parse(body ?? 'null')) }
}

test('a number of windows never overtakes an older one, and of those that wait only the newest is sent', async () => {
  const { uplink, asked, bodies } = openUplink()
  for (const main of [1, 2, 3]) uplink.beat({ windows: { main } })
  assert.deepEqual(bodies(), [{ windows: { main: 1 } }])
  await asked[0]?.answer()
  assert.deepEqual(bodies(), [{ windows: { main: 1 } }, { windows: { main: 3 } }])
  await asked[1]?.answer()
  assert.equal(asked.length, 2)
})

test('a number of windows is sent again until it is answered, unless a newer one replaces it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { uplink, asked, bodies } = openUplink()
  uplink.beat({ windows: { main: 2 } })
  await asked[0]?.fail()
  t.mock.timers.tick(1000)
  await turn()
  assert.deepEqual(bodies(), [{ windows: { main: 2 } }, { windows: { main: 2 } }])
  uplink.beat({ windows: { main: 3 } })
  await asked[1]?.fail()
  t.mock.timers.tick(1000)
  await turn()
  assert.deepEqual(bodies().at(-1), { windows: { main: 3 } })
  await asked[2]?.answer()
  assert.equal(asked.length, 3)
})

test('volatile messages are posted one after the other, and wait for no stored one', async () => {
  const { uplink, asked, bodies } = openUplink()
  const send = (id: string, volatile?: true) =>
    uplink
      .send({ id, channel: 'main', kind: 'json', from: 'w1', at: 1, body: { data: id }, volatile })
      .catch(() => undefined)
  for (const id of ['w1-1', 'w1-2']) void send(id)
  for (const id of ['w1-v1', 'w1-v2']) void send(id, true)
  const ids = () => bodies().map(({ id }) => id)
  assert.deepEqual(ids(), ['w1-1', 'w1-v1'])
  await asked[1]?.answer()
  assert.deepEqual(ids(), ['w1-1', 'w1-v1', 'w1-v2'])
})

test('an answer to a heartbeat is not replaced by a number of windows', async () => {
  const { uplink, asked, bodies } = openUplink()
  uplink.beat({ at: 1 })
  uplink.beat({ at: 2 })
  uplink.beat({ windows: { main: 2 } })
  await asked[0]?.answer()
  await asked[1]?.answer()
  assert.deepEqual(bodies(), [{ at: 1 }, { at: 2 }, { windows: { main: 2 } }])
})

test('a heartbeat does not wait for what a window shows of itself', () => {
  const { uplink, asked } = openUplink()
  uplink.sendAwareness({ window: 'w1', channel: 'main', state: { caret: 3 } })
  uplink.beat({ windows: { main: 2 } })
  assert.deepEqual(
    asked.map(({ path }) => path),
    ['/awareness', '/heartbeat'],
  )
})

test('a refused message is not sent again', async () => {
  const { uplink, asked } = openUplink()
  uplink.beat({ windows: { main: 2 } })
  await asked[0]?.answer(403)
  uplink.beat({ windows: { main: 3 } })
  assert.deepEqual(
    asked.map(({ path }) => path),
    ['/heartbeat', '/heartbeat'],
  )
})

function lastOf(texts: readonly string[], token?: string) {
  const asked: [address: string, request: RequestInit][] = []
  const drafts = texts.map((text, index) => ({
    id: `w1-${index + 1}`,
    channel: 'main',
    kind: 'edit' as const,
    from: 'w1',
    at: 0,
    body: { html: text },
  }))
  const proof: [string, string][] = [
    ['key', 'k1'],
    ['ticket', 't1'],
    ['other', 'o1'],
  ]
  const platform = {
    async fetch(address: string, request: RequestInit) {
      asked.push([address, request])
      throw new TypeError('The page has ended.')
    },
  }
  sendLast('https://server', proof, drafts, platform, token)
  const [address, request] = asked[0] ?? []
  const lines = String(request?.body ?? '')
    .split('\n')
    .filter(Boolean)
  return { requests: asked.length, address, request, texts: lines.map((line) => JSON.parse(line).body.html) }
}

test('a page that ends sends all drafts in one request that outlives it', () => {
  const { requests, address, request, texts } = lastOf(['one', 'two\nlines', 'drei ß 💨'])
  assert.deepEqual([requests, texts], [1, ['one', 'two\nlines', 'drei ß 💨']])
  assert.equal(address, 'https://server/messages?key=k1&ticket=t1')
  const { method, keepalive, headers } = request ?? {}
  assert.deepEqual([method, keepalive, headers], ['POST', true, { 'Content-Type': 'application/x-ndjson' }])
  assert.equal(lastOf([]).requests, 0)
  assert.deepEqual(lastOf(['one'], 'a token').request?.headers, {
    'Content-Type': 'application/x-ndjson',
    Authorization: 'Bearer a token',
  })
})

test('such a request has the first drafts that fit into 64 KiB of UTF-8, and none without one before it', () => {
  const large = 'x'.repeat(30_000)
  assert.deepEqual(lastOf([large, large, large, 'small']).texts, [large, large])
  const wide = 'ß'.repeat(20_000)
  assert.deepEqual(lastOf([wide, wide]).texts, [wide])
  assert.equal(lastOf(['x'.repeat(70_000), 'small']).requests, 0)
})

test('an answer that was cut off is none: a message is not stored by it, and no clock is read from it', async () => {
  const { uplink, asked } = openUplink()
  const sent = uplink.send({
    id: 'w1-1',
    channel: 'main',
    kind: 'json',
    from: 'w1',
    at: 0,
    body: { data: 1 },
  })
  await asked[0]?.answer(200)
  await assert.rejects(sent)
  const frames: unknown[] = []
  const opening = {
    base: 'https://server',
    query: new URLSearchParams(),
    onFrame: (frame: unknown) => frames.push(frame),
  }
  const { promise, resolve } = Promise.withResolvers<Reply>()
  askClock(opening, { send: () => promise })
  resolve({ status: 200, text: '', receivedAt: 0 })
  await turn()
  assert.deepEqual(frames, [])
})
