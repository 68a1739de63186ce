// What a reload finds of what was not acknowledged.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Draft } from '../../server/wire/envelope.ts'
import { openOutboxStore } from './outbox-store.ts'
import { createItems } from './testing-link.ts'

function draft(n: number): Draft {
  return { id: `w1-${n}`, channel: 'main', kind: 'edit', from: 'w1', at: n, body: { html: `${n}` } }
}

test('gives back what was saved, in order, whatever was saved before', () => {
  const { store } = createItems()
  const first = openOutboxStore(() => store)
  assert.deepEqual([first.restored, first.unreadable], [[], 0])
  first.save([draft(1), draft(2), draft(3)])
  first.save([draft(2), draft(3), draft(4)])
  assert.deepEqual(openOutboxStore(() => store).restored, [draft(2), draft(3), draft(4)])
})

test('leaves nothing behind when nothing is unacknowledged', () => {
  const { items, store } = createItems()
  openOutboxStore(() => store).save([draft(1), draft(2)])
  assert.equal(openOutboxStore(() => store).save([]), true)
  assert.equal(items.size, 0)
})

test('writes each draft once', () => {
  const { store } = createItems()
  const written: string[] = []
  const setItem = (key: string, value: string) => {
    written.push(key)
    store.setItem(key, value)
  }
  const saved = openOutboxStore(() => ({ ...store, setItem }))
  saved.save([draft(1)])
  saved.save([draft(1), draft(2)])
  assert.deepEqual(
    written.filter((key) => key.includes(':')),
    ['crosswind-outbox:w1-1', 'crosswind-outbox:w1-2'],
  )
})

test('says so when there is no room, and saves all when there is again', () => {
  const { store } = createItems(3)
  const saved = openOutboxStore(() => store)
  assert.equal(saved.save([draft(1), draft(2), draft(3)]), false)
  assert.equal(saved.save([draft(2), draft(3)]), true)
  assert.deepEqual(openOutboxStore(() => store).restored, [draft(2), draft(3)])
})

test('says so when this browser keeps nothing for a page', () => {
  const store = openOutboxStore(() => {
    throw new Error('SecurityError')
  })
  assert.deepEqual(
    [store.restored, store.unreadable, store.save([draft(1)]), store.save([])],
    [[], 0, false, true],
  )
})

for (const [key, text] of [
  ['crosswind-outbox:w1-1', '{"id":'],
  ['crosswind-outbox:w1-1', '{"id":"w1-1"}'],
  ['crosswind-outbox:w1-1', 'null'],
] as const) {
  test(`a broken draft (${text}) is counted, and the others are given back`, () => {
    const { items, store } = createItems()
    openOutboxStore(() => store).save([draft(1), draft(2)])
    items.set(key, text)
    const { restored, unreadable } = openOutboxStore(() => store)
    assert.deepEqual([restored, unreadable], [[draft(2)], 1])
  })
}

for (const text of ['[1', '{}', '[1]']) {
  test(`a broken order (${text}) is told and does not throw`, () => {
    const { items, store } = createItems()
    items.set('crosswind-outbox', text)
    const { restored, unreadable } = openOutboxStore(() => store)
    assert.deepEqual([restored, unreadable], [[], 1])
  })
}
