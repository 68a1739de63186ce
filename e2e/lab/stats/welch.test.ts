// Welch's and Student's tests against figures that R gives, and their edges.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Difference } from './difference.ts'
import { student } from './student.ts'
import { summarise } from './summary.ts'
import { welch } from './welch.ts'

// R's data set `sleep`: Student's own example (Biometrika 6, 1908), extra hours of sleep.
const firstSleep = summarise([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2])
const secondSleep = summarise([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])

function assertNear(found: Difference, expected: readonly number[]): void {
  const figures = [found.t, found.degreesOfFreedom, found.p, ...found.interval]
  for (const [place, figure] of expected.entries()) {
    assert.ok(Math.abs((figures[place] ?? Number.NaN) - figure) < 5e-5, `${figures[place]} is not ${figure}`)
  }
}

test("Welch's test is R's: t.test(extra ~ group, data = sleep)", () => {
  assertNear(welch(firstSleep, secondSleep), [-1.8608, 17.7765, 0.07939, -3.36548, 0.20548])
})

test("Student's test is R's: t.test(extra ~ group, data = sleep, var.equal = TRUE)", () => {
  assertNear(student(firstSleep, secondSleep), [-1.8608, 18, 0.07919, -3.36387, 0.20387])
})

test('exchanging the groups turns the sign and nothing else', () => {
  const there = welch(firstSleep, secondSleep)
  const back = welch(secondSleep, firstSleep)
  assert.equal(back.difference, -there.difference)
  assert.equal(back.p, there.p)
})

test('a higher level gives a wider interval', () => {
  const [low] = welch(firstSleep, secondSleep, 0.99).interval
  assert.ok(low < -3.37)
  assert.throws(() => welch(firstSleep, secondSleep, 95), /got 95/)
})

test('a single value cannot be tested', () => {
  assert.throws(() => welch({ n: 1, mean: 3, sd: Number.NaN }, secondSleep), /n of 2 or more.*got 1/)
  assert.throws(() => welch(firstSleep, { n: 9, mean: 3, sd: -1 }), /got -1/)
  assert.throws(() => student(firstSleep, { n: 9, mean: Number.NaN, sd: 1 }), /got NaN/)
})

test('groups without any spread differ without doubt, or not at all', () => {
  const still = (mean: number) => ({ n: 5, mean, sd: 0 })
  const apart = welch(still(2), still(3))
  assert.deepEqual([apart.p, apart.t, apart.interval], [0, Number.NEGATIVE_INFINITY, [-1, -1]])
  const same = welch(still(2), still(2))
  assert.deepEqual([same.p, same.t, same.interval], [1, 0, [0, 0]])
})

test('one group without spread leaves the degrees of freedom of the other', () => {
  assert.equal(welch({ n: 5, mean: 1, sd: 0 }, { n: 9, mean: 2, sd: 1 }).degreesOfFreedom, 8)
})
