// Nothing is open on an application's server that `authorize` did not allow.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { httpVersions, modes } from '../../protocol/modes.ts'
import { fingerprintFor } from '../../server/security/grants.ts'
import { Tickets } from '../../server/security/tickets.ts'
import { nameOf, newKey } from '../clients/client.ts'
import { connectHttp, type HttpRequest, textOf } from '../clients/http-client.ts'
import { type Application, startApplication } from './application.ts'
import { openClient } from './contract-client.ts'

const secret = 'a secret that only this test knows'
const key = newKey()
const window = nameOf(key, 'w1')
const permit = { read: ['room.*'], write: ['room.1'], expiresAt: Date.now() + 3_600_000 }

const ticketFor = (change: Partial<typeof permit> = {}, by = secret, whose: string | null = key) => {
  const fingerprint = whose === null ? null : fingerprintFor(new URLSearchParams({ key: whose }))
  const dated = {
    ...permit,
    maxMessageBytes: null,
    user: null,
    account: null,
    issuedAt: 0,
    position,
    ...change,
  }
  return new Tickets(by, () => 0).issue(dated, fingerprint)
}

let application: Application
/** In the server's log. */
let position: string
before(async () => {
  application = await startApplication({
    secret,
    authorize: ({ token }) => (token === 'of ada' ? permit : null),
  })
  const http = connectHttp('1.1', application.origin['1.1'], application.ca)
  const { body } = await http.ask({ path: '/api/session', ...postJson({ token: 'of ada' }) })
  const [claims = ''] = JSON.parse(await textOf(body)).ticket.split('.')
  position = JSON.parse(Buffer.from(claims, 'base64url').toString()).position
  http.close()
})
after(() => application.close())

const draft = (channel: string, from = window, count = 1) => ({
  id: `${from}-${count}`,
  channel,
  kind: 'json',
  from,
  at: 1,
  body: { data: 'x' },
})

const post = (type: string, body: string) => ({ method: 'POST', headers: { 'content-type': type }, body })
const postJson = (body: unknown) => post('application/json', JSON.stringify(body))
const stream = (channel: string) => ({ channels: channel, opening: '1' })

type Endpoint = Omit<HttpRequest, 'path'> & { readonly query?: Readonly<Record<string, string>> }

const reading = (channel: string): Readonly<Record<string, Endpoint>> => ({
  [`channels/${channel}?after=start`]: {},
  stream: { query: stream(channel) },
  streaming: { query: stream(channel) },
  poll: { query: { ...stream(channel), first: '' } },
  'long-poll': { query: { ...stream(channel), first: '', hold: '0' } },
})

/** All, by path; those of one path and another method with a fragment. */
const endpoints: Readonly<Record<string, Endpoint>> = {
  ...reading('room.1'),
  clock: {},
  socket: { query: stream('room.1') },
  messages: postJson(draft('room.1')),
  'streaming#post': post('application/x-ndjson', `${JSON.stringify({ type: 'publish' })}\n`),
  awareness: postJson({ channel: 'room.1', state: 'here' }),
  heartbeat: post('application/json', ''),
  leave: post('application/json', ''),
}

async function refusalsOf(
  version: (typeof httpVersions)[number],
  asked: Readonly<Record<string, Endpoint>>,
  proof: Readonly<Record<string, string>>,
) {
  const http = connectHttp(version, application.origin[version], application.ca)
  const answers: Record<string, string> = {}
  for (const [name, { query, ...request }] of Object.entries(asked)) {
    const [path = '', own] = (name.split('#', 1)[0] ?? '').split('?')
    const all = new URLSearchParams({ window, ...query, ...proof })
    const { status, body } = await http.ask({
      ...request,
      path: `/api/${path}?${all}${own ? `&${own}` : ''}`,
    })
    // A stream that is open has no end.
    const text = status >= 400 ? await textOf(body) : '{}'
    const { code = '', message = '' } = JSON.parse(text)
    assert.doesNotMatch(message, /invit|open your link/, 'an application has no invitations')
    answers[name] = `${status} ${code}`.trim()
  }
  http.close()
  return answers
}

const each = (asked: object, answer: string) =>
  Object.fromEntries(Object.keys(asked).map((name) => [name, answer]))

/** Proofs that are none: the query's parameters, and the answer of every endpoint. */
const strangers: Readonly<Record<string, readonly [proof: () => Record<string, string>, answer: string]>> = {
  'no ticket': [() => ({ key }), '401 no-session'],
  'an empty ticket': [() => ({ key, ticket: '' }), '401 no-session'],
  'a ticket signed with another secret': [
    () => ({ key, ticket: ticketFor({}, 'another secret of the right length') }),
    '401 no-session',
  ],
  'a ticket with another content': [
    () => ({ key, ticket: `${ticketFor({ write: ['*'] }).split('.')[0]}.${ticketFor().split('.')[1]}` }),
    '401 no-session',
  ],
  'a ticket that has ended': [() => ({ key, ticket: ticketFor({ expiresAt: 1 }) }), '401 session-expired'],
  'a ticket for another key': [() => ({ key, ticket: ticketFor({}, secret, newKey()) }), '401 no-session'],
  'a ticket for no key': [() => ({ key, ticket: ticketFor({}, secret, null) }), '401 no-session'],
  'a ticket without its key': [() => ({ ticket: ticketFor() }), '401 no-session'],
}

