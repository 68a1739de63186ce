// Every endpoint that a router declares and every mode, with every kind of permit, right and wrong.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Router from '@koa/router'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { type HttpVersion, httpVersions, type Mode, modes } from '../../protocol/modes.ts'
import { fingerprintFor } from '../../server/security/grants.ts'
import type { Permit } from '../../server/security/permits.ts'
import { type DatedPermit, Tickets } from '../../server/security/tickets.ts'
import { draftOf, nameOf, newKey } from '../clients/client.ts'
import { connectHttp, type HttpRequest, redeem, textOf } from '../clients/http-client.ts'
import { type Application, startApplication } from './application.ts'
import { openClient } from './contract-client.ts'

const key = newKey()
const window = nameOf(key, 'w1')

/** A client's proof of its rights. */
interface Proof {
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
}

/** A client's rights on the channel of the endpoints; without any, the code of its refusal. */
type Rights = { readonly reads: boolean; readonly writes: boolean; readonly all: boolean } | string

type Needs = 'nothing' | 'a permit' | 'to read' | 'to write' | 'to see all'

interface Endpoint extends Omit<HttpRequest, 'path'> {
  readonly needs: Needs
  /** Default: as declared. */
  readonly path?: string
}

type Endpoints = Readonly<Record<string, Endpoint>>

/** Records what routers declare from now on, as `GET /api/stream`. */
function recordRoutes() {
  const declared = new Set<string>()
  const { register } = Router.prototype
  Router.prototype.register = function (...given) {
    const [path, methods] = given
    for (const method of methods) declared.add(`${method.toUpperCase()} ${path}`)
    return Reflect.apply(register, this, given)
  }
  const stop = () => {
    Router.prototype.register = register
  }
  return { declared, stop }
}

let count = 0
let openings = 0

function nextOpening(): string {
  openings += 1
  return String(openings)
}

/** `401 no-session`; `allowed` if it is refused for another reason, or not at all. */
async function answersOf(
  version: HttpVersion,
  { origin, ca }: Pick<TestServer, 'origin' | 'ca'>,
  endpoints: Endpoints,
  { headers = {}, query = {} }: Proof,
) {
  const answers: Record<string, string> = {}
  const http = connectHttp(version, origin[version], ca)
  for (const [declared, { needs: _, path = declared.split(' ')[1] ?? '', ...request }] of Object.entries(
    endpoints,
  )) {
    const [method = 'GET'] = declared.split(' ')
    const all = new URLSearchParams({ window, channels: channel, opening: nextOpening(), key, ...query })
    const sign = path.includes('?') ? '&' : '?'
    const { status, body } = await http.ask({
      method,
      ...request,
      path: `${path}${sign}${all}`,
      headers: { accept: 'application/json', ...request.headers, ...headers },
    })
    // A stream that is open has no end.
    const { code } = status >= 400 ? JSON.parse((await textOf(body)) || '{}') : {}
    answers[declared] = [401, 403, 500].includes(status) ? `${status} ${code}` : 'allowed'
  }
  http.close()
  return answers
}

/** The answer that each endpoint must give. */
const expected = (endpoints: Endpoints, rights: Rights) =>
  Object.fromEntries(Object.entries(endpoints).map(([name, { needs }]) => [name, answerTo(needs, rights)]))

function answerTo(needs: Needs, rights: Rights): string {
  if (needs === 'nothing') return 'allowed'
  if (typeof rights === 'string') return rights
  if (needs === 'to read' && !rights.reads) return '403 not-invited-there'
  if (needs === 'to write' && !rights.writes)
    return rights.reads ? '403 read-only-invitation' : '403 not-invited-there'
  return needs === 'to see all' && !rights.all ? '403 not-invited-there' : 'allowed'
}

/** Whether a window opens in a mode, and stores a message. */
async function windowOf(
  mode: Mode,
  { origin, ca }: Pick<TestServer, 'origin' | 'ca'>,
  { headers = {}, query }: Proof,
  draft: (window: string) => unknown,
) {
  const name = nameOf(key, mode.name.replace('/', '-'))
  const asked = new URLSearchParams({
    window: name,
    key,
    channels: channel,
    opening: nextOpening(),
    ...query,
  })
  const { cookie } = headers
  const client = openClient({ mode, origin: origin[mode.http], ca, query: asked, ...(cookie && { cookie }) })
  try {
    const opened = await Promise.race([
      client.next('welcome').catch(() => null),
      client.ended.then(() => null),
    ])
    if (!opened) return { opens: false, frames: client.waiting().length }
    const answer = await client.send(draft(name))
    return { opens: true, stores: answer.type === 'stored' ? 'stored' : answer.code }
  } finally {
    client.close()
  }
}

