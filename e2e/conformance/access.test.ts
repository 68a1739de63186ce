// Access by invitation, over every transport: reading and writing, channels, expiry.

import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { startTestServer, type TestServer } from '../../server/testing.ts'
import { httpVersions, type Mode, modes } from '../../server/wire/modes.ts'
import { draftOf, nameOf, newKey } from '../clients/client.ts'
import { connectHttp, redeem, textOf } from '../clients/http-client.ts'
import { type ContractClient, openClient } from './contract-client.ts'
import { nobodySpeaksFor } from './transport-contract.ts'

let server: TestServer
let reader: string
let writer: string
before(async () => {
  server = await startTestServer({ editor: 'mirror', access: 'invited' })
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

    test('a reader reads and cannot write; a writer writes', async (t) => {
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

    test('a reader that knows the name of a writer’s window cannot act in its name', async (t) => {
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

    test('other channels are closed for reading and writing; the wind and the page’s own overview are open', async (t) => {
      const elsewhere = open(t, mode, { cookie: writer, channels: 'main,elsewhere' })
      await elsewhere.ended
      assert.deepEqual(elsewhere.waiting(), [])
      const sly = open(t, mode, { cookie: writer, channels: 'main,overview.elsewhere' })
      await sly.ended
      assert.deepEqual(sly.waiting(), [])
      const writing = await joined(t, mode, { cookie: writer, channels: 'main,wind,overview.main' })
      const refused = await writing.send(draftOf('w', 1, 'x', 'elsewhere'))
      assert.equal(refused.type === 'refused' && refused.code, 'not-invited-there')
    })
  })
}

test('a session that expires closes its streams with a code; a renewed one resumes from the cursor', async (t) => {
  const own = await startTestServer({
    editor: 'mirror',
    access: 'invited',
    sessionMinutes: 4 / 60,
    heartbeatMs: 1000,
  })
  t.after(() => own.close())
  const first = await cookieFor(own, 'write')
  const [mode] = modes
  assert.ok(mode)
  const client = open(t, mode, { cookie: first, from: own })
  const { cursor } = await client.next('welcome')
  for (let beat = 0; beat < 2; beat += 1) await client.next('heartbeat')
  const renewed = await renew(own, first)
  assert.equal((await client.ended).code, 'expired')
  const other = await joined(t, mode, { cookie: await cookieFor(own, 'write'), from: own })
  await other.send(draftOf('w', 1, 'meanwhile'))
  const back = open(t, mode, { cookie: renewed, from: own, cursor })
  assert.equal((await back.next('welcome')).recovered, true)
  assert.equal((await back.next('message')).message.id, 'w-1')
})

async function renew({ origin, ca }: TestServer, cookie: string): Promise<string> {
  const http = connectHttp('2', origin['2'], ca, cookie)
  const { status, headers } = await http.ask({ method: 'POST', path: '/api/session' })
  http.close()
  assert.equal(status, 200)
  return String([headers['set-cookie']].flat()[0]).split(';', 1)[0] ?? ''
}

test('figures, settings and windows need a session; a guest sees no window of another channel', async (t) => {
  const own = await startTestServer({ editor: 'mirror', access: 'invited' })
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
  assert.ok(!JSON.stringify(windows).includes(key), 'the list of windows reveals a key')
  assert.equal((await ask('/api/windows', everywhere))[1].windows?.length, 2)
})

for (const version of httpVersions) {
  test(`HTTP/${version}: paths that leave the public folder need a session too`, async (t) => {
    const http = connectHttp(version, server.origin[version], server.ca)
    t.after(http.close)
    for (const path of ['/assets/../index.html', '/assets/..%2findex.html']) {
      const { status, body } = await http.ask({ path })
      assert.deepEqual([status, JSON.parse(await textOf(body)).code], [401, 'no-session'], path)
    }
  })
}
