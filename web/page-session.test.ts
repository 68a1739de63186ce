// A browser's key and names, the mode that an address requests, and session renewal.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { PageSettings } from '../app/shared/page-messages.ts'
import { HttpError, newName } from '../client/transports.ts'
import { fingerprintIn, keyPattern, nameUnder } from '../protocol/messages.ts'
import { modeNamed, transportNames } from '../protocol/modes.ts'
import { createManualTime } from '../protocol/testing.ts'
import {
  addressInMode,
  browserKey,
  keepSession,
  modeAsked,
  originFor,
  type renewSession,
} from './page-session.ts'

/** Simulates the browser that a page finds, and records what the page sets. */
function openBrowser({ cookies = '', key = null as string | null, isDenied = false } = {}) {
  const kept = { cookies, key, set: [] as string[] }
  const document = {
    get cookie() {
      return kept.cookies
    },
    set cookie(given: string) {
      kept.set.push(given)
      kept.cookies = `other=1; ${given.split(';', 1)[0]}`
    },
  }
  Object.assign(globalThis, { document })
  const database = {
    async key(proposed: string) {
      if (!isDenied) kept.key ??= proposed
      return kept.key ?? proposed
    },
  }
  return { kept, open: () => browserKey(database) }
}

const cookieOf = (key: string) => `__Host-crosswind-key=${key}`

test('all windows of a browser have one key, kept for this host only', async () => {
  const { kept, open } = openBrowser({ cookies: 'other=1' })
  const one = await open()
  const other = await open()
  assert.deepEqual(one, other)
  assert.match(one.key, keyPattern)
  for (const cookie of kept.set) assert.match(cookie, /^__Host-.*; path=\/; .*SameSite=Strict; Secure$/)
})

test('a key yields the names that the server accepts as its own', async () => {
  const { key, fingerprint } = await openBrowser().open()
  const hash = createHash('sha256').update(key).digest('base64url')
  assert.equal(fingerprint, hash.slice(0, 22))
  const name = nameUnder(fingerprint, newName('w'))
  assert.equal(fingerprintIn(name), fingerprint)
  assert.ok(name.length <= 48, 'leaves room for a counter in an id')
})

test('the key is the one under which text is kept, whatever becomes of the cookie', async () => {
  const { kept, open } = openBrowser()
  const { key } = await open()
  for (const cookies of ['', cookieOf('k'.repeat(24)), cookieOf('short')]) {
    kept.cookies = cookies
    assert.equal((await open()).key, key)
    assert.match(kept.cookies, new RegExp(key))
  }
})

test('where nothing is kept, the key is that of the cookie, which the other port has too, or a new one', async () => {
  const key = 'k'.repeat(24)
  for (const isDenied of [false, true])
    assert.equal((await openBrowser({ cookies: cookieOf(key), isDenied }).open()).key, key)
  assert.match((await openBrowser({ cookies: cookieOf('short') }).open()).key, keyPattern)
})

const settings: PageSettings = {
  transport: 'sse',
  http: '2',
  ports: { '2': 8443, '1.1': 8444 },
  polling: { intervalMs: 1000, holdMs: 20_000 },
  mergeMs: 15,
  share: 'none',
  hasSensor: true,
  limits: { maxMessageBytes: 65_536, outboxMessages: 1000, outboxBytes: 1_000_000 },
}

const origins: [page: string, http: '2' | '1.1', origin: string, ports?: PageSettings['ports']][] = [
  ['https://localhost:8443/', '2', 'https://localhost:8443'],
  ['https://localhost:8443/', '1.1', 'https://localhost:8444'],
  ['https://localhost:8444/?a=b', '2', 'https://localhost:8443'],
  ['https://[::1]:8443/', '1.1', 'https://[::1]:8444'],
  ['https://wind.example.org/', '1.1', 'https://wind.example.org:8444', { '2': 443, '1.1': 8444 }],
  ['https://wind.example.org/', '1.1', 'https://wind.example.org'],
  ['https://wind.example.org:4000/', '2', 'https://wind.example.org:4000'],
]

for (const [page, http, origin, ports = settings.ports] of origins) {
  test(`from ${page} HTTP/${http} with ports ${Object.values(ports)} is at ${origin}`, () => {
    assert.equal(originFor(http, { ...settings, ports }, new URL(page)), origin)
  })
}

