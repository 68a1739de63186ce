import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultSentence, isHeated } from './status-words.ts'

test('says which axis', () => {
  assert.match(faultSentence('01'), /U axis.*status 01/)
  assert.match(faultSentence('02'), /V axis.*status 02/)
  assert.match(faultSentence('04'), /both.*axes.*status 04/)
  assert.match(faultSentence('V'), /void.*status V/)
})

test('a code that is in no manual is told as it is', () => {
  assert.equal(faultSentence('77'), 'The sensor reports a fault, status 77.')
  assert.equal(faultSentence('toString'), 'The sensor reports a fault, status toString.')
})

test('60 is no fault', () => {
  assert.equal(isHeated('60'), true)
  assert.equal(isHeated('00'), false)
})
