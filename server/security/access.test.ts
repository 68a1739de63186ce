// Invitations, sessions and grants: expiry, forgeries, renewal, the cache, and what a grant allows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignJWT, UnsecuredJWT } from 'jose'
import { Access, invitationLink, isOpenTo, makeInvitation } from './access.ts'
import {
  grantFrom,
  mostChannels,
  openGrant,
  type Permission,
  refuseReading,
  refuseWriting,
} from './grants.ts'
import { cookieAfter, cookieIn, hourMs, key, noon, otherKey, toWrite } from './testing.ts'

interface Change {
  readonly isOpen?: boolean
  readonly signedWith?: typeof key
  readonly sessionMs?: number
  readonly cachedSessions?: number
}

/** Uses a clock that stands still until it is moved. */
function accessAt(
  start: number,
  { isOpen = false, signedWith = key, sessionMs = hourMs, cachedSessions = 100 }: Change = {},
) {
  const clock = { now: start }
  const now = () => clock.now
  const access = new Access({ isOpen, key: signedWith, sessionMs, now, clock: now, cachedSessions })
  return { access, clock }
}

const withCookie = (cookie: string | undefined) => ({ headers: { cookie } })

test('an invitation opens a session, and the session gives a grant', async () => {
  const { access } = accessAt(noon)
  const token = await makeInvitation({ ...toWrite, expiresAt: noon + 24 * hourMs }, key)
  const { setCookies, grant } = await access.redeem(token)
  assert.deepEqual(grant, grantFrom(toWrite, noon + hourMs, noon + 24 * hourMs))
  assert.deepEqual(await access.grantFor(withCookie(cookieIn(setCookies))), grant)
  assert.deepEqual(await access.grantFor(withCookie(`theme=dark; ${cookieIn(setCookies)}`)), grant)
})

test('everyone who joins with the same link shares one invitation id', async () => {
  const { access, clock } = accessAt(noon)
  const token = (may: 'read' | 'write', hours: number) =>
    makeInvitation({ ...toWrite, may, expiresAt: noon + hours * hourMs }, key)
  const link = await token('write', 24)
  const one = await access.redeem(link)
  clock.now += 5000
  const sessions = [
    await access.redeem(link),
    await access.redeem(await token('write', 25)),
    await access.redeem(await token('read', 24)),
  ]
  const grants = await Promise.all(
    sessions.map(({ setCookies }) => access.grantFor(withCookie(cookieIn(setCookies)))),
  )
  const byBearer = await access.grantFor({ headers: { authorization: `Bearer ${link}` } })
  const same = [...grants, byBearer].map(({ invitation }) => invitation === one.grant.invitation)
  assert.deepEqual(same, [true, false, false, true])
})

test('an invitation can be redeemed more than once', async () => {
  const { access } = accessAt(noon)
  const token = await makeInvitation({ ...toWrite, expiresAt: noon + hourMs }, key)
  await access.redeem(token)
  assert.ok((await access.redeem(token)).setCookies.length > 0)
})

test('a request without a session of this server is refused', async () => {
  const { access } = accessAt(noon)
  const foreign = await cookieAfter(access)
  for (const header of [undefined, '', '__Host-crosswind=', '__Host-crosswind=a.b.c']) {
    await assert.rejects(access.grantFor(withCookie(header)), { status: 401, code: 'no-session' })
  }
  const other = accessAt(noon, { signedWith: otherKey }).access
  await assert.rejects(other.grantFor(withCookie(foreign)), { status: 401, code: 'no-session' })
})

test('a cached session is not verified again, but still expires', async () => {
  const { access, clock } = accessAt(noon)
  const cookie = await cookieAfter(access)
  const grant = await access.grantFor(withCookie(cookie))
  clock.now = noon + hourMs - 1
  assert.equal(await access.grantFor(withCookie(cookie)), grant)
  clock.now = noon + hourMs
  await assert.rejects(access.grantFor(withCookie(cookie)), { status: 401, code: 'session-expired' })
  await assert.rejects(access.grantFor(withCookie(cookie)), { status: 401, code: 'session-expired' })
})

