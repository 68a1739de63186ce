// Kept pages: found again with the same invitation only, and bounded; when a window keeps its own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PageStart } from '../app/shared/page-messages.ts'
import { createManualTime } from '../protocol/testing.ts'
import { createFakeCaches } from './cache-testing.ts'
import { KeptPages, PageKeeper, registerServiceWorker } from './kept-pages.ts'

const startOf = (channel: string, sessionEndsAt: number | null = null) =>
  ({ channel, sessionEndsAt, messages: [] }) as unknown as PageStart

/** A browser whose cookies a test changes. */
function openBrowser() {
  const { storage } = createFakeCaches('https://wind.example.org')
  let cookies = 'theme=dark'
  const pages = new KeptPages({ storage: () => storage, cookies: () => cookies })
  return {
    pages,
    /** Somebody's link is opened; null when the session has ended. */
    enter(invitation: string | null): void {
      cookies = invitation === null ? 'theme=dark' : `a=b; __Host-crosswind-invitation=${invitation}; c=d`
    },
    /** Whether it was kept. */
    async keep(channel: string, sessionEndsAt: number | null): Promise<boolean> {
      const page = { start: startOf(channel, sessionEndsAt), keptAt: 1 }
      const keeping = pages.keeping(`/d/${channel}`, `/d/${channel}`, page)
      if (!keeping) return false
      await (await storage.open(keeping.name)).put(keeping.path, new Response(keeping.page))
      return true
    },
    find: async (channel: string) => (await pages.read(`/d/${channel}`))?.start.channel ?? null,
  }
}

test('a page is found with the invitation that it was kept with, and no other', async () => {
  const { keep, find, enter } = openBrowser()
  enter('ada')
  assert.equal(await keep('diary', 5000), true)
  assert.equal(await find('diary'), 'diary')
  assert.equal(await find('notes'), null)
  enter('bob')
  assert.equal(await find('diary'), null)
})

test('after a session has ended, nothing of it is found, and nothing more is kept', async () => {
  const { keep, find, enter } = openBrowser()
  enter('ada')
  await keep('diary', 5000)
  enter(null)
  assert.equal(await find('diary'), null)
  assert.equal(await keep('diary', 5000), false)
  assert.equal(await find('diary'), null)
})

test('on an open server, pages are kept without an invitation', async () => {
  const { keep, find } = openBrowser()
  assert.equal(await keep('notes', null), true)
  assert.equal(await find('notes'), 'notes')
})

test('where the browser denies storage, or has something else, there is no page', async () => {
  const denying = new KeptPages({
    storage() {
      throw new DOMException('denied', 'SecurityError')
    },
    cookies: () => '',
  })
  assert.equal(await denying.read('/d/notes'), null)
  const { storage } = createFakeCaches('https://wind.example.org')
  await (await storage.open('crosswind pages ')).put('/d/notes', new Response('<html>'))
  assert.equal(await new KeptPages({ storage: () => storage, cookies: () => '' }).read('/d/notes'), null)
})

function openKeeper() {
  const time = createManualTime(0)
  const kept: string[] = []
  const state = { isOpen: true, snapshot: startOf('notes') as PageStart | 'erased' | null }
  const keeper = new PageKeeper({
    keep: (page) => kept.push(page === null ? 'nothing' : `${page.start.channel} ${page.keptAt}`),
    timers: time,
    isOpen: () => state.isOpen,
    snapshot: () => state.snapshot,
  })
  return { keeper, kept, state, time }
}

test('a window keeps its page half a minute after a change, and at once when it may end', () => {
  const { keeper, kept, time } = openKeeper()
  keeper.changed()
  time.advance(20_000)
  keeper.changed()
  assert.deepEqual(kept, [])
  time.advance(10_000)
  assert.deepEqual(kept, ['notes 30000'])
  keeper.changed()
  keeper.leave()
  time.advance(60_000)
  assert.deepEqual(kept.slice(1), ['notes 30000'])
})

test('without a connection it keeps what it had at the loss: later changes are among the drafts', () => {
  const { keeper, kept, state, time } = openKeeper()
  state.isOpen = false
  keeper.keep()
  time.advance(1000)
  keeper.changed()
  keeper.leave()
  time.advance(60_000)
  assert.deepEqual(kept, ['notes 0'])
})

test('what is only in the window is not kept as if it were safe; an erased document is dropped', () => {
  const { keeper, kept, state } = openKeeper()
  state.snapshot = null
  keeper.leave()
  state.snapshot = 'erased'
  keeper.leave()
  assert.deepEqual(kept, ['nothing'])
})

test('where the browser registers no service worker, there is none, and no error', async (t) => {
  const info = t.mock.method(console, 'info', () => undefined)
  const refusal = new DOMException('An SSL certificate error occurred.', 'SecurityError')
  // Absent in private windows, refusing with a certificate that is not trusted.
  for (const container of [undefined, { register: () => Promise.reject(refusal) }])
    assert.equal(await registerServiceWorker(container, '/service-worker.js'), null)
  assert.equal(info.mock.callCount(), 2)
})
