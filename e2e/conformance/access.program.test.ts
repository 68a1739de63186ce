// Access by invitation, over every transport: reading and writing, channels, expiry.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { after, before, describe, type TestContext, test } from 'node:test'
import { startTestServer, stopClock, type TestServer } from '../../app/testing.ts'
import { httpVersions, type Mode, modes } from '../../protocol/modes.ts'
import { draftOf, nameOf, newKey } from '../clients/client.ts'
import { connectHttp, redeem, textOf } from '../clients/http-client.ts'
import { webSocketFrame } from '../load/lean-http.ts'
import { type ContractClient, openClient } from './contract-client.ts'
import { connectTls } from './raw-http2.ts'
import { nobodySpeaksFor } from './transport-contract.ts'

let server: TestServer
let reader: string
let writer: string
before(async () => {
  server = await startTestServer({ access: 'invited' })
  reader = await cookieFor(server, 'read')
  writer = await cookieFor(server, 'write')
})
after(() => server.close())

async function cookieFor({ origin, ca, invite }: TestServer, may: 'read' | 'write'): Promise<string> {
  return redeem(origin['2'], ca, await invite({ channels: ['main'], may }))
}

interface Asked {
  readonly cookie?: string
  readonly channels?: string
  readonly cursor?: string
  readonly from?: TestServer
}

let windows = 0
const key = newKey()

function open(
  t: TestContext,
  mode: Mode,
  { cookie, cursor, channels = 'main', from = server }: Asked,
): ContractClient {
  windows += 1
  const window = nameOf(key, `w${windows}`)
  const query = new URLSearchParams({ window, key, channels, ...(cursor && { cursor }) })
  const client = openClient({ mode, origin: from.origin[mode.http], ca: from.ca, cookie, query })
  t.after(() => client.close())
  return client
}

async function joined(t: TestContext, mode: Mode, asked: Asked): Promise<ContractClient> {
  const client = open(t, mode, asked)
  await client.next('welcome')
  return client
}

for (const mode of modes) {
  describe(mode.name, () => {
    test('without an invitation, or with a forged cookie, nothing is received', async (t) => {
      for (const asked of [{}, { cookie: '__Host-crosswind=forged' }]) {
        const client = open(t, mode, asked)
        await client.ended
        assert.deepEqual(client.waiting(), [])
      }
    })

    test('a reader receives and cannot write; a writer writes', async (t) => {
      const listening = await joined(t, mode, { cookie: reader })
      const writing = await joined(t, mode, { cookie: writer })
      const refused = await listening.send(draftOf(`r${windows}`, 1, 'x'))
      assert.equal(refused.type === 'refused' && refused.code, 'read-only-invitation')
      const draft = draftOf(`w${windows}`, 1, 'y')
      assert.equal((await writing.send(draft)).type, 'stored')
      const isOwn = async (client: ContractClient) => {
        for (;;) if ((await client.next('message')).message.id === draft.id) return
      }
      await isOwn(listening)
    })

    test('a reader that knows a writer’s window name cannot act in its name', async (t) => {
      const writing = await joined(t, mode, { cookie: writer })
      const window = nameOf(key, `w${windows}`)
      const http = connectHttp(mode.http, server.origin[mode.http], server.ca, reader)
      t.after(http.close)
      await nobodySpeaksFor({
        window,
        channel: 'main',
        http,
        open(asked) {
          const query = new URLSearchParams({ channels: 'main', ...asked })
          const client = openClient({
            mode,
            origin: server.origin[mode.http],
            ca: server.ca,
            cookie: reader,
            query,
          })
          t.after(() => client.close())
          return client
        },
      })
      assert.equal((await writing.send(draftOf(window, 1, 'mine'))).type, 'stored')
      for (;;) if ((await writing.next('message')).message.id === `${window}-1`) return
    })

    test('other channels can be neither read nor written; the wind, and overviews, which version 0.2 had, can be read', async (t) => {
      const elsewhere = open(t, mode, { cookie: writer, channels: 'main,elsewhere' })
      await elsewhere.ended
      assert.deepEqual(elsewhere.waiting(), [])
      const writing = await joined(t, mode, { cookie: writer, channels: 'main,wind,overview.main' })
      const refused = await writing.send(draftOf('w', 1, 'x', 'elsewhere'))
      assert.equal(refused.type === 'refused' && refused.code, 'not-invited-there')
    })
  })
}