test('an uncached session expires to the millisecond', async () => {
  const cookie = await cookieAfter(accessAt(noon).access)
  const grant = grantFrom(toWrite, noon + hourMs, noon + 24 * hourMs)
  assert.deepEqual(await accessAt(noon + hourMs - 1).access.grantFor(withCookie(cookie)), grant)
  const message = /^[^.]+ask for a new one[^.]+\.$/
  await assert.rejects(accessAt(noon + hourMs).access.grantFor(withCookie(cookie)), {
    code: 'session-expired',
    message,
  })
})

test('a tampered session does not match the cached one', async () => {
  const { access } = accessAt(noon)
  const cookie = await cookieAfter(access)
  await access.grantFor(withCookie(cookie))
  await assert.rejects(access.grantFor(withCookie(`${cookie}A`)), { code: 'no-session' })
})

test('the session cache drops the oldest entry when it is full', async () => {
  const { access, clock } = accessAt(noon, { cachedSessions: 2 })
  const cookieUntil = (minutes: number) => cookieAfter(access, toWrite, noon + minutes * 60_000)
  const first = await cookieUntil(10)
  const second = await cookieUntil(20)
  const third = await cookieUntil(30)
  const grants = [
    await access.grantFor(withCookie(first)),
    await access.grantFor(withCookie(second)),
    await access.grantFor(withCookie(third)),
  ]
  assert.equal(await access.grantFor(withCookie(second)), grants[1])
  assert.equal(await access.grantFor(withCookie(third)), grants[2])
  const again = await access.grantFor(withCookie(first))
  assert.deepEqual(again, grants[0])
  assert.notEqual(again, grants[0])
  clock.now += 10 * 60_000
  await assert.rejects(access.grantFor(withCookie(first)), { code: 'session-expired' })
})

test('a session lasts whole seconds, and never longer than its invitation', async () => {
  const until = noon + 3 * hourMs
  const token = await makeInvitation({ ...toWrite, expiresAt: until }, key)
  const endOf = async (start: number, sessionMs: number) =>
    (await accessAt(start, { sessionMs }).access.redeem(token)).grant.expiresAt
  assert.equal(await endOf(noon, hourMs), noon + hourMs)
  assert.equal(await endOf(noon, 5 * hourMs), until)
  assert.equal(await endOf(noon + 250.5, hourMs), noon + hourMs)
})

test('a session can be renewed until its invitation ends', async () => {
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
    const { setCookies, grant } = await access.renew(cookie)
    cookie = cookieIn(setCookies)
    assert.equal(grant.expiresAt, end, `after ${minutes} minutes`)
    assert.deepEqual(await access.grantFor(withCookie(cookie)), grant)
  }
  clock.now = until
  await assert.rejects(access.renew(cookie), { status: 401, code: 'session-expired' })
  await assert.rejects(access.grantFor(withCookie(cookie)), { status: 401, code: 'session-expired' })
})

test('an expired or missing session is not renewed', async () => {
  const { access, clock } = accessAt(noon)
  const cookie = await cookieAfter(access)
  clock.now = noon + hourMs
  await assert.rejects(access.renew(cookie), { status: 401, code: 'session-expired' })
  await assert.rejects(access.renew(undefined), { status: 401, code: 'no-session' })
})

test('a renewed session has no more rights than its invitation', async () => {
  const { access, clock } = accessAt(noon)
  const cookie = await cookieAfter(access, { channels: ['main'], may: 'read' })
  clock.now += 1000
  const { grant } = await access.renew(cookie)
  assert.deepEqual([grant.channels, grant.may], [new Set(['main']), 'read'])
})

