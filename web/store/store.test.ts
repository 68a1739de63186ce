import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStore, firstView } from './store.ts'

const initial = firstView('sse/2')

test('a change makes a new view, keeps what it does not name, and leaves the old view as it was', () => {
  const store = createStore(initial)
  store.change({ windows: 3 })
  assert.deepEqual(store.view(), { ...initial, windows: 3 })
  assert.equal(store.view().wind, initial.wind)
  assert.equal(initial.windows, null)
})

test('the view is the same object until something changes: React would render for ever', () => {
  const store = createStore(initial)
  assert.equal(store.view(), store.view())
})

test('tells each listener after a change, until it stops listening', () => {
  const store = createStore(initial)
  const heard: (number | null)[] = []
  const stop = store.subscribe(() => void heard.push(store.view().windows))
  store.change({ windows: 1 })
  store.change({ windows: 2 })
  stop()
  store.change({ windows: 3 })
  assert.deepEqual(heard, [1, 2])
})

test('a listener may stop while it is told', () => {
  const store = createStore(initial)
  const heard: string[] = []
  const stop = store.subscribe(() => {
    heard.push('one')
    stop()
  })
  store.subscribe(() => void heard.push('other'))
  store.change({ windows: 1 })
  store.change({ windows: 2 })
  assert.deepEqual(heard, ['one', 'other', 'other'])
})