for (const version of httpVersions) {
  test(`HTTP/${version}: a reader's body larger than a probe is refused before all of it has arrived`, async (t) => {
    const http = connectHttp(version, server.origin[version], server.ca, reader)
    t.after(http.close)
    const bodies = [new PassThrough(), new PassThrough()]
    const asked = bodies.map((body, index) => {
      const headers = { 'content-type': 'application/json', ...(index === 0 && { 'content-length': '5000' }) }
      return http.ask({ method: 'POST', path: '/api/messages', headers, body })
    })
    bodies[0]?.write('{')
    bodies[1]?.write(' '.repeat(4097))
    for (const answered of asked) {
      const { status, body } = await answered
      assert.deepEqual([status, JSON.parse(await textOf(body)).code], [413, 'too-large'])
    }
    const probe = { ...draftOf('p', 1, '', 'probes'), kind: 'probe', body: { text: 'x'.repeat(3900) } }
    const headers = { 'content-type': 'application/json' }
    const taken = await http.ask({
      method: 'POST',
      path: '/api/messages',
      headers,
      body: JSON.stringify(probe),
    })
    assert.equal(taken.status, 200)
    await textOf(taken.body)
    const socket = http.openSocket('/api/socket?window=r&channels=main')
    await once(socket, 'open')
    for (let count = 0; count < 3; count += 1) socket.send('x'.repeat(40_000), { fin: false })
    await once(socket, 'close')
  })
}

test('an expiring session closes its streams with a code; a renewed one resumes from the cursor', async (t) => {
  const clock = stopClock(t)
  // A stream is silent for 150 s before it counts as dead.
  const minutes = { sessionMinutes: 1, heartbeatMs: 60_000 }
  const own = await startTestServer({ access: 'invited', ...minutes })
  t.after(() => own.close())
  const first = await cookieFor(own, 'write')
  const [mode] = modes
  assert.ok(mode)
  const client = open(t, mode, { cookie: first, from: own })
  const { cursor } = await client.next('welcome')
  clock.pass(40_000)
  const renewed = await renew(own, first)
  clock.pass(20_000)
  assert.equal((await client.ended).code, 'expired')
  const other = await joined(t, mode, { cookie: await cookieFor(own, 'write'), from: own })
  await other.send(draftOf('w', 1, 'meanwhile'))
  const back = open(t, mode, { cookie: renewed, from: own, cursor })
  assert.equal((await back.next('welcome')).recovered, true)
  assert.equal((await back.next('message')).message.id, 'w-1')
})