test('an open server admits everyone, and invitation links still work', async () => {
  const { access } = accessAt(noon, { isOpen: true })
  assert.equal(await access.grantFor({ headers: {} }), openGrant)
  assert.equal(await access.grantFor(withCookie('__Host-crosswind=nonsense')), openGrant)
  assert.deepEqual(await access.renew(undefined), { grant: openGrant, setCookies: [] })
  assert.notEqual(await cookieAfter(access), '')
})

test('the cookie is host-only, Secure, HttpOnly and SameSite=Lax', async () => {
  const token = await makeInvitation({ ...toWrite, expiresAt: noon + 3 * hourMs }, key)
  const { setCookies } = await accessAt(noon).access.redeem(token)
  const [pair = '', ...attributes] = setCookies[0]?.split('; ') ?? []
  assert.match(pair, /^__Host-crosswind=[\w-]+\.[\w-]+\.[\w-]+$/)
  assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=3600', 'Path=/', 'SameSite=Lax', 'Secure'])
})

test('beside it, the page can read whose session it is: the same for everyone with the same link, for as long', async () => {
  const token = await makeInvitation({ ...toWrite, expiresAt: noon + 3 * hourMs }, key)
  const other = await makeInvitation({ ...toWrite, expiresAt: noon + 4 * hourMs }, key)
  const at = async (now: number, invitation: string) => {
    const { setCookies } = await accessAt(now).access.redeem(invitation)
    return setCookies[1]?.split('; ') ?? []
  }
  const [pair = '', ...attributes] = await at(noon, token)
  assert.match(pair, /^__Host-crosswind-invitation=[\w-]{22}$/)
  assert.deepEqual(attributes.sort(), ['Max-Age=3600', 'Path=/', 'SameSite=Strict', 'Secure'])
  assert.deepEqual((await at(noon + hourMs / 2, token))[0], pair)
  assert.notEqual((await at(noon, other))[0], pair)
})

test('the session cookie is found among others', async () => {
  const { access } = accessAt(noon)
  const cookie = await cookieAfter(access)
  for (const header of [cookie, `a=b; ${cookie}; c=d`, `a=b;${cookie}`])
    assert.ok(await access.grantFor(withCookie(header)))
  for (const header of ['a=b', `x${cookie}`, cookie.replace('__Host-', '')]) {
    await assert.rejects(access.grantFor(withCookie(header)), { status: 401, code: 'no-session' }, header)
  }
})

test('an invitation or a truncated token is not accepted as a session', async () => {
  const { access } = accessAt(noon)
  const invitation = await makeInvitation({ ...toWrite, expiresAt: noon + hourMs }, key)
  const cookie = await cookieAfter(access)
  for (const header of [`__Host-crosswind=${invitation}`, cookie.slice(0, -5), '__Host-crosswind=no token']) {
    await assert.rejects(access.grantFor(withCookie(header)), { status: 401, code: 'no-session' })
  }
})

test('the largest cookie stays within browsers’ limit', async () => {
  const channels = Array.from({ length: mostChannels }, (_, index) => `${index}`.padStart(64, 'x'))
  const token = await makeInvitation({ channels, may: 'write', expiresAt: noon + hourMs }, key)
  const { setCookies } = await accessAt(noon).access.redeem(token)
  const bytes = setCookies[0]?.length ?? Number.POSITIVE_INFINITY
  assert.ok(bytes <= 4096, `${bytes} bytes`)
})

const expiresAt = noon + hourMs
const make = () => makeInvitation({ ...toWrite, expiresAt }, key)

/** Redeems with sessions that last as long as their invitation. */
const redeem = (token: string, now = noon) =>
  accessAt(now, { sessionMs: 24 * 365 * hourMs }).access.redeem(token)

const refused = async (token: string, code: string, now = noon) => {
  const wayOut = /^[^.]+; ask for a new link \(`npm run invite` makes one\)\.$/
  await assert.rejects(redeem(token, now), { status: 401, code, message: wayOut }, token)
}

