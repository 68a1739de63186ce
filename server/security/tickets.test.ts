// Tickets carry what the application allowed, to any server with the same secret, and nothing more.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cursor, Message } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { type AnyRequest, fingerprintFor, type Grant, refuseReading, refuseWriting } from './grants.ts'
import type { Authorize } from './permits.ts'
import { Revocations, revocationsChannel } from './revocations.ts'
import { stranger, TicketAuthorizer } from './tickets.ts'

const key = 'k'.repeat(22)
const permit = { read: ['room.*', 'news'], write: ['room.1'], user: 'ada' }
const epoch = 'life1'

/** Revocations of a log in this epoch, which continues the one before, or does not. */
function knowing(current = epoch, continued: string | null = null) {
  const read = async (cursor: Cursor | null) => {
    const recovered = cursor?.epoch === continued
    return { recovered, messages: [], head: { epoch: current, seq: 0 }, reached: { epoch: current, seq: 0 } }
  }
  return new Revocations({ epoch: current, seq: 0 }, { read })
}

const requestOf = (given: object) => ({ url: '/api/stream', headers: {}, ...given }) as AnyRequest

interface Change {
  readonly authorize?: Authorize
  readonly secret?: string
  readonly revocations?: Revocations
}

/** A server: its own clock, and that of its application, which may be set. */
function open({ authorize = () => permit, secret = 'secret', revocations = knowing() }: Change = {}) {
  const clock = { passed: 0, wall: 1_000_000 }
  const failures: string[] = []
  const authorizer = new TicketAuthorizer({
    authorize,
    secret,
    revocations,
    now: () => 5000 + clock.passed,
    clock: () => clock.wall + clock.passed,
    onFailure: (error) => failures.push(String(error)),
  })
  return {
    authorizer,
    clock,
    failures,
    revocations,
    isEnded: (grant: Grant) => grant.hasEnded(5000 + clock.passed),
    ticket: async () =>
      (await authorizer.ticketFor(requestOf({}), 'token', fingerprintFor(new URLSearchParams({ key }))))
        .ticket,
    enter: (ticket: string, own = key) =>
      authorizer.grantFor(requestOf({ url: `/api/stream?${new URLSearchParams({ key: own, ticket })}` })),
    enterByCookie: () => authorizer.grantFor(requestOf({ headers: { cookie: 'user=ada' } })),
  }
}

function revocationOf(user: string, seq: number, acceptedAt = 0): Message<'revocation'> {
  const body = { revoked: [{ user }] }
  return {
    id: `r-${seq}`,
    channel: revocationsChannel,
    kind: 'revocation',
    from: 'r',
    at: 0,
    seq,
    acceptedAt,
    body,
  }
}

const noSession = { status: 401, code: 'no-session' }
const ended = { status: 401, code: 'session-expired' }

test('allows what was permitted, on any server with the secret', async () => {
  const ticket = await open().ticket()
  const grant = await open().enter(ticket)
  assert.deepEqual([grant.user, grant.account], ['ada', 'ada'])
  assert.equal(refuseReading(grant, ['room.1', 'room.2', 'news']), null)
  for (const channel of ['room', 'newsletter', 'main'])
    assert.equal(refuseReading(grant, [channel])?.code, 'not-invited-there', channel)
  assert.equal(refuseWriting(grant, 'room.1'), null)
  for (const channel of ['room.2', 'news'])
    assert.equal(refuseWriting(grant, channel)?.code, 'read-only-invitation', channel)
  assert.equal(refuseWriting(grant, 'main')?.code, 'not-invited-there')
})

test('channels that Crosswind’s own page has for everybody are open to no ticket', async () => {
  const server = open()
  const grant = await server.enter(await server.ticket())
  for (const channel of ['wind', 'probes', 'overview.room.1']) {
    assert.equal(refuseReading(grant, [channel])?.code, 'not-invited-there', channel)
    assert.equal(refuseWriting(grant, channel)?.code, 'not-invited-there', channel)
  }
})

test('a ticket that may write nothing is read-only', async () => {
  const server = open({ authorize: () => ({ ...permit, write: [] }) })
  const grant = await server.enter(await server.ticket())
  assert.equal(refuseWriting(grant, 'room.1')?.code, 'read-only-invitation')
})

