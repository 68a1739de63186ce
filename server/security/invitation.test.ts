// Checks that an invitation says what was put in, ends, and cannot be made or changed without the key.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignJWT, UnsecuredJWT } from 'jose'
import { mostChannels, type Permission } from './grant.ts'
import { invitationLink, makeInvitation, verifyInvitation } from './invitation.ts'
import { cookieFor } from './session.ts'
import { cookieIn, hourMs, key, noon, otherKey, toWrite } from './testing.ts'

const expiresAt = noon + hourMs
const make = () => makeInvitation({ ...toWrite, expiresAt }, key)

const refused = async (token: string, code: string, now = noon) => {
  const wayOut = /^[^.]+; ask for a new link \(`npm run invite` makes one\)\.$/
  await assert.rejects(verifyInvitation(token, key, now), { status: 401, code, message: wayOut }, token)
}

/** A token that is right in everything but what is changed. */
function forged(change: { typ?: string; aud?: string; alg?: string; claims?: object; exp?: number | null }) {
  const { typ = 'crosswind-invitation+jwt', aud = 'crosswind:invitation', alg = 'HS256' } = change
  const { claims = toWrite, exp = expiresAt / 1000 } = change
  const token = new SignJWT({ ...claims }).setProtectedHeader({ alg, typ }).setAudience(aud)
  return (exp === null ? token : token.setExpirationTime(exp)).sign(key)
}

test('what was put in comes out, until the end', async () => {
  assert.deepEqual(await verifyInvitation(await make(), key, noon), { ...toWrite, expiresAt })
  assert.deepEqual(await verifyInvitation(await make(), key, expiresAt - 1), { ...toWrite, expiresAt })
  const all: Permission = { channels: 'all', may: 'read' }
  const token = await makeInvitation({ ...all, expiresAt: expiresAt + 999 }, key)
  assert.deepEqual(await verifyInvitation(token, key, noon), { ...all, expiresAt })
})

test('it ends to the millisecond', async () => {
  await refused(await make(), 'invitation-expired', expiresAt)
})

test('a forger who is right in everything is let in: so the others fail for their one change', async () => {
  assert.deepEqual(await verifyInvitation(await forged({}), key, noon), { ...toWrite, expiresAt })
})

test('without the key nothing is made, changed or prolonged', async () => {
  const [head = '', body = '', signature = ''] = (await make()).split('.')
  const more = Buffer.from(
    JSON.stringify({ ...JSON.parse(String(Buffer.from(body, 'base64url'))), channels: 'all' }),
  )
  const turned = signature[0] === 'A' ? 'B' : 'A'
  await refused([head, more.toString('base64url'), signature].join('.'), 'invitation-invalid')
  await refused([head, body, turned + signature.slice(1)].join('.'), 'invitation-invalid')
  await refused([head, body, ''].join('.'), 'invitation-invalid')
  await refused(await makeInvitation({ ...toWrite, expiresAt }, otherKey), 'invitation-invalid')
})

test('an invitation of another key is invalid, not expired, also after its end', async () => {
  await refused(await makeInvitation({ ...toWrite, expiresAt }, otherKey), 'invitation-invalid', expiresAt)
})

test('no other algorithm is taken, and none least of all', async () => {
  const claims = { ...toWrite, exp: expiresAt / 1000 }
  const unsigned = new UnsecuredJWT(claims).setAudience('crosswind:invitation').encode()
  const head = (alg: string) =>
    Buffer.from(JSON.stringify({ alg, typ: 'crosswind-invitation+jwt' })).toString('base64url')
  const [, body = ''] = unsigned.split('.')
  await refused(unsigned, 'invitation-invalid')
  for (const alg of ['none', 'None', 'HS256']) await refused(`${head(alg)}.${body}.`, 'invitation-invalid')
  await refused(await forged({ alg: 'HS512' }), 'invitation-invalid')
})

test('a session is no invitation, nor is a token of another type, for others, or without an end', async () => {
  const session = { ...toWrite, expiresAt, until: expiresAt }
  const token = cookieIn(await cookieFor(session, key, noon)).split('=')[1] ?? ''
  await refused(token, 'invitation-invalid')
  await refused(await forged({ typ: 'crosswind-session+jwt' }), 'invitation-invalid')
  await refused(await forged({ typ: 'JWT' }), 'invitation-invalid')
  await refused(await forged({ aud: 'crosswind:session' }), 'invitation-invalid')
  await refused(await forged({ exp: null }), 'invitation-invalid')
})

test('what is signed but has another shape is invalid', async () => {
  const shapes = [{}, { channels: [], may: 'read' }, { channels: ['a b'], may: 'read' }, { channels: 'main' }]
  for (const claims of shapes) await refused(await forged({ claims }), 'invitation-invalid')
  await refused(await forged({ claims: { ...toWrite, may: 'everything' } }), 'invitation-invalid')
})

test('what is no token at all is invalid', async () => {
  for (const text of [
    '',
    '.',
    '..',
    '...',
    'abc',
    'a.b.c',
    '\u{1F4A8}.x.y',
    '{}',
    'e30.e30.e30',
    'x'.repeat(9000),
  ])
    await refused(text, 'invitation-invalid')
})

test('an invitation that could not be redeemed is not made', async () => {
  const names = Array.from({ length: mostChannels + 1 }, (_, index) => `page-${index}`)
  for (const channels of [[], ['a b'], names]) {
    await assert.rejects(async () => makeInvitation({ channels, may: 'read', expiresAt }, key))
  }
})

test('the link can be clicked as it stands', async () => {
  const token = await make()
  const url = new URL(invitationLink('https://localhost:8443', token))
  assert.deepEqual([url.origin, url.pathname], ['https://localhost:8443', '/join'])
  assert.equal(url.searchParams.get('invitation'), token)
})
