// Origins; and links, sessions, open paths and refusals, with real requests.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { Permission } from '../../app/access.ts'
import { Access, makeInvitation } from '../../app/access.ts'
import {
  cookieAfter,
  cookieIn,
  hourMs,
  key,
  noon,
  plainRights,
  startTestApp,
  toWrite,
} from '../../app/access-testing.ts'
import { mustBeAllowed, type OriginRules, refuseForeign } from './middleware.ts'

const asBrowser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

async function start(t: TestContext, { isOpen = false } = {}) {
  const clock = { now: noon }
  const now = () => clock.now
  const access = new Access({ isOpen, key, rightsOf: plainRights, sessionMs: hourMs, now, clock: now })
  return { clock, access, ask: await startTestApp(t, access, now) }
}

const linkTo = async (permission: Permission, expiresAt = noon + 24 * hourMs) =>
  `/join?invitation=${await makeInvitation({ ...permission, expiresAt }, key)}`

const codeIn = async (response: Response) => (JSON.parse(await response.text()) as { code: string }).code

test('an invitation link sets the session cookie and redirects to its first page', async (t) => {
  const { ask } = await start(t)
  const response = await ask(await linkTo(toWrite), { headers: asBrowser })
  assert.equal(response.status, 303)
  assert.equal(response.headers.get('location'), '/d/main')
  assert.equal(response.headers.get('cache-control'), 'no-store')
  assert.equal(response.headers.get('referrer-policy'), 'no-referrer')
  assert.match(
    response.headers.getSetCookie()[0] ?? '',
    /^__Host-crosswind=\S+; .*HttpOnly; Secure; SameSite=Lax$/,
  )
  const cookie = cookieIn(response.headers.getSetCookie())
  const page = await ask('/d/main', { headers: { ...asBrowser, cookie } })
  assert.equal(await page.text(), 'behind the door: /d/main')
})

test('a link for all pages redirects to the main page', async (t) => {
  const { ask } = await start(t)
  const response = await ask(await linkTo({ channels: 'all', may: 'read' }))
  assert.equal(response.headers.get('location'), '/')
})

test('a link that gives less than the session asks before it replaces the session, and a foreign page cannot answer', async (t) => {
  const { ask, access } = await start(t)
  const cookie = await cookieAfter(access)
  const less = await linkTo({ channels: ['main'], may: 'read' })
  for (const path of [
    less,
    await linkTo({ channels: ['notes'], may: 'write' }),
    await linkTo(toWrite, noon + 60_000),
  ]) {
    const response = await ask(path, { headers: { cookie } })
    assert.deepEqual([response.status, response.headers.get('set-cookie')], [409, null])
    assert.equal(await codeIn(response), 'other-session')
  }
  const page = await ask(less, { headers: { ...asBrowser, cookie } })
  assert.match(page.headers.get('content-security-policy') ?? '', /form-action 'self'/)
  assert.match(await page.text(), /<form method="post"><button>Open this link instead<\/button><\/form>/)
  const foreign = { cookie, origin: 'https://evil.example' }
  assert.equal((await ask(less, { method: 'POST', headers: foreign })).status, 403)
  const confirmed = await ask(less, { method: 'POST', headers: { cookie } })
  assert.deepEqual([confirmed.status, confirmed.headers.get('location')], [303, '/d/main'])
  const session = await ask('/api/session', {
    headers: { cookie: cookieIn(confirmed.headers.getSetCookie()) },
  })
  assert.equal(((await session.json()) as { may: string }).may, 'read')
})

test('a link that gives as much as the session, or is opened after the session’s end, is accepted at once', async (t) => {
  const { ask, clock, access } = await start(t)
  const cookie = await cookieAfter(access)
  for (const permission of [toWrite, { channels: 'all', may: 'write' } as const])
    assert.equal((await ask(await linkTo(permission), { headers: { cookie } })).status, 303)
  clock.now += hourMs
  assert.equal(
    (await ask(await linkTo({ channels: ['main'], may: 'read' }), { headers: { cookie } })).status,
    303,
  )
})

test('a broken or expired link gives a program the refusal', async (t) => {
  const { ask } = await start(t)
  for (const [path, code] of [
    [await linkTo(toWrite, noon), 'invitation-expired'],
    ['/join?invitation=broken', 'invitation-invalid'],
    ['/join', 'invitation-invalid'],
    ['/join?invitation=a&invitation=b', 'invitation-invalid'],
    ['/join?invitation[x]=a', 'invitation-invalid'],
  ] as const) {
    const response = await ask(path)
    assert.equal(response.status, 401, path)
    assert.equal(response.headers.get('set-cookie'), null)
    assert.equal(await codeIn(response), code)
  }
})

