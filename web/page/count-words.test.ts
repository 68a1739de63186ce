// The counts in the header, in words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstView, type OutboxView } from '../store/store.ts'
import { storedWords, windowsWords } from './count-words.ts'

const empty = firstView('sse/2').outbox
const holding = (unstored: number, change: Partial<OutboxView> = {}) => ({ ...empty, unstored, ...change })

test('counts windows', () => {
  assert.equal(windowsWords(null), null)
  assert.equal(windowsWords(1), '1 window open')
  assert.equal(windowsWords(12), '12 windows open')
})

test('says that all is stored only when nothing is unacknowledged', () => {
  assert.equal(storedWords(empty, 'open'), 'All changes stored')
  assert.equal(storedWords(empty, 'waiting'), 'All changes stored')
  assert.equal(storedWords(holding(3), 'open'), 'Storing…')
})

test('counts the edits that wait for the link', () => {
  assert.equal(storedWords(holding(1), 'waiting'), '1 edit waits for the connection')
  assert.equal(storedWords(holding(40), 'opening'), '40 edits wait for the connection')
})

test('says what a reload or a closed window would lose', () => {
  assert.equal(storedWords(holding(3, { isSaved: false }), 'waiting'), 'Kept in this window only')
  assert.equal(storedWords(holding(3, { isSaved: false }), 'open'), 'Storing…')
  assert.equal(storedWords(holding(9, { isFull: true }), 'open'), 'Kept in this window only')
})
