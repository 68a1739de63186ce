// Checks the way from an invitation to a grant, that cached sessions end all the same, and that the cache is bounded.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAccess } from './access.ts'
import { openGrant } from './grant.ts'
import { makeInvitation } from './invitation.ts'
import { cookieAfter, cookieIn, hourMs, key, noon, otherKey, toWrite } from './testing.ts'

/** Its clock stands until it is moved. */
function accessAt(start: number, { isOpen = false, signedWith = key, cachedSessions = 100 } = {}) {
  const clock = { now: start }
  const access = createAccess({
    isOpen,
    key: signedWith,
    sessionMs: hourMs,
    now: () => clock.now,
    cachedSessions,
  })
  return { access, clock }
}

test('from an invitation to a session to a grant', async () => {
  const { access } = accessAt(noon)
  const token = await makeInvitation({ ...toWrite, expiresAt: noon + 24 * hourMs }, key)
  const { setCookie, grant } = await access.redeem(token)
  assert.deepEqual(grant, { channels: new Set(['main', 'notes']), may: 'write', expiresAt: noon + hourMs })
  assert.deepEqual(await access.grantFor(cookieIn(setCookie)), grant)
  assert.deepEqual(await access.grantFor(`theme=dark; ${cookieIn(setCookie)}`), grant)
})

test('a link can be used more than once', async () => {
  const { access } = accessAt(noon)
  const token = await makeInvitation({ ...toWrite, expiresAt: noon + hourMs }, key)
  await access.redeem(token)
  assert.ok((await access.redeem(token)).setCookie)
})

test('nobody comes in without a session, and another server’s is none', async () => {
  const { access } = accessAt(noon)
  const foreign = await cookieAfter(access)
  for (const header of [undefined, '', '__Host-crosswind=', '__Host-crosswind=a.b.c']) {
    await assert.rejects(access.grantFor(header), { status: 401, code: 'no-session' })
  }
  const other = accessAt(noon, { signedWith: otherKey }).access
  await assert.rejects(other.grantFor(foreign), { status: 401, code: 'no-session' })
})

test('a session seen before is not verified again, and ends all the same', async () => {
  const { access, clock } = accessAt(noon)
  const cookie = await cookieAfter(access)
  const grant = await access.grantFor(cookie)
  clock.now = noon + hourMs - 1
  assert.equal(await access.grantFor(cookie), grant)
  clock.now = noon + hourMs
  await assert.rejects(access.grantFor(cookie), { status: 401, code: 'session-expired' })
  await assert.rejects(access.grantFor(cookie), { status: 401, code: 'session-expired' })
})

test('a session that somebody changed does not profit from the one that is kept', async () => {
  const { access } = accessAt(noon)
  const cookie = await cookieAfter(access)
  await access.grantFor(cookie)
  await assert.rejects(access.grantFor(`${cookie}A`), { code: 'no-session' })
})

test('the cache keeps so many and lets the oldest go', async () => {
  const { access, clock } = accessAt(noon, { cachedSessions: 2 })
  const cookieUntil = (minutes: number) => cookieAfter(access, toWrite, noon + minutes * 60_000)
  const [first, second, third] = [await cookieUntil(10), await cookieUntil(20), await cookieUntil(30)]
  const grants = [await access.grantFor(first), await access.grantFor(second), await access.grantFor(third)]
  assert.equal(await access.grantFor(second), grants[1])
  assert.equal(await access.grantFor(third), grants[2])
  const again = await access.grantFor(first)
  assert.deepEqual(again, grants[0])
  assert.notEqual(again, grants[0])
  clock.now += 10 * 60_000
  await assert.rejects(access.grantFor(first), { code: 'session-expired' })
})

test('a session is renewed while it runs, up to the end of its invitation and no further', async () => {
  const { access, clock } = accessAt(noon)
  const until = noon + 2.5 * hourMs
  let cookie = await cookieAfter(access, toWrite, until)
  for (const [minutes, end] of [
    [30, noon + 1.5 * hourMs],
    [80, noon + (hourMs * 80) / 60 + hourMs],
    [120, until],
    [149, until],
  ] as const) {
    clock.now = noon + minutes * 60_000
    const { setCookie, grant } = await access.renew(cookie)
    cookie = cookieIn(setCookie)
    assert.equal(grant.expiresAt, end, `after ${minutes} minutes`)
    assert.deepEqual(await access.grantFor(cookie), grant)
  }
  clock.now = until
  await assert.rejects(access.renew(cookie), { status: 401, code: 'session-expired' })
  await assert.rejects(access.grantFor(cookie), { status: 401, code: 'session-expired' })
})

test('what has ended or never was is not renewed', async () => {
  const { access, clock } = accessAt(noon)
  const cookie = await cookieAfter(access)
  clock.now = noon + hourMs
  await assert.rejects(access.renew(cookie), { status: 401, code: 'session-expired' })
  await assert.rejects(access.renew(undefined), { status: 401, code: 'no-session' })
})

test('renewing gives nobody more than the invitation did', async () => {
  const { access, clock } = accessAt(noon)
  const cookie = await cookieAfter(access, { channels: ['main'], may: 'read' })
  clock.now += 1000
  const { grant } = await access.renew(cookie)
  assert.deepEqual([grant.channels, grant.may], [new Set(['main']), 'read'])
})

test('an open server lets everybody in, and links lead to it all the same', async () => {
  const { access } = accessAt(noon, { isOpen: true })
  assert.equal(await access.grantFor(undefined), openGrant)
  assert.equal(await access.grantFor('__Host-crosswind=nonsense'), openGrant)
  assert.deepEqual(await access.renew(undefined), { grant: openGrant, setCookie: null })
  assert.notEqual(await cookieAfter(access), '')
})
