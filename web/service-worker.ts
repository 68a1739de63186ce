// The service worker: opens the page while the server does not answer. The build adds `build`.

import type { Keeping } from './kept-pages.ts'

declare const build: {
  /** Another one for each build. */
  readonly name: string
  /** Paths of the page without a document, and of its files: nothing in them is private. */
  readonly offlinePath: string
  readonly documentsPath: string
  readonly files: readonly string[]
  readonly keptPagesPrefix: string
}

/** The used part of W3C Service Workers; TypeScript has its types only without those of a page. */
interface LifeEvent extends Event {
  waitUntil(done: Promise<unknown>): void
  addRoutes?(rule: object): Promise<void>
}

interface MessageToWorker extends MessageEvent<Keeping>, LifeEvent {}

interface FetchEvent extends Event {
  readonly request: Request
  respondWith(answer: Promise<Response>): void
}

declare const skipWaiting: () => Promise<void>
declare const clients: { readonly claim: () => Promise<void> }

const cachePrefix = 'crosswind build '
const cacheName = cachePrefix + build.name

/** A server that takes longer counts as away. */
const maxWaitMs = 10_000

addEventListener('install', (event) => (event as LifeEvent).waitUntil(install(event as LifeEvent)))
addEventListener('activate', (event) => (event as LifeEvent).waitUntil(activate()))
addEventListener('fetch', (event) => answer(event as FetchEvent))
addEventListener('message', (event) => (event as MessageToWorker).waitUntil(keepPage(event.data)))

async function install(event: LifeEvent): Promise<void> {
  // Chromium alone: messages never wait for this worker to start.
  await event.addRoutes?.({ condition: { urlPattern: '/api/*' }, source: 'network' }).catch(() => undefined)
  const cache = await caches.open(cacheName)
  await cache.addAll([build.offlinePath, ...build.files])
  await skipWaiting()
}

async function activate(): Promise<void> {
  for (const name of await caches.keys())
    if (name.startsWith(cachePrefix) && name !== cacheName) await caches.delete(name)
  await clients.claim()
}

function answer(event: FetchEvent): void {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin) return
  if (request.mode === 'navigate') event.respondWith(openPage(request, pathname))
  else if (pathname.startsWith('/assets/')) event.respondWith(openFile(request))
}

/** The server's answer; the page without a document if there is none. */
async function openPage(request: Request, path: string): Promise<Response> {
  // Not preloaded: in Firefox a preload that fails ends the navigation.
  const asked = fetch(request)
  if (path !== '/' && !path.startsWith(build.documentsPath)) return asked
  const late = new Promise<null>((resolve) => setTimeout(resolve, maxWaitMs, null))
  const answered = await Promise.race([asked.catch(() => null), late])
  // The session has ended.
  if (answered?.status === 401) await forgetPages(null)
  if (answered && !isOfGateway(answered)) return answered
  return (await caches.match(build.offlinePath, { cacheName })) ?? asked
}

/** Maximum number of kept pages: those kept longest ago are dropped. */
const maxPages = 20

/** Keeps a document, and forgets those of other invitations. */
async function keepPage({ name, address, path, page }: Keeping): Promise<void> {
  await forgetPages(name)
  const cache = await caches.open(name)
  if (page === null) await Promise.all([cache.delete(address), cache.delete(path)])
  // The start page leads to a document that the server chooses.
  else for (const place of new Set([address, path])) await cache.put(place, new Response(page))
  const keys = await cache.keys()
  for (const key of keys.slice(0, Math.max(0, keys.length - maxPages))) await cache.delete(key)
}

async function forgetPages(but: string | null): Promise<void> {
  for (const name of await caches.keys())
    if (name.startsWith(build.keptPagesPrefix) && name !== but) await caches.delete(name)
}

/** A proxy's, whose server is away: answers of the server itself have a policy. */
function isOfGateway({ status, headers }: Response): boolean {
  return [502, 503, 504].includes(status) && !headers.has('Content-Security-Policy')
}

/** A file's name changes with its content. */
async function openFile(request: Request): Promise<Response> {
  return (await caches.match(request, { cacheName, ignoreVary: true })) ?? fetch(request)
}
