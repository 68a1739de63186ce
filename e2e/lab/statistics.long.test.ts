// The statistics compared with R, published tables, and distributions whose true values are known.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mean, standardDeviation } from '../../client/statistics.ts'
import { createSeededRandom, drawNormal, type Random } from '../../client/wire.ts'
import { createLoss, lossVariance, readProfile } from '../network/profiles.ts'
import {
  clustersFor,
  effectiveSize,
  pairedDifference,
  pairedRatio,
  quantile,
  shareInterval,
  summarise,
  welch,
} from './statistics.ts'

/** The share of trials whose interval contains the true value. */
function shareHolding(trials: number, truth: number, draw: () => readonly [number, number]): number {
  const holding = Array.from({ length: trials }, draw).filter(([low, high]) => low <= truth && truth <= high)
  return holding.length / trials
}

/** Standard normal values, each keeping `kept` of the one before it (a first-order autoregressive series). */
function autoregressive(length: number, kept: number, random: Random): number[] {
  const renewed = Math.sqrt(1 - kept ** 2)
  let value = drawNormal(random)
  return Array.from({ length }, () => {
    value = kept * value + renewed * drawNormal(random)
    return value
  })
}

test("a summary equals R's", () => {
  const figures = summarise([10, 3, 5, 1, 8, 2, 7, 4, 9, 6])
  assert.deepEqual(
    { n: figures.n, mean: figures.mean, p50: figures.p50, min: figures.min, max: figures.max },
    { n: 10, mean: 5.5, p50: 5.5, min: 1, max: 10 },
  )
  // R: sd(1:10); quantile(1:10, c(.95, .99), type = 7).
  assert.ok(Math.abs(figures.sd - 3.02765) < 1e-5)
  assert.ok(Math.abs(figures.p95 - 9.55) < 1e-12)
  assert.ok(Math.abs(figures.p99 - 9.91) < 1e-12)
})

test('values the size of epoch milliseconds keep their spread', () => {
  const epochMs = 1_778_578_200_000
  assert.equal(standardDeviation([epochMs, epochMs + 1, epochMs + 2]), 1)
})

test('one value has a mean but no spread', () => {
  const figures = summarise([7])
  assert.equal(figures.p99, 7)
  assert.ok(Number.isNaN(figures.sd))
})

test('an empty list and an impossible quantile are refused', () => {
  assert.throws(() => summarise([]), /No values/)
  assert.throws(() => quantile([1, 2], 95), /from 0 to 1; got 95/)
})

// R's data set `sleep`: Student's own example (Biometrika 6, 1908), extra hours of sleep.
const firstSleep = summarise([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2])
const secondSleep = summarise([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])

function assertNear(figures: readonly number[], expected: readonly number[]): void {
  for (const [index, figure] of expected.entries())
    assert.ok(Math.abs((figures[index] ?? Number.NaN) - figure) < 5e-5, `${figures[index]} is not ${figure}`)
}

test("Welch's test equals R's: t.test(extra ~ group, data = sleep)", () => {
  const { t, degreesOfFreedom, p, interval } = welch(firstSleep, secondSleep)
  assertNear([t, degreesOfFreedom, p, ...interval], [-1.8608, 17.7765, 0.07939, -3.36548, 0.20548])
})

test('exchanging the groups reverses the sign and nothing else', () => {
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
})

test('groups without any spread differ with certainty, or not at all', () => {
  const still = (mean: number) => ({ n: 5, mean, sd: 0 })
  const apart = welch(still(2), still(3))
  assert.deepEqual([apart.p, apart.t, apart.interval], [0, Number.NEGATIVE_INFINITY, [-1, -1]])
  const same = welch(still(2), still(2))
  assert.deepEqual([same.p, same.t, same.interval], [1, 0, [0, 0]])
})

test('if one group has no spread, the other determines the degrees of freedom', () => {
  assert.equal(welch({ n: 5, mean: 1, sd: 0 }, { n: 9, mean: 2, sd: 1 }).degreesOfFreedom, 8)
})

function meanSize(trials: number, draw: (random: Random) => readonly number[]): number {
  const random = createSeededRandom(5)
  return mean(Array.from({ length: trials }, () => effectiveSize(draw(random))))
}

test('independent values all count', () => {
  const size = meanSize(200, (random) => Array.from({ length: 1200 }, () => drawNormal(random)))
  assert.ok(size > 1100 && size <= 1200, `${size}`)
})

for (const kept of [0.3, 0.7, 0.9]) {
  test(`1,200 values with autocorrelation ${kept} count as (1 − φ)/(1 + φ) of them`, () => {
    const size = meanSize(300, (random) => autoregressive(1200, kept, random))
    const expected = (1200 * (1 - kept)) / (1 + kept)
    assert.ok(Math.abs(size / expected - 1) <= 0.15, `${size} is not ${expected} ± 15 %`)
  })
}

test('values that alternate around their mean do not count for more than their number', () => {
  const random = createSeededRandom(6)
  const turns = Array.from({ length: 500 }, (_, index) => (index % 2) + 0.01 * drawNormal(random))
  assert.equal(effectiveSize(turns), 500)
})

test('series without spread, or with few values, are handled', () => {
  assert.equal(effectiveSize([3, 3, 3, 3, 3, 3]), 6)
  for (const values of [[], [1], [1, 2], [1, 2, 4, 8, 16, 32, 64]])
    assert.equal(effectiveSize(values), values.length)
})

