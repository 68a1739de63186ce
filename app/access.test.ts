// Invitations, sessions and grants: expiry, forgeries, renewal, the cache, and what a session allows.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { SignJWT, UnsecuredJWT } from 'jose'
import { refuseReading, refuseWriting } from '../server/security/grants.ts'
import { grantWith } from '../server/security/testing.ts'
import {
  Access,
  invitationLink,
  isOpenTo,
  makeInvitation,
  maxChannels,
  type Permission,
  type Session,
} from './access.ts'
import { cookieAfter, cookieIn, hourMs, key, noon, otherKey, plainRights, toWrite } from './access-testing.ts'

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
  const access = new Access({
    isOpen,
    key: signedWith,
    rightsOf: plainRights,
    sessionMs,
    now,
    clock: now,
    cachedSessions,
  })
  return { access, clock }
}

const withCookie = (cookie: string | undefined) => ({ cookie })

/** `until` is the end of the invitation. */
const sessionFrom = ({ channels, may }: Permission, expiresAt: number, until = expiresAt): Session => ({
  channels,
  may,
  expiresAt,
  until,
  account: hash('sha256', `${may} ${until} ${channels}`, 'base64url').slice(0, 22),
})

test('an invitation opens a session, which has its permission', async () => {
  const { access } = accessAt(noon)
  const token = await makeInvitation({ ...toWrite, expiresAt: noon + 24 * hourMs }, key)
  const { setCookies, session } = await access.redeem(token)
  assert.deepEqual(session, sessionFrom(toWrite, noon + hourMs, noon + 24 * hourMs))
  assert.deepEqual(await access.sessionFor(withCookie(cookieIn(setCookies))), session)
  assert.deepEqual(await access.sessionFor(withCookie(`theme=dark; ${cookieIn(setCookies)}`)), session)
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
    sessions.map(({ setCookies }) => access.sessionFor(withCookie(cookieIn(setCookies)))),
  )
  const byBearer = await access.sessionFor({ token: link })
  const same = [...grants, byBearer].map(({ account }) => account === one.session.account)
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
    await assert.rejects(access.sessionFor(withCookie(header)), { status: 401, code: 'no-session' })
  }
  const other = accessAt(noon, { signedWith: otherKey }).access
  await assert.rejects(other.sessionFor(withCookie(foreign)), { status: 401, code: 'no-session' })
})

test('a cached session is not verified again, but still expires', async () => {
  const { access, clock } = accessAt(noon)
  const cookie = await cookieAfter(access)
  const session = await access.sessionFor(withCookie(cookie))
  clock.now = noon + hourMs - 1
  assert.equal(await access.sessionFor(withCookie(cookie)), session)
  clock.now = noon + hourMs
  await assert.rejects(access.sessionFor(withCookie(cookie)), { status: 401, code: 'session-expired' })
  await assert.rejects(access.sessionFor(withCookie(cookie)), { status: 401, code: 'session-expired' })
})

test('an uncached session expires to the millisecond', async () => {
  const cookie = await cookieAfter(accessAt(noon).access)
  const session = sessionFrom(toWrite, noon + hourMs, noon + 24 * hourMs)
  assert.deepEqual(await accessAt(noon + hourMs - 1).access.sessionFor(withCookie(cookie)), session)
  const message = /^[^.]+ask for a new one\.$/
  await assert.rejects(accessAt(noon + hourMs).access.sessionFor(withCookie(cookie)), {
    code: 'session-expired',
    message,
  })
})

test('a tampered session does not match the cached one', async () => {
  const { access } = accessAt(noon)
  const cookie = await cookieAfter(access)
  await access.sessionFor(withCookie(cookie))
  await assert.rejects(access.sessionFor(withCookie(`${cookie}A`)), { code: 'no-session' })
})

test('the session cache drops the oldest entry when it is full', async () => {
  const { access, clock } = accessAt(noon, { cachedSessions: 2 })
  const cookieUntil = (minutes: number) => cookieAfter(access, toWrite, noon + minutes * 60_000)
  const first = await cookieUntil(10)
  const second = await cookieUntil(20)
  const third = await cookieUntil(30)
  const grants = [
    await access.sessionFor(withCookie(first)),
    await access.sessionFor(withCookie(second)),
    await access.sessionFor(withCookie(third)),
  ]
  assert.equal(await access.sessionFor(withCookie(second)), grants[1])
  assert.equal(await access.sessionFor(withCookie(third)), grants[2])
  const again = await access.sessionFor(withCookie(first))
  assert.deepEqual(again, grants[0])
  assert.notEqual(again, grants[0])
  clock.now += 10 * 60_000
  await assert.rejects(access.sessionFor(withCookie(first)), { code: 'session-expired' })
})

test('a session lasts whole seconds, and never longer than its invitation', async () => {
  const until = noon + 3 * hourMs
  const token = await makeInvitation({ ...toWrite, expiresAt: until }, key)
  const endOf = async (start: number, sessionMs: number) =>
    (await accessAt(start, { sessionMs }).access.redeem(token)).session.expiresAt
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
    const { setCookies, session } = await access.renew(cookie)
    cookie = cookieIn(setCookies)
    assert.equal(session.expiresAt, end, `after ${minutes} minutes`)
    assert.deepEqual(await access.sessionFor(withCookie(cookie)), session)
  }
  clock.now = until
  await assert.rejects(access.renew(cookie), { status: 401, code: 'session-expired' })
  await assert.rejects(access.sessionFor(withCookie(cookie)), { status: 401, code: 'session-expired' })
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
  const { session } = await access.renew(cookie)
  assert.deepEqual([session.channels, session.may], [['main'], 'read'])
})

