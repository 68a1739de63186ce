// A page that stays while another user signs in: nothing is sent as another user than the one who wrote it.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import * as Y from 'yjs'
import type { ConnectOptions, RefusedError } from '../../client/connect.ts'
import { keptDrafts } from '../../client/drafts.ts'
import { CrosswindProvider } from '../../client/yjs.ts'
import { modes } from '../../protocol/modes.ts'
import { nothingPlanned } from '../../protocol/time.ts'
import { createNodePlatform } from '../clients/client.ts'
import { connectHttp } from '../clients/http-client.ts'
import { MemoryIndexedDb } from './memory-indexeddb.ts'
import { start, untilState } from './testing.ts'
import { refusal, synced } from './yjs-testing.ts'

const channels = { 'room.*': { kind: 'json' }, 'doc.*': { kind: 'yjs' } } as const
const rights = { read: ['room.*', 'doc.*'], write: ['room.*', 'doc.*'] }

/** Requests below one path are of whoever is signed in then, as with a cookie; null names nobody. */
async function startSignedIn(t: TestContext, by: string | null) {
  let user = by
  let cut = 'none'
  const answered = new Map<string, PromiseWithResolvers<number>>()
  const server = await start(t, {
    channels,
    authorize: () => (user === null ? rights : { ...rights, user }),
    cuts: (url) => url.startsWith(cut),
    elsewhere({ url = '', headers }, response) {
      const type = headers['content-type']
      if (url.startsWith('/realtime/messages') && type)
        response.once('finish', () => answered.get(type)?.resolve(response.statusCode))
    },
  })
  const { crosswind } = server
  function open(options: Partial<ConnectOptions> = {}) {
    const connection = server.open(options)
    /** Resolves once the connection has stopped because another user has signed in. */
    const stopped = new Promise<void>((resolve) => {
      connection.on('error', ({ code }) => {
        assert.equal(code, 'other-user')
        resolve()
      })
    })
    return { connection, stopped }
  }
  return {
    ...server,
    open,
    signIn(by: string | null) {
      user = by
    },
    isOnline(isOnline: boolean, path = '/realtime') {
      cut = isOnline ? 'none' : path
      if (!isOnline) server.cut()
    },
    /** Resolves to the status of the next answer to messages of this type. */
    answered(type: string) {
      const answer = Promise.withResolvers<number>()
      answered.set(type, answer)
      return answer.promise
    },
    /** What `room.1` has, with its users. */
    async stored() {
      const read = await Array.fromAsync(crosswind.read('room.1', { after: 0 }))
      return read.map(({ data, user }) => [data, user])
    },
    text: async () => String((await crosswind.document('doc.1')).getText('t')),
    openRoom(options: Partial<ConnectOptions> = {}) {
      const { connection, stopped } = open(options)
      const room = connection.channel<string>('room.1')
      /** Resolves to `stored`, or to the code of the refusal. */
      const say = (data: string) =>
        room.publish(data).then(
          () => 'stored',
          ({ code }: RefusedError) => code,
        )
      const until = (user: string | null) =>
        untilState(connection, (state) => state.status === 'open' && state.user === user)
      return { connection, stopped, say, until }
    },
  }
}

for (const { name, uplink } of modes.filter(({ http }) => http === '1.1'))
  test(`over ${name}, what waits for one user is not sent as the next`, async (t) => {
    const server = await startSignedIn(t, 'ann')
    const { say, until, connection, stopped } = server.openRoom({ modes: [name] })
    await until('ann')
    assert.equal(await say('one'), 'stored')
    server.isOnline(false)
    await untilState(connection, ({ status }) => status === 'waiting')
    const two = say('two')
    server.signIn('ben')
    server.isOnline(true)
    assert.equal(await two, 'other-user')
    await stopped
    const next = server.openRoom({ modes: [name] })
    await next.until('ben')
    assert.equal(await next.say('three'), 'stored')
    // The stream stays open.
    server.signIn('cas')
    const four = await next.say('four')
    // A stream that sends is of the session in which it was opened.
    assert.equal(four, uplink === 'xhr' ? 'other-user' : 'stored')
    server.signIn('ann')
    await connection.retry()
    assert.equal(await say('five'), 'stored')
    assert.deepEqual(await server.stored(), [
      ['one', 'ann'],
      ['three', 'ben'],
      ...(four === 'stored' ? [['four', 'ben']] : []),
      ['five', 'ann'],
    ])
  })

test('a session that is renewed for the same user rejects nothing, and names the user once open', async (t) => {
  const server = await startSignedIn(t, 'ann')
  const { say, until, connection } = server.openRoom({ token: () => 'any' })
  assert.equal(connection.state.user, undefined)
  await until('ann')
  server.isOnline(false, '/realtime/messages')
  const one = say('one')
  await untilState(connection, ({ status }) => status === 'waiting')
  // Another ticket.
  await server.crosswind.revoke('ann')
  server.isOnline(true)
  assert.equal(await one, 'stored')
})