/** Two systems, one twice as slow as the other, plus 10; on one network, or one each. */
function methods(random: Random, isShared: boolean): readonly [number[], number[]] {
  const course = () => autoregressive(1200, 0.8, random)
  const network = course()
  const other = isShared ? network : course()
  const one = course()
  const two = course()
  return [
    network.map((value, index) => 20 + 2 * value + (one[index] ?? 0)),
    other.map((value, index) => 10 + value + (two[index] ?? 0)),
  ]
}

for (const isShared of [true, false]) {
  test(`95 % of the intervals contain the true value, over ${isShared ? 'one network' : 'a network each'}`, () => {
    const random = createSeededRandom(21)
    const shares = [
      shareHolding(400, 10, () => pairedDifference(...methods(random, isShared)).interval),
      shareHolding(400, 2, () => pairedRatio(...methods(random, isShared)).interval),
    ]
    // Estimating the correlation from the same values makes intervals slightly too narrow.
    for (const share of shares) assert.ok(share >= 0.905 && share <= 0.98, `${share}`)
  })
}

test('ignoring autocorrelation would give intervals far too narrow', () => {
  const random = createSeededRandom(22)
  const share = shareHolding(400, 10, () => {
    const [first, second] = methods(random, false)
    return welch(summarise(first), summarise(second)).interval
  })
  assert.ok(share < 0.6, `${share} of Welch’s intervals contain the true value`)
})

test('by hand: differences 1, 2, 3, 4 have mean 2.5 and standard error √(5/12)', () => {
  const { difference, t, degreesOfFreedom, effectiveSize } = pairedDifference([2, 4, 6, 8], [1, 2, 3, 4])
  assert.equal(difference, 2.5)
  assert.equal(effectiveSize, 4)
  assert.equal(degreesOfFreedom, 3)
  assert.ok(Math.abs(t - 2.5 / Math.sqrt(5 / 12)) < 1e-12)
})

test('proportional series have a ratio with certainty', () => {
  assert.deepEqual(pairedRatio([2, 4, 6, 8], [1, 2, 3, 4]), { ratio: 2, interval: [2, 2] })
})

test('series of different lengths are refused', () => {
  assert.throws(() => pairedDifference([1], [1]), /one length; got 1 and 1/)
  assert.throws(() => pairedRatio([1, 2, 3], [1, 2]), /one length; got 3 and 2/)
})

test('an interval half as wide as with five clusters takes thirteen', () => {
  // 2.7764 / √5 = 1.2417; 2.2010 / √12 = 0.6354; 2.1788 / √13 = 0.6043.
  assert.deepEqual([clustersFor(5, 0.5), clustersFor(5, 1), clustersFor(3, 0.01)], [13, 5, 6228])
})

/**
 * Within 3.5 standard errors of a share of 0.95: a correct interval fails this for one seed in
 * 2,000.
 */
function assertCovers(share: number, trials: number): void {
  const tolerance = 3.5 * Math.sqrt((0.95 * 0.05) / trials)
  assert.ok(Math.abs(share - 0.95) < tolerance, `${share} of ${trials} intervals contain the true value`)
}

const listOf = <Value>(length: number, draw: () => Value) => Array.from({ length }, draw)
const lognormal = (random: Random, median: number, sigma: number) =>
  median * Math.exp(sigma * drawNormal(random))

test('95 % of Welch intervals contain the true difference: normal, unequal sizes and spreads', () => {
  const random = createSeededRandom(11)
  const share = shareHolding(6000, -2, () => {
    const first = listOf(12, () => 5 + 4 * drawNormal(random))
    const second = listOf(30, () => 7 + drawNormal(random))
    return welch(summarise(first), summarise(second)).interval
  })
  assertCovers(share, 6000)
})

test('95 % of Welch intervals contain the true difference: lognormal, 200 messages', () => {
  const random = createSeededRandom(12)
  const meanOf = (median: number, sigma: number) => median * Math.exp(sigma ** 2 / 2)
  const share = shareHolding(5000, meanOf(4, 0.6) - meanOf(2, 0.4), () => {
    const first = listOf(200, () => lognormal(random, 4, 0.6))
    const second = listOf(200, () => lognormal(random, 2, 0.4))
    return welch(summarise(first), summarise(second)).interval
  })
  assertCovers(share, 5000)
})

test("95 % of a share's intervals contain it: independent draws, and bursts", () => {
  for (const words of ['wan+1%', 'wan+15%', 'wan+5%x4']) {
    const { loss } = readProfile(words) ?? assert.fail()
    assert.ok(loss)
    const isLost = createLoss(loss, createSeededRandom(13))
    const share = shareHolding(2000, loss.share, () => {
      const lost = listOf(2000, isLost).filter(Boolean).length
      return shareInterval(lost, 2000, lossVariance(loss))
    })
    assertCovers(share, 2000)
  }
})

test("a share's interval is R's, also for none and all", () => {
  // R: prop.test(27, 2294, correct = FALSE), prop.test(0, 50, correct = FALSE).
  const near = ([low, high]: readonly [number, number]) => [low.toFixed(4), high.toFixed(4)]
  assert.deepEqual(near(shareInterval(27, 2294)), ['0.0081', '0.0171'])
  assert.deepEqual(near(shareInterval(0, 50)), ['0.0000', '0.0713'])
  assert.deepEqual(near(shareInterval(50, 50)), ['0.9287', '1.0000'])
  assert.throws(() => shareInterval(0, 0), RangeError)
})
