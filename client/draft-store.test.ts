// Which drafts a window stores, and which window gets them after it closes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UnstoredDraft } from './draft-database.ts'
import { createBrowser, settled } from './testing.ts'

function unstored(id: string, { channel = 'main', at = 0 } = {}): UnstoredDraft {
  const from = id.split('-')[0] ?? ''
  return {
    draft: { id, channel, kind: 'update', from, at, body: { update: id } },
    edits: 2,
  }
}

const idsOf = (left: readonly (readonly UnstoredDraft[])[]) =>
  left.map((drafts) => drafts.map(({ draft }) => draft.id))

test('keeps drafts until told to remove them', async () => {
  const browser = createBrowser()
  const { store } = browser.open('w1')
  assert.equal(await store.write([unstored('w1-1'), unstored('w1-2')], []), true)
  assert.equal(await store.write([unstored('w1-3')], ['w1-1']), true)
  assert.deepEqual(browser.ids(), ['w1-2', 'w1-3'])
  assert.equal(await store.write([], ['w1-2', 'w1-3']), true)
  assert.deepEqual(browser.ids(), [])
})

test('without room, reports failure and changes nothing', async () => {
  const browser = createBrowser()
  const { store } = browser.open('w1')
  await store.write([unstored('w1-1')], [])
  browser.limit(1)
  assert.equal(await store.write([unstored('w1-2'), unstored('w1-3')], ['w1-1']), false)
  assert.deepEqual(browser.ids(), ['w1-1'])
})

test('reports failure where nothing can be kept: Web Locks are missing or denied', async () => {
  const browser = createBrowser()
  const denied = { request: () => Promise.reject(new Error('SecurityError')) } as never
  for (const locks of [null, denied]) {
    const { store } = browser.open('w1', { locks })
    assert.deepEqual([await store.write([unstored('w1-1')], []), await store.write([], [])], [false, true])
  }
  assert.deepEqual(browser.ids(), [])
})

test('the next window gets all drafts of a closed one, in order and unchanged', async () => {
  const browser = createBrowser()
  await browser.open('w1').store.write([unstored('w1-2'), unstored('w1-1'), unstored('w1-3')], [])
  await browser.close('w1')
  const next = browser.open('w2')
  await next.store.look()
  await settled()
  assert.deepEqual(idsOf(next.left), [['w1-2', 'w1-1', 'w1-3']])
  assert.deepEqual(next.left[0]?.[0], unstored('w1-2'))
  // The drafts are now this window's own, to keep and to remove.
  await next.store.write([unstored('w2-1')], [])
  assert.deepEqual(browser.ids(), ['w1-2', 'w1-1', 'w1-3', 'w2-1'])
  await next.store.write([], ['w1-2', 'w1-1', 'w1-3'])
  assert.deepEqual(browser.ids(), ['w2-1'])
})

test('an open window keeps its drafts until it closes; drafts of another page stay there', async () => {
  const browser = createBrowser()
  await browser.open('w1').store.write([unstored('w1-1')], [])
  await browser.open('w2', { channel: 'other' }).store.write([unstored('w2-1', { channel: 'other' })], [])
  const open = browser.open('w3')
  await open.store.look()
  await browser.close('w2')
  assert.deepEqual(open.left, [])
  await browser.close('w1')
  assert.deepEqual(idsOf(open.left), [['w1-1']])
})

test('an open window gets what another leaves that wrote after it looked, and each time', async () => {
  const browser = createBrowser()
  const open = browser.open('w1')
  await open.store.look()
  for (const id of ['w2-1', 'w3-1']) {
    const [window = ''] = id.split('-')
    const { store } = browser.open(window)
    await store.write([unstored(`${id}0`)], [])
    await store.write([], [`${id}0`])
    await store.write([unstored(id)], [])
    await browser.close(window)
  }
  assert.deepEqual(idsOf(open.left), [['w2-1'], ['w3-1']])
  open.store.close()
})

test('only one of several windows gets the drafts; if it closes too, the next one does', async () => {
  const browser = createBrowser()
  await browser.open('w1').store.write([unstored('w1-1')], [])
  const others = ['w2', 'w3', 'w4'].map((window) => ({ window, ...browser.open(window) }))
  for (const { store } of others) await store.look()
  await browser.close('w1')
  for (let waiting = others; waiting.length > 0; ) {
    const [taker, ...twice] = waiting.filter(({ left }) => left.length > 0)
    assert.ok(taker && twice.length === 0)
    assert.deepEqual(idsOf(taker.left), [['w1-1']])
    await browser.close(taker.window)
    waiting = waiting.filter((one) => one !== taker)
  }
})

test('a read-only window leaves the drafts to one that may write', async () => {
  const browser = createBrowser()
  await browser.open('w1').store.write([unstored('w1-1')], [])
  const reader = browser.open('w2', { mayTake: false })
  const writer = browser.open('w3')
  for (const { store } of [reader, writer]) await store.look()
  await browser.close('w1')
  assert.deepEqual([idsOf(reader.left), idsOf(writer.left)], [[], [['w1-1']]])
})

test('drafts removed before their window closes go to no other, and drafts it writes after a restore are found', async () => {
  const browser = createBrowser()
  const { store } = browser.open('w1')
  await store.write([unstored('w1-1')], [])
  const other = browser.open('w2')
  await other.store.look()
  await store.write([], ['w1-1'])
  await browser.close('w1')
  assert.deepEqual(other.left, [])
  // Restored from the back-forward cache.
  const again = browser.open('w1')
  await again.store.write([unstored('w1-2')], [])
  await browser.close('w1')
  await other.store.look()
  await settled()
  assert.deepEqual(idsOf(other.left), [['w1-2']])
})

test('new drafts that build on a closed window’s drafts come after them', async () => {
  const browser = createBrowser()
  const now = (ms: number) => ({ timers: { now: () => ms } })
  await browser.open('w1', now(1000)).store.write([unstored('w1-1')], [])
  await browser.close('w1')
  // The second window's clock was set back.
  const second = browser.open('w2', now(500))
  await second.store.look()
  await settled()
  await second.store.write([unstored('w2-1')], [])
  await browser.close('w2')
  const third = browser.open('w3', now(0))
  await third.store.look()
  await settled()
  const orders = await Promise.all(['w1-1', 'w2-1'].map(async (id) => browser.orderOf(id)))
  assert.ok((orders[0] ?? 0) < (orders[1] ?? 0), `${orders}`)
})

test('a reloaded tab gets its own drafts, even those written while unloading', async () => {
  const browser = createBrowser()
  const before = browser.open('w1')
  const after = browser.open('w2', { predecessor: 'w1' })
  await after.store.look()
  await before.store.write([unstored('w1-1')], [])
  await browser.close('w1')
  assert.deepEqual(idsOf(after.left), [['w1-1']])
})

test('without a channel a window gets the drafts of all; one whose store closes leaves them to the next', async () => {
  const browser = createBrowser()
  await browser.open('w1').store.write([unstored('w1-1'), unstored('w1-2', { channel: 'other' })], [])
  await browser.close('w1')
  const [closing, next] = ['w2', 'w3'].map((window) => browser.open(window, { channel: undefined }))
  assert.ok(closing && next)
  await closing.store.look()
  await settled()
  assert.deepEqual(idsOf(closing.left), [['w1-1', 'w1-2']])
  await next.store.look()
  void closing.store.write([unstored('w2-1')], [])
  await closing.store.close()
  await settled()
  await next.store.look()
  await settled()
  assert.deepEqual(idsOf(next.left), [['w1-1', 'w1-2', 'w2-1']])
})