test('an invitation is to what its maker may write, and ends with the maker’s own', async () => {
  const { access } = accessAt(noon)
  const until = noon + 2 * hourMs
  const writer = withCookie(await cookieAfter(access, toWrite, until))
  const reader = withCookie(await cookieAfter(access, { channels: 'all', may: 'read' }))
  for (const may of ['read', 'write'] as const) {
    const { token, expiresAt } = await access.invite(writer, { channel: 'main', may, hours: 8760 })
    assert.equal(expiresAt, until)
    const { session } = await access.redeem(token)
    assert.deepEqual([session.channels, session.may, session.until], [['main'], may, until])
  }
  const asked = { channel: 'main', may: 'read', hours: 1 } as const
  await assert.rejects(access.invite(writer, { ...asked, channel: 'secret' }), {
    status: 403,
    code: 'not-invited-there',
  })
  await assert.rejects(access.invite(reader, asked), { status: 403, code: 'read-only-invitation' })
})

test('an open server admits everyone, and invitation links still work', async () => {
  const { access } = accessAt(noon, { isOpen: true })
  const everything = { channels: 'all', may: 'write', expiresAt: null, until: Infinity, account: null }
  assert.deepEqual(await access.sessionFor({}), everything)
  assert.deepEqual(await access.sessionFor(withCookie('__Host-crosswind=nonsense')), everything)
  assert.deepEqual(await access.renew(undefined), { session: everything, setCookies: [] })
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
    assert.ok(await access.sessionFor(withCookie(header)))
  for (const header of ['a=b', `x${cookie}`, cookie.replace('__Host-', '')]) {
    await assert.rejects(access.sessionFor(withCookie(header)), { status: 401, code: 'no-session' }, header)
  }
})

test('an invitation or a truncated token is not accepted as a session', async () => {
  const { access } = accessAt(noon)
  const invitation = await makeInvitation({ ...toWrite, expiresAt: noon + hourMs }, key)
  const cookie = await cookieAfter(access)
  for (const header of [`__Host-crosswind=${invitation}`, cookie.slice(0, -5), '__Host-crosswind=no token']) {
    await assert.rejects(access.sessionFor(withCookie(header)), { status: 401, code: 'no-session' })
  }
})

test('the largest cookie stays within browsers’ limit', async () => {
  const channels = Array.from({ length: maxChannels }, (_, index) => `${index}`.padStart(64, 'x'))
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
  const wayOut = /^[^.]+; ask for a new link\.$/
  await assert.rejects(redeem(token, now), { status: 401, code, message: wayOut }, token)
}

/** A token that is valid except for what is changed. */
function forged(change: { typ?: string; aud?: string; alg?: string; claims?: object; exp?: number | null }) {
  const { typ = 'crosswind-invitation+jwt', aud = 'crosswind:invitation', alg = 'HS256' } = change
  const { claims = toWrite, exp = expiresAt / 1000 } = change
  const token = new SignJWT({ ...claims }).setProtectedHeader({ alg, typ }).setAudience(aud)
  return (exp === null ? token : token.setExpirationTime(exp)).sign(key)
}

const invited = sessionFrom(toWrite, expiresAt)

test('an invitation carries its permission until it expires', async () => {
  assert.deepEqual((await redeem(await make())).session, invited)
  assert.deepEqual((await redeem(await make(), expiresAt - 1)).session, invited)
  const all: Permission = { channels: 'all', may: 'read' }
  const token = await makeInvitation({ ...all, expiresAt: expiresAt + 999 }, key)
  assert.deepEqual((await redeem(token)).session, sessionFrom(all, expiresAt))
})

test('an invitation expires to the millisecond', async () => {
  await refused(await make(), 'invitation-expired', expiresAt)
})

test('an unchanged forged token is accepted, so that the next tests fail only for their one change', async () => {
  assert.deepEqual((await redeem(await forged({}))).session, invited)
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
  const names = Array.from({ length: maxChannels + 1 }, (_, index) => `page-${index}`)
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

const openGrant = grantWith({})
const writer = grantWith(plainRights({ channels: ['main', 'notes'], may: 'write' }))
const reader = grantWith(plainRights({ channels: ['main'], may: 'read' }))
const guide = grantWith(plainRights({ channels: 'all', may: 'read' }))

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
      rightsOf: plainRights,
      sessionMs: 12 * hourMs,
      now,
      clock: () => time.wall + time.passed,
    })
    time.wall += stepMs
    const token = await makeInvitation({ ...toWrite, expiresAt: time.wall + 60_000 }, key)
    const { session, setCookies } = await access.redeem(token)
    const byBearer = await access.sessionFor({ token })
    const byCookie = await access.sessionFor(withCookie(cookieIn(setCookies)))
    for (const given of [session, byBearer, byCookie]) assert.equal(given.expiresAt, noon + 60_000)
    time.passed = 60_000
    await assert.rejects(access.sessionFor(withCookie(cookieIn(setCookies))), { code: 'session-expired' })
    await assert.rejects(access.redeem(token), { code: 'invitation-expired' })
  })