/** A token that is valid except for what is changed. */
function forged(change: { typ?: string; aud?: string; alg?: string; claims?: object; exp?: number | null }) {
  const { typ = 'crosswind-invitation+jwt', aud = 'crosswind:invitation', alg = 'HS256' } = change
  const { claims = toWrite, exp = expiresAt / 1000 } = change
  const token = new SignJWT({ ...claims }).setProtectedHeader({ alg, typ }).setAudience(aud)
  return (exp === null ? token : token.setExpirationTime(exp)).sign(key)
}

const invited = grantFrom(toWrite, expiresAt)

test('an invitation carries its permission until it expires', async () => {
  assert.deepEqual((await redeem(await make())).grant, invited)
  assert.deepEqual((await redeem(await make(), expiresAt - 1)).grant, invited)
  const all: Permission = { channels: 'all', may: 'read' }
  const token = await makeInvitation({ ...all, expiresAt: expiresAt + 999 }, key)
  assert.deepEqual((await redeem(token)).grant, grantFrom(all, expiresAt))
})

test('an invitation expires to the millisecond', async () => {
  await refused(await make(), 'invitation-expired', expiresAt)
})

test('an unchanged forged token is accepted, so that the next tests fail only for their one change', async () => {
  assert.deepEqual((await redeem(await forged({}))).grant, invited)
})

