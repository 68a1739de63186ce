// An application with routes of its own beside Crosswind's, below the same path: who calls, and what that may cost.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Router from '@koa/router'
import Koa from 'koa'
import { stopClock } from '../../app/testing.ts'
import { ensureCertificate } from '../../certs/certificate.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { type Crosswind, type CrosswindOptions, createCrosswind, Refusal } from '../../server/index.ts'
import { nameOf, newKey } from '../clients/client.ts'
import { connectHttp, type HttpRequest, textOf } from '../clients/http-client.ts'

const permits: CrosswindOptions['authorize'] = ({ token }) =>
  token === null ? null : { user: token, read: ['room.*', 'doc.*'], write: ['room.1', 'doc.*'] }

/** Serves over HTTP/2; the routes are the application's. */
async function serve(
  t: TestContext,
  mount: (router: Router, crosswind: Crosswind) => void,
  options: Partial<CrosswindOptions> = {},
) {
  const crosswind = await createCrosswind({
    path: '/api',
    channels: { 'room.*': { kind: 'json' } },
    authorize: permits,
    ...options,
  })
  t.after(() => crosswind.close({ drainMs: 0 }))
  const { cert, key } = await ensureCertificate({ directory: temporaryFolder(t), now: new Date() })
  const app = new Koa()
  const router = new Router()
  crosswind.guard(app, { isOpen: (path) => path === '/about' })
  mount(router, crosswind)
  app.use(router.routes()).use(router.allowedMethods())
  const ports = await crosswind.listen({ port: 0, http1Port: 0, cert, key }, app.callback() as never)
  const http = connectHttp('2', `https://localhost:${ports['2']}`, null)
  t.after(() => http.close())
  /** As this user, or as nobody. */
  async function ask(user: string | null, request: HttpRequest) {
    const headers = { ...request.headers, ...(user !== null && { authorization: `Bearer ${user}` }) }
    const answer = await http.ask({ ...request, headers })
    const text = await textOf(answer.body)
    return { status: answer.status, text, headers: answer.headers }
  }
  const codeOf = async (...given: Parameters<typeof ask>) => {
    const { status, text } = await ask(...given)
    return status < 400 ? status : `${status} ${JSON.parse(text).code}`
  }
  return { crosswind, ask, codeOf, ports, http }
}

const post = (path: string, body: string, type = 'application/json'): HttpRequest => ({
  method: 'POST',
  path,
  body,
  headers: { 'content-type': type },
})