test('is refused with another key, secret or content', async () => {
  const server = open()
  const ticket = await server.ticket()
  const [text = '', signature = ''] = ticket.split('.')
  const claims = JSON.parse(Buffer.from(text, 'base64url').toString())
  const forged = Buffer.from(JSON.stringify({ ...claims, write: ['*'] })).toString('base64url')
  await assert.rejects(open({ secret: 'another' }).enter(ticket), noSession)
  await assert.rejects(server.enter(ticket, 'j'.repeat(22)), noSession)
  for (const other of [`${forged}.${signature}`, text, ''])
    await assert.rejects(server.enter(other), noSession)
})

test('an answer that is no permit refuses the client, and the operator reads why, with and without a ticket', async () => {
  const server = open({ authorize: () => ({ ...permit, read: 'room.*' }) as never })
  for (const asked of [server.ticket(), server.enterByCookie()]) await assert.rejects(asked, noSession)
  assert.equal(server.failures.length, 2)
  for (const failure of server.failures)
    assert.match(failure, /authorize: read is 'room\.\*'; it must be a list/)
})

test('a refusal by the application is not reported', async () => {
  for (const answer of [null, undefined, false] as const) {
    const server = open({ authorize: () => answer })
    for (const asked of [server.ticket(), server.enterByCookie()]) await assert.rejects(asked, noSession)
    assert.deepEqual(server.failures, [])
  }
})

test('an application that fails to answer is reported, and its clients try again', async () => {
  const server = open({ authorize: () => Promise.reject(new Error('The database is away.')) })
  for (const asked of [server.ticket(), server.enterByCookie()])
    await assert.rejects(asked, { status: 500, code: 'internal', retryAfterMs: 1000 })
  assert.deepEqual(server.failures, Array(2).fill('Error: The database is away.'))
})

test('a permit that makes too long a ticket is refused with the way out; without a ticket it fits', async () => {
  const read = Array.from({ length: 300 }, (_, number) => `room.${number}.of.a.building`)
  const server = open({ authorize: () => ({ ...permit, read }) })
  await assert.rejects(server.ticket(), noSession)
  assert.match(
    server.failures[0] ?? '',
    /300 channels to be read and 1 to be written.* limit is 4096\. Name them by a prefix/,
  )
  assert.equal(refuseReading(await server.enterByCookie(), read), null)
  const least = open({ authorize: () => ({ ...permit, read: read.slice(0, 100) }) })
  assert.equal(refuseReading(await least.enter(await least.ticket()), read.slice(0, 100)), null)
})

const secondMs = 1000
const hourMs = 3_600_000
const lasting = (clock: { wall: number; passed: number }, ms: number) => ({
  ...permit,
  expiresAt: clock.wall + clock.passed + ms,
})

test('a ticket ends when the application said, and so do the streams that it opened', async () => {
  const server = open({ authorize: () => lasting(server.clock, secondMs) })
  const ticket = await server.ticket()
  const stream = await server.enter(ticket)
  server.clock.passed = 999
  assert.equal(server.isEnded(stream), false)
  await server.enter(ticket)
  server.clock.passed = 1000
  assert.equal(server.isEnded(stream), true)
  await assert.rejects(server.enter(ticket), ended)
})

for (const stepMs of [-hourMs, hourMs, -60_000, 60_000])
  test(`after the clock was set by ${stepMs / 60_000} minutes, an ended ticket of 1 s is refused and a fresh one is taken`, async () => {
    const server = open({ authorize: () => lasting(server.clock, secondMs) })
    const before = await server.ticket()
    const stream = await server.enter(before)
    server.clock.wall += stepMs
    server.clock.passed = 500
    assert.equal(server.isEnded(stream), false, 'what is open lasts as long as it was allowed')
    const fresh = await server.ticket()
    const other = await server.enter(fresh)
    const cookie = await server.enterByCookie()
    for (const grant of [other, cookie]) assert.equal(server.isEnded(grant), false)
    server.clock.passed = 1001
    assert.equal(server.isEnded(stream), true)
    await assert.rejects(server.enter(before), ended)
    await server.enter(fresh)
    server.clock.passed = 1501
    for (const grant of [other, cookie]) assert.equal(server.isEnded(grant), true)
    await assert.rejects(server.enter(fresh), ended)
  })