const expectedWindow = (rights: Rights) => {
  if (typeof rights === 'string' || !rights.reads) return { opens: false, frames: 0 }
  return { opens: true, stores: rights.writes ? 'stored' : 'read-only-invitation' }
}

const channel = 'main'
const json = { 'content-type': 'application/json' }
const sent = (body: unknown) => ({ headers: json, body: JSON.stringify(body) })

/** Endpoints that both servers have. */
const transports = {
  'GET /api/channels/:name': { needs: 'to read', path: `/api/channels/${channel}` },
  'GET /api/stream': { needs: 'to read' },
  'GET /api/streaming': { needs: 'to read' },
  'GET /api/poll': { needs: 'to read', path: '/api/poll?first' },
  'GET /api/long-poll': { needs: 'to read', path: '/api/long-poll?first&hold=0' },
  'GET /api/socket': { needs: 'a permit' },
  'POST /api/streaming': {
    needs: 'a permit',
    headers: { 'content-type': 'application/x-ndjson' },
    body: '{}\n',
  },
  'POST /api/heartbeat': { needs: 'a permit', headers: json, body: '' },
  'POST /api/awareness': { needs: 'a permit', ...sent({ state: null }) },
  'POST /api/leave': { needs: 'a permit', headers: json, body: '' },
  'GET /api/clock': { needs: 'a permit' },
} as const satisfies Endpoints

