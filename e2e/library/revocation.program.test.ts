// Revoked users: whatever is open ends, new messages are refused, and the client is told of both.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { stopClock } from '../../app/testing.ts'
import type { Presence } from '../../client/connect.ts'
import { modes } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { type Authorize, createCrosswind } from '../../server/index.ts'
import { nameOf, newKey } from '../clients/client.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { type Said, start, texts, uncaught, untilState } from './testing.ts'
import { startDocuments, synced } from './yjs-testing.ts'

/** An application that lets these users do everything, by a token or a cookie. */
function people(...names: readonly string[]) {
  const allowed = new Set(names)
  const asked: string[] = []
  return {
    allowed,
    asked,
    authorize({ token, headers }: Parameters<Authorize>[0]) {
      const user = token ?? headers.cookie?.replace('user=', '') ?? ''
      asked.push(user)
      return allowed.has(user) ? { user, read: ['*'], write: ['*'] } : null
    },
  }
}

const untilPresence = (presence: Presence, count: number) =>
  new Promise<void>((resolve) => {
    const look = () => presence.states.size === count && resolve()
    presence.on('change', look)
    look()
  })

const isOpen = ({ status }: { readonly status: string }) => status === 'open'

for (const { name: mode } of modes)
  test(`over ${mode}, a revoked user reads and stores nothing more, is gone, hears why, and may ask again`, async (t) => {
    const { allowed, authorize } = people('ada', 'bob')
    const { crosswind, open } = await start(t, { isSecure: true, authorize })
    const ada = open({ modes: [mode], token: () => 'ada' })
    const bob = open({ modes: ['sse/1.1'], token: () => 'bob' })
    const hers = ada.channel<Said>('room.1')
    const his = bob.channel<Said>('room.1')
    await Promise.all([ada, bob].map((one) => untilState(one, isOpen)))
    hers.presence.set('here')
    await untilPresence(his.presence, 1)
    const heard: string[] = []
    hers.on('message', ({ data }) => heard.push(data.text))
    const first = texts(hers, 1)
    await his.publish({ text: 'before' })
    await first

    allowed.delete('ada')
    const denied = new Promise<{ readonly code: string }>((resolve) => void ada.on('error', resolve))
    await crosswind.revoke('ada')
    const late = assert.rejects(hers.publish({ text: 'late' }), { code: 'no-session' })
    await his.publish({ text: 'secret' })
    assert.equal((await denied).code, 'no-session')
    await late
    await assert.rejects(hers.publish({ text: 'later' }), { code: 'no-session' })
    await assert.rejects(ada.retry(), { code: 'no-session' })
    await untilPresence(his.presence, 0)
    assert.deepEqual([heard, ada.state.status, ada.state.pending], [['before'], 'waiting', 0])
    assert.equal(bob.state.status, 'open')

    allowed.add('ada')
    const rest = texts(hers, 2)
    await ada.retry()
    await hers.publish({ text: 'back' })
    assert.deepEqual(await rest, ['secret', 'back'])
    await untilPresence(his.presence, 1)
    const read = await Array.fromAsync(crosswind.read('room.1'))
    assert.deepEqual(
      read.map(({ data }) => (data as Said).text),
      ['before', 'secret', 'back'],
    )
  })

for (const { name: mode } of modes)
  test(`over ${mode}, a user who is revoked from the only open room is let in by the others`, async (t) => {
    let read = ['room.*']
    const { crosswind, open } = await start(t, {
      isSecure: true,
      authorize: () => ({ user: 'ada', read, write: read }),
    })
    const ada = open({ modes: [mode], token: () => 'ada' })
    const errors: unknown[] = []
    ada.on('error', (error) => errors.push(error))
    const secret = ada.channel<Said>('room.secret')
    const refused = new Promise<{ readonly code: string }>((resolve) => void secret.on('error', resolve))
    await secret.publish({ text: 'hello' })
    read = ['room.general']
    await crosswind.revoke('ada')
    assert.equal((await refused).code, 'not-invited-there')
    await assert.rejects(secret.publish({ text: 'late' }), { code: 'not-invited-there' })
    await untilState(ada, ({ reason }) => errors.length > 0 || reason === 'This connection has no channels.')
    await ada.channel<Said>('room.general').publish({ text: 'hello' })
    assert.deepEqual(errors, [])
  })

