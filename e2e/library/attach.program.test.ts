// A server of an application with routes and WebSockets of its own, and Crosswind below a path, in every mode.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { type RequestListener } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { connect, type Server } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'
import express, { type ErrorRequestHandler } from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import { WebSocketServer } from 'ws'
import { ensureCertificate } from '../../certs/certificate.ts'
import { type HttpVersion, modes } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { type CrosswindOptions, createCrosswind, serverOptions } from '../../server/index.ts'
import { output } from '../../server/output.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { openJson } from '../conformance/contract-client.ts'

const directory = temporaryFolder()
let tls: { readonly cert: string; readonly key: string }
before(async () => {
  tls = await ensureCertificate({ directory, now: new Date() })
})

const sentence = (url: string | undefined) => `the application’s ${url}`
const answer = ((request, response) => response.end(sentence(request.url))) as RequestListener

const message = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ id: 'w-1', channel: 'room.1', kind: 'json', from: 'w', at: 1, body: { data: 1 } }),
}

type Crosswind = Awaited<ReturnType<typeof createCrosswind>>

/** A server that has Crosswind among its own middleware or, if `isWhole`, whose requests pass Crosswind first. */
interface Kind {
  readonly open: (crosswind: Crosswind) => Server | Promise<Server>
  readonly isWhole?: boolean
  readonly scheme?: string
  readonly http?: readonly HttpVersion[]
}

const overHttp2 = { scheme: 'https', http: ['2', '1.1'] } as const
const http2Options = () => ({ ...serverOptions(), ...tls })

async function openFastify(crosswind: Crosswind, options: object = {}): Promise<Server> {
  const app = fastify(options)
  app.register(crosswind.fastify)
  for (const path of ['*', '/realtime/own']) app.all(path, async (request) => sentence(request.url))
  await app.ready()
  return app.server
}

const servers: Readonly<Record<string, Kind>> = {
  http: { open: () => http.createServer(answer), isWhole: true },
  https: { open: () => https.createServer(tls, answer), isWhole: true, scheme: 'https' },
  http2: {
    open: () => http2.createSecureServer(http2Options(), answer as never),
    isWhole: true,
    ...overHttp2,
  },
  handler: {
    open: ({ handler }) =>
      http.createServer((request, response) => handler(request, response, () => answer(request, response))),
  },
  'Koa over HTTP/2': {
    open(crosswind) {
      const app = new Koa().use(crosswind.koa()).use((ctx) => {
        ctx.body = sentence(ctx.url)
      })
      return http2.createSecureServer(http2Options(), app.callback() as never)
    },
    ...overHttp2,
  },
  Express: { open: (crosswind) => http.createServer(express().use(crosswind.express()).use(answer)) },
  'Express, below a path': {
    open: (crosswind) => http.createServer(express().use('/realtime', crosswind.express()).use(answer)),
  },
  'Fastify over HTTP/2': {
    open: (crosswind) => openFastify(crosswind, { http2: true, https: http2Options() }),
    ...overHttp2,
  },
  Fastify: { open: (crosswind) => openFastify(crosswind) },
}

for (const [
  name,
  { open, isWhole = false, scheme = 'http', http: versions = ['1.1'] as readonly HttpVersion[] },
] of Object.entries(servers))
  for (const hasSockets of [true, false])
    describe(`on a server made by ${name}, ${hasSockets ? 'with' : 'without'} WebSockets of its own`, () => {
      let origin: string
      let close: () => Promise<void>
      before(async () => {
        const crosswind = await createCrosswind({
          path: '/realtime',
          channels: { 'room.*': { kind: 'json' } },
          authorize: 'everyone',
        })
        const server = await open(crosswind)
        const foreign = new WebSocketServer({ noServer: true })
        if (hasSockets)
          server.on('upgrade', (request, socket, head) =>
            foreign.handleUpgrade(request, socket, head, (opened) => opened.send(`at ${request.url}`)),
          )
        crosswind.attach(server, { requests: isWhole })
        origin = `${scheme}://localhost:${await openPort(server)}`
        close = async () => {
          await crosswind.close({ drainMs: 0 })
          server.close()
        }
      })
      after(() => close())

      for (const mode of modes.filter((mode) => versions.includes(mode.http)))
        test(`${mode.name}: a message of one window reaches another`, async (t) => {
          const open = () => openJson(t, origin, mode, `room.${mode.name.replace('/', '-')}`)
          const ann = open()
          const bob = open()
          await Promise.all([ann.next('welcome'), bob.next('welcome')])
          const draft = ann.draft(1, { hi: 1 })
          const { type, seq } = (await ann.send(draft)) as { type: string; seq: number }
          const { message } = await bob.next('message')
          assert.deepEqual([type, message], ['stored', { ...draft, seq, acceptedAt: message.acceptedAt }])
        })

      for (const version of versions)
        test(`the application keeps its own paths over HTTP/${version}`, async (t) => {
          const client = connectHttp(version, origin, null)
          t.after(() => client.close())
          for (const path of ['/', '/realtime', '/realtimes/clock', '/api/clock', '/realtime/own?x=1']) {
            const { status, body } = await client.ask({ path })
            assert.deepEqual([status, await textOf(body)], [200, `the application’s ${path}`])
          }
          assert.equal((await client.ask({ method: 'POST', path: '/realtime/session' })).status, 200)
          const wrong = await client.ask({ method: 'DELETE', path: '/realtime/messages' })
          assert.deepEqual([wrong.status, JSON.parse(await textOf(wrong.body)).code], [405, 'wrong-method'])
        })

      test('its own pages may write, those of others may not', async (t) => {
        const client = connectHttp('1.1', origin, null)
        t.after(() => client.close())
        for (const [from, expected] of [
          [origin, 200],
          ['https://evil.example', 403],
          [origin.replace('localhost', 'evil'), 403],
        ] as const) {
          const headers = { ...message.headers, origin: from }
          const { status, body: answer } = await client.ask({
            ...message,
            path: '/realtime/messages',
            headers,
          })
          assert.equal(status, expected, `${from}: ${await textOf(answer)}`)
        }
      })

      test('the application keeps its own WebSockets', async (t) => {
        const client = connectHttp('1.1', origin, null)
        t.after(() => client.close())
        const socket = client.openSocket('/own')
        if (hasSockets) assert.equal(String((await once(socket, 'message'))[0]), 'at /own')
        else assert.match(String((await once(socket, 'error'))[0]), /Unexpected server response: (200|404)/)
      })
    })

