// Running totals beside totals made anew, at the borders, and what they cost.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../random.ts'
import { createRunning } from './running.ts'

const add = (one: number, other: number) => one + other

test('a value leaves when the span has passed, to the millisecond', () => {
  const running = createRunning({ spanMs: 3000, join: add })
  running.add(1, 0)
  running.add(2, 1000)
  assert.equal(running.total(2999), 3)
  assert.equal(running.total(3000), 2)
  assert.equal(running.total(4000), null)
})

test('goes on after it was empty', () => {
  const running = createRunning({ spanMs: 3000, join: add })
  running.add(1, 0)
  running.add(2, 60_000)
  assert.equal(running.total(60_000), 2)
})

test('slides like totals made anew, for a sum and for a maximum, at irregular times', () => {
  const random = createSeededRandom(5)
  for (const join of [add, (one: number, other: number) => Math.max(one, other)]) {
    const running = createRunning({ spanMs: 240_000, join })
    const all: { at: number; value: number }[] = []
    let at = 0
    for (let index = 0; index < 5000; index += 1) {
      // Never two within a grain of 1 s, and now and then an outage.
      at += random() < 0.01 ? 300_000 * random() : 1000 + 2000 * random()
      const value = Math.floor(1000 * random())
      running.add(value, at)
      all.push({ at, value })
      const now = at + 5000 * random()
      const expected = all.filter((one) => one.at > now - 240_000).map((one) => one.value)
      assert.equal(running.total(now), expected.length === 0 ? null : expected.reduce(join))
      at = now
    }
  }
})

test('what comes within a 240th of the span is one entry, and leaves with its last', () => {
  const running = createRunning({ spanMs: 240_000, join: add })
  for (const at of [0, 100, 900]) running.add(1, at)
  assert.equal(running.total(240_899), 3)
  assert.equal(running.total(240_900), null)
})

test('joins each value at most four times, at 20 values a second over ten minutes', () => {
  let joins = 0
  const running = createRunning({
    spanMs: 600_000,
    join: (one: number, other: number) => {
      joins += 1
      return one + other
    },
  })
  const values = 100_000
  for (let index = 0; index < values; index += 1) {
    running.add(1, index * 50)
    running.total(index * 50)
  }
  assert.ok(joins <= 4 * values, `${joins} joins for ${values} values`)
})
