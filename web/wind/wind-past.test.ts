// When the server is asked for the wind of before.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ViewName } from '../page/views.ts'
import { createStore, firstView, type LinkView } from '../store/store.ts'
import { fillInPast } from './wind-past.ts'

function watching(view: ViewName = 'all') {
  const store = createStore(firstView('sse/2', { name: view, notice: null }))
  const time = { now: 1_000_000 }
  let asked = 0
  let answers = true
  fillInPast({
    store,
    ask: () => Promise.reject(new Error('The feed asks.')),
    now: () => time.now,
    feed: {
      async lookBack() {
        asked += 1
        return answers
      },
    },
  })
  const link = async (state: LinkView['state']) => {
    store.change({ link: { ...store.view().link, state } })
    await null
  }
  return {
    store,
    time,
    link,
    asked: () => asked,
    fail: (fails: boolean) => {
      answers = !fails
    },
    show: (name: ViewName) => store.change({ shown: { name, notice: null } }),
    hear: () => store.change({ wind: { ...store.view().wind, receivedAt: time.now } }),
  }
}

test('once, when the link is open, whatever else changes', async () => {
  const { link, asked, hear } = watching()
  assert.equal(asked(), 0)
  await link('open')
  hear()
  await link('opening')
  await link('open')
  assert.equal(asked(), 1)
})

test('not while nothing is shown that has a history', async () => {
  const { link, show, asked } = watching('editor')
  await link('open')
  show('overview')
  assert.equal(asked(), 0)
  show('wind')
  show('all')
  assert.equal(asked(), 1)
})

test('again at an opening after a long absence, not after a short one', async () => {
  const { link, hear, time, asked } = watching()
  await link('open')
  hear()
  for (const [absentMs, times] of [
    [59_000, 1],
    [61_000, 2],
  ] as const) {
    await link('waiting')
    time.now += absentMs
    await link('opening')
    assert.equal(asked(), 1)
    await link('open')
    assert.equal(asked(), times)
    hear()
  }
})

test('without an answer at the next opening, and not before', async () => {
  const { link, hear, fail, asked } = watching()
  fail(true)
  await link('open')
  hear()
  hear()
  assert.equal(asked(), 1)
  fail(false)
  await link('waiting')
  await link('open')
  await link('waiting')
  await link('open')
  assert.equal(asked(), 2)
})