for (const version of httpVersions)
  describe(`over HTTP/${version}`, () => {
    for (const [what, [proof, answer]] of Object.entries(strangers))
      test(`${what}: every endpoint answers ${answer}`, async () => {
        assert.deepEqual(await refusalsOf(version, endpoints, proof()), each(endpoints, answer))
      })

    test('the application is asked for a ticket, and gives none to strangers', async () => {
      const answers = await refusalsOf(
        version,
        {
          session: post('application/json', ''),
          'session#wrong': postJson({ token: 'of bob' }),
        },
        { key },
      )
      assert.deepEqual(answers, each(answers, '401 no-session'))
      assert.deepEqual(await refusalsOf(version, { session: postJson({ token: 'of ada' }) }, { key }), {
        session: '200',
      })
    })

    test('a ticket for other channels: they cannot be read', async () => {
      const proof = { key, ticket: ticketFor({ read: ['room.2', 'news*'] }) }
      for (const channel of ['room.1', 'room', 'new', 'room.2,room.1', 'wind', 'probes', 'overview.room.2']) {
        const asked = reading(channel)
        assert.deepEqual(await refusalsOf(version, asked, proof), each(asked, '403 not-invited-there'))
      }
    })

    test('a ticket that may only read, or write elsewhere: nothing is stored', async () => {
      for (const write of [[], ['room.2']]) {
        const proof = { key, ticket: ticketFor({ write }) }
        const answers = await refusalsOf(version, { messages: postJson(draft('room.1')) }, proof)
        assert.deepEqual(answers, { messages: '403 read-only-invitation' })
      }
      const large = { ...draft('room.1'), body: { data: 'x'.repeat(5000) } }
      assert.deepEqual(
        await refusalsOf(version, { messages: postJson(large) }, { key, ticket: ticketFor({ write: [] }) }),
        { messages: '403 read-only-invitation' },
      )
    })

    test('no channel’s name is special, as some are on the server of Crosswind’s page', async () => {
      const proof = { key, ticket: ticketFor({ write: ['*'] }) }
      for (const channel of ['wind', 'probes', 'overview.room.1'])
        assert.deepEqual(await refusalsOf(version, { messages: postJson(draft(channel)) }, proof), {
          messages: '200',
        })
    })

    test('no ticket speaks for another key’s window: its messages, presence, heartbeat and departure', async () => {
      const other = nameOf(newKey(), 'w1')
      const asked = {
        messages: postJson(draft('room.1', other)),
        'awareness#theirs': postJson({ channel: 'room.1', window: other, state: 'not mine' }),
        awareness: { ...endpoints.awareness, query: { window: other } },
        heartbeat: { ...endpoints.heartbeat, query: { window: other } },
        leave: { ...endpoints.leave, query: { window: other } },
        'streaming#post': { ...endpoints['streaming#post'], query: { window: other } },
        stream: { query: { ...stream('room.1'), window: other } },
        poll: { query: { ...stream('room.1'), window: other, first: '' } },
      }
      const answers = await refusalsOf(version, asked, { key, ticket: ticketFor() })
      assert.deepEqual(answers, each(asked, '403 not-your-name'))
    })
  })

for (const mode of modes)
  describe(mode.name, () => {
    const open = (channels: string, ticket: string) => {
      const query = new URLSearchParams({
        window: nameOf(key, mode.name.replace('/', '-')),
        key,
        channels,
        ticket,
      })
      return openClient({ mode, origin: application.origin[mode.http], ca: application.ca, query })
    }

    test('a stream without a valid ticket, or of another channel, receives nothing', async () => {
      const none = strangers['a ticket for another key']?.[0]().ticket ?? ''
      for (const [channels, ticket] of [
        ['room.1', none],
        ['room.1', ticketFor({ expiresAt: 1 })],
        ['room.1', ticketFor({ read: ['room.2'] })],
        ['probes', ticketFor()],
      ] as const) {
        const client = open(channels, ticket)
        await client.ended
        assert.deepEqual(client.waiting(), [])
      }
    })

    test('a stream that may only read: its messages are refused, and it stays open', async (t) => {
      const reader = open('room.1', ticketFor({ write: [] }))
      t.after(() => reader.close())
      const { window } = await reader.next('welcome')
      const codes = []
      for (const channel of ['room.1', 'room.2', 'elsewhere']) {
        const answer = await reader.send(draft(channel, window))
        codes.push(answer.type === 'refused' && answer.code)
      }
      const theirs = await reader.send(draft('room.1', nameOf(newKey(), 'w1')))
      codes.push(theirs.type === 'refused' && theirs.code)
      assert.deepEqual(codes, [
        'read-only-invitation',
        'read-only-invitation',
        'not-invited-there',
        'not-your-name',
      ])
    })
  })