const firsts: [search: string, name: string, change?: Partial<PageSettings>][] = [
  ['', 'sse/2'],
  ['', 'sse/1.1', { http: '1.1' }],
  ['', 'websocket/2', { transport: 'websocket' }],
  ['', 'websocket/1.1', { transport: 'websocket', http: '1.1' }],
  ['?http=1.1', 'sse/1.1'],
  ['?transport=websocket', 'websocket/2'],
  ['?transport=websocket&http=2', 'websocket/2'],
  ['?transport=streaming&http=1.1', 'streaming/2'],
  ['?transport=sse&http=2', 'sse/2', { transport: 'websocket', http: '1.1' }],
  ['?transport=pigeon', 'sse/2'],
  ['?transport=', 'sse/2'],
  ['?http=3', 'sse/2'],
]

for (const [search, name, change] of firsts) {
  test(`${search || 'no wish'} with ${JSON.stringify(change ?? 'the usual settings')} starts in ${name}`, () => {
    assert.equal(modeAsked({ ...settings, ...change }, search).mode.name, name)
  })
}

test('an address with an unknown transport or HTTP version gets a sentence, any other none', () => {
  const notice = (search: string) => modeAsked(settings, search).notice
  const names = new Intl.ListFormat('en', { type: 'disjunction' }).format(transportNames)
  assert.equal(
    notice('?transport=banana'),
    `There is no transport “banana”: use ${names}. This window uses SSE + XHR, HTTP/2.`,
  )
  assert.equal(
    notice('?transport=polling&http=3'),
    'There is no HTTP version “3”: use 2 or 1.1. This window uses Polling, HTTP/2.',
  )
  assert.match(notice('?transport=pigeon&http=0.9') ?? '', /pigeon.*0\.9/)
  assert.ok((notice(`?transport=${'x'.repeat(5000)}`) ?? '').length < 300)
  for (const search of ['', '?transport=', '?transport=sse&http=2', '?transport=streaming&http=1.1'])
    assert.equal(notice(search), null)
})

test("a mode's address keeps everything else that the page was asked for", () => {
  const standard = modeNamed('sse/2')
  const other = modeNamed('websocket/1.1') ?? assert.fail()
  const address = addressInMode('https://localhost:8443/?channel=a&record#end', other, standard)
  assert.equal(address, 'https://localhost:8443/?channel=a&record=&transport=websocket&http=1.1#end')
})

test('an address in the mode that the server chooses does not name it', () => {
  const standard = modeNamed('sse/2') ?? assert.fail()
  const address = 'https://localhost:8443/?channel=a&transport=websocket&http=1.1'
  assert.equal(addressInMode(address, standard, standard), 'https://localhost:8443/?channel=a')
})

/** A session that ends 40 s from now by default. */
function keep(answer: (now: number) => ReturnType<typeof renewSession>, endsInMs: number | null = 40_000) {
  const time = createManualTime()
  const startAt = time.now()
  const askedAt: number[] = []
  keepSession(time, endsInMs === null ? null : startAt + endsInMs, () => {
    askedAt.push((time.now() - startAt) / 1000)
    return answer(time.now())
  })
  const pass = async (seconds: number) => {
    time.advance(seconds * 1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { time, askedAt, pass }
}

test('a session is renewed when half of it is over', async () => {
  const { askedAt, pass } = keep(async (now) => ({ expiresAt: now + 3_600_000 }))
  for (let n = 0; n < 182; n += 1) await pass(20)
  assert.deepEqual(askedAt, [20, 1820, 3620])
})

test('if everyone is invited, no session is renewed', () => {
  const { time } = keep(async () => null, null)
  assert.equal(time.pending(), 0)
})

test('if the session has already ended, renewal is tried once', async () => {
  const ended = new HttpError({ status: 401, text: '' })
  for (const answer of [async () => ({ expiresAt: null }), () => Promise.reject(ended)]) {
    const { time, askedAt, pass } = keep(answer)
    await pass(20)
    assert.deepEqual([askedAt, time.pending()], [[20], 0])
  }
})

test('renewal is soon retried if the server could not be reached', async () => {
  const { askedAt, pass } = keep(() => Promise.reject(new Error('no answer')))
  await pass(20)
  for (let n = 0; n < 2; n += 1) await pass(5)
  assert.deepEqual(askedAt, [20, 25, 30])
})
