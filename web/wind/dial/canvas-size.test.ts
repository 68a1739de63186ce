import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pixelsFor } from './canvas-size.ts'

test('as many pixels as the browser has counted', () => {
  assert.equal(pixelsFor(200, 300, 1.5), 300)
  assert.equal(pixelsFor(200.4, 301, 1.5), 301)
})

test('where it does not count, or counts another screen, as many as the ratio says', () => {
  assert.equal(pixelsFor(200.4, undefined, 1.5), 301)
  assert.equal(pixelsFor(256, 256, 2), 512)
})
