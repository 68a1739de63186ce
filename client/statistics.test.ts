// Student's t against tables and closed forms, intervals against known truths, Holm's correction.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, drawNormal } from '../protocol/time.ts'
import { criticalT, holm, mean, meanOfClusters, twoSidedP } from './statistics.ts'

test('Student’s t equals the tables', () => {
  // E. S. Pearson and H. O. Hartley, "Biometrika Tables for Statisticians" I (1966), table 12.
  for (const [degrees, five, one] of [
    [1, 12.706, 63.657],
    [2, 4.303, 9.925],
    [3, 3.182, 5.841],
    [5, 2.571, 4.032],
    [10, 2.228, 3.169],
    [30, 2.042, 2.75],
    [59, 2.001, 2.662],
  ] as const) {
    assert.equal(criticalT(0.05, degrees).toFixed(3), five.toFixed(3))
    assert.equal(criticalT(0.01, degrees).toFixed(3), one.toFixed(3))
  }
})

test('its p equals the closed forms for one and two degrees of freedom, in the middle and far out', () => {
  for (const t of [1e-6, 0.1, 1, 3, 100, 1e50]) {
    const one = (2 / Math.PI) * Math.atan(1 / t)
    const two = 2 / (2 + t ** 2 + t * Math.sqrt(2 + t ** 2))
    assert.ok(Math.abs(twoSidedP(t, 1) / one - 1) < 1e-12, `t ${t}, one degree`)
    assert.ok(Math.abs(twoSidedP(-t, 2) / two - 1) < 1e-12, `t ${t}, two degrees`)
  }
  assert.equal(twoSidedP(0, 7), 1)
  assert.equal(twoSidedP(Number.POSITIVE_INFINITY, 4), 0)
})

test('clusters by hand: 1, 2, 3, 4 have mean 2.5, standard error √(5/12) and 3 degrees of freedom', () => {
  const { difference, interval, degreesOfFreedom } = meanOfClusters([1, 2, 3, 4])
  assert.deepEqual([difference, degreesOfFreedom], [2.5, 3])
  // Student's t for 0.975 and 3 degrees of freedom is 3.182446 in any table.
  assert.ok(Math.abs(interval[1] - (2.5 + 3.182446 * Math.sqrt(5 / 12))) < 1e-5)
  assert.throws(() => meanOfClusters([1]), /2 clusters or more; got 1/)
})

test('95 % of the intervals of five clusters contain the true mean; those of their samples would not', () => {
  const random = createSeededRandom(13)
  const listOf = <Value>(length: number, one: () => Value) => Array.from({ length }, one)
  const draw = () =>
    listOf(5, () => {
      const cluster = drawNormal(random)
      return listOf(40, () => cluster + drawNormal(random))
    })
  const shareHolding = (trials: number, values: () => readonly number[]) =>
    listOf(trials, () => meanOfClusters(values()).interval).filter(([low, high]) => low <= 0 && 0 <= high)
      .length / trials
  // Within 3.5 standard errors: a correct interval fails this once in 2,000 seeds.
  const share = shareHolding(4000, () => draw().map(mean))
  assert.ok(Math.abs(share - 0.95) < 3.5 * Math.sqrt((0.95 * 0.05) / 4000), `${share}`)
  const ofSamples = shareHolding(1000, () => draw().flat())
  assert.ok(ofSamples < 0.6, `${ofSamples}`)
})

const cases: readonly [given: readonly number[], corrected: readonly number[]][] = [
  // R: p.adjust(p, 'holm')
  [
    [0.01, 0.04, 0.03, 0.005],
    [0.03, 0.06, 0.06, 0.02],
  ],
  [
    [0.01, 0.02, 0.03, 0.04, 0.05],
    [0.05, 0.08, 0.09, 0.09, 0.09],
  ],
  [
    [0.5, 0.9],
    [1, 1],
  ],
  [
    [0.03, 0.03],
    [0.06, 0.06],
  ],
  [[0.2], [0.2]],
  [[], []],
]

for (const [given, expected] of cases) {
  test(`p of ${given.join(', ') || 'nothing'}`, () => {
    const corrected = holm(given)
    assert.equal(corrected.length, expected.length)
    for (const [place, p] of expected.entries())
      assert.ok(Math.abs((corrected[place] ?? Number.NaN) - p) < 1e-12)
  })
}

test('a value that is not a probability is named', () => {
  assert.throws(() => holm([0.1, 1.2]), /got 1.2/)
  assert.throws(() => holm([Number.NaN]), /got NaN/)
})
