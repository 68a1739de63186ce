// What is said of an outbox that is full, thinned out or not saved.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstView } from '../store/store.ts'
import { outboxWords } from './outbox-words.ts'

const waiting = { ...firstView('sse/2').outbox, unstored: 3 }

test('says nothing while all is well', () => {
  assert.equal(outboxWords(waiting), null)
  assert.equal(outboxWords({ ...waiting, unstored: 0, isSaved: false }), null)
})

test('counts what was left out', () => {
  assert.match(outboxWords({ ...waiting, superseded: 1 }) ?? '', /^One older unsent edit was left out/)
  assert.match(outboxWords({ ...waiting, superseded: 7 }) ?? '', /^7 older unsent edits were left out/)
})

test('says what would be lost', () => {
  assert.match(outboxWords({ ...waiting, isSaved: false }) ?? '', /over a reload: leave this window open/)
  assert.match(outboxWords({ ...waiting, isFull: true }) ?? '', /in this window only/)
  const both = outboxWords({ ...waiting, superseded: 2, isSaved: false }) ?? ''
  assert.match(both, /^2 older .* leave this window open\.$/)
})
