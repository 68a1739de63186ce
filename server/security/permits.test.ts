// An application answers with a permit, a no, or an error that its operator reads.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkPermit, checkUser } from './permits.ts'

const now = Date.parse('2026-11-29T12:00:00Z')
const hourMs = 3_600_000
const permit = { read: ['room.*'], write: ['room.1'] }

test('a permit is copied: what the application changes later has no effect', () => {
  const given = { read: ['room.*', 'news'], write: ['room.1'], expiresAt: now + 1000, user: 'ada' }
  const checked = checkPermit(given, now)
  assert.deepEqual(checked, { ...given, account: 'ada', maxMessageBytes: null })
  given.read.push('*')
  assert.deepEqual(checked?.read, ['room.*', 'news'])
})

test('quotas may be of others than a user, and messages smaller', () => {
  const given = { ...permit, account: 'team 7', maxMessageBytes: 4096 }
  const { user, account, maxMessageBytes } = checkPermit(given, now) ?? {}
  assert.deepEqual([user, account, maxMessageBytes], [null, 'team 7', 4096])
})

test('a user’s lasts an hour unless the application says otherwise, and a day at most', () => {
  const endOf = (expiresAt?: number) =>
    checkPermit({ ...permit, user: 'ada', ...(expiresAt !== undefined && { expiresAt }) }, now)?.expiresAt
  assert.equal(endOf(), now + hourMs)
  assert.equal(endOf(now + 1), now + 1)
  for (const far of [now + 25 * hourMs, Number.MAX_VALUE]) assert.equal(endOf(far), now + 24 * hourMs)
})

test('of nobody in particular it lasts as long as the application says: nobody can revoke it', () => {
  const expiresAt = now + 720 * hourMs
  assert.equal(checkPermit({ ...permit, expiresAt }, now)?.expiresAt, expiresAt)
})

test('null, undefined and false are a no', () => {
  for (const answer of [null, undefined, false]) assert.equal(checkPermit(answer, now), null)
})

const list = 'it must be a list of channels'
const time = 'it must be in ms since the epoch, a number after Date.now()'
const text = 'it must be a text of 1 to 256 bytes'
const names = "each must be a channel's name, or the beginning of one and *"
const past = Date.parse('2026-11-29T11:59:59Z')

/** The change, and the two parts of the sentence that it leads to. */
const misfits: readonly (readonly [change: unknown, value: string, must: string])[] = [
  [{ read: 'room.*' }, "authorize: read is 'room.*'", list],
  [{ write: '*' }, "authorize: write is '*'", list],
  [{ account: '' }, "authorize: account is ''", text],
  [
    { maxMessageBytes: 0.5 },
    'authorize: maxMessageBytes is 0.5',
    'it must be a whole number of bytes above 0',
  ],
  [{ read: undefined }, 'authorize: read is undefined', list],
  [{ write: null }, 'authorize: write is null', list],
  [{ read: new Set(['room.1']) }, "authorize: read is Set(1) { 'room.1' }", list],
  [{ read: { 0: 'room.1', length: 1 } }, "authorize: read is { '0': 'room.1', length: 1 }", list],
  [{ read: [['*']] }, "authorize: read has [ '*' ]", names],
  [{ read: ['room.1', undefined] }, 'authorize: read has undefined', names],
  [{ read: new Array(1) }, 'authorize: read has undefined', names],
  [{ write: [''] }, "authorize: write has ''", names],
  [{ write: ['room 1'] }, "authorize: write has 'room 1'", names],
  [{ write: ['room.*.x'] }, "authorize: write has 'room.*.x'", names],
  [{ write: ['**'] }, "authorize: write has '**'", names],
  [{ read: ['*revocations'] }, "authorize: read has '*revocations'", names],
  [{ read: ['x'.repeat(65)] }, `authorize: read has 'xxx`, names],
  [{ read: [/room/] }, 'authorize: read has /room/', names],
  [{ expiresAt: new Date(now + hourMs) }, 'authorize: expiresAt is 2026-11-29T13:00:00.000Z', time],
  [{ expiresAt: '2026-11-29T13:00:00Z' }, "authorize: expiresAt is '2026-11-29T13:00:00Z'", time],
  [{ expiresAt: Number.NaN }, 'authorize: expiresAt is NaN', time],
  [{ expiresAt: Number.POSITIVE_INFINITY }, 'authorize: expiresAt is Infinity', time],
  [{ expiresAt: null }, 'authorize: expiresAt is null', time],
  [{ expiresAt: BigInt(now + hourMs) }, `authorize: expiresAt is ${now + hourMs}n`, time],
  [{ expiresAt: past }, `authorize: expiresAt is ${past}, which is past`, time],
  [{ expiresAt: now }, `authorize: expiresAt is ${now}, which is past`, time],
  // A JWT has seconds.
  [
    { expiresAt: (now + hourMs) / 1000 },
    `authorize: expiresAt is ${(now + hourMs) / 1000}, which is past`,
    time,
  ],
  [{ user: 7 }, 'authorize: user is 7', text],
  [{ user: null }, 'authorize: user is null', text],
  [{ user: '' }, "authorize: user is ''", text],
  [{ user: { id: 'ada' } }, "authorize: user is { id: 'ada' }", text],
  [{ user: 'x'.repeat(257) }, "authorize: user is 'xxx", text],
  [{ user: 'ü'.repeat(129) }, "authorize: user is 'üüü", text],
  [{ user: '\ud800' }, "authorize: user is '\\ud800'", text],
]

for (const [change, value, must] of misfits)
  test(`${value} …: refused with a sentence`, () => {
    const refused = (error: Error) => {
      assert.ok(error.message.startsWith(value), error.message)
      assert.ok(error.message.includes(must), error.message)
      assert.ok(error.message.length < 300, error.message)
      return true
    }
    assert.throws(() => checkPermit({ ...permit, ...Object(change) }, now), refused)
  })

test('a field that a permit does not have is named, with the one that may be meant', () => {
  for (const [field, sentence] of [
    [{ expireAt: 1 }, /has no expireAt; did you mean expiresAt\?$/],
    [{ may: 'read' }, /has no may; it has read, write, expiresAt, user, account and maxMessageBytes\.$/],
  ] as const)
    assert.throws(() => checkPermit({ ...permit, ...field }, now), sentence)
})

test('an answer that is neither a permit nor a no is named', () => {
  for (const [answer, shown] of [
    [true, 'true'],
    ['', "''"],
    ['ada', "'ada'"],
    [0, '0'],
    [[permit], '[ {'],
    [() => permit, '[Function'],
  ] as const)
    assert.throws(
      () => checkPermit(answer, now),
      (error: Error) => error.message.startsWith(`authorize returned ${shown}`),
    )
})

test('a user of 256 bytes fits', () => {
  for (const user of ['x'.repeat(256), 'ü'.repeat(128), 'auth0|7', 'Ada Lovelace'])
    assert.equal(checkUser('user', user), user)
})
