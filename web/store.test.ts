// Views and their listeners; choices over a reload, and in a browser that keeps nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReadingBody } from '../server/wire/messages.ts'
import { measured } from '../server/wire/wind-testing.ts'
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

test('what was chosen is there the next time', () => {
  const storage = memory()
  assert.deepEqual(readChoices(storage), firstChoices)
  keepChoices(storage, { unit: 'N', minutes: 60 })
  assert.deepEqual(readChoices(storage), { unit: 'N', minutes: 60 })
})

test('where storage is denied or full nothing is kept, and nothing breaks', () => {
  assert.deepEqual(readChoices(denied), firstChoices)
  assert.doesNotThrow(() => keepChoices(denied, firstChoices))
})

test('what makes no sense is as at first', () => {
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

test('as sent follows the sensor', () => {
  const shown = (unit: WindChoices['unit'], reading: ReadingBody | null) =>
    unitShown({ choices: { ...firstChoices, unit }, reading })
  const knots = { ...measured(2, 90), unit: 'N' } as const
  assert.equal(shown('sent', knots), 'N')
  assert.equal(shown('sent', null), 'M')
  assert.equal(shown('P', knots), 'P')
})
