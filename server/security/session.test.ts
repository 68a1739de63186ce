// Checks the session's cookie, its end, and that it never outlives its invitation.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mostChannels } from './grant.ts'
import { makeInvitation } from './invitation.ts'
import { cookieFor, renewed, type Session, sessionTokenIn, startSession, verifySession } from './session.ts'
import { cookieIn, hourMs, key, noon, otherKey, toWrite } from './testing.ts'

const until = noon + 3 * hourMs
const session: Session = { ...toWrite, expiresAt: noon + hourMs, until }

const tokenOf = async (given: Session, signedWith = key) =>
  sessionTokenIn(cookieIn(await cookieFor(given, signedWith, noon)))

const refused = (token: string, code: string, now = noon) =>
  assert.rejects(verifySession(token, key, now), {
    status: 401,
    code,
    message: /^[^.]+ask for a new one[^.]+\.$/,
  })

test('the cookie is for this host, over TLS, out of scripts’ reach, and goes along on a link from elsewhere', async () => {
  const [pair = '', ...attributes] = (await cookieFor(session, key, noon)).split('; ')
  assert.match(pair, /^__Host-crosswind=[\w-]+\.[\w-]+\.[\w-]+$/)
  assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=3600', 'Path=/', 'SameSite=Lax', 'Secure'])
})

test('what was put in comes out, until the end', async () => {
  const token = await tokenOf(session)
  assert.deepEqual(await verifySession(token, key, noon), session)
  assert.deepEqual(await verifySession(token, key, session.expiresAt - 1), session)
  await refused(token, 'session-expired', session.expiresAt)
})

test('a session lasts as long as sessions do, and never longer than its invitation', () => {
  const invitation = { ...toWrite, expiresAt: until }
  assert.deepEqual(startSession(invitation, noon, hourMs), session)
  assert.deepEqual(startSession(invitation, noon, 5 * hourMs), { ...session, expiresAt: until })
  assert.equal(startSession(invitation, noon + 250.5, hourMs).expiresAt, noon + hourMs)
})

test('a renewed session ends later, and never after its invitation', () => {
  assert.deepEqual(renewed(session, noon + hourMs / 2, hourMs), {
    ...session,
    expiresAt: noon + hourMs * 1.5,
  })
  const last = renewed(session, until - 60_000, hourMs)
  assert.deepEqual(last, { ...session, expiresAt: until })
  assert.deepEqual(renewed(last, until - 1000, hourMs), last)
})

test('the cookie is found among others, and no other is taken for it', async () => {
  for (const header of [
    '__Host-crosswind=abc',
    'a=b; __Host-crosswind=abc; c=d',
    'a=b;__Host-crosswind=abc',
  ]) {
    assert.equal(sessionTokenIn(header), 'abc')
  }
  const without = [undefined, '', 'a=b', '__Host-crosswind=', 'x__Host-crosswind=abc', 'crosswind=abc']
  for (const header of without) {
    assert.throws(() => sessionTokenIn(header), { status: 401, code: 'no-session' }, header)
  }
})

test('an invitation is no session, nor is what another key signed or somebody changed', async () => {
  await refused(await makeInvitation({ ...toWrite, expiresAt: until }, key), 'no-session')
  await refused(await tokenOf(session, otherKey), 'no-session')
  const token = await tokenOf(session)
  await refused(token.slice(0, -5), 'no-session')
  await refused('no token', 'no-session')
})

test('the largest cookie is one that browsers keep', async () => {
  const channels = Array.from({ length: mostChannels }, (_, index) => `${index}`.padStart(64, 'x'))
  const cookie = await cookieFor({ ...session, channels }, key, noon)
  assert.ok(cookie.length <= 4096, `${cookie.length} bytes`)
})