interface WithSession {
  session?: { readonly user: string }
}

/** Each names the user of its session on Node's request. */
const sessions: Readonly<
  Record<string, (crosswind: Crosswind) => RequestListener | Promise<RequestListener>>
> = {
  Koa: (crosswind) =>
    new Koa()
      .use((ctx, next) => {
        Object.assign(ctx.req, { session: { user: 'ada' } } satisfies WithSession)
        return next()
      })
      .use(crosswind.koa())
      .callback(),
  Express: (crosswind) =>
    express()
      .use((request, _response, next) => {
        Object.assign(request, { session: { user: 'ada' } } satisfies WithSession)
        next()
      })
      .use(crosswind.express()),
  Fastify: async (crosswind) => {
    const app = fastify()
    app.addHook('onRequest', async ({ raw }) => {
      Object.assign(raw, { session: { user: 'ada' } } satisfies WithSession)
    })
    app.register(crosswind.fastify)
    await app.ready()
    return app.routing
  },
}

/** Middleware of an application, before Crosswind: a session's cookie, a log, and a page for what is not there. */
const chains: Readonly<
  Record<
    'Koa' | 'Express' | 'Fastify',
    (crosswind: Crosswind, seen: unknown[]) => RequestListener | Promise<RequestListener>
  >
> = {
  Koa: (crosswind, seen) =>
    new Koa()
      .use(async (ctx, next) => {
        ctx.cookies.set('session', 'ada')
        await next()
        seen.push([ctx.originalUrl, ctx.status])
        if (ctx.status !== 404) return
        ctx.body = 'There is no such page.'
        ctx.status = 404
      })
      .use(crosswind.koa())
      .callback(),
  Express: (crosswind, seen) =>
    express()
      .use((request, response, next) => {
        response.cookie('session', 'ada')
        response.on('finish', () => seen.push([request.originalUrl, response.statusCode]))
        next()
      })
      .use(crosswind.express())
      .use((_request, response) => response.status(404).send('There is no such page.')),
  Fastify: async (crosswind, seen) => {
    const app = fastify()
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('set-cookie', 'session=ada; path=/')
    })
    app.addHook('onResponse', async (request, reply) => {
      seen.push([request.originalUrl, reply.statusCode])
    })
    app.register(crosswind.fastify)
    app.setNotFoundHandler((_request, reply) => reply.code(404).send('There is no such page.'))
    await app.ready()
    return app.routing
  },
}

async function serve(
  t: TestContext,
  listenerFor: (crosswind: Crosswind) => RequestListener | Promise<RequestListener>,
  version: HttpVersion = '1.1',
  authorize: CrosswindOptions['authorize'] = 'everyone',
) {
  const crosswind = await createCrosswind({
    path: '/realtime',
    channels: { 'room.*': { kind: 'json' } },
    authorize,
  })
  const listener = await listenerFor(crosswind)
  const server =
    version === '2'
      ? http2.createSecureServer(http2Options(), listener as never)
      : http.createServer(listener)
  crosswind.attach(server, { requests: false })
  const origin = `${version === '2' ? 'https' : 'http'}://localhost:${await openPort(server)}`
  const client = connectHttp(version, origin, null)
  t.after(async () => {
    client.close()
    await crosswind.close({ drainMs: 0 })
    server.close()
  })
  return client
}

