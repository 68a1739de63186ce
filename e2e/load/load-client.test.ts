// The bytes that load clients write and parse by hand, against `ws` and `node:https`.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { WebSocketServer } from 'ws'
import { startTestServer } from '../../app/testing.ts'
import type { Draft } from '../../client/wire.ts'
import { openBrowser } from './lean-http.ts'
import { openClient, openOwnClient, type Target } from './load-client.ts'
import { startHttps } from './testing.ts'

const draft = (title: string): Draft<'title'> => ({
  id: 'w-1',
  channel: 'c',
  kind: 'title',
  from: 'w',
  at: 1,
  body: { title },
})

async function stage(t: TestContext, client: Target['client'], onRequest: RequestListener = () => undefined) {
  const { server, origin } = await startHttps(t, onRequest)
  const browser = await openBrowser(origin, '1.1')
  t.after(browser.close)
  const received: string[] = []
  const failures: string[] = []
  const open = () =>
    openClient(
      { client, http: '1.1', origin, polling: { intervalMs: 0, holdMs: 300 } },
      {
        browser,
        query: new URLSearchParams({ window: 'w', key: 'k', channels: 'c' }),
        onBytes: (bytes) => received.push(String(bytes)),
        onEnd: (why) => failures.push(why),
      },
    )
  return { server, open, received, failures }
}

test('a text is masked in one final frame, of any length', async (t) => {
  const { server, open, failures } = await stage(t, 'ws')
  const sockets = new WebSocketServer({ server })
  const connected = once(sockets, 'connection')
  const client = await open()
  const [socket] = await connected
  for (const title of ['Böe', 'x'.repeat(126), 'x'.repeat(60_000), 'x'.repeat(65_536)]) {
    const message = once(socket, 'message')
    client.publish(draft(title))
    assert.deepEqual(JSON.parse(String((await message)[0])), draft(title))
  }
  client.close()
  await once(socket, 'close')
  assert.deepEqual(failures, [])
})

test('a WebSocket closed by the server is a failure', async (t) => {
  const { server, open, failures } = await stage(t, 'ws')
  new WebSocketServer({ server }).on('connection', (socket) => socket.terminate())
  await open()
  while (failures.length === 0) await new Promise(setImmediate)
  assert.deepEqual(failures, ['its WebSocket ended'])
})

test('a transport without a lean client is measured with the window’s own', async (t) => {
  const server = await startTestServer()
  t.after(() => server.close())
  const received = Promise.withResolvers<string>()
  const refused = Promise.withResolvers<string>()
  const open = (query: URLSearchParams) =>
    openOwnClient(
      { query, onBytes: (bytes) => received.resolve(String(bytes)), onEnd: refused.resolve },
      { client: 'sse', http: '2', origin: server.origin['2'], polling: { intervalMs: 0, holdMs: 300 } },
    )
  const client = await open(new URLSearchParams({ window: 'w', channels: 'c' }))
  client.publish(draft('<p>#7# </p>'))
  assert.match(await received.promise, /<p>#7# /)
  client.publish({ ...draft('other'), channel: '' })
  assert.match(await refused.promise, /a message was refused/)
  client.close()
  await assert.rejects(open(new URLSearchParams({ window: 'w' })), /channels/)
})

test('each poll names the cursor of the previous response', async (t) => {
  const asked: string[] = []
  const { open, received } = await stage(t, 'long-polling', ({ url = '' }, response) => {
    asked.push(url)
    if (asked.length < 3) response.end(`{"cursor":"a1:${asked.length}","frames":[]}`)
  })
  const client = await open()
  while (asked.length < 3) await new Promise(setImmediate)
  client.close()
  const path = '/api/long-poll?window=w&key=k&channels=c'
  assert.deepEqual(asked, [
    `${path}&first=&hold=300`,
    `${path}&cursor=a1:1&hold=300`,
    `${path}&cursor=a1:2&hold=300`,
  ])
  assert.equal(received[0], '{"cursor":"a1:1","frames":[]}')
})

test('a response that is refused, or does not begin with its cursor, is an error', async (t) => {
  const without = await stage(t, 'polling', (_, response) => response.end('{"frames":[]}'))
  await assert.rejects(without.open(), /begin with its cursor/)
  const refused = await stage(t, 'polling', (_, response) => {
    response.statusCode = 403
    response.end('no')
  })
  await assert.rejects(refused.open(), /\/api\/poll answered 403: no/)
})
