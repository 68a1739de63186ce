// Tickets carry what the application allowed, to any server with the same secret, and nothing more.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuseReading, refuseWriting } from './grants.ts'
import { matches, type Permit, TicketGate, Tickets } from './tickets.ts'

const permit = { read: ['room.*', 'news'], write: ['room.1'], expiresAt: 2000, user: 'ada' }
const at = (now: number, secret = 'secret') => new Tickets(secret, () => now)

test('allows what was permitted, on any server with the secret', () => {
  const { ticket, expiresAt } = at(1000).issue(permit, 'key')
  const grant = at(1999).read(ticket, 'key')
  assert.deepEqual([expiresAt, grant.expiresAt, grant.invitation, grant.may], [2000, 2000, 'ada', 'write'])
  assert.equal(refuseReading(grant, ['room.1', 'room.2', 'news']), null)
  for (const channel of ['room', 'newsletter', 'main'])
    assert.equal(refuseReading(grant, [channel])?.code, 'not-invited-there', channel)
  assert.equal(refuseWriting(grant, 'room.1'), null)
  for (const channel of ['room.2', 'news', 'main'])
    assert.equal(refuseWriting(grant, channel)?.code, 'not-invited-there', channel)
})

test('channels that Crosswind’s own page has for everybody are open to no ticket', () => {
  const { ticket } = at(1000).issue(permit, 'key')
  const grant = at(1000).read(ticket, 'key')
  for (const channel of ['wind', 'probes', 'overview.room.1']) {
    assert.equal(refuseReading(grant, [channel])?.code, 'not-invited-there', channel)
    assert.equal(refuseWriting(grant, channel)?.code, 'not-invited-there', channel)
  }
})

test('a ticket that may write nothing is read-only', () => {
  const { ticket } = at(1000).issue({ ...permit, write: [] }, 'key')
  const grant = at(1000).read(ticket, 'key')
  assert.equal(grant.may, 'read')
  assert.ok(refuseWriting(grant, 'room.1'))
})

test('a permit lasts an hour unless the application says otherwise, by ticket and by cookie', async () => {
  const { expiresAt: _expiresAt, ...endless } = permit
  const gate = (given: Permit) =>
    new TicketGate({ authorize: () => given, secret: 'secret', now: () => 1000 })
  for (const [given, end] of [
    [endless, 3_601_000],
    [permit, 2000],
  ] as const) {
    assert.equal((await gate(given).ticketFor({}, 'token', null)).expiresAt, end)
    assert.equal((await gate(given).grantFor({ url: '/api/stream', headers: {} })).expiresAt, end)
  }
})

test('is refused with another key, secret or content, and at its end', () => {
  const { ticket } = at(1000).issue(permit, 'key')
  const [text = '', signature = ''] = ticket.split('.')
  const claims = JSON.parse(Buffer.from(text, 'base64url').toString())
  const forged = Buffer.from(JSON.stringify({ ...claims, write: ['*'] })).toString('base64url')
  const refused = { code: 'no-session' }
  for (const [tickets, given, key] of [
    [at(1000), ticket, 'other'],
    [at(1000), ticket, null],
    [at(1000, 'another'), ticket, 'key'],
    [at(1000), `${forged}.${signature}`, 'key'],
    [at(1000), text, 'key'],
    [at(1000), '', 'key'],
  ] as const)
    assert.throws(() => tickets.read(given, key), refused)
  assert.throws(() => at(2000).read(ticket, 'key'), { code: 'session-expired' })
})

test('a prefix and * names all channels that begin so; without it, one', () => {
  assert.deepEqual(
    ['room.1', 'room.', 'room', '*'].map((channel) => [
      matches('room.*', channel),
      matches('room.1', channel),
    ]),
    [
      [true, true],
      [true, false],
      [false, false],
      [false, false],
    ],
  )
  assert.ok(matches('*', 'anything'))
})
