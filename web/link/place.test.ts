import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPlace } from './place.ts'

test('has no cursor until a stream was open, then resumes from what it saw and not from the log’s end', () => {
  const place = createPlace()
  assert.equal(place.cursor(), null)
  place.enter('life1:9')
  assert.equal(place.cursor(), 'life1:0')
  place.advance(8)
  assert.equal(place.cursor(), 'life1:8')
})

test('goes forward only, with gaps where other channels’ messages are', () => {
  const place = createPlace()
  place.enter('life1:0')
  assert.deepEqual(
    [1, 1, 5, 3, 5, 6].map((seq) => place.advance(seq)),
    [true, false, true, false, false, true],
  )
})

test('keeps its place in the same life of the log, and has none in another', () => {
  const place = createPlace()
  place.enter('life1:0')
  place.advance(5)
  place.enter('life1:9')
  assert.deepEqual([place.advance(5), place.cursor()], [false, 'life1:5'])
  place.enter('life2:9')
  assert.deepEqual([place.cursor(), place.advance(5)], ['life2:0', true])
})

test('what the log had when the stream began is caught up with, what comes after is not', () => {
  const place = createPlace('life1:3')
  const caughtUp = () => [4, 5, 9, 10].map(place.isCatchUp)
  assert.deepEqual(caughtUp(), [false, false, false, false])
  place.enter('life1:5')
  assert.deepEqual(caughtUp(), [true, true, false, false])
  place.enter('life1:9')
  assert.deepEqual(caughtUp(), [true, true, true, false])
  place.enter('life2:4')
  assert.deepEqual(caughtUp(), [true, false, false, false])
})
