// What a window has not been able to send: bounded, kept over a reload, sent before anything new.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createItems, openLink } from './testing-link.ts'

const bounds = { messages: 3, bytes: 100_000 }

test('at the bound older edits give way to newer ones, and how many is told until all is stored', async () => {
  const { newest, heard, publish } = openLink({ bounds })
  for (let n = 1; n <= 5; n += 1) assert.ok(publish(`${n}`))
  assert.deepEqual(heard.superseded, ['w1-1', 'w1-2'])
  assert.deepEqual([heard.outbox?.unstored, heard.outbox?.superseded, heard.outbox?.isFull], [3, 2, false])
  newest().welcome()
  assert.deepEqual(newest().sent, ['w1-3', 'w1-4', 'w1-5'])
  for (const n of [3, 4, 5]) await newest().store(`w1-${n}`, n)
  assert.deepEqual([heard.outbox?.unstored, heard.outbox?.superseded], [0, 0])
})

test('where all is under way the newest is refused, nothing else is lost, and room is told', async () => {
  const { newest, heard, publish } = openLink({ bounds })
  newest().welcome()
  for (let n = 1; n <= 3; n += 1) publish(`${n}`)
  assert.equal(publish('4'), null)
  assert.deepEqual([heard.superseded, heard.outbox?.isFull, newest().sent.length], [[], true, 3])
  await newest().store('w1-1', 1)
  assert.equal(heard.outbox?.isFull, false)
  assert.ok(publish('4'))
  assert.deepEqual(newest().sent.slice(3), ['w1-5'])
})

test('a reloaded window sends what was left, under its old ids, before anything new', async () => {
  const { store } = createItems()
  const first = openLink({ items: store })
  first.newest().welcome()
  for (const html of ['a', 'b', 'c']) first.publish(html)
  await first.newest().store('w1-1', 1)
  first.link.save()

  const second = openLink({ items: store, window: 'w2' })
  assert.equal(second.heard.outbox?.unstored, 2)
  second.publish('d')
  second.newest().welcome()
  assert.deepEqual(second.newest().sent, ['w1-2', 'w1-3', 'w2-1'])
  for (const id of ['w1-2', 'w1-3', 'w2-1']) await second.newest().store(id, 9)
  assert.deepEqual(openLink({ items: store }).heard.outbox, null)
})

test('saves what lingers for 250 ms, and not what is stored before', async () => {
  const { items, store } = createItems()
  const { time, newest, publish } = openLink({ items: store })
  newest().welcome()
  publish()
  time.advance(249)
  assert.equal(items.size, 0)
  await newest().store('w1-1', 1)
  publish()
  time.advance(249)
  assert.equal(items.size, 0)
  time.advance(1)
  assert.equal(items.size, 2)
  await newest().store('w1-2', 2)
  assert.equal(items.size, 0)
})

test('tells when a reload would lose something, and when that is over', async () => {
  const { store } = createItems(2)
  const { time, newest, heard, publish } = openLink({ items: store })
  publish()
  publish()
  time.advance(250)
  assert.equal(heard.outbox?.isSaved, false)
  newest().welcome()
  await newest().store('w1-1', 1)
  time.advance(250)
  assert.equal(heard.outbox?.isSaved, true)
})

test('closed, it writes nothing any more', () => {
  const { items, store } = createItems()
  const { link, time, publish } = openLink({ items: store })
  publish()
  link.close()
  time.advance(1000)
  assert.equal(items.size, 0)
})