test('what was written before anybody was known is the first user’s', async (t) => {
  const server = await startSignedIn(t, null)
  server.isOnline(false)
  const { say, until } = server.openRoom()
  const one = say('one')
  server.signIn('ann')
  server.isOnline(true)
  await until('ann')
  assert.equal(await one, 'stored')
  assert.deepEqual(await server.stored(), [['one', 'ann']])
})

test('a page that ends in the session of another user stores nothing', async (t) => {
  const server = await startSignedIn(t, 'ann')
  const platform = createNodePlatform(connectHttp('1.1', server.origin, null))
  t.after(() => platform.close())
  const { say, until, connection } = server.openRoom({ platform: { ...platform, fetch } })
  await until('ann')
  server.isOnline(false, '/realtime/stream')
  await untilState(connection, ({ status }) => status === 'waiting')
  const one = say('one')
  server.signIn('ben')
  const last = server.answered('application/x-ndjson')
  connection.close()
  assert.equal(await last, 401)
  assert.equal(await one, undefined)
  assert.deepEqual(await server.stored(), [])
})

test('a streamed body in another session than its stream’s is refused', async (t) => {
  const refused = Promise.withResolvers<number>()
  const { open } = await start(t, {
    channels,
    isSecure: true,
    authorize: ({ request }) => ({ ...rights, user: request.method === 'POST' ? 'ben' : 'ann' }),
    elsewhere: ({ url = '', method }, response) => {
      if (method === 'POST' && url.startsWith('/realtime/streaming'))
        response.once('finish', () => refused.resolve(response.statusCode))
    },
  })
  open({ modes: ['streaming/2'] }).channel('room.1')
  assert.equal(await refused.promise, 401)
})

test('a document’s unsent changes are not sent by another user, who may open it anew', async (t) => {
  const server = await startSignedIn(t, 'ann')
  const open = () => {
    const { connection } = server.open()
    const provider = new CrosswindProvider('', 'doc.1', new Y.Doc(), { connection })
    t.after(() => provider.destroy())
    provider.on('connection-error', nothingPlanned)
    return provider
  }
  const write = ({ doc }: CrosswindProvider, text: string) => doc.getText('t').insert(0, text)
  const first = open()
  write(first, 'a')
  await first.whenSaved()
  server.isOnline(false)
  write(first, 'b')
  server.signIn('ben')
  const refused = refusal(first)
  server.isOnline(true)
  assert.equal(await refused, 'other-user')
  assert.deepEqual([first.saved, await server.text()], [false, 'a'])
  first.destroy()
  const second = open()
  await synced(second)
  write(second, 'c')
  await second.whenSaved()
  const writers = await Array.fromAsync(server.crosswind.history('doc.1'), ({ user }) => user)
  assert.deepEqual([await server.text(), writers], ['ca', ['ann', 'ben']])
})

test('a document whose changes are kept is sent by their user, once back', async (t) => {
  new MemoryIndexedDb().install(t)
  const server = await startSignedIn(t, 'ann')
  const { connection } = server.open({ drafts: keptDrafts({ user: 'all' }) })
  const provider = new CrosswindProvider('', 'doc.1', new Y.Doc(), { connection })
  t.after(() => provider.destroy())
  provider.on('connection-error', nothingPlanned)
  const text = provider.doc.getText('t')
  text.insert(0, 'a')
  await provider.whenSaved()
  server.isOnline(false)
  text.insert(0, 'b')
  server.signIn('ben')
  const refused = refusal(provider)
  server.isOnline(true)
  assert.equal(await refused, 'other-user')
  const saved = new Promise<void>((resolve) => provider.once('saved', () => resolve()))
  server.signIn('ann')
  await connection.retry()
  await saved
  const writers = await Array.fromAsync(server.crosswind.history('doc.1'), ({ user }) => user)
  assert.deepEqual([await server.text(), writers], ['ba', ['ann', 'ann']])
})

test('a request that names another user than its session’s is refused, and one that names none is not', async (t) => {
  const server = await startSignedIn(t, 'ann')
  const client = connectHttp('1.1', server.origin, null)
  t.after(() => client.close())
  const draft = { id: 'c1-1', channel: 'room.1', kind: 'json', from: 'c1', at: 1, body: { data: 1 } }
  const statuses: number[] = []
  for (const query of ['?user=ben', '?user=ann', '']) {
    const { status } = await client.ask({
      method: 'POST',
      path: `/realtime/messages${query}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(draft),
    })
    statuses.push(status)
  }
  assert.deepEqual([statuses, await server.stored()], [[401, 200, 200], [[1, 'ann']]])
})
