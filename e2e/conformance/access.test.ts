// Who may come in, over real sockets and every transport: by invitation, to read or to write, in named channels, for a time.

import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { startTestServer, type TestServer } from '../../server/testing.ts'
import { type Mode, modes } from '../../server/wire/modes.ts'
import { draftOf, type FleetClient, openClient } from '../fleet/client.ts'
import { connectHttp, textOf } from '../fleet/http.ts'
import { redeem } from './foreign-server.ts'

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

function open(
  t: TestContext,
  mode: Mode,
  { cookie, cursor, channels = 'main', from = server }: Asked,
): FleetClient {
  windows += 1
  const query = new URLSearchParams({ window: `w${windows}`, channels, ...(cursor && { cursor }) })
  const client = openClient({ mode, origin: from.origin[mode.http], ca: from.ca, cookie, query })
  t.after(() => client.close())
  return client
}

async function joined(t: TestContext, mode: Mode, asked: Asked): Promise<FleetClient> {
  const client = open(t, mode, asked)
  await client.next('welcome')
  return client
}

for (const mode of modes) {
  describe(mode.name, () => {
    test('nobody comes in without an invitation, or with a cookie that is none', async (t) => {
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
      const isOwn = async (client: FleetClient) => {
        for (;;) if ((await client.next('message')).message.id === draft.id) return
      }
      await isOwn(listening)
    })

    test('other channels are closed, for reading and for writing; the wind and the page’s overview are not', async (t) => {
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

test('a session that ends closes its streams by name; a renewed one goes on from the cursor', async (t) => {
  // Four seconds.
  const own = await startTestServer({ access: 'invited', sessionMinutes: 4 / 60, heartbeatMs: 1000 })
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

test('figures, settings and who is here are for guests; a guest sees no window of another channel', async (t) => {
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
  assert.doesNotMatch(
    JSON.stringify(windows),
    /browser/,
    'who knows its name could take the place of a window',
  )
  assert.equal((await ask('/api/windows', everywhere))[1].windows?.length, 2)
})
