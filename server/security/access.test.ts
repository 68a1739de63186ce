// Checks invitations, sessions and grants: ends, forgeries, renewal, the bounded cache, and what a grant allows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignJWT, UnsecuredJWT } from 'jose'
import {
  Access,
  grantFrom,
  invitationLink,
  isLoopback,
  isOpenTo,
  makeInvitation,
  mostChannels,
  openGrant,
  type Permission,
  refuseReading,
  refuseWriting,
} from './access.ts'
import { cookieAfter, cookieIn, hourMs, key, noon, otherKey, toWrite } from './testing.ts'

interface Change {
  readonly isOpen?: boolean
  readonly signedWith?: typeof key
  readonly sessionMs?: number
  readonly cachedSessions?: number
}

/** Its clock stands until it is moved. */
function accessAt(
  start: number,
  { isOpen = false, signedWith = key, sessionMs = hourMs, cachedSessions = 100 }: Change = {},
) {
  const clock = { now: start }
  const now = () => clock.now
  const access = new Access({ isOpen, key: signedWith, sessionMs, now, cachedSessions })
  return { access, clock }
}

test('from an invitation to a session to a grant', async () => {
  const { access } = accessAt(noon)
  const token = await makeInvitation({ ...toWrite, expiresAt: noon + 24 * hourMs }, key)
  const { setCookie, grant } = await access.redeem(token)
  assert.deepEqual(grant, grantFrom(toWrite, noon + hourMs, noon + 24 * hourMs))
  assert.deepEqual(await access.grantFor(cookieIn(setCookie)), grant)
  assert.deepEqual(await access.grantFor(`theme=dark; ${cookieIn(setCookie)}`), grant)
})

