// The server for an application's tests: it runs the application as production does, with a clock that is put forward.

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import express from 'express'
import { connect, programsOver, type RefusedError } from '../../client/node.ts'
import type { Clock } from '../../protocol/time.ts'
import type { Authorize, Crosswind } from '../../server/index.ts'
import { createTestCrosswind } from '../../server/test-server.ts'

const hourMs = 3_600_000

interface Session {
  readonly user: string
  readonly until: number
}

const signatureOf = (text: string) => createHmac('sha256', 'a secret').update(text).digest('base64url')

function cookieOf(session: Session): string {
  const text = Buffer.from(JSON.stringify(session)).toString('base64url')
  return `${text}.${signatureOf(text)}`
}

function sessionIn({ headers: { cookie = '' } }: IncomingMessage, now: number): Session | null {
  const [, text = '', signature] = /session=([^.;]*)\.([^;]*)/.exec(cookie) ?? []
  if (signature !== signatureOf(text)) return null
  const session: Session = JSON.parse(Buffer.from(text, 'base64url').toString())
  return session.until > now ? session : null
}

const sessions = new WeakMap<object, Session>()

const authorize: Authorize = ({ request }) => {
  const session = sessions.get(request)
  return session && { user: session.user, read: ['room.*'], write: ['room.*'], expiresAt: session.until }
}

const channels = { 'room.*': { kind: 'json' } } as const

/** A chat for people who have signed in, for an hour: in production `createChat(crosswind, Date.now).listen(8080)`. */
function createChat(crosswind: Crosswind, now: Clock) {
  const app = express()
  app.use((request, _response, next) => {
    const session = sessionIn(request, now())
    if (session) sessions.set(request, session)
    next()
  })
  app.use(crosswind.express())
  app.post('/login', express.json(), ({ body }, response) => {
    const cookie = cookieOf({ user: body.user, until: now() + hourMs })
    response.cookie('session', cookie, { httpOnly: true }).end()
  })
  app.post('/news', express.text(), async (request, response) => {
    if (sessions.has(request)) response.json(await crosswind.publish('room.1', request.body))
    else response.sendStatus(401)
  })
  const server = createServer(app)
  crosswind.attach(server, { requests: false })
  return server
}

/** A browser: keeps the cookie of its login. */
async function signIn(address: string, user: string) {
  const { headers } = await fetch(new URL('/login', address), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ user }),
  })
  const [cookie = ''] = headers.getSetCookie()
  return (to: string | URL, request: RequestInit = {}) => {
    const fields = new Headers(request.headers)
    fields.set('Cookie', cookie.split(';')[0] ?? '')
    return fetch(to, { ...request, headers: fields })
  }
}

/** Resolves to the first messages, as their sender and what they say. */
function firstOf(client: ReturnType<typeof connect>, count: number): Promise<readonly string[]> {
  const heard: string[] = []
  return new Promise((resolve) => {
    client.channel<string>('room.1', { from: 'start' }).on('message', ({ user, data }) => {
      heard.push(`${user}: ${data}`)
      if (heard.length === count) resolve(heard)
    })
  })
}

test('a chat with sessions in cookies: two people talk, and the session of one ends', async () => {
  await using server = await createTestCrosswind({ channels, authorize, application: createChat })
  const { url, use, advance } = server
  const stranger = use(connect(url)).channel('room.1')
  stranger.on('error', () => undefined)
  await assert.rejects(stranger.publish('hello'), { code: 'no-session' })

  const annsFetch = await signIn(url, 'ann')
  const ann = use(connect(url, { platform: programsOver(annsFetch) }))
  advance(hourMs / 2)
  const bensFetch = await signIn(url, 'ben')
  const ben = use(connect(url, { platform: programsOver(bensFetch) }))
  const heard = firstOf(ben, 3)
  await ann.channel('room.1').publish('good morning')
  const isOver = new Promise<RefusedError>((resolve) => ann.on('error', resolve))
  const news = { method: 'POST', body: 'tea' }
  await annsFetch(new URL('/news', url), news)
  advance(hourMs / 2)
  assert.equal((await isOver).code, 'no-session')
  await assert.rejects(ann.channel('room.1').publish('good night'), { code: 'no-session' })
  assert.equal((await annsFetch(new URL('/news', url), news)).status, 401)
  await ben.channel('room.1').publish('where is Ann?')
  assert.deepEqual(await heard, ['ann: good morning', 'undefined: tea', 'ben: where is Ann?'])
})

test('a ticket ends when the clock is put past its end, and messages grow old', async () => {
  let asked = 0
  await using server = await createTestCrosswind({
    channels: { 'room.*': { kind: 'json', keep: { hours: 1 } } },
    authorize() {
      asked += 1
      return { read: ['*'], write: ['*'], user: 'ann', expiresAt: server.now() + 3 * hourMs }
    },
  })
  const client = server.use(connect(server.url, { token: () => 'a token' }))
  await client.channel('room.1').publish('old')
  assert.equal(asked, 1)
  server.advance(2 * hourMs)
  // The stream is opened again with the same ticket.
  await client.channel('room.1').publish('new')
  const stored = await Array.fromAsync(server.crosswind.read('room.1'), ({ data }) => data)
  assert.deepEqual([stored, asked], [['new'], 1])
  server.advance(2 * hourMs)
  await client.channel('room.1').publish('newer')
  assert.equal(asked, 2)
})

test('`await using` ends the server and what it was given, the last first', async () => {
  const ended: string[] = []
  const part = (name: string) => ({ close: () => ended.push(name) })
  let url = ''
  {
    await using server = await createTestCrosswind({ channels, path: '/live' })
    url = server.url
    assert.equal((await fetch(`${url}/clock`)).status, 200)
    server.use(part('database'))
    server.use(part('client'))
  }
  assert.match(url, /\/live$/)
  assert.deepEqual(ended, ['client', 'database'])
  await assert.rejects(fetch(`${url}/clock`))
})

test('an application that does not return a server is refused, and nothing stays open', async () => {
  await assert.rejects(createTestCrosswind({ channels, application: (() => ({})) as never }), {
    message:
      'createTestCrosswind: application returned {}; it must return a server of node:http that does not listen yet, such as createServer(app).',
  })
})
