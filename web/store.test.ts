// Views and their listeners; choices that survive a reload, or do not where nothing can be stored.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReadingBody } from '../app/shared/page-messages.ts'
import { measured } from '../app/shared/wind-testing.ts'
import {
  type ChoiceStorage,
  createStore,
  firstChoices,
  firstView,
  keepChoices,
  readChoices,
  unitShown,
  type WindChoices,
} from './store.ts'

const initial = firstView('sse/2')

test('a change makes a new view, keeps unnamed parts, and leaves the old view unchanged', () => {
  const store = createStore(initial)
  store.change({ windows: 3 })
  assert.deepEqual(store.view(), { ...initial, windows: 3 })
  assert.equal(store.view().wind, initial.wind)
  assert.equal(initial.windows, null)
})

test('a part that says the same as before stays the same object, so that what shows it is not rendered again', () => {
  const store = createStore(initial)
  const { link } = initial
  store.change({ link: { ...link }, windows: 2 })
  assert.equal(store.view().link, link)
  assert.equal(store.view().windows, 2)
  store.change({ link: { ...link, state: 'waiting' } })
  assert.equal(store.view().link.state, 'waiting')
  store.change({ deletion: null })
  assert.equal(store.view().deletion, null)
})

test('the view stays the same object until something changes, or React would render forever', () => {
  const store = createStore(initial)
  assert.equal(store.view(), store.view())
})

test('calls each listener after a change, until it stops listening', () => {
  const store = createStore(initial)
  const heard: (number | null)[] = []
  const stop = store.subscribe(() => void heard.push(store.view().windows))
  store.change({ windows: 1 })
  store.change({ windows: 2 })
  stop()
  store.change({ windows: 3 })
  assert.deepEqual(heard, [1, 2])
})

test('a listener may stop while it is being called', () => {
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

function memory(text: string | null = null): ChoiceStorage {
  let kept = text
  const storage = {
    getItem: () => kept,
    setItem(_key: string, value: string) {
      kept = value
    },
  }
  return () => storage
}

const denied: ChoiceStorage = () => {
  throw new DOMException('Access is denied for this document.', 'SecurityError')
}

test('a choice is there the next time', () => {
  const storage = memory()
  assert.deepEqual(readChoices(storage), firstChoices)
  keepChoices(storage, { unit: 'N', minutes: 60 })
  assert.deepEqual(readChoices(storage), { unit: 'N', minutes: 60 })
})

test('where storage is denied or full, nothing is kept and nothing breaks', () => {
  assert.deepEqual(readChoices(denied), firstChoices)
  assert.doesNotThrow(() => keepChoices(denied, firstChoices))
})

test('invalid choices become the defaults', () => {
  for (const text of [
    '',
    '{',
    'null',
    '7',
    '[]',
    '{"unit":"toString","minutes":"60"}',
    '{"unit":9,"minutes":5}',
  ])
    assert.deepEqual(readChoices(memory(text)), firstChoices, text)
  assert.deepEqual(readChoices(memory('{"unit":"K","minutes":5}')), { unit: 'K', minutes: 10 })
})

test("“as sent” uses the sensor's unit", () => {
  const shown = (unit: WindChoices['unit'], reading: ReadingBody | null) =>
    unitShown({ choices: { ...firstChoices, unit }, reading })
  const knots = { ...measured(2, 90), unit: 'N' } as const
  assert.equal(shown('sent', knots), 'N')
  assert.equal(shown('sent', null), 'M')
  assert.equal(shown('P', knots), 'P')
})
