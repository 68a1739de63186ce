import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../wire/random.ts'
import type { Delivery } from './delivery.ts'
import { createQueue, type Queue } from './queue.ts'
import { editOf, jsonFraming, readingOf } from './testing.ts'

const sizeOf = (delivery: Delivery) => delivery.bytes(jsonFraming).length

function drain(queue: Queue): (number | null)[] {
  return Array.from({ length: queue.length() }, () => queue.shift()?.seq ?? null)
}

test('takes what fits into its bytes, the frame to be added included, and gives it back in order', () => {
  const queue = createQueue(jsonFraming, 3 * sizeOf(editOf(1)))
  const pushed = [1, 2, 3, 4].map((seq) => queue.push(editOf(seq)))
  assert.deepEqual(pushed, [true, true, true, false])
  assert.equal(queue.bytes(), 3 * sizeOf(editOf(1)))
  assert.deepEqual(drain(queue), [1, 2, 3])
  assert.deepEqual([queue.bytes(), queue.length(), queue.shift()], [0, 0, undefined])
})

test('counts bytes and not characters', () => {
  const wide = editOf(1, '💨'.repeat(50))
  const queue = createQueue(jsonFraming, sizeOf(wide) + sizeOf(editOf(2)) - 1)
  assert.equal(queue.push(wide), true)
  assert.equal(queue.push(editOf(2)), false)
})

test('holds one frame, however large', () => {
  const queue = createQueue(jsonFraming, 10)
  assert.equal(queue.push(editOf(1, 'x'.repeat(1000))), true)
  assert.equal(queue.push(editOf(2)), false)
  assert.deepEqual(drain(queue), [1])
})

test('a newer reading takes the place of the one that waits, at its own place in the log', () => {
  const queue = createQueue(jsonFraming, 100_000)
  for (const delivery of [readingOf(1), editOf(2), readingOf(3), editOf(4), readingOf(5)])
    queue.push(delivery)
  assert.equal(
    queue.bytes(),
    [editOf(2), editOf(4), readingOf(5)].reduce((sum, one) => sum + sizeOf(one), 0),
  )
  assert.deepEqual(drain(queue), [2, 4, 5])
})

test('a reading takes the place of one of its own channel alone, and of no sensor’s state', () => {
  const queue = createQueue(jsonFraming, 100_000)
  const state = readingOf(1, 'roof', 'sensor')
  for (const delivery of [state, readingOf(2, 'wind'), readingOf(3, 'roof'), readingOf(4, 'roof')]) {
    queue.push(delivery)
  }
  assert.equal(queue.dropped(), 1)
  assert.deepEqual(drain(queue), [1, 2, 4])
})

test('counts the readings that gave way, and no edit that came or went', () => {
  const queue = createQueue(jsonFraming, 100_000)
  for (const delivery of [readingOf(1), editOf(2), readingOf(3), editOf(4), readingOf(5)])
    queue.push(delivery)
  drain(queue)
  queue.push(readingOf(6))
  assert.equal(queue.dropped(), 2)
})

test('a reading with nothing newer of its kind stays, whatever comes behind it', () => {
  const queue = createQueue(jsonFraming, 100_000)
  for (const delivery of [readingOf(1), editOf(2), editOf(3)]) queue.push(delivery)
  assert.deepEqual(drain(queue), [1, 2, 3])
})

test('any number of readings needs room for one', () => {
  const queue = createQueue(jsonFraming, sizeOf(editOf(1)) + sizeOf(readingOf(10)))
  queue.push(editOf(1))
  for (let seq = 10; seq < 99; seq += 1) assert.equal(queue.push(readingOf(seq)), true)
  assert.deepEqual(drain(queue), [1, 98])
})

test('never drops an edit that it took, never leaves the log’s order, never grows beyond its bound', () => {
  const random = createSeededRandom(5)
  const maxBytes = 2000
  for (let round = 0; round < 50; round += 1) {
    const queue = createQueue(jsonFraming, maxBytes)
    const taken: number[] = []
    const given: number[] = []
    for (let seq = 1; seq <= 100; seq += 1) {
      if (random() < 0.3) given.push(queue.shift()?.seq ?? 0)
      const isEdit = random() < 0.5
      if (queue.push(isEdit ? editOf(seq) : readingOf(seq)) && isEdit) taken.push(seq)
      assert.ok(queue.bytes() <= maxBytes)
    }
    const out = [...given, ...drain(queue)].filter((seq) => seq !== null && seq > 0)
    assert.deepEqual(
      out,
      out.toSorted((one, other) => Number(one) - Number(other)),
    )
    assert.ok(taken.every((seq) => out.includes(seq)))
  }
})