/** Requests of one user, with a cookie or a ticket. */
function requestsOf(
  t: TestContext,
  origin: string,
  { cookie, key = newKey() }: { cookie?: string; key?: string } = {},
) {
  const window = nameOf(key, 'w1')
  const http = connectHttp('1.1', origin, null, cookie)
  t.after(() => http.close())
  const ask = async (path: string, proof: Readonly<Record<string, string>> = {}, body?: object) => {
    const query = new URLSearchParams({ key, window, ...proof })
    const answer = await http.ask({
      path: `/realtime/${path}${path.includes('?') ? '&' : '?'}${query}`,
      ...(body && {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    return answer
  }
  let count = 0
  return {
    ask,
    async codeOf(...given: Parameters<typeof ask>): Promise<string> {
      const { status, body } = await ask(...given)
      const { code = 'ok' } = JSON.parse((await textOf(body)) || '{}')
      return `${status} ${code}`
    },
    async ticket(token: string): Promise<Readonly<Record<string, string>>> {
      const { body } = await ask('session', {}, { token })
      return { ticket: JSON.parse(await textOf(body)).ticket }
    },
    draft(channel = 'room.1') {
      count += 1
      return { id: `${window}-${count}`, channel, kind: 'json', from: window, at: 1, body: { data: {} } }
    },
  }
}

test('without a ticket the application is asked about each request, and its answer counts as long as that lasts', async (t) => {
  const { allowed, asked, authorize } = people('ada')
  const { crosswind, origin } = await start(t, { authorize })
  const { ask, codeOf, draft } = requestsOf(t, origin, { cookie: 'user=ada' })
  const { body: stream } = await ask('stream?channels=room.1&opening=1')
  const frames = textOf(stream)
  assert.equal(await codeOf('messages', {}, draft()), '200 ok')
  assert.deepEqual(asked, ['ada', 'ada'])
  allowed.delete('ada')
  assert.equal(await codeOf('messages', {}, draft()), '401 no-session')
  // The stream was allowed before, and lasts.
  await crosswind.publish('room.1', 'still heard')
  await crosswind.revoke('ada')
  await crosswind.publish('room.1', 'not heard')
  const text = await frames
  assert.match(text, /still heard[\s\S]*event: bye\n.*"code":"expired"/)
  assert.doesNotMatch(text, /not heard/)
  assert.equal(asked.length, 3)
})

test('with a ticket the application is asked once, until the ticket ends or is revoked', async (t) => {
  const { allowed, asked, authorize } = people('ada')
  const { crosswind, origin } = await start(t, { authorize })
  const { ask, codeOf, draft, ticket } = requestsOf(t, origin)
  const proof = await ticket('ada')
  const { body: stream } = await ask('stream?channels=room.1&opening=1', proof)
  const frames = textOf(stream)
  assert.equal(await codeOf('messages', proof, draft()), '200 ok')
  allowed.delete('ada')
  assert.equal(await codeOf('messages', proof, draft()), '200 ok')
  assert.deepEqual(asked, ['ada'])
  await crosswind.revoke('ada')
  assert.equal(await codeOf('messages', proof, draft()), '401 session-expired')
  assert.match(await frames, /event: bye\n.*"code":"expired"/)
  assert.equal(await codeOf('session', {}, { token: 'ada' }), '401 no-session')
})

for (const minutes of [-60, 60])
  test(`after the clock was set by ${minutes} minutes, an ended ticket is refused, a fresh one is taken, and clients go on`, async (t) => {
    const clock = stopClock(t)
    const lifeMs = 2000
    const { crosswind, origin, open } = await start(t, {
      heartbeatMs: 1000,
      authorize: () => ({ read: ['room.*'], write: ['room.*'], expiresAt: Date.now() + lifeMs }),
    })
    const clients = ['sse/1.1', 'websocket/1.1', 'polling/1.1'].map((mode) =>
      open({ modes: [mode], token: () => 'ada' }),
    )
    const rooms = clients.map((client) => client.channel<Said>('room.1'))
    await Promise.all(clients.map((client) => untilState(client, isOpen)))
    const heard = Promise.all(rooms.map((room) => texts(room, 4)))
    const { ask, codeOf, draft, ticket } = requestsOf(t, origin)
    const before = await ticket('ada')
    assert.equal(await codeOf('channels/room.1', before), '200 ok')
    clock.set(minutes * 60_000)
    await crosswind.publish('room.1', { text: 'set' })
    clock.pass(lifeMs / 2)
    const fresh = await ticket('ada')
    assert.equal(await codeOf('channels/room.1', fresh), '200 ok')
    const { body: stream } = await ask('stream?channels=room.1&opening=1', fresh)
    const frames = textOf(stream)
    clock.pass(lifeMs / 2)
    assert.equal(await codeOf('channels/room.1', before), '401 session-expired')
    assert.equal(await codeOf('messages', before, draft()), '401 session-expired')
    assert.equal(await codeOf('channels/room.1', fresh), '200 ok')
    for (const room of rooms) await room.publish({ text: 'gone on' })
    assert.deepEqual(await heard, Array(3).fill(['set', 'gone on', 'gone on', 'gone on']))
    clock.pass(lifeMs / 2)
    assert.match(await frames, /gone on[\s\S]*event: bye\n.*"code":"expired"/)
    assert.equal(await codeOf('channels/room.1', fresh), '401 session-expired')
  })

test('a message that is being checked when its sender is revoked is not stored', async (t) => {
  const { authorize } = people('ada')
  const checked = Promise.withResolvers<void>()
  const began = Promise.withResolvers<void>()
  const validate = async (value: unknown) => {
    began.resolve()
    await checked.promise
    return { value }
  }
  const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
  const { crosswind, origin } = await start(t, {
    authorize,
    channels: { 'room.*': { kind: 'json', validate: schema } },
  })
  const { codeOf, draft, ticket } = requestsOf(t, origin)
  const answer = codeOf('messages', await ticket('ada'), draft())
  await began.promise
  await crosswind.revoke('ada')
  checked.resolve()
  assert.equal(await answer, '401 session-expired')
  assert.deepEqual(await Array.fromAsync(crosswind.read('room.1')), [])
})

test('a server that starts again on its folder knows who was revoked, and takes the others’ tickets', async (t) => {
  const folder = temporaryFolder(t)
  const { authorize } = people('ada', 'bob')
  const options = { authorize, storage: { kind: 'sqlite', folder }, secret: 's'.repeat(32) } as const
  const first = await start(t, options)
  const key = newKey()
  const requests = requestsOf(t, first.origin, { key })
  const tickets = await Promise.all(['ada', 'bob'].map((user) => requests.ticket(user)))
  await first.crosswind.publish('room.1', 'hello')
  await first.crosswind.revoke('ada')
  tickets.push(await requests.ticket('ada'))
  await first.stop()
  const later = requestsOf(t, (await start(t, options)).origin, { key })
  const codes = await Promise.all(tickets.map((ticket) => later.codeOf('channels/room.1', ticket)))
  assert.deepEqual(codes, ['401 session-expired', '200 ok', '200 ok'])
})

test('a log that is full of channels still takes a revocation', async (t) => {
  const { authorize } = people('ada')
  const { crosswind } = await start(t, { authorize, limits: { maxChannels: 1 } })
  await crosswind.publish('room.1', 'hello')
  await assert.rejects(crosswind.publish('room.2', 'hello'), { code: 'too-many-channels' })
  await crosswind.revoke('ada')
})

test('a revoked user reads nothing, not even with a permit for everything', async (t) => {
  const { authorize } = people('ada', 'eve')
  const { crosswind, origin } = await start(t, { authorize, channels: { '*': { kind: 'json' } } })
  await crosswind.revoke('ada')
  const { codeOf, ticket, draft } = requestsOf(t, origin)
  const proof = await ticket('eve')
  const name = encodeURIComponent('*revocations')
  assert.equal(await codeOf(`channels/${name}?after=start`, proof), '400 bad-channel')
  for (const path of ['stream', 'streaming', 'poll', 'long-poll'])
    assert.equal(await codeOf(`${path}?channels=${name}&opening=1`, proof), '400 bad-query')
  assert.equal(await codeOf('messages', proof, draft('*revocations')), '400 bad-shape')
  await assert.rejects(Array.fromAsync(crosswind.read('*revocations')), { code: 'bad-channel' })
})

for (const mode of ['sse/1.1', 'websocket/1.1', 'long-polling/1.1', 'polling/1.1'])
  test(`over ${mode}, a disconnected client or user comes back by itself, asked about again, and loses nothing`, async (t) => {
    const { asked, authorize } = people('ada', 'bob')
    const { crosswind, open } = await start(t, { authorize })
    const clients = ['ada', 'ada', 'bob'].map((user) => open({ modes: [mode], token: () => user }))
    const [one, two, bobs] = clients
    assert.ok(one && two && bobs)
    const rooms = clients.map((client) => client.channel<Said>('room.1'))
    const [first] = rooms
    const name = new Promise<string>((resolve) => first?.on('message', ({ from }) => resolve(from)))
    await Promise.all(clients.map((client) => untilState(client, isOpen)))
    const greeted = Promise.all(rooms.map((room) => texts(room, 1)))
    await first?.publish({ text: 'hello' })
    await greeted
    const who = { client: await name }
    const heard = Promise.all(rooms.map((room) => texts(room, 2)))
    assert.deepEqual(asked.toSorted(), ['ada', 'ada', 'bob'])

    const away = untilState(one, (state) => !isOpen(state))
    crosswind.disconnect(who)
    await away
    assert.deepEqual([isOpen(two.state), isOpen(bobs.state)], [true, true])
    await untilState(one, isOpen)
    assert.deepEqual(asked.slice(3), ['ada'])
    await crosswind.publish('room.1', { text: 'one' })

    const both = [one, two].map((client) => untilState(client, (state) => !isOpen(state)))
    crosswind.disconnect({ user: 'ada' })
    await Promise.all(both)
    assert.equal(isOpen(bobs.state), true)
    await Promise.all([one, two].map((client) => untilState(client, isOpen)))
    await crosswind.publish('room.1', { text: 'two' })
    assert.deepEqual(await heard, Array(3).fill(['one', 'two']))
    assert.deepEqual(asked.slice(3), ['ada', 'ada', 'ada'])
  })

test('`revoke` and `disconnect` check their arguments', async (t) => {
  const { authorize } = people('ada')
  const { crosswind } = await start(t, { authorize })
  for (const user of ['', null, undefined, 7, { user: 'ada' }, 'x'.repeat(257)])
    await assert.rejects(
      crosswind.revoke(user as never),
      /^Error: revoke: user is .*it must be a text of 1 to 256 bytes\.$/,
    )
  for (const [who, sentence] of [
    ['ada', /disconnect: it takes \{ user \} or \{ client \}, not "ada"\.$/],
    [undefined, /disconnect: it takes \{ user \} or \{ client \}, not undefined\.$/],
    [{}, /disconnect: it takes \{ user \} or \{ client \}, not \{\}\.$/],
    [{ user: 'ada', client: 'w1' }, /disconnect: it takes/],
    [{ name: 'ada' }, /disconnect: it takes/],
    [{ user: 7 }, /disconnect: user is 7; it must be a text/],
  ] as const)
    assert.throws(() => crosswind.disconnect(who as never), sentence)
  await assert.rejects(
    crosswind.publish('room.1', {}, { user: 7 as never }),
    /publish: user is 7; it must be/,
  )
  const open = await createCrosswind({ path: '/x', channels: {}, authorize: 'everyone' })
  t.after(() => open.close())
  await assert.rejects(open.revoke('ada'), /revoke: there are no users/)
})

test('an answer of the application that is none reaches onFailure, and the client is refused', async (t) => {
  const failures: string[] = []
  const { origin, open } = await start(t, {
    authorize: () => ({ read: 'room.*', write: [] }) as never,
    onFailure: (error) => failures.push(String(error)),
  })
  const { codeOf } = requestsOf(t, origin)
  assert.equal(await codeOf('channels/room.1'), '401 no-session')
  const room = open({ token: () => 'ada' }).channel('room.1')
  await assert.rejects(new Promise((_resolve, reject) => room.on('error', reject)), { code: 'no-session' })
  for (const failure of failures)
    assert.match(failure, /^Error: authorize: read is 'room\.\*'; it must be a list of channels/)
  assert.equal(failures.length, 2)
})

test('a token of 8 kB is taken by both ways, and a larger one is refused without a word of invitations', async (t) => {
  const jwt = 'x'.repeat(8000)
  const { origin } = await start(t, {
    authorize: ({ token }) => (token === jwt ? { user: 'ada', read: ['room.*'], write: [] } : null),
  })
  const { codeOf, ticket, ask } = requestsOf(t, origin)
  assert.equal(await codeOf('channels/room.1', await ticket(jwt)), '200 ok')
  const http = connectHttp('1.1', origin, null)
  t.after(() => http.close())
  const bearer = await http.ask({
    path: '/realtime/channels/room.1',
    headers: { authorization: `Bearer ${jwt}` },
  })
  assert.equal(bearer.status, 200)
  await textOf(bearer.body)
  const { status, body } = await ask('session', {}, { token: 'x'.repeat(20_000) })
  const { code, message } = JSON.parse(await textOf(body))
  assert.deepEqual(
    [status, code, message],
    [413, 'too-large', 'The body of this request may have at most 16384 bytes.'],
  )
})

test('a provider whose access has ended says why, keeps its changes, and sends them when it is admitted again', async (t) => {
  const { allowed, authorize } = people('ada')
  const { crosswind, open, provide } = await startDocuments(t, { authorize })
  const connection = open({ token: () => 'ada' })
  const provider = provide({ connection })
  const errors: unknown[] = []
  provider.on('connection-error', (error) => errors.push((error as { readonly code: string }).code))
  await synced(provider)
  allowed.delete('ada')
  await crosswind.revoke('ada')
  provider.doc.getText('t').insert(0, 'kept')
  await assert.rejects(provider.whenSaved(), { code: 'no-session' })
  assert.deepEqual([provider.saved, errors], [false, ['no-session']])
  allowed.add('ada')
  const saved = new Promise<void>((resolve) => provider.on('saved', (isSaved) => isSaved && resolve()))
  await connection.retry()
  await saved
  assert.equal(String((await crosswind.document('doc.1')).getText('t')), 'kept')
})

test('not being let in any more is reported if nobody listens', async (t) => {
  const { allowed, authorize } = people('ada')
  const { crosswind, open } = await start(t, { authorize })
  const thrown = uncaught(t)
  const room = open({ token: () => 'ada' }).channel<Said>('room.1')
  await room.publish({ text: 'hello' })
  allowed.delete('ada')
  await crosswind.revoke('ada')
  await assert.rejects(room.publish({ text: 'late' }), { code: 'no-session' })
  await new Promise(setImmediate)
  assert.deepEqual(thrown, ['RefusedError: The application does not allow this; sign in to it.'])
})

for (const mode of ['sse/1.1', 'websocket/1.1', 'long-polling/1.1'])
  test(`over ${mode}, a writer who is demoted learns it while the page is open, and a reader who is promoted, too`, async (t) => {
    let write = ['doc.1']
    const { crosswind, provide } = await startDocuments(t, {
      authorize: () => ({ user: 'ada', read: ['*'], write }),
    })
    const provider = provide({ modes: [mode], token: () => 'ada' })
    const heard: (boolean | null)[] = [provider.mayWrite]
    provider.on('status', () => provider.mayWrite !== heard.at(-1) && heard.push(provider.mayWrite))
    const untilHeard = (count: number) =>
      new Promise<void>((resolve) => {
        const look = () => heard.length === count && resolve()
        provider.on('status', look)
        look()
      })
    await untilHeard(2)
    write = []
    await crosswind.revoke('ada')
    await untilHeard(3)
    write = ['*']
    await crosswind.revoke('ada')
    await untilHeard(4)
    assert.deepEqual(heard, [null, true, false, true])
  })
