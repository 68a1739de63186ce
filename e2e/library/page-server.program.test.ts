// The page's server is one of the library's: its client, its provider and its endpoints serve there, too.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import * as Y from 'yjs'
import { startTestServer, stopClock, type TestServer } from '../../app/testing.ts'
import { type ConnectOptions, connect } from '../../client/connect.ts'
import { CrosswindProvider } from '../../client/yjs.ts'
import { createNodePlatform } from '../clients/client.ts'
import { connectHttp, redeem, textOf } from '../clients/http-client.ts'

function open(t: TestContext, server: TestServer, options: ConnectOptions = {}) {
  const http = connectHttp('2', server.origin['2'], server.ca)
  const connection = connect(`${server.origin['2']}/api`, {
    modes: ['sse/2'],
    platform: createNodePlatform(http),
    ...options,
  })
  t.after(() => {
    connection.close()
    http.close()
  })
  return { http, connection }
}

test('a provider of the library and a program of the page write one document', async (t) => {
  const server = await startTestServer()
  t.after(() => server.close())
  const { http, connection } = open(t, server)
  const doc = new Y.Doc()
  const provider = new CrosswindProvider(`${server.origin['2']}/api`, 'main', doc, { connection })
  t.after(() => provider.destroy())
  doc.getText('text').insert(0, 'from the library\n')
  await provider.whenSaved()
  const read = async () => {
    const headers = { accept: 'text/plain' }
    return textOf((await http.ask({ path: '/api/documents/main', headers })).body)
  }
  assert.equal(await read(), 'from the library\n')
  const changed = new Promise((resolve) => doc.once('update', resolve))
  const headers = { 'content-type': 'text/plain' }
  const query = new URLSearchParams({ id: 'p-1', from: 'p', at: '1' })
  const path = `/api/documents/main?${query}`
  const { status } = await http.ask({ method: 'POST', path, headers, body: 'from a program\n' })
  assert.equal(status, 200)
  await changed
  assert.match(String(doc.getText('text')), /^from the library\n.*from a program/s)
})

test('a room has the past of a kind, and what comes', async (t) => {
  const server = await startTestServer()
  t.after(() => server.close())
  const { connection } = open(t, server)
  const titles = connection.channel<{ readonly title: string }>('main', { from: 'start', kind: 'title' })
  const heard: string[] = []
  const two = new Promise<void>((resolve) =>
    titles.on('message', ({ data }) => heard.push(data.title) === 2 && resolve()),
  )
  await titles.publish({ title: 'One' })
  await titles.publish({ title: 'Two' })
  await two
  assert.deepEqual(heard, ['One', 'Two'])
})

async function statusOf(http: ReturnType<typeof connectHttp>, path: string): Promise<number> {
  const { status, body } = await http.ask({ path })
  await textOf(body)
  return status
}

test('an invitation to as many pages as there may be, with the longest names, opens them', async (t) => {
  const server = await startTestServer({ access: 'invited' })
  t.after(() => server.close())
  const channels = Array.from({ length: 32 }, (_, place) => String(place).padStart(64, 'x'))
  const link = await server.invite({ channels, may: 'write' })
  const cookie = await redeem(server.origin['2'], server.ca, link)
  const http = connectHttp('2', server.origin['2'], server.ca, cookie)
  t.after(() => http.close())
  assert.equal(await statusOf(http, `/d/${channels[31]}`), 200)
  assert.equal(await statusOf(http, '/d/other'), 403)
})

test('an invitation is a token of the library: it gets a ticket, and no more than it allows', async (t) => {
  const server = await startTestServer({ access: 'invited' })
  t.after(() => server.close())
  const link = await server.invite({ channels: ['main'], may: 'write' })
  const token = new URL(link).searchParams.get('invitation') ?? ''
  const { connection } = open(t, server, { token: () => token })
  const titles = connection.channel<{ readonly title: string }>('main', { kind: 'title' })
  await titles.publish({ title: 'By ticket' })
  for (const channel of ['other', 'overview.other']) {
    const http = connectHttp('2', server.origin['2'], server.ca)
    t.after(() => http.close())
    const headers = { authorization: `Bearer ${token}` }
    const { status, body } = await http.ask({ path: `/api/channels/${channel}`, headers })
    assert.deepEqual([status, JSON.parse(await textOf(body)).code], [403, 'not-invited-there'])
  }
})

test('a session lasts as long as the settings say, also longer than a ticket', async (t) => {
  const clock = stopClock(t)
  const server = await startTestServer({ access: 'invited', sessionMinutes: 30 * 24 * 60 })
  t.after(() => server.close())
  const days = 86_400_000
  const link = await server.invite({ channels: ['main'], may: 'read' }, 60 * days)
  const cookie = await redeem(server.origin['2'], server.ca, link)
  const http = connectHttp('2', server.origin['2'], server.ca, cookie)
  t.after(() => http.close())
  const page = await textOf((await http.ask({ path: '/d/main' })).body)
  const endsAt = Number(/"sessionEndsAt":(\d+)[,}]/.exec(page)?.[1])
  // In whole seconds.
  assert.equal(endsAt, Math.floor((clock.now() + 30 * days) / 1000) * 1000)
})