test('all who come by one link count as one invitation, those of another link as another', async () => {
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
  const grants = await Promise.all(sessions.map(({ setCookie }) => access.grantFor(cookieIn(setCookie))))
  const byBearer = await access.grantFor(undefined, `Bearer ${link}`)
  const same = [...grants, byBearer].map(({ invitation }) => invitation === one.grant.invitation)
  assert.deepEqual(same, [true, false, false, true])
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

test('a session that was never seen ends to the millisecond too', async () => {
  const cookie = await cookieAfter(accessAt(noon).access)
  const grant = grantFrom(toWrite, noon + hourMs, noon + 24 * hourMs)
  assert.deepEqual(await accessAt(noon + hourMs - 1).access.grantFor(cookie), grant)
  const message = /^[^.]+ask for a new one[^.]+\.$/
  await assert.rejects(accessAt(noon + hourMs).access.grantFor(cookie), { code: 'session-expired', message })
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

test('a session lasts as long as sessions do, in whole seconds, and never longer than its invitation', async () => {
  const until = noon + 3 * hourMs
  const token = await makeInvitation({ ...toWrite, expiresAt: until }, key)
  const endOf = async (start: number, sessionMs: number) =>
    (await accessAt(start, { sessionMs }).access.redeem(token)).grant.expiresAt
  assert.equal(await endOf(noon, hourMs), noon + hourMs)
  assert.equal(await endOf(noon, 5 * hourMs), until)
  assert.equal(await endOf(noon + 250.5, hourMs), noon + hourMs)
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

test('the cookie is for this host, over TLS, out of scripts’ reach, and goes along on a link from elsewhere', async () => {
  const token = await makeInvitation({ ...toWrite, expiresAt: noon + 3 * hourMs }, key)
  const { setCookie } = await accessAt(noon).access.redeem(token)
  const [pair = '', ...attributes] = setCookie?.split('; ') ?? []
  assert.match(pair, /^__Host-crosswind=[\w-]+\.[\w-]+\.[\w-]+$/)
  assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=3600', 'Path=/', 'SameSite=Lax', 'Secure'])
})

test('the cookie is found among others, and no other is taken for it', async () => {
  const { access } = accessAt(noon)
  const cookie = await cookieAfter(access)
  for (const header of [cookie, `a=b; ${cookie}; c=d`, `a=b;${cookie}`])
    assert.ok(await access.grantFor(header))
  for (const header of ['a=b', `x${cookie}`, cookie.replace('__Host-', '')]) {
    await assert.rejects(access.grantFor(header), { status: 401, code: 'no-session' }, header)
  }
})

test('an invitation is no session, nor is a token that somebody cut', async () => {
  const { access } = accessAt(noon)
  const invitation = await makeInvitation({ ...toWrite, expiresAt: noon + hourMs }, key)
  const cookie = await cookieAfter(access)
  for (const header of [`__Host-crosswind=${invitation}`, cookie.slice(0, -5), '__Host-crosswind=no token']) {
    await assert.rejects(access.grantFor(header), { status: 401, code: 'no-session' })
  }
})

test('the largest cookie is one that browsers keep', async () => {
  const channels = Array.from({ length: mostChannels }, (_, index) => `${index}`.padStart(64, 'x'))
  const token = await makeInvitation({ channels, may: 'write', expiresAt: noon + hourMs }, key)
  const { setCookie } = await accessAt(noon).access.redeem(token)
  const bytes = setCookie?.length ?? Number.POSITIVE_INFINITY
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

/** A token that is right in everything but what is changed. */
function forged(change: { typ?: string; aud?: string; alg?: string; claims?: object; exp?: number | null }) {
  const { typ = 'crosswind-invitation+jwt', aud = 'crosswind:invitation', alg = 'HS256' } = change
  const { claims = toWrite, exp = expiresAt / 1000 } = change
  const token = new SignJWT({ ...claims }).setProtectedHeader({ alg, typ }).setAudience(aud)
  return (exp === null ? token : token.setExpirationTime(exp)).sign(key)
}

const invited = grantFrom(toWrite, expiresAt)

test('what was put into an invitation comes out, until the end', async () => {
  assert.deepEqual((await redeem(await make())).grant, invited)
  assert.deepEqual((await redeem(await make(), expiresAt - 1)).grant, invited)
  const all: Permission = { channels: 'all', may: 'read' }
  const token = await makeInvitation({ ...all, expiresAt: expiresAt + 999 }, key)
  assert.deepEqual((await redeem(token)).grant, grantFrom(all, expiresAt))
})

test('an invitation ends to the millisecond', async () => {
  await refused(await make(), 'invitation-expired', expiresAt)
})

test('a forger who is right in everything is let in: so the others fail for their one change', async () => {
  assert.deepEqual((await redeem(await forged({}))).grant, invited)
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
  const session = (await cookieAfter(accessAt(noon).access)).split('=')[1] ?? ''
  await refused(session, 'invitation-invalid')
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

test('what only this machine reaches', () => {
  for (const host of ['localhost', '127.0.0.1', '127.8.8.8', '::1'])
    assert.equal(isLoopback(host), true, host)
  for (const host of [
    '0.0.0.0',
    '::',
    '192.168.7.20',
    '127.example.org',
    '127.0.0.1.example.org',
    'box',
    '',
  ]) {
    assert.equal(isLoopback(host), false, host)
  }
})

test('auto is open on loopback alone; a word of the config goes before', () => {
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

test('what a grant covers may be read, and the wind with every grant', () => {
  for (const grant of [openGrant, guide, writer, reader]) {
    assert.equal(refuseReading(grant, ['main', 'wind']), null)
    assert.equal(refuseReading(grant, []), null)
  }
  assert.equal(refuseReading(guide, ['anything']), null)
})

test('a foreign channel among others is named', () => {
  const refusal = refuseReading(writer, ['main', 'wind', 'secret'])
  assert.deepEqual([refusal?.status, refusal?.code], [403, 'not-invited-there'])
  assert.match(refusal?.message ?? '', /"secret"/)
  assert.equal(refuseReading(writer, ['notes', 'secret', 'main'])?.code, 'not-invited-there')
})

test('who may read a page may read its overview, and nobody else', () => {
  for (const grant of [openGrant, guide, writer, reader]) {
    assert.equal(refuseReading(grant, ['main', 'wind', 'overview.main']), null)
  }
  assert.equal(refuseReading(writer, ['overview.notes']), null)
  assert.match(refuseReading(reader, ['main', 'overview.notes'])?.message ?? '', /"overview\.notes"/)
  // An invitation to a page of that name is none to what it would be about.
  const sly = grantFrom({ channels: ['overview.secret'], may: 'read' }, noon)
  assert.equal(refuseReading(sly, ['overview.secret'])?.code, 'not-invited-there')
})

test('a writer writes where it is invited', () => {
  assert.equal(refuseWriting(openGrant, 'anything'), null)
  assert.equal(refuseWriting(writer, 'notes'), null)
  const refusal = refuseWriting(writer, 'secret', 'w1-4')
  assert.deepEqual([refusal?.status, refusal?.code, refusal?.id], [403, 'not-invited-there', 'w1-4'])
  assert.match(refusal?.message ?? '', /"secret"/)
})

test('a reader writes nowhere', () => {
  for (const grant of [reader, guide]) {
    const refusal = refuseWriting(grant, 'main', 'w1-4')
    assert.deepEqual([refusal?.status, refusal?.code, refusal?.id], [403, 'read-only-invitation', 'w1-4'])
  }
})

test('to read the wind is not to write it', () => {
  assert.equal(refuseWriting(writer, 'wind')?.code, 'not-invited-there')
})

test('every grant reads and writes probes, which opens no overview of that name', () => {
  for (const grant of [openGrant, guide, writer, reader]) {
    assert.equal(refuseReading(grant, ['probes']), null)
    assert.equal(refuseWriting(grant, 'probes', 'w1-4'), null)
  }
  assert.equal(refuseReading(reader, ['overview.probes'])?.code, 'not-invited-there')
})
