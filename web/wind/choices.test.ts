// Choices over a reload, and in a browser that keeps nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ChoiceStorage, firstChoices, keepChoices, readChoices, unitShown } from './choices.ts'

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
  assert.equal(keepChoices(storage, { unit: 'N', minutes: 60 }), true)
  assert.deepEqual(readChoices(storage), { unit: 'N', minutes: 60 })
})

test('where storage is denied or full nothing is kept, and nothing breaks', () => {
  assert.deepEqual(readChoices(denied), firstChoices)
  assert.equal(keepChoices(denied, firstChoices), false)
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
  assert.equal(unitShown('sent', 'N'), 'N')
  assert.equal(unitShown('sent', null), 'M')
  assert.equal(unitShown('P', 'N'), 'P')
})