test('without the key no token can be created, changed or extended', async () => {
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

test('an invitation signed with another key is invalid, even after its end', async () => {
  await refused(await makeInvitation({ ...toWrite, expiresAt }, otherKey), 'invitation-invalid', expiresAt)
})

test('tokens with another algorithm, or none, are refused', async () => {
  const claims = { ...toWrite, exp: expiresAt / 1000 }
  const unsigned = new UnsecuredJWT(claims).setAudience('crosswind:invitation').encode()
  const head = (alg: string) =>
    Buffer.from(JSON.stringify({ alg, typ: 'crosswind-invitation+jwt' })).toString('base64url')
  const [, body = ''] = unsigned.split('.')
  await refused(unsigned, 'invitation-invalid')
  for (const alg of ['none', 'None', 'HS256']) await refused(`${head(alg)}.${body}.`, 'invitation-invalid')
  await refused(await forged({ alg: 'HS512' }), 'invitation-invalid')
})

test('a token of another type or audience, or without expiry, is not an invitation', async () => {
  const session = (await cookieAfter(accessAt(noon).access)).split('=')[1] ?? ''
  await refused(session, 'invitation-invalid')
  await refused(await forged({ typ: 'crosswind-session+jwt' }), 'invitation-invalid')
  await refused(await forged({ typ: 'JWT' }), 'invitation-invalid')
  await refused(await forged({ aud: 'crosswind:session' }), 'invitation-invalid')
  await refused(await forged({ exp: null }), 'invitation-invalid')
})

test('a signed token with the wrong claims is invalid', async () => {
  const shapes = [{}, { channels: [], may: 'read' }, { channels: ['a b'], may: 'read' }, { channels: 'main' }]
  for (const claims of shapes) await refused(await forged({ claims }), 'invitation-invalid')
  await refused(await forged({ claims: { ...toWrite, may: 'everything' } }), 'invitation-invalid')
})

test('a string that is not a token is invalid', async () => {
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

test('makeInvitation rejects a permission that could not be redeemed', async () => {
  const names = Array.from({ length: mostChannels + 1 }, (_, index) => `page-${index}`)
  for (const channels of [[], ['a b'], names]) {
    await assert.rejects(async () => makeInvitation({ channels, may: 'read', expiresAt }, key))
  }
})

test('the invitation link needs no escaping', async () => {
  const token = await make()
  const url = new URL(invitationLink('https://localhost:8443', token))
  assert.deepEqual([url.origin, url.pathname], ['https://localhost:8443', '/join'])
  assert.equal(url.searchParams.get('invitation'), token)
})

test('access: auto is open on loopback only; an explicit setting wins', () => {
  const rows = [
    ['auto', 'localhost', true],
    ['auto', '0.0.0.0', false],
    ['open', '0.0.0.0', true],
    ['invited', 'localhost', false],
  ] as const
  for (const [access, host, isOpen] of rows) assert.equal(isOpenTo({ access, host }), isOpen, access + host)
})

const writer = grantFrom({ channels: ['main', 'notes'], may: 'write' }, noon)
const reader = grantFrom({ channels: ['main'], may: 'read' }, noon)
const guide = grantFrom({ channels: 'all', may: 'read' }, noon)

test('a grant allows reading its channels', () => {
  for (const grant of [openGrant, guide, writer, reader]) {
    assert.equal(refuseReading(grant, ['main']), null)
    assert.equal(refuseReading(grant, []), null)
  }
  assert.equal(refuseReading(guide, ['anything']), null)
})

test('a refusal names the first channel that is not covered', () => {
  const refusal = refuseReading(writer, ['main', 'notes', 'secret'])
  assert.deepEqual([refusal?.status, refusal?.code], [403, 'not-invited-there'])
  assert.match(refusal?.message ?? '', /"secret"/)
  assert.equal(refuseReading(writer, ['notes', 'secret', 'main'])?.code, 'not-invited-there')
})

test('the rules of a grant name the channel whose permission counts, or none', () => {
  const rules = {
    read: (channel: string) => (channel === 'open' ? null : channel.replace('about.', '')),
    write: (channel: string) => (channel === 'box' ? null : channel),
  }
  const grant = grantFrom({ channels: ['main'], may: 'read' }, noon, noon, rules)
  assert.equal(refuseReading(grant, ['main', 'about.main', 'open']), null)
  assert.match(refuseReading(grant, ['about.main', 'about.notes'])?.message ?? '', /"about\.notes"/)
  assert.equal(refuseReading(grant, ['box'])?.code, 'not-invited-there')
  assert.equal(refuseWriting(grant, 'box'), null)
  assert.equal(refuseWriting(grant, 'open')?.code, 'not-invited-there')
})

test('a write grant allows writing to its channels', () => {
  assert.equal(refuseWriting(openGrant, 'anything'), null)
  assert.equal(refuseWriting(writer, 'notes'), null)
  const refusal = refuseWriting(writer, 'secret', 'w1-4')
  assert.deepEqual([refusal?.status, refusal?.code, refusal?.id], [403, 'not-invited-there', 'w1-4'])
  assert.match(refusal?.message ?? '', /"secret"/)
})

test('a read grant does not allow writing', () => {
  for (const grant of [reader, guide]) {
    const refusal = refuseWriting(grant, 'main', 'w1-4')
    assert.deepEqual([refusal?.status, refusal?.code, refusal?.id], [403, 'read-only-invitation', 'w1-4'])
  }
})

for (const stepMs of [-hourMs, hourMs])
  test(`after the clock was set by ${stepMs / hourMs} h, an invitation made by it is taken, and what it opens lasts as long as it says`, async () => {
    const time = { passed: 0, wall: noon }
    const now = () => noon + time.passed
    const access = new Access({
      isOpen: false,
      key,
      sessionMs: 12 * hourMs,
      now,
      clock: () => time.wall + time.passed,
    })
    time.wall += stepMs
    const token = await makeInvitation({ ...toWrite, expiresAt: time.wall + 60_000 }, key)
    const { grant, setCookies } = await access.redeem(token)
    const byBearer = await access.grantFor({ headers: { authorization: `Bearer ${token}` } })
    const byCookie = await access.grantFor(withCookie(cookieIn(setCookies)))
    for (const given of [grant, byBearer, byCookie]) assert.equal(given.expiresAt, noon + 60_000)
    time.passed = 60_000
    await assert.rejects(access.grantFor(withCookie(cookieIn(setCookies))), { code: 'session-expired' })
    await assert.rejects(access.redeem(token), { code: 'invitation-expired' })
  })