describe('an application’s server', () => {
  const endpoints: Endpoints = {
    ...transports,
    'POST /api/messages': { needs: 'to write', ...sent(jsonDraft(window)) },
    'POST /api/session': { needs: 'nothing', ...sent({ token: 'everything' }) },
  }

  const everything = { read: ['*'], write: ['*'] }
  const here = { reads: true, writes: true, all: true }
  const nothing = { reads: false, writes: false, all: true }
  const hourMs = 3_600_000

  const soon = () => new Date(Date.now() + hourMs)
  const rooms = Array.from({ length: 299 }, (_nothing, number) => `room.${number}.of.a.building`)

  /**
   * The application's answers, by token or cookie, with the rights that result; by ticket where that
   * differs.
   */
  const answers: Readonly<
    Record<string, readonly [answer: () => unknown, rights: Rights, byTicket?: string]>
  > = {
    everything: [() => everything, here],
    'this channel': [() => ({ read: [channel], write: [channel] }), here],
    'by a prefix': [() => ({ read: ['ma*'], write: ['ma*'], user: 'ada' }), here],
    'to read': [() => ({ read: [channel], write: [] }), { ...here, writes: false }],
    'to read all, and write elsewhere': [() => ({ read: ['*'], write: ['ma'] }), { ...here, writes: false }],
    'another channel': [() => ({ read: ['mai'], write: ['mainly'] }), nothing],
    'another prefix': [() => ({ read: ['main.*'], write: ['main.*'] }), nothing],
    'no channel': [() => ({ read: [], write: [] }), nothing],
    no: [() => null, '401 no-session'],
    'no answer': [() => undefined, '401 no-session'],
    'a text for a list': [() => ({ read: '*', write: '*' }), '401 no-session'],
    'a Date': [() => ({ ...everything, expiresAt: soon() }), '401 no-session'],
    'an ISO text as the end': [() => ({ ...everything, expiresAt: soon().toISOString() }), '401 no-session'],
    NaN: [() => ({ ...everything, expiresAt: Number.NaN }), '401 no-session'],
    'an end that is past': [() => ({ ...everything, expiresAt: 1 }), '401 no-session'],
    'a number as the user': [() => ({ ...everything, user: 7 }), '401 no-session'],
    '300 names': [
      () => ({ read: [channel, ...rooms], write: [] }),
      { ...here, writes: false },
      '401 no-session',
    ],
    'an unknown field': [() => ({ ...everything, expires: 1 }), '401 no-session'],
    'an error': [() => assert.fail('The database is away.'), '500 internal'],
  }

  const secret = 'a secret that only this test knows'
  const failures: string[] = []
  let application: Application
  let routes: ReadonlySet<string>
  before(async () => {
    const recorded = recordRoutes()
    application = await startApplication({
      secret,
      authorize({ token, headers }) {
        const name = token ?? decodeURIComponent(headers.cookie?.replace('may=', '') ?? 'no')
        return (answers[name]?.[0]() ?? null) as Permit | null
      },
      onFailure: (error) => failures.push(String(error)),
    })
    recorded.stop()
    routes = recorded.declared
  })
  after(() => application.close())

  async function askForTicket(token: string) {
    const http = connectHttp('1.1', application.origin['1.1'], application.ca)
    const path = `/api/session?key=${key}`
    const { status, body } = await http.ask({ method: 'POST', path, ...sent({ token }) })
    const { ticket, code, message } = JSON.parse(await textOf(body))
    http.close()
    return { ticket: ticket ?? `${status} ${code}`, message }
  }

  const ticketFor = async (token: string): Promise<string> => (await askForTicket(token)).ticket

  /** Changes a ticket's content, and signs it. */
  async function forged(
    change: Partial<DatedPermit>,
    by = secret,
    fingerprint: string | null = fingerprintFor(new URLSearchParams({ key })),
  ) {
    const [text = ''] = (await ticketFor('by a prefix')).split('.')
    const claims: DatedPermit = JSON.parse(Buffer.from(text, 'base64url').toString())
    return { query: { ticket: new Tickets(by, Date.now).issue({ ...claims, ...change }, fingerprint) } }
  }

  /** Proofs that are none. */
  const wrong: Readonly<Record<string, readonly [proof: () => Promise<Proof>, rights: Rights]>> = {
    'an empty ticket': [async () => ({ query: { ticket: '' } }), '401 no-session'],
    'no ticket, but a text': [async () => ({ query: { ticket: 'a.b' } }), '401 no-session'],
    'a ticket signed with another secret': [
      () => forged({}, 'another secret of the right length'),
      '401 no-session',
    ],
    'a ticket for another key': [
      () => forged({}, secret, fingerprintFor(new URLSearchParams({ key: newKey() }))),
      '401 no-session',
    ],
    'a ticket for no key': [() => forged({}, secret, null), '401 no-session'],
    'a ticket with another content': [
      async () => {
        const [one = '', other = ''] = await Promise.all([ticketFor('everything'), ticketFor('to read')])
        return { query: { ticket: `${one.split('.')[0]}.${other.split('.')[1]}` } }
      },
      '401 no-session',
    ],
    'a ticket that has ended': [() => forged({ expiresAt: 1 }), '401 session-expired'],
    'a ticket from the future': [
      () => forged({ issuedAt: Date.now() + hourMs, expiresAt: Date.now() + 2 * hourMs }),
      '401 session-expired',
    ],
    'a ticket of another log': [() => forged({ position: 'elsewhere:0' }), '401 session-expired'],
    'a ticket of a position that is none': [() => forged({ position: '' }), '401 session-expired'],
    'a ticket of a revoked user': [
      async () => {
        const ticket = await ticketFor('by a prefix')
        await application.revoke('ada')
        return { query: { ticket } }
      },
      '401 session-expired',
    ],
  }

  /** How a client proves itself to get each answer. */
  const ways: Readonly<Record<string, (name: string) => Promise<Proof>>> = {
    'a ticket': async (name) => ({ query: { ticket: await ticketFor(name) } }),
    'a bearer token': async (name) => ({ headers: { authorization: `Bearer ${name}` } }),
    'a cookie': async (name) => ({ headers: { cookie: `may=${encodeURIComponent(name)}` } }),
  }

  test('every endpoint of the router is in the matrix', () => {
    assert.deepEqual([...routes].toSorted(), Object.keys(endpoints).toSorted())
  })

  test('a client whose permit cannot be used reads where to look, and the operator what to change', async () => {
    for (const [name, sentence] of [
      ['an ISO text as the end', /expiresAt is '\d{4}-.*'; it must be in ms since the epoch/],
      ['NaN', /expiresAt is NaN; it must be in ms since the epoch/],
      ['300 names', /allows 300 channels to be read .* Name them by a prefix and \*/],
    ] as const) {
      failures.length = 0
      const { message } = await askForTicket(name)
      assert.match(message, /^The application gave an unusable answer \(authorize\)/)
      assert.equal(failures.length, 1)
      assert.match(failures[0] ?? '', sentence)
    }
  })

  for (const version of httpVersions) {
    for (const [way, prove] of Object.entries(ways))
      for (const [name, [, rights, byTicket = rights]] of Object.entries(answers)) {
        // A bearer token has no spaces.
        if (way === 'a bearer token' && name.includes(' ')) continue
        test(`HTTP/${version}, ${way}: ${name}`, async () => {
          if (way === 'a ticket' && typeof byTicket === 'string')
            return assert.equal(await ticketFor(name), byTicket)
          const given = await answersOf(version, application, endpoints, await prove(name))
          assert.deepEqual(given, expected(endpoints, rights))
        })
      }
    for (const [name, [prove, rights]] of Object.entries(wrong))
      test(`HTTP/${version}: ${name}`, async () => {
        const given = await answersOf(version, application, endpoints, await prove())
        assert.deepEqual(given, expected(endpoints, rights))
      })
  }

  for (const mode of modes) {
    for (const way of ['a ticket', 'a cookie'])
      for (const [name, [, rights, byTicket = rights]] of Object.entries(answers))
        test(`${mode.name}, ${way}: ${name}`, async () => {
          const proof = await ways[way]?.(name)
          const given = await windowOf(mode, application, proof ?? {}, jsonDraft)
          const allowed = way === 'a ticket' ? byTicket : rights
          assert.deepEqual(given, expectedWindow(allowed))
        })
    for (const [name, [prove, rights]] of Object.entries(wrong))
      test(`${mode.name}: ${name}`, async () => {
        assert.deepEqual(await windowOf(mode, application, await prove(), jsonDraft), expectedWindow(rights))
      })
  }
})