test('below its path an application answers what is none of Crosswind’s endpoints', async (t) => {
  const { ask, codeOf } = await serve(t, (router) => {
    router.get('/api/rooms', (ctx) => {
      ctx.body = `the application’s ${ctx.url}`
    })
    router.post('/api/session', (ctx) => {
      ctx.body = 'renewed'
    })
  })
  const { status, text } = await ask('ada', { path: '/api/rooms?x=1' })
  assert.deepEqual([status, text], [200, 'the application’s /api/rooms?x=1'])
  assert.equal(await codeOf('ada', { path: '/api/nothing' }), '404 not-found')
  assert.equal(await codeOf('ada', { method: 'DELETE', path: '/api/messages' }), '405 wrong-method')
  assert.equal((await ask('ada', { path: '/api/clock' })).status, 200)
  assert.match((await ask(null, post('/api/session', '{"token":"ada"}'))).text, /^\{"ticket":"/)
  assert.equal((await ask('ada', { method: 'POST', path: '/api/session' })).text, 'renewed')
})

test('a person whose browser opens what is refused gets the application’s page, or JSON, and no words of another application', async (t) => {
  const headers = { accept: 'text/html,*/*;q=0.8' }
  const showRefusal = ({ code }: Refusal) => ({
    html: `<p>${code}</p>`,
    headers: { 'x-frame-options': 'DENY' },
  })
  for (const [options, type, text] of [
    [{}, 'application/json', /"code":"no-session"/],
    [{ showRefusal }, 'text/html', /^<p>no-session<\/p>$/],
  ] as const) {
    const { ask } = await serve(t, () => undefined, options)
    for (const path of ['/api/clock', '/rooms/1']) {
      const answer = await ask(null, { path, headers })
      assert.equal(answer.status, 401)
      assert.match(String(answer.headers['content-type']), RegExp(`^${type}`))
      assert.match(answer.text, text)
      assert.equal(answer.headers['x-frame-options'], type === 'text/html' ? 'DENY' : undefined)
    }
  }
})

test('with another path, the addresses of the endpoints below /api are the application’s', async (t) => {
  const { ask, ports } = await serve(
    t,
    (router) => {
      router.get('/api/clock', (ctx) => {
        ctx.body = 'noon'
      })
    },
    { path: '/realtime' },
  )
  assert.equal((await ask('ada', { path: '/api/clock' })).text, 'noon')
  assert.match((await ask('ada', { path: '/realtime/clock' })).text, /^\{"at":\d/)
  const http = connectHttp('1.1', `https://localhost:${ports['1.1']}`, null)
  t.after(() => http.close())
  const headers = { authorization: 'Bearer ada' }
  for (const [path, expected] of [
    ['/realtime/clock', /^\{"at":\d/],
    ['/api/clock', /^noon$/],
  ] as const) {
    const { body } = await http.ask({ path: `https://localhost:${ports['1.1']}${path}`, headers })
    assert.match(await textOf(body), expected)
  }
  const socketError = (path: string) =>
    new Promise((resolve) => http.openSocket(path).on('error', (error) => resolve(error.message)))
  assert.match(String(await socketError('/api/socket')), /404/)
  assert.match(String(await socketError('/elsewhere')), /404/)
})

test('a route knows who calls and what they may do; nobody else gets to it, unless it is open', async (t) => {
  const { ask, codeOf } = await serve(t, (router, { caller }) => {
    router.get('/about', (ctx) => {
      ctx.body = 'for everybody'
    })
    router.get('/rooms/:name', async (ctx) => {
      const { name = '' } = ctx.params
      const who = await caller(ctx.req)
      who.mustRead(name)
      ctx.body = {
        user: who.user,
        read: who.read,
        mayWrite: who.mayWrite(name),
        again: who === (await caller(ctx.req)),
      }
    })
    router.get('/fails', () => {
      throw new Error('A mistake of the application.')
    })
    router.post('/api/session', (ctx) => {
      ctx.body = 'for members'
    })
  })
  // Crosswind's endpoint, where strangers ask for tickets, is below another path.
  assert.equal(await codeOf(null, post('/api/session', '{}', 'application/json')), '401 no-session')
  assert.equal((await ask(null, { path: '/about' })).text, 'for everybody')
  assert.equal(await codeOf(null, { path: '/rooms/room.1' }), '401 no-session')
  assert.equal(await codeOf(null, { path: '/%61bout/../rooms/room.1' }), '401 no-session')
  const { text, headers } = await ask('ada', { path: '/rooms/room.1' })
  assert.deepEqual(JSON.parse(text), { user: 'ada', read: ['room.*', 'doc.*'], mayWrite: true, again: true })
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(JSON.parse((await ask('ada', { path: '/rooms/room.2' })).text).mayWrite, false)
  assert.equal(await codeOf('ada', { path: '/rooms/other' }), '403 not-invited-there')
  const foreign = { path: '/rooms/room.1', headers: { origin: 'https://elsewhere.example' } }
  assert.equal(await codeOf('ada', foreign), '403 foreign-origin')
  assert.equal(await codeOf(null, { ...foreign, path: '/about' }), '403 foreign-origin')
  assert.equal(await codeOf('ada', { path: '/fails' }), '500 internal')
})

test('pages on its own ports, and on those that it allows, may use it', async (t) => {
  const { ports, codeOf } = await serve(t, () => undefined, { allowedPorts: [8445] })
  const from = (port: number) => ({ path: '/api/clock', headers: { origin: `https://localhost:${port}` } })
  assert.equal(await codeOf('ada', from(ports['1.1'])), 200)
  assert.equal(await codeOf('ada', from(8445)), 200)
  assert.equal(await codeOf('ada', from(8446)), '403 foreign-origin')
})

test('without a framework, a request’s caller is known, and a refusal is its answer', async (t) => {
  const { cert, key } = await ensureCertificate({ directory: temporaryFolder(t), now: new Date() })
  const crosswind = await createCrosswind({ path: '/api', channels: {}, authorize: permits })
  t.after(() => crosswind.close({ drainMs: 0 }))
  const ports = await crosswind.listen({ port: 0, http1Port: 0, cert, key }, async (request, response) => {
    try {
      response.end(String((await crosswind.caller(request)).user))
    } catch (error) {
      crosswind.refuse(request, response, error)
    }
  })
  const http = connectHttp('2', `https://localhost:${ports['2']}`, null)
  t.after(() => http.close())
  const { body } = await http.ask({ path: '/', headers: { authorization: 'Bearer ada' } })
  assert.equal(await textOf(body), 'ada')
  for (const [headers, ...expected] of [
    [{}, 401, 'no-session'],
    [{ authorization: 'Bearer ada', origin: 'https://elsewhere.example' }, 403, 'foreign-origin'],
  ] as const) {
    const refused = await http.ask({ path: '/', headers })
    assert.deepEqual([refused.status, JSON.parse(await textOf(refused.body)).code], expected)
  }
})

test('a body is read within limits', async (t) => {
  const { ask, codeOf } = await serve(t, (router, { caller }) => {
    router.post('/bytes', async (ctx) => {
      ctx.body = String((await (await caller(ctx.req)).readBody({ maxBytes: 10 })).length)
    })
    router.post('/json', async (ctx) => {
      ctx.body = { given: await (await caller(ctx.req)).readJson({ what: 'Rooms', maxBytes: 1000 }) }
    })
  })
  assert.equal((await ask('ada', post('/bytes', 'x'.repeat(10)))).text, '10')
  assert.equal(await codeOf('ada', post('/bytes', 'x'.repeat(11))), '413 too-large')
  assert.equal((await ask('ada', post('/json', '{"a":1}'))).text, '{"given":{"a":1}}')
  assert.equal(await codeOf('ada', post('/json', '{')), '400 not-json')
  assert.equal(await codeOf('ada', post('/json', '[1]'.padEnd(1001))), '413 too-large')
  assert.equal(await codeOf('ada', post('/json', '['.repeat(102) + ']'.repeat(102))), '400 bad-shape')
  assert.match(
    (await ask('ada', post('/json', '1', 'text/plain'))).text,
    /"Rooms must be sent as application\/json/,
  )
})

test('a route publishes for its caller: its name, its id, its user, its rights and its pace', async (t) => {
  const clock = stopClock(t)
  const { crosswind, ask, codeOf } = await serve(
    t,
    (router, { caller }) => {
      router.post('/say/:room', async (ctx) => {
        const who = await caller(ctx.req)
        const id = String(ctx.query.id)
        const from = String(ctx.query.from)
        const { room = '' } = ctx.params
        const draft = who.draft({ id, from, channel: room, at: 1, kind: 'json', body: { data: null } })
        const text = (await who.readBody()).toString()
        const kind = ctx.query.kind === 'erasure' ? 'erasure' : 'json'
        const body = kind === 'json' ? { data: text.toUpperCase() } : { head: 99 }
        ctx.body = await who.publish({ ...draft, kind, body } as typeof draft)
      })
    },
    { limits: { messagesPerSecond: 3 } },
  )
  const key = newKey()
  const own = nameOf(key, 'w')
  const say = (room: string, from: string, count: number, proof = key) =>
    post(
      `/say/${room}?${new URLSearchParams({ id: `${from}-${count}`, from, key: proof })}`,
      'hello',
      'text/plain',
    )
  const stored = { type: 'stored', id: `${own}-1`, seq: 1 }
  assert.deepEqual(JSON.parse((await ask('ada', say('room.1', own, 1))).text), stored)
  assert.deepEqual(JSON.parse((await ask('ada', say('room.1', own, 1))).text), stored)
  const [message] = await Array.fromAsync(crosswind.read('room.1'))
  assert.deepEqual([message?.data, message?.user, message?.from], ['HELLO', 'ada', own])
  assert.equal(await codeOf('ada', say('room.1', own, 2, newKey())), '403 not-your-name')
  assert.equal(await codeOf('ada', say('room.2', own, 2)), '403 read-only-invitation')
  assert.equal(await codeOf('ada', say('room.1', 'server', 2)), '403 reserved-name')
  const erasing = say('room.1', own, 2)
  assert.equal(await codeOf('ada', { ...erasing, path: `${erasing.path}&kind=erasure` }), '400 bad-shape')
  clock.pass(1000)
  const codes = await Promise.all([2, 3, 4, 5].map((count) => codeOf('ada', say('room.1', own, count))))
  assert.deepEqual(codes.toSorted(), [200, 200, 200, '429 too-fast'])
})

test('a limit counts each connection, and large answers are paced', async (t) => {
  const clock = stopClock(t)
  const { ask, codeOf } = await serve(t, (router, { caller, rateLimit, answer }) => {
    const limitLists = rateLimit(2, 'Lists are limited to two a second')
    router.get('/list', async (ctx) => {
      limitLists(await caller(ctx.req))
      ctx.body = 'a list'
    })
    router.get('/large', async (ctx) => {
      ;(await caller(ctx.req)).mustPace('It was asked for too fast')
      answer(ctx, 17_000_000, () => ['one ', 'two'])
    })
  })
  assert.deepEqual(
    [await codeOf('ada', { path: '/list' }), await codeOf('ada', { path: '/list' })],
    [200, 200],
  )
  const { status, text, headers } = await ask('ada', { path: '/list' })
  assert.deepEqual([status, headers['retry-after']], [429, '1'])
  assert.match(text, /"message":"Lists are limited to two a second; try again in a moment\."/)
  clock.pass(1000)
  assert.equal(await codeOf('ada', { path: '/list' }), 200)
  assert.equal((await ask('ada', { path: '/large' })).text, 'one two')
  assert.equal(await codeOf('ada', { path: '/large' }), '429 too-fast')
  clock.pass(1000)
  assert.equal(await codeOf('ada', { path: '/large' }), 200)
})

test('an unread answer counts against its connection', async (t) => {
  const { codeOf } = await serve(
    t,
    (router, { answer }) => {
      router.get('/large', (ctx) => answer(ctx, 80_000, () => Array(8).fill('x'.repeat(10_000))))
    },
    { limits: { connectionBytes: 100_000 } },
  )
  const codes = await Promise.all(Array.from({ length: 4 }, () => codeOf('ada', { path: '/large' })))
  assert.ok(codes.includes(200) && codes.includes('503 too-much-begun'), String(codes))
})

test('an application has the log until it closes: what is stored, and what comes', async (t) => {
  const { crosswind } = await serve(t, () => undefined)
  await crosswind.publish('room.1', 'before')
  const heard: unknown[] = []
  crosswind.onLog((log) => {
    heard.push(log.heads().get('room.1'))
    const unfollow = log.follow(({ channel, kind, seq }) => heard.push(`${channel} ${kind} ${seq}`))
    return () => {
      unfollow()
      heard.push('ended')
    }
  })
  await crosswind.publish('room.1', 'after')
  await crosswind.close({ drainMs: 0 })
  assert.deepEqual(heard, [1, 'room.1 json 2', 'ended'])
})

test('it publishes under names that clients may not use', async (t) => {
  const { crosswind, codeOf } = await serve(t, () => undefined, { reservedNames: ['sensor'] })
  await crosswind.publish('room.1', 1, { from: 'sensor', id: 'one', at: 5 })
  const [message] = await Array.fromAsync(crosswind.read('room.1'))
  assert.deepEqual([message?.from, message?.id, message?.at], ['sensor', 'sensor-one', 5])
  const draft = { id: 'sensor-1', from: 'sensor', channel: 'room.1', at: 1, kind: 'json', body: { data: 1 } }
  assert.equal(await codeOf('ada', post('/api/messages', JSON.stringify(draft))), '403 reserved-name')
  await assert.rejects(crosswind.publish('room.1', 1, { from: 'other' }), {
    message: 'publish: from is "other"; it must be one of reservedNames.',
  })
})

test('presence states have the shape that the channel’s type declares', async (t) => {
  const state = (given: unknown) => (typeof given === 'string' ? null : { path: '', must: 'a text' })
  const { crosswind, codeOf, http } = await serve(t, () => undefined, {
    channels: { 'doc.*': { name: 'page', kinds: {}, yjs: {}, state }, '*': { kind: 'json' } },
  })
  const key = newKey()
  const query = new URLSearchParams({ window: nameOf(key, 'w'), key })
  const show = (channel: string, given: unknown) =>
    codeOf('ada', post(`/api/awareness?${query}`, JSON.stringify({ channel, state: given })))
  assert.equal(await show('doc.1', 'here'), 204)
  assert.equal(await show('doc.1', 5), '400 bad-shape')
  assert.equal(await show('room.1', 5), 204)
  // Without a channel it is the first that the window reads.
  const channels = new URLSearchParams({ ...Object.fromEntries(query), channels: 'doc.1' })
  const stream = await http.ask({ path: `/api/stream?${channels}`, headers: { authorization: 'Bearer ada' } })
  await new Promise<void>((resolve) =>
    stream.body.on('data', (part) => String(part).includes('"windows":1') && resolve()),
  )
  assert.deepEqual(
    crosswind.clients().map(({ id, mode, channels: read }) => [id, mode, read]),
    [[nameOf(key, 'w'), 'sse/2', ['doc.1']]],
  )
  assert.deepEqual([crosswind.clientCount(), crosswind.clientCount('doc.1')], [1, 1])
  const showHere = (given: unknown) =>
    codeOf('ada', post(`/api/awareness?${query}`, JSON.stringify({ state: given })))
  assert.equal(await showHere('here'), 204)
  assert.equal(await showHere(5), '400 bad-shape')
})

test('a client can be answered with a document’s history', async (t) => {
  const { crosswind, codeOf } = await serve(t, () => undefined, { channels: { 'doc.*': { kind: 'yjs' } } })
  const body = { update: 'AAA=' }
  const draft = { id: 'ann-1', from: 'ann', channel: 'doc.1', at: 1, kind: 'update', body }
  assert.equal(await codeOf('ada', post('/api/messages', JSON.stringify(draft))), 200)
  const portion = await crosswind.readHistory('doc.1')
  assert.deepEqual(
    [portion?.base, portion?.updates.map(({ from, update }) => [from, update]), portion?.next],
    [null, [['ann', 'AAA=']], null],
  )
  assert.equal(await crosswind.readHistory('doc.1', { after: 'other:1' }), null)
})

test('it knows its limits and its load', async (t) => {
  const { crosswind } = await serve(t, () => undefined, { limits: { maxMessageBytes: 5000 } })
  assert.equal(crosswind.limits.maxMessageBytes, 5000)
  assert.deepEqual(
    crosswind.monitor().processes.map(({ name }) => name),
    ['server'],
  )
})

for (const [options, sentence] of [
  [{ holdMs: 30_000 }, 'createCrosswind: holdMs is 30000; it must be from 0 to 25000.'],
  [{ drainMs: -1 }, 'createCrosswind: drainMs is -1; it must be from 0 to 60000.'],
  [
    { reservedNames: ['a-b'] },
    'createCrosswind: reservedNames has "a-b"; each must be 1 to 48 letters, digits, "_" or ".".',
  ],
] as const)
  test(`refused: ${sentence}`, () =>
    assert.rejects(createCrosswind({ path: '/api', channels: {}, authorize: 'everyone', ...options }), {
      message: sentence,
    }))

test('a signal ends a start', async () => {
  const starting = createCrosswind({
    path: '/api',
    channels: {},
    authorize: 'everyone',
    storage: { kind: 'nats', servers: ['127.0.0.1:9'] },
    signal: AbortSignal.abort(new Refusal('draining', 'Stopped.')),
  })
  await assert.rejects(starting)
})