test('after its session has ended, a client stores nothing, even over open connections', {
  timeout: 120_000,
}, async (t) => {
  const clock = stopClock(t)
  const own = await startTestServer({ access: 'invited', sessionMinutes: 1 })
  t.after(() => own.close())
  const cookie = await cookieFor(own, 'write')
  const http = connectHttp('2', own.origin['2'], own.ca, cookie)
  t.after(http.close)
  const session = await http.ask({ path: '/api/session' })
  const { expiresAt } = JSON.parse(await textOf(session.body))
  const name = (window: string) => `window=${nameOf(key, window)}&key=${key}`
  const text = (from: string, n: number) => JSON.stringify(draftOf(nameOf(key, from), n, 'late'))
  const publish = (from: string, n: number) => `{"type":"publish","message":${text(from, n)}}`

  // Ignores Close frames.
  const socket = await connectTls(own.ports['1.1'])
  t.after(() => socket.destroy())
  socket.write(
    `GET /api/socket?${name('socket')}&channels=main HTTP/1.1\r\nHost: localhost\r\nCookie: ${cookie}\r\nUpgrade: websocket\r\n` +
      'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  )
  socket.resume()
  const lines = new PassThrough()
  const slowPost = new PassThrough()
  const slowText = new PassThrough()
  await http.ask({ path: `/api/streaming?${name('lines')}&channels=main` })
  const post = async (path: string, type: string, body: PassThrough) => {
    const answer = await http.ask({ method: 'POST', path, headers: { 'content-type': type }, body })
    return [answer.status, JSON.parse(await textOf(answer.body)).code]
  }
  const answers = [
    post(`/api/streaming?${name('lines')}`, 'application/x-ndjson', lines),
    post(`/api/messages?key=${key}`, 'application/json', slowPost),
    post(
      `/api/documents/main?id=${nameOf(key, 'text')}-1&from=${nameOf(key, 'text')}&key=${key}`,
      'text/plain',
      slowText,
    ),
  ]
  slowPost.write(' ')
  slowText.write('late')
  let count = 0
  const write = () => {
    count += 1
    if (socket.writable) socket.write(webSocketFrame(publish('socket', count)))
    lines.write(`${publish('lines', count)}\n`)
  }
  const [mode] = modes
  assert.ok(mode)
  const watching = await joined(t, mode, { cookie, from: own })
  write()
  for (const _ of ['lines', 'socket']) await watching.next('message')
  clock.pass(expiresAt + 1 - clock.now())
  for (let late = 0; late < 20; late += 1) write()
  slowPost.end(text('post', 1))
  slowText.end()
  for (const answered of answers) assert.deepEqual(await answered, [401, 'session-expired'])
  const again = connectHttp('2', own.origin['2'], own.ca, await cookieFor(own, 'read'))
  t.after(again.close)
  const first = await again.ask({ path: '/api/poll?window=reader&channels=main&first' })
  const [epoch] = JSON.parse(await textOf(first.body)).cursor.split(':')
  const all = await again.ask({ path: `/api/poll?window=reader&channels=main&cursor=${epoch}:0` })
  const { frames } = JSON.parse(await textOf(all.body))
  const senders = new Map<string, number>()
  for (const { message } of frames.filter(({ type }: { type: string }) => type === 'message'))
    senders.set(message.from, Math.max(senders.get(message.from) ?? 0, message.acceptedAt - expiresAt))
  assert.deepEqual(
    [...senders.keys()].toSorted(),
    ['lines', 'socket'].map((one) => nameOf(key, one)).toSorted(),
  )
  for (const [from, lateMs] of senders) assert.ok(lateMs <= 0, `${from} stored ${lateMs} ms after the end`)
})

async function renew({ origin, ca }: TestServer, cookie: string): Promise<string> {
  const http = connectHttp('2', origin['2'], ca, cookie)
  const { status, headers } = await http.ask({ method: 'POST', path: '/api/session' })
  http.close()
  assert.equal(status, 200)
  return String([headers['set-cookie']].flat()[0]).split(';', 1)[0] ?? ''
}

test('figures, settings and window lists need a session; a guest sees no window of another channel', async (t) => {
  const own = await startTestServer({ access: 'invited' })
  t.after(() => own.close())
  const everywhere = await redeem(
    own.origin['2'],
    own.ca,
    await own.invite({ channels: 'all', may: 'write' }),
  )
  const here = await cookieFor(own, 'read')
  const [mode] = modes
  assert.ok(mode)
  await joined(t, mode, { cookie: everywhere, channels: 'secret', from: own })
  await joined(t, mode, { cookie: here, channels: 'main', from: own })

  async function ask(path: string, cookie?: string): Promise<[number, { windows?: unknown[] }]> {
    const http = connectHttp('2', own.origin['2'], own.ca, cookie)
    const { status, body } = await http.ask({ path })
    const text = await textOf(body)
    http.close()
    return [status, JSON.parse(text)]
  }
  for (const path of ['/api/settings', '/api/figures', '/api/windows', '/api/clock']) {
    assert.equal((await ask(path))[0], 401)
    assert.equal((await ask(path, here))[0], 200)
  }
  assert.equal((await ask('/healthz'))[0], 200)
  const [, { windows }] = await ask('/api/windows', here)
  assert.equal(windows?.length, 1)
  assert.ok(!JSON.stringify(windows).includes(key), 'the window list reveals a key')
  assert.equal((await ask('/api/windows', everywhere))[1].windows?.length, 2)
})

for (const version of httpVersions) {
  test(`HTTP/${version}: paths outside the public folder need a session too`, async (t) => {
    const http = connectHttp(version, server.origin[version], server.ca)
    t.after(http.close)
    for (const path of ['/assets/../index.html', '/assets/..%2findex.html']) {
      const { status, body } = await http.ask({ path })
      assert.deepEqual([status, JSON.parse(await textOf(body)).code], [401, 'no-session'], path)
    }
  })
}