test('a broken or expired link gives a person a page that says what to do', async (t) => {
  const { ask } = await start(t)
  for (const [path, heading] of [
    [await linkTo(toWrite, noon), 'This link has ended'],
    ['/join?invitation=<script>', 'This link does not work'],
  ] as const) {
    const response = await ask(path, { headers: asBrowser })
    assert.equal(response.status, 401)
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.match(response.headers.get('vary') ?? '', /\bAccept\b/)
    const page = await response.text()
    assert.ok(page.includes(`<h1>${heading}</h1>`), page)
    assert.match(page, /ask for a new link\./)
    assert.doesNotMatch(page, /<script|src=|href=|url\(/)
  }
})

test('the page’s policy allows only its one style', async (t) => {
  const { ask } = await start(t)
  const response = await ask('/', { headers: asBrowser })
  const policy = response.headers.get('content-security-policy') ?? ''
  const [, style = ''] = /<style>(.*?)<\/style>/s.exec(await response.text()) ?? []
  const hash = createHash('sha256').update(style).digest('base64')
  assert.match(style, /color-scheme: light dark/)
  assert.deepEqual(policy.split('; ').toSorted(), [
    "base-uri 'none'",
    "default-src 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    `style-src 'sha256-${hash}'`,
  ])
})

test('without a session the page itself is closed, and a person gets a page that says so', async (t) => {
  const { ask, clock, access } = await start(t)
  const cookie = await cookieAfter(access)
  const closed = await ask('/', { headers: asBrowser })
  assert.deepEqual([closed.status, closed.headers.get('cache-control')], [401, 'no-store'])
  assert.match(await closed.text(), /<h1>This page is by invitation<\/h1>/)
  clock.now = noon + hourMs
  const ended = await ask('/', { headers: { ...asBrowser, cookie } })
  assert.equal(ended.status, 401)
  assert.match(await ended.text(), /<h1>Your session has ended<\/h1>/)
})

test('HEAD is answered like GET, without a body', async (t) => {
  const { ask } = await start(t)
  const closed = await ask('/', { method: 'HEAD', headers: asBrowser })
  assert.deepEqual([closed.status, await closed.text()], [401, ''])
  const link = await ask(await linkTo(toWrite), { method: 'HEAD' })
  assert.deepEqual([link.status, link.headers.get('location')], [303, '/d/main'])
  assert.equal((await ask('/healthz', { method: 'HEAD' })).status, 200)
  assert.equal((await ask('/api/session', { method: 'HEAD' })).status, 401)
})

test('only the open paths need no session', async (t) => {
  const { ask } = await start(t)
  for (const path of [
    '/healthz',
    '/assets/index-DC8H7EK-.js',
    '/favicon.ico',
    '/favicon.svg',
    '/service-worker.js',
    '/offline',
  ]) {
    assert.equal((await ask(path)).status, 200, path)
  }
  const closed = [
    '/api/stream?window=w1&channels=main',
    '/api/figures',
    '/assets',
    '/assetsx',
    '/offline/x',
    '/service-worker.js/..%2findex.html',
    '/healthz/x',
    '/HEALTHZ',
    '//healthz',
    '/api/../healthz%2f',
    '/index.html',
    '/assets/..%2findex.html',
    '/assets/%2e%2e%5cindex.html',
    '/assets/..%2f..%2fpackage.json',
    '/nowhere',
  ]
  for (const path of closed) {
    const response = await ask(path)
    assert.equal(response.status, 401, path)
    assert.equal(await codeIn(response), 'no-session')
  }
})

test('a refused stream gets JSON, not a page', async (t) => {
  const { ask } = await start(t)
  const response = await ask('/api/stream', { headers: { accept: 'text/event-stream' } })
  assert.equal(response.status, 401)
  assert.equal(await codeIn(response), 'no-session')
})

test('GET /api/session does not renew the session', async (t) => {
  const { ask, clock, access } = await start(t)
  const cookie = await cookieAfter(access)
  clock.now += 60_000
  const response = await ask('/api/session', { headers: { cookie } })
  assert.equal(response.headers.get('set-cookie'), null)
  assert.equal(response.headers.get('cache-control'), 'no-store')
  assert.deepEqual(await response.json(), {
    may: 'write',
    channels: ['main', 'notes'],
    expiresAt: noon + hourMs,
  })
})

test('a session is renewed by a POST, and refused when it has ended', async (t) => {
  const { ask, clock, access } = await start(t)
  const cookie = await cookieAfter(access)
  clock.now += 60_000
  const response = await ask('/api/session', { method: 'POST', headers: { cookie } })
  const expiresAt = noon + hourMs + 60_000
  assert.deepEqual(await response.json(), { may: 'write', channels: ['main', 'notes'], expiresAt })
  clock.now = expiresAt - 1
  const renewed = cookieIn(response.headers.getSetCookie())
  assert.equal((await ask('/api/session', { headers: { cookie: renewed } })).status, 200)
  const old = await ask('/api/session', { method: 'POST', headers: { cookie } })
  assert.equal(old.status, 401)
  assert.equal(await codeIn(old), 'session-expired')
})

test('an open server has an endless session for everyone', async (t) => {
  const { ask } = await start(t, { isOpen: true })
  const open = { may: 'write', channels: 'all', expiresAt: null }
  const renewed = await ask('/api/session', { method: 'POST' })
  assert.equal(renewed.headers.get('set-cookie'), null)
  assert.deepEqual(await renewed.json(), open)
  assert.deepEqual(await (await ask('/api/session')).json(), open)
  assert.equal((await ask(await linkTo(toWrite))).headers.get('location'), '/d/main')
})

test('the other port’s page may send the cookie, and sees refusals', async (t) => {
  const { ask, access } = await start(t)
  // The host that `ask` uses has a free port; the page is on one of the server's own two.
  const origin = 'https://127.0.0.1:8444'
  const preflight = await ask('/api/session', { method: 'OPTIONS', headers: { origin } })
  assert.equal(preflight.status, 204)
  const cookie = await cookieAfter(access)
  const allowed = await ask('/api/session', { method: 'POST', headers: { origin, cookie } })
  const closed = await ask('/api/session', { headers: { origin } })
  assert.deepEqual([allowed.status, closed.status], [200, 401])
  for (const { headers } of [preflight, allowed, closed]) {
    assert.equal(headers.get('access-control-allow-origin'), origin)
    assert.equal(headers.get('access-control-allow-credentials'), 'true')
    assert.match(headers.get('vary') ?? '', /\bOrigin\b/)
  }
})

test('a foreign page renews nothing, and may not send cookies', async (t) => {
  const { ask, access } = await start(t)
  const headers = { origin: 'https://evil.example', cookie: await cookieAfter(access) }
  const response = await ask('/api/session', { method: 'POST', headers })
  assert.equal(response.status, 403)
  assert.equal(response.headers.get('set-cookie'), null)
  assert.equal(response.headers.get('access-control-allow-credentials'), null)
})

const allowedOrigins = ['https://wind.example.org']
const usual: OriginRules = { path: '/realtime', ports: () => [8443, 8444], allowedOrigins, allowedHosts: [] }
const onDefaultPort: OriginRules = { ...usual, ports: () => [443, 8444], allowedOrigins: [] }

type Case = [origin: string | undefined, host: string | undefined, isOwn: boolean, rules?: OriginRules]

const cases: Readonly<Record<string, readonly Case[]>> = {
  'its own page on the same port, or on its other one': [
    ['https://localhost:8443', 'localhost:8443', true],
    ['https://localhost:8443', 'localhost:8444', true],
    ['https://localhost:8444', 'localhost:8443', true],
    ['https://127.0.0.1:8443', '127.0.0.1:8444', true],
    ['https://LOCALHOST:8443', 'localhost:8444', true],
  ],
  'another port of the same machine is another server': [
    ['https://localhost:9000', 'localhost:8443', false],
    ['https://localhost', 'localhost:8443', false],
  ],
  'a default port that is not written': [
    ['https://localhost', 'localhost', true],
    ['https://localhost', 'localhost:443', true],
    ['https://localhost', 'localhost:8444', true, onDefaultPort],
    ['https://localhost:8444', 'localhost', true, onDefaultPort],
  ],
  IPv6: [
    ['https://[::1]:8443', '[::1]:8444', true],
    ['https://[::1]:8443', '[0:0:0:0:0:0:0:1]:8443', true],
    ['https://[::1]:8443', '[::2]:8443', false],
    ['https://[::1]:8443', '127.0.0.1:8443', false],
  ],
  'another host, however alike': [
    ['https://evil.example', 'localhost:8443', false],
    ['https://localhost.evil.example:8443', 'localhost:8443', false],
    ['https://localhost:8443.evil.example', 'localhost:8443', false],
    ['https://localhost:8443@evil.example', 'localhost:8443', false],
    ['https://127.0.0.1:8443', 'localhost:8443', false],
  ],
  'another scheme': [
    ['http://localhost:8443', 'localhost:8443', false],
    ['wss://localhost:8443', 'localhost:8443', false],
    ['chrome-extension://localhost', 'localhost', false],
  ],
  'what is not an origin': [
    ['null', 'localhost:8443', false],
    ['null', 'null', false],
    ['', 'localhost:8443', false],
    ['localhost:8443', 'localhost:8443', false],
    ['file://', 'localhost:8443', false],
  ],
  'a page through a proxy has the host that it asks for, whatever the port behind it': [
    ['https://app.example.org', 'app.example.org', true],
    ['https://app.example.org:4000', 'app.example.org:4000', true],
    ['https://app.example.org:4000', 'app.example.org:4001', false],
  ],
  'an origin that the config names, to the letter': [
    ['https://wind.example.org', 'localhost:8443', true],
    ['https://wind.example.org', undefined, true],
    ['https://wind.example.org:444', 'localhost:8443', false],
    ['http://wind.example.org', 'localhost:8443', false],
    ['https://a.wind.example.org', 'localhost:8443', false],
  ],
  'a request without an Origin does not come from a foreign page': [
    [undefined, 'localhost:8443', true],
    [undefined, undefined, true],
  ],
  'a request without a usable host belongs to nobody': [
    ['https://localhost:8443', undefined, false],
    ['https://localhost:8443', '', false],
    ['https://localhost:8443', 'local host', false],
  ],
}

for (const [title, rows] of Object.entries(cases)) {
  test(title, () => {
    for (const [origin, host, isOwn, rules = usual] of rows) {
      assert.equal(refuseForeign(origin, host, rules) === null, isOwn, `${origin} at ${host}`)
    }
  })
}

test('the refusal of a foreign page names the setting that would allow it', () => {
  const refusal = refuseForeign('https://evil.example', 'localhost:8443', usual)
  assert.deepEqual([refusal?.status, refusal?.code], [403, 'foreign-origin'])
  assert.match(refusal?.message ?? '', /https:\/\/evil\.example .* allowedOrigins/)
})

type Host = [host: string, localAddress: string, isAllowed: boolean, rules?: Partial<OriginRules>]

const hosts: Readonly<Record<string, readonly Host[]>> = {
  'on a loopback address, a name that is not the machine’s is foreign, whatever its page’s origin': [
    ['localhost:8443', '127.0.0.1', true],
    ['wind.localhost', '::1', true],
    ['127.0.0.1:8443', '::ffff:127.0.0.1', true],
    ['[::1]:8443', '::1', true],
    ['evil.example:8443', '127.0.0.1', false],
    ['evil.example', '127.8.8.8', false],
    ['evil.example', '::1', false],
    ['evil.example', '::ffff:127.0.0.1', false],
    ['localhost.evil.example', '127.0.0.1', false],
    ['evillocalhost', '127.0.0.1', false],
    ['127.0.0.1.evil.example', '127.0.0.1', false],
  ],
  'elsewhere any name is allowed, unless some are named': [
    ['wind.example.org', '192.168.1.9', true],
    ['evil.example', '192.168.1.9', false, { allowedHosts: ['wind.example.org'] }],
    ['192.168.1.9', '192.168.1.9', true, { allowedHosts: ['wind.example.org'] }],
  ],
  'named hosts, those of allowed origins, and any': [
    ['wind.example.org:444', '127.0.0.1', true],
    ['app.example.org', '127.0.0.1', true, { allowedHosts: ['APP.example.org'] }],
    ['app.example.org.', '127.0.0.1', true, { allowedHosts: ['app.example.org'] }],
    ['a.app.example.org', '127.0.0.1', false, { allowedHosts: ['app.example.org'] }],
    ['evil.example', '127.0.0.1', true, { allowedHosts: ['*'] }],
  ],
}

for (const [title, rows] of Object.entries(hosts))
  test(title, () => {
    for (const [host, localAddress, isAllowed, rules] of rows)
      for (const headers of [{ host }, { ':authority': host, origin: `https://${host}` }]) {
        const check = () => mustBeAllowed({ headers, socket: { localAddress } }, { ...usual, ...rules })
        if (isAllowed) check()
        else assert.throws(check, { status: 403, code: 'foreign-host' }, host)
      }
  })

test('a foreign page may link to pages, but to nothing below the path of the endpoints', () => {
  const headers = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  }
  const link = (url: string, originalUrl?: string) => () =>
    mustBeAllowed({ headers, url, ...(originalUrl !== undefined && { originalUrl }) }, usual)
  for (const allowed of [link('/'), link('/api/about'), link('/realtime'), link('/news', '/api/news')])
    allowed()
  for (const foreign of [
    link('/realtime/own?x=1'),
    link('/api/clock', '/realtime/clock'),
    link('https://localhost:8443/realtime/own'),
  ])
    assert.throws(foreign, { status: 403, code: 'foreign-origin' })
})

test('without a Host, as a health check asks over HTTP/1.0, a request passes', () => {
  mustBeAllowed({ headers: {}, socket: { localAddress: '127.0.0.1' } }, usual)
})