function jsonDraft(from: string) {
  count += 1
  return { id: `${from}-${count}`, channel, kind: 'json', from, at: 1, body: { data: 'x' } }
}

describe('the page’s server, by invitation', () => {
  const writing = (id: number) => `?id=${window}-${id}&from=${window}`
  const text = { headers: { 'content-type': 'text/plain' }, body: 'text' }
  const endpoints: Endpoints = {
    ...transports,
    'POST /api/messages': { needs: 'to write', ...sent(draftOf(window, 1, 'x')) },
    'GET /healthz': { needs: 'nothing' },
    'GET /readyz': { needs: 'nothing' },
    'GET /offline': { needs: 'nothing' },
    'GET /': { needs: 'a permit' },
    'GET /index.html': { needs: 'a permit' },
    'GET /d/:channel': { needs: 'to read', path: `/d/${channel}` },
    'GET /d/:channel/export.html': { needs: 'to read', path: `/d/${channel}/export.html` },
    'GET /d/:channel/export.md': { needs: 'to read', path: `/d/${channel}/export.md` },
    'GET /api/settings': { needs: 'a permit' },
    'GET /api/figures': { needs: 'a permit' },
    'GET /api/windows': { needs: 'a permit' },
    'GET /api/session': { needs: 'a permit' },
    'GET /api/wind/history': { needs: 'a permit' },
    'GET /api/wind/week': { needs: 'a permit' },
    'GET /api/documents': { needs: 'a permit' },
    'GET /api/documents/:channel': { needs: 'to read', path: `/api/documents/${channel}` },
    'PUT /api/documents/:channel': {
      needs: 'to write',
      path: `/api/documents/${channel}${writing(2)}`,
      ...text,
    },
    'POST /api/documents/:channel': {
      needs: 'to write',
      path: `/api/documents/${channel}${writing(3)}`,
      ...text,
    },
    'DELETE /api/documents/:channel': { needs: 'to write', path: `/api/documents/${channel}${writing(4)}` },
    'GET /api/history': { needs: 'to read', path: `/api/history?channel=${channel}` },
    'POST /api/invitations': { needs: 'to write', ...sent({ channel, may: 'read', hours: 1 }) },
    'GET /api/monitor': { needs: 'to see all' },
    'GET /metrics': { needs: 'to see all' },
    'GET /lab': { needs: 'to see all' },
    'GET /lab/:run/:file': { needs: 'to see all', path: '/lab/run/report.html' },
    'GET /lab/:run/figures/:file': { needs: 'to see all', path: '/lab/run/figures/a.svg' },
  }

  /** They judge an invitation, or the cookie alone: see `middleware.test.ts`. */
  const withOwnRules = ['GET /join', 'POST /join', 'POST /api/session']

  const invitations: Readonly<Record<string, readonly [Parameters<TestServer['invite']>[0], Rights]>> = {
    'to write everywhere': [
      { channels: 'all', may: 'write' },
      { reads: true, writes: true, all: true },
    ],
    'to read everywhere': [
      { channels: 'all', may: 'read' },
      { reads: true, writes: false, all: true },
    ],
    'to write here': [
      { channels: [channel], may: 'write' },
      { reads: true, writes: true, all: false },
    ],
    'to read here': [
      { channels: [channel, 'other'], may: 'read' },
      { reads: true, writes: false, all: false },
    ],
    'to write elsewhere': [
      { channels: ['other'], may: 'write' },
      { reads: false, writes: false, all: false },
    ],
    'to read elsewhere': [
      { channels: ['mainly'], may: 'read' },
      { reads: false, writes: false, all: false },
    ],
  }

  let server: TestServer
  let other: TestServer
  let routes: ReadonlySet<string>
  before(async () => {
    const recorded = recordRoutes()
    server = await startTestServer({ access: 'invited' })
    recorded.stop()
    routes = recorded.declared
    other = await startTestServer({ access: 'invited' })
  })
  after(() => Promise.all([server.close(), other.close()]))

  const bearer = (link: string) => `Bearer ${new URL(link).searchParams.get('invitation')}`
  const cookieOf = async (from: TestServer, permission: Parameters<TestServer['invite']>[0]) =>
    redeem(from.origin['2'], from.ca, await from.invite(permission))
  const write = { channels: 'all', may: 'write' } as const

  const ways: Readonly<Record<string, (permission: Parameters<TestServer['invite']>[0]) => Promise<Proof>>> =
    {
      'a session': async (permission) => ({ headers: { cookie: await cookieOf(server, permission) } }),
      'an invitation': async (permission) => ({
        headers: { authorization: bearer(await server.invite(permission)) },
      }),
    }

  const wrong: Readonly<Record<string, readonly [proof: () => Promise<Proof>, rights: Rights]>> = {
    nothing: [async () => ({}), '401 no-session'],
    'an empty session': [async () => ({ headers: { cookie: '__Host-crosswind=' } }), '401 no-session'],
    'a session of another server': [
      async () => ({ headers: { cookie: await cookieOf(other, write) } }),
      '401 no-session',
    ],
    'an invitation as a session': [
      async () => ({
        headers: { cookie: `__Host-crosswind=${bearer(await server.invite(write)).slice(7)}` },
      }),
      '401 no-session',
    ],
    'an invitation to another server': [
      async () => ({ headers: { authorization: bearer(await other.invite(write)) } }),
      '401 invitation-invalid',
    ],
    'an invitation that has ended': [
      async () => ({ headers: { authorization: bearer(await server.invite(write, -1000)) } }),
      '401 invitation-expired',
    ],
    'a session as an invitation': [
      async () => ({
        headers: { authorization: `Bearer ${(await cookieOf(server, write)).split('=')[1]}` },
      }),
      '401 invitation-invalid',
    ],
  }

  test('every endpoint of the router is in the matrix', () => {
    assert.deepEqual([...routes].toSorted(), [...Object.keys(endpoints), ...withOwnRules].toSorted())
  })

  const draft = (from: string) => {
    count += 1
    return draftOf(from, count, 'x')
  }

  for (const mode of modes) {
    for (const [name, [permission, rights]] of Object.entries(invitations))
      test(`${mode.name}: ${name}`, async () => {
        const proof = await ways['a session']?.(permission)
        const given = await windowOf(mode, server, proof ?? {}, draft)
        assert.deepEqual(given, expectedWindow(rights))
      })
    for (const name of ['nothing', 'an empty session', 'a session of another server'])
      test(`${mode.name}: ${name}`, async () => {
        const [prove, rights = ''] = wrong[name] ?? []
        assert.deepEqual(await windowOf(mode, server, (await prove?.()) ?? {}, draft), expectedWindow(rights))
      })
  }

  // Last: one endpoint deletes the document.
  for (const version of httpVersions) {
    for (const [way, prove] of Object.entries(ways))
      for (const [name, [permission, rights]] of Object.entries(invitations))
        test(`HTTP/${version}, ${way}: ${name}`, async () => {
          const given = await answersOf(version, server, endpoints, await prove(permission))
          assert.deepEqual(given, expected(endpoints, rights))
        })
    for (const [name, [prove, rights]] of Object.entries(wrong))
      test(`HTTP/${version}: ${name}`, async () => {
        assert.deepEqual(
          await answersOf(version, server, endpoints, await prove()),
          expected(endpoints, rights),
        )
      })
  }
})