test('after the clock was set back, a ticket that has not ended is refused too, so that it is asked for again', async () => {
  const server = open({ authorize: () => lasting(server.clock, 2 * hourMs) })
  const ticket = await server.ticket()
  server.clock.wall -= hourMs
  await assert.rejects(server.enter(ticket), ended)
  await server.enter(await server.ticket())
})

test('servers whose clocks differ by seconds accept each other’s tickets', async () => {
  const ahead = open()
  ahead.clock.wall += 3000
  await open().enter(await ahead.ticket())
})

test('a revoked user’s tickets and streams have ended, on servers of one log; later ones have not', async () => {
  const servers = [open(), open()] as const
  const [one] = servers
  const before = await one.ticket()
  const streams = await Promise.all([one.enter(before), one.enterByCookie()])
  const revocation = revocationOf('ada', 7)
  for (const { revocations } of servers) revocations.take(revocation)
  for (const stream of streams) assert.equal(one.isEnded(stream), true)
  for (const server of servers) await assert.rejects(server.enter(before), ended)
  const after = await one.ticket()
  for (const server of servers) assert.equal(server.isEnded(await server.enter(after)), false)
  const later = open()
  later.revocations.take(revocation)
  await assert.rejects(later.enter(before), ended)
  await later.enter(after)
})

test('a permit from before the revocation, or from a server that did not know of it, is refused', async () => {
  const answer = Promise.withResolvers<typeof permit>()
  const slow = open({ authorize: () => answer.promise })
  const asked = slow.ticket()
  slow.revocations.take(revocationOf('ada', 7))
  answer.resolve(permit)
  await assert.rejects(slow.enter(await asked), ended)

  const behind = await open().ticket()
  await assert.rejects(slow.enter(behind), ended)
})

test('a revocation does not affect other users, or tickets without a user', async () => {
  const { user: _user, ...nobody } = permit
  for (const answer of [{ ...permit, user: 'adam' }, nobody]) {
    const server = open({ authorize: () => answer })
    const ticket = await server.ticket()
    server.revocations.take(revocationOf('ada', 7))
    await server.enter(ticket)
  }
})

test('servers of another log do not know the revocations: they require another ticket, unless it continues the first log', async () => {
  const ticket = await open().ticket()
  await assert.rejects(open({ revocations: knowing('life2') }).enter(ticket), ended)
  const again = open({ revocations: knowing('life2', 'life1') })
  await again.enter(ticket)
  again.revocations.take(revocationOf('ada', 7))
  await assert.rejects(again.enter(ticket), ended)
})

test('a stranger may read and write nothing', () => {
  assert.ok(refuseReading(stranger, ['room.1']))
  assert.ok(refuseWriting(stranger, 'room.1'))
})

test('a refusal that the application throws reaches the client, and not the operator', async () => {
  const unpaid = new Refusal('not-invited-there', 'Your subscription has ended.')
  const server = open({
    authorize() {
      throw unpaid
    },
  })
  await assert.rejects(server.ticket(), unpaid)
  await assert.rejects(server.enterByCookie(), unpaid)
  assert.deepEqual(server.failures, [])
})

test('a ticket carries the account and the size of messages', async () => {
  const server = open({ authorize: () => ({ ...permit, account: 'team 7', maxMessageBytes: 4096 }) })
  const { account, maxMessageBytes } = await server.enter((await server.ticket()) ?? '')
  assert.deepEqual([account, maxMessageBytes], ['team 7', 4096])
})

test('a ticket ends after a day, even if the permit lasts longer', async () => {
  const lasting = { read: ['room.1'], write: [], expiresAt: 1_000_000 + 30 * 86_400_000 }
  const server = open({ authorize: () => lasting })
  const grant = await server.enter((await server.ticket()) ?? '')
  assert.equal(grant.expiresAt, 5000 + 86_400_000)
  assert.equal((await server.enterByCookie()).expiresAt, 5000 + 30 * 86_400_000)
})

test('a permit that ends while the application answers counts as ended, not as unusable', async () => {
  const server = open({
    authorize() {
      server.clock.passed += 1000
      return { ...permit, expiresAt: 1_000_500 }
    },
  })
  assert.equal(server.isEnded(await server.enterByCookie()), true)
  assert.deepEqual(server.failures, [])
})
