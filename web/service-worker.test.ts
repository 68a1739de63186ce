// The service worker, as the build writes it, among fakes: what it answers while the server is there, away, and slow.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { createContext, runInContext } from 'node:vm'
import { keptPagesPrefix } from '../app/shared/page-paths.ts'
import { createFakeCaches } from './cache-testing.ts'
import type { Keeping } from './kept-pages.ts'

const script = stripTypeScriptTypes(readFileSync(join(import.meta.dirname, 'service-worker.ts'), 'utf8'))

const origin = 'https://wind.example.org'
const policy = { 'Content-Security-Policy': "default-src 'none'" }

type Fetch = (request: { readonly url: string }) => Promise<Response>

/** A browser with this build's worker. `fetch`: what the server answers. */
async function install(fetch: Fetch, name = 'one', caches = createFakeCaches(origin)) {
  const listeners = new Map<string, (event: object) => void>()
  const timers: (() => void)[] = []
  const offline = new Response('shell', { headers: policy })
  caches.fetch = async (url) => (url.endsWith('/offline') ? offline.clone() : new Response(`file of ${name}`))
  runInContext(
    script,
    createContext({
      build: {
        name,
        offlinePath: '/offline',
        documentsPath: '/d/',
        files: ['/assets/app-1.js'],
        keptPagesPrefix,
      },
      addEventListener: (type: string, listener: (event: object) => void) => listeners.set(type, listener),
      caches: caches.storage,
      fetch,
      location: new URL(origin),
      clients: { claim: async () => undefined },
      skipWaiting: async () => undefined,
      setTimeout: (run: (value: null) => void, _delayMs: number, value: null) =>
        timers.push(() => run(value)),
      URL,
      Response,
    }),
  )
  const tell = async (type: string, event: object = {}) => {
    let done: Promise<unknown> = Promise.resolve()
    const waiting = (promise: Promise<unknown>) => {
      done = promise
    }
    listeners.get(type)?.({ ...event, waitUntil: waiting, respondWith: waiting })
    return done
  }
  await tell('install')
  await tell('activate')
  return {
    caches,
    /** Undefined if the worker stays out of it. */
    ask: (path: string, { mode = 'navigate', method = 'GET' } = {}) =>
      tell('fetch', {
        request: { url: path.startsWith('/') ? origin + path : path, mode, method },
      }) as Promise<Response | undefined>,
    keep: (keeping: Keeping) => tell('message', { data: keeping }),
    timeOut() {
      for (const run of timers.splice(0)) run()
    },
  }
}

const away: Fetch = () => Promise.reject(new TypeError('Failed to fetch'))
const textOf = async (answer: Promise<Response | undefined>) => (await answer)?.text()

test('while the server answers, its page is shown, whatever it says', async () => {
  for (const status of [200, 404, 410, 422, 500, 503]) {
    const { ask } = await install(async () => new Response('of the server', { status, headers: policy }))
    assert.equal(await textOf(ask('/d/notes')), 'of the server', String(status))
  }
})

test('while it does not, or only a proxy answers, the page without a document is', async () => {
  const gateways = [502, 503, 504].map(
    (status): Fetch =>
      async () =>
        new Response('of nginx', { status }),
  )
  for (const fetch of [away, ...gateways]) {
    const { ask } = await install(fetch)
    for (const path of ['/d/notes', '/', '/d/notes?view=wind']) {
      const answer = await ask(path)
      assert.equal(await answer?.text(), 'shell')
      assert.equal(answer?.headers.get('Content-Security-Policy'), policy['Content-Security-Policy'])
    }
  }
})

test('a server that is silent for long counts as away, a slow one does not', async () => {
  const { promise, resolve } = Promise.withResolvers<Response>()
  const { ask, timeOut } = await install(() => promise)
  const silent = ask('/d/notes')
  await new Promise(setImmediate)
  timeOut()
  assert.equal(await textOf(silent), 'shell')
  const slow = ask('/d/notes')
  resolve(new Response('of the server'))
  assert.equal(await textOf(slow), 'of the server')
})

test('pages that are not documents need the server; what is not a page, and another site, are left alone', async () => {
  const { ask } = await install(away)
  for (const path of ['/lab', '/join?invitation=x', '/api/session'])
    await assert.rejects(ask(path), /Failed to fetch/, path)
  assert.equal(await ask('/api/messages', { mode: 'cors', method: 'POST' }), undefined)
  assert.equal(await ask('/api/stream?window=w1', { mode: 'cors' }), undefined)
  assert.equal(await ask('/join', { method: 'POST' }), undefined)
  assert.equal(await ask('https://other.example.org/assets/app-1.js', { mode: 'cors' }), undefined)
})

test('files are those of its build; after a new build those of the old one are gone', async () => {
  const first = await install(away)
  assert.equal(await textOf(first.ask('/assets/app-1.js', { mode: 'cors' })), 'file of one')
  const second = await install(away, 'two', first.caches)
  assert.equal(await textOf(second.ask('/assets/app-1.js', { mode: 'cors' })), 'file of two')
  assert.deepEqual(await first.caches.storage.keys(), ['crosswind build two'])
  await assert.rejects(second.ask('/assets/other-2.js', { mode: 'cors' }), /Failed to fetch/)
})

const keepingOf = (channel: string, invitation = 'ada', address = `/d/${channel}`): Keeping => ({
  name: keptPagesPrefix + invitation,
  address,
  path: `/d/${channel}`,
  page: channel,
})

test('keeps a document at its path and at the start page that led to it, until it is gone', async () => {
  const { keep, caches } = await install(away)
  const found = async (path: string) =>
    (await caches.storage.match(path, { cacheName: `${keptPagesPrefix}ada` }))?.text()
  await keep(keepingOf('main', 'ada', '/'))
  await keep(keepingOf('notes'))
  assert.deepEqual(await Promise.all(['/', '/d/main', '/d/notes'].map(found)), ['main', 'main', 'notes'])
  await keep({ ...keepingOf('main', 'ada', '/'), page: null })
  assert.deepEqual(await Promise.all(['/', '/d/main', '/d/notes'].map(found)), [
    undefined,
    undefined,
    'notes',
  ])
})

test('with another invitation, the documents of the one before are forgotten', async () => {
  const { keep, caches } = await install(away)
  await keep(keepingOf('diary'))
  await keep(keepingOf('notes', 'bob'))
  assert.deepEqual(await caches.storage.keys(), ['crosswind build one', `${keptPagesPrefix}bob`])
})

test('of many documents, the last twenty are kept', async () => {
  const { keep, caches } = await install(away)
  for (let n = 0; n < 22; n += 1) {
    await keep(keepingOf(`n${n}`))
    await keep(keepingOf('often'))
  }
  const cacheName = `${keptPagesPrefix}ada`
  const isThere = async (path: string) => (await caches.storage.match(path, { cacheName })) !== undefined
  assert.deepEqual(await Promise.all(['/d/n2', '/d/n3', '/d/often'].map(isThere)), [false, true, true])
})

test('a session that ended is not a server that is away: its answer is shown, and the kept pages are forgotten', async () => {
  const { ask, caches } = await install(async () => new Response('ended', { status: 401, headers: policy }))
  const kept = await caches.storage.open(`${keptPagesPrefix}abc`)
  await kept.put('/d/notes', new Response('private'))
  assert.equal(await textOf(ask('/d/notes')), 'ended')
  assert.deepEqual(await caches.storage.keys(), ['crosswind build one'])
})
