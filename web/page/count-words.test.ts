// The counts in the header, in words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sentWords, windowsWords } from './count-words.ts'

test('counts windows', () => {
  assert.equal(windowsWords(null), null)
  assert.equal(windowsWords(1), '1 window open')
  assert.equal(windowsWords(12), '12 windows open')
})

test('says whether all edits are stored', () => {
  assert.equal(sentWords(0, 'open'), 'All sent')
  assert.equal(sentWords(0, 'waiting'), 'All sent')
  assert.equal(sentWords(3, 'open'), 'Sending…')
})

test('counts the edits that wait for the link', () => {
  assert.equal(sentWords(1, 'waiting'), '1 edit to send')
  assert.equal(sentWords(40, 'opening'), '40 edits to send')
})