for (const [name, version] of [
  ['Koa', '1.1'],
  ['Koa', '2'],
  ['Express', '1.1'],
  ['Fastify', '1.1'],
] as const)
  test(`${name} over HTTP/${version}: middleware before it adds its headers, sees the status, and changes no answer`, async (t) => {
    const seen: unknown[] = []
    const client = await serve(t, (crosswind) => chains[name](crosswind, seen), version)
    const expected = [
      ['/realtime/messages', 200],
      ['/realtime/clock', 200],
      ['/realtime/leave', 405],
      ['/own', 404],
    ] as const
    const answers: string[] = []
    for (const [path, status] of expected) {
      const answer = await client.ask({ path, ...(path === '/realtime/messages' && message) })
      answers.push(await textOf(answer.body))
      assert.deepEqual([path, answer.status], [path, status])
      assert.match(String(answer.headers['set-cookie']), /^session=ada; path=\//i)
    }
    assert.match(answers[0] ?? '', /^\{"type":"stored"/)
    assert.match(answers[1] ?? '', /^\{"at":\d/)
    assert.match(answers[2] ?? '', /"code":"wrong-method"/)
    assert.equal(answers[3], 'There is no such page.')
    assert.deepEqual(seen, expected)
  })

for (const [name, listenerFor] of Object.entries(sessions))
  test(`${name}: authorize gets the request, with the session that middleware has added`, async (t) => {
    const asked: unknown[] = []
    const client = await serve(t, listenerFor, '1.1', ({ request, token }) => {
      const user = (request as WithSession).session?.user
      asked.push([request.headers.cookie, user, token])
      return user === undefined ? null : { user, read: ['room.*'], write: ['room.*'] }
    })
    const headers = { ...message.headers, cookie: 'sid=7' }
    for (const [path, body] of [
      ['/realtime/messages', message.body],
      ['/realtime/session', JSON.stringify({ token: 'key' })],
    ] as const)
      assert.equal((await client.ask({ method: 'POST', path, headers, body })).status, 200)
    assert.deepEqual(asked, [
      ['sid=7', 'ada', null],
      ['sid=7', 'ada', 'key'],
    ])
  })

for (const version of ['1.1', '2'] as const)
  test(`Koa over HTTP/${version}: middleware before it comes to its end when the client left while it waited`, async (t) => {
    const left = new AbortController()
    const failures: unknown[] = []
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const app = new Koa()
      .on('error', (error) => failures.push(error))
      .use(async (ctx, next) => {
        const closed = once(ctx.res, 'close')
        left.abort()
        await closed
        await next()
        resolve()
      })
    const client = await serve(t, (crosswind) => app.use(crosswind.koa()).callback(), version)
    await assert.rejects(client.ask({ path: '/realtime/clock', signal: left.signal }))
    await ended
    assert.deepEqual(failures, [])
  })

const parsers: Readonly<Record<string, (crosswind: Crosswind, failures: unknown[]) => RequestListener>> = {
  Koa: (crosswind, failures) =>
    new Koa()
      .on('error', (error) => failures.push(error))
      .use(async (ctx, next) => {
        if (ctx.method === 'POST') await textOf(ctx.req)
        await next()
      })
      .use(crosswind.koa())
      .callback(),
  Express: (crosswind, failures) =>
    express()
      .use(express.json(), crosswind.express())
      .use(((error, _request, response, _next) => {
        failures.push(error)
        response.status(500).end()
      }) as ErrorRequestHandler),
}

for (const [name, listenerFor] of Object.entries(parsers))
  test(`${name}: after a body parser it says where to mount it`, async (t) => {
    const failures: unknown[] = []
    const client = await serve(t, (crosswind) => listenerFor(crosswind, failures))
    const { status } = await client.ask({
      method: 'POST',
      path: '/realtime/messages',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(status, 500)
    assert.match(
      String(failures[0]),
      /^Error: The body of a POST request below \/realtime was read before .* mount Crosswind before the body parser\.$/,
    )
    assert.equal((await client.ask({ path: '/realtime/clock' })).status, 200)
  })

test('a handler with nothing after it: the rest is 404', async (t) => {
  const client = await serve(
    t,
    ({ handler }) =>
      (request, response) =>
        handler(request, response),
  )
  for (const [path, expected] of [
    ['/realtime/clock', 200],
    ['/', 404],
  ] as const)
    assert.equal((await client.ask({ path })).status, expected)
})

test('a client that ends within a request is no failure of the server', async (t) => {
  const incidents = () => output.incidents()['request-failed'] ?? 0
  const before = incidents()
  const crosswind = await createCrosswind({
    path: '/realtime',
    channels: { 'room.*': { kind: 'json' } },
    authorize: 'everyone',
  })
  t.after(() => crosswind.close({ drainMs: 0 }))
  const server = http.createServer()
  crosswind.attach(server)
  const port = await openPort(server)
  t.after(() => server.close())
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `POST /realtime/session?key=abcdefgh12345678 HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 100\r\n\r\n{`,
  )
  await once(server, 'request')
  socket.end()
  await once(socket.resume(), 'close')
  assert.equal(incidents() - before, 0)
})
