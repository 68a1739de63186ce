// Arrow keys in a menu of three.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { indexAfterKey } from './menu-keys.ts'

test('steps and goes round at the ends', () => {
  assert.equal(indexAfterKey('ArrowDown', 0, 3), 1)
  assert.equal(indexAfterKey('ArrowDown', 2, 3), 0)
  assert.equal(indexAfterKey('ArrowUp', 1, 3), 0)
  assert.equal(indexAfterKey('ArrowUp', 0, 3), 2)
})

test('jumps to the ends', () => {
  assert.equal(indexAfterKey('Home', 2, 3), 0)
  assert.equal(indexAfterKey('End', 0, 3), 2)
})

test('leaves other keys alone', () => {
  assert.equal(indexAfterKey('Enter', 1, 3), null)
  assert.equal(indexAfterKey('Tab', 1, 3), null)
})
