// The statistics against R, published tables, and distributions whose truth is known.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import jstat from 'jstat'
import { createSeededRandom, drawNormal, type Random } from '../../server/wire/time.ts'
import {
  clustersForHalf,
  effectiveSize,
  holm,
  mean,
  meanOfClusters,
  pairedDifference,
  pairedRatio,
  quantile,
  standardDeviation,
  summarise,
  welch,
} from './statistics.ts'

/** The share of the trials whose interval holds the truth. */
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

type Group = Parameters<typeof welch>[0]
type Difference = ReturnType<typeof welch>

/**
 * Student's t-test with one pooled variance, which the 2015 paper used and the lab never does: its spreads differ. "The
 * probable error of a mean" (Biometrika 6, 1908), in Fisher's form with n1 + n2 - 2 degrees of freedom.
 */
function student(first: Group, second: Group): Pick<Difference, 't' | 'degreesOfFreedom' | 'p'> {
  const degreesOfFreedom = first.n + second.n - 2
  const pooledVariance = ((first.n - 1) * first.sd ** 2 + (second.n - 1) * second.sd ** 2) / degreesOfFreedom
  const t = (first.mean - second.mean) / Math.sqrt(pooledVariance * (1 / first.n + 1 / second.n))
  return { t, degreesOfFreedom, p: Math.min(1, 2 * jstat.jStat.studentt.cdf(-Math.abs(t), degreesOfFreedom)) }
}

test('a list is summed up as R sums it up', () => {
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

test('an epoch in milliseconds does not swallow the spread', () => {
  const epochMs = 1_778_578_200_000
  assert.equal(standardDeviation([epochMs, epochMs + 1, epochMs + 2]), 1)
})

test('one value has a mean and no spread', () => {
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
  for (const [place, figure] of expected.entries())
    assert.ok(Math.abs((figures[place] ?? Number.NaN) - figure) < 5e-5, `${figures[place]} is not ${figure}`)
}

test("Welch's test is R's: t.test(extra ~ group, data = sleep)", () => {
  const { t, degreesOfFreedom, p, interval } = welch(firstSleep, secondSleep)
  assertNear([t, degreesOfFreedom, p, ...interval], [-1.8608, 17.7765, 0.07939, -3.36548, 0.20548])
})

test("Student's test, for the 2015 paper, is R's: t.test(extra ~ group, data = sleep, var.equal = TRUE)", () => {
  const { t, degreesOfFreedom, p } = student(firstSleep, secondSleep)
  assertNear([t, degreesOfFreedom, p], [-1.8608, 18, 0.07919])
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

test('what is no probability is named', () => {
  assert.throws(() => holm([0.1, 1.2]), /got 1.2/)
  assert.throws(() => holm([Number.NaN]), /got NaN/)
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
  test(`of 1,200 values that keep ${kept} of the one before, (1 − φ)/(1 + φ) count`, () => {
    const size = meanSize(300, (random) => autoregressive(1200, kept, random))
    const expected = (1200 * (1 - kept)) / (1 + kept)
    assert.ok(Math.abs(size / expected - 1) <= 0.15, `${size} is not ${expected} ± 15 %`)
  })
}

test('values that take turns around their mean do not count for more than they are', () => {
  const random = createSeededRandom(6)
  const turns = Array.from({ length: 500 }, (_, place) => (place % 2) + 0.01 * drawNormal(random))
  assert.equal(effectiveSize(turns), 500)
})

test('what has no spread, or hardly any values, is taken for what it is', () => {
  assert.equal(effectiveSize([3, 3, 3, 3, 3, 3]), 6)
  for (const values of [[], [1], [1, 2], [1, 2, 4, 8, 16, 32, 64]])
    assert.equal(effectiveSize(values), values.length)
})

/** Twice as slow as the other, 10 more: over one network, or over one each. */
function methods(random: Random, isShared: boolean): readonly [number[], number[]] {
  const course = () => autoregressive(1200, 0.8, random)
  const network = course()
  const other = isShared ? network : course()
  const [one, two] = [course(), course()]
  return [
    network.map((value, place) => 20 + 2 * value + (one[place] ?? 0)),
    other.map((value, place) => 10 + value + (two[place] ?? 0)),
  ]
}

for (const isShared of [true, false]) {
  test(`95 % of the intervals hold the truth, over ${isShared ? 'one network' : 'a network each'}`, () => {
    const random = createSeededRandom(21)
    const shares = [
      shareHolding(400, 10, () => pairedDifference(...methods(random, isShared)).interval),
      shareHolding(400, 2, () => pairedRatio(...methods(random, isShared)).interval),
    ]
    // A memory that has to be guessed from the same values makes intervals a little too narrow.
    for (const share of shares) assert.ok(share >= 0.905 && share <= 0.98, `${share}`)
  })
}

test('taking neighbours for strangers would promise far too much', () => {
  const random = createSeededRandom(22)
  const share = shareHolding(400, 10, () => {
    const [first, second] = methods(random, false)
    return welch(summarise(first), summarise(second)).interval
  })
  assert.ok(share < 0.6, `${share} of Welch’s intervals hold the truth`)
})

test('by hand: differences 1, 2, 3, 4 have mean 2.5 and standard error √(5/12)', () => {
  const { difference, t, degreesOfFreedom, effectiveSize } = pairedDifference([2, 4, 6, 8], [1, 2, 3, 4])
  assert.equal(difference, 2.5)
  assert.equal(effectiveSize, 4)
  assert.equal(degreesOfFreedom, 3)
  assert.ok(Math.abs(t - 2.5 / Math.sqrt(5 / 12)) < 1e-12)
})

test('series in proportion have a ratio without doubt', () => {
  assert.deepEqual(pairedRatio([2, 4, 6, 8], [1, 2, 3, 4]), { ratio: 2, interval: [2, 2] })
})

test('series that do not go together are refused', () => {
  assert.throws(() => pairedDifference([1], [1]), /one length; got 1 and 1/)
  assert.throws(() => pairedRatio([1, 2, 3], [1, 2]), /one length; got 3 and 2/)
})

test('clusters by hand: 1, 2, 3, 4 have mean 2.5, standard error √(5/12) and 3 degrees of freedom', () => {
  const { difference, interval, degreesOfFreedom } = meanOfClusters([1, 2, 3, 4])
  assert.deepEqual([difference, degreesOfFreedom], [2.5, 3])
  // Student's t for 0.975 and 3 degrees of freedom: 3.182446, of any table.
  assert.ok(Math.abs(interval[1] - (2.5 + 3.182446 * Math.sqrt(5 / 12))) < 1e-5)
  assert.throws(() => meanOfClusters([1]), /2 clusters or more; got 1/)
})

test('half the interval of five clusters takes thirteen', () => {
  // 2.7764 / √5 = 1.2417; 2.2010 / √12 = 0.6354; 2.1788 / √13 = 0.6043.
  assert.equal(clustersForHalf(5), 13)
})

/** Within 3.5 standard errors of a share of 0.95: a right interval fails this once in 2,000 seeds. */
function assertCovers(share: number, trials: number): void {
  const tolerance = 3.5 * Math.sqrt((0.95 * 0.05) / trials)
  assert.ok(Math.abs(share - 0.95) < tolerance, `${share} of ${trials} intervals hold the truth`)
}

const listOf = <Value>(length: number, draw: () => Value) => Array.from({ length }, draw)
const lognormal = (random: Random, median: number, sigma: number) =>
  median * Math.exp(sigma * drawNormal(random))

test('95 % of Welch intervals hold the true difference: normal, unequal sizes and spreads', () => {
  const random = createSeededRandom(11)
  const share = shareHolding(6000, -2, () => {
    const first = listOf(12, () => 5 + 4 * drawNormal(random))
    const second = listOf(30, () => 7 + drawNormal(random))
    return welch(summarise(first), summarise(second)).interval
  })
  assertCovers(share, 6000)
})

test('95 % of Welch intervals hold the true difference: lognormal, 200 messages', () => {
  const random = createSeededRandom(12)
  const meanOf = (median: number, sigma: number) => median * Math.exp(sigma ** 2 / 2)
  const share = shareHolding(5000, meanOf(4, 0.6) - meanOf(2, 0.4), () => {
    const first = listOf(200, () => lognormal(random, 4, 0.6))
    const second = listOf(200, () => lognormal(random, 2, 0.4))
    return welch(summarise(first), summarise(second)).interval
  })
  assertCovers(share, 5000)
})

test('95 % of the intervals of five clusters hold the true mean; those of their samples would not', () => {
  const random = createSeededRandom(13)
  const draw = () =>
    listOf(5, () => {
      const cluster = drawNormal(random)
      return listOf(40, () => cluster + drawNormal(random))
    })
  assertCovers(
    shareHolding(4000, 0, () => meanOfClusters(draw().map(mean)).interval),
    4000,
  )
  const ofSamples = shareHolding(1000, 0, () => meanOfClusters(draw().flat()).interval)
  assert.ok(ofSamples < 0.6, `${ofSamples}`)
})

type Printed = readonly [mean: string, sd: string]

interface Session {
  readonly place: string
  readonly webSocket: Printed
  readonly longPolling: Printed
  readonly polling: Printed
  /** Mean over WebSocket's mean. */
  readonly ratios: readonly [longPolling: string, polling: string]
}

function session(place: string, ...[webSocket, longPolling, polling, ...ratios]: readonly string[]): Session {
  const printed = (text = ''): Printed => [text.split('±')[0] ?? '', text.split('±')[1] ?? '']
  const [first = '', second = ''] = ratios
  return {
    place,
    webSocket: printed(webSocket),
    longPolling: printed(longPolling),
    polling: printed(polling),
    ratios: [first, second],
  }
}

/** Milliseconds, mean ± sd of 1,200 readings each. */
const sessions: readonly Session[] = [
  session('Edmonton 09:04', '40.3±7.6', '41.3±0.86', '151.3±63.7', '1.02', '3.75'),
  session('Edmonton 13:04', '39.7±2.8', '40.7±2.4', '149.9±63.6', '1.02', '3.77'),
  session('Edmonton 19:01', '40.5±0.52', '41.5±0.97', '150.4±63.4', '1.02', '3.72'),
  session('Caracas 10:25', '122.9±48.2', '131.5±66.3', '283.5±111.7', '1.07', '2.31'),
  session('Caracas 12:00', '124.0±51.02', '121.4±50.8', '298.0±114.1', '0.98', '2.40'),
  session('Caracas 19:00', '98.8±1.37', '106.1±41.2', '266.9±100.1', '1.07', '2.70'),
  session('Lund 10:45', '91.92±2.74', '87.5±2.26', '241.4±88.4', '0.95', '2.63'),
  session('Lund 15:43', '95.3±2.08', '97.3±1.72', '253.0±90.1', '1.02', '2.65'),
  session('Lund 01:11', '75.1±0.42', '77.6±0.88', '225.1±84.8', '1.03', '3.00'),
  session('Nagaoka 11:16', '153.4±133.3', '647.0±683.4', '584.3±508.8', '4.22', '3.81'),
  session('Nagaoka 12:32', '163.3±161.9', '585.7±622.0', '699.5±682.8', '3.59', '4.28'),
  session('Nagaoka 21:28', '156.2±176.0', '623.3±654.6', '700.1±711.0', '3.99', '4.48'),
]

/** Half a unit of the last printed digit. */
function half(printed: string): number {
  return 0.5 * 10 ** -(printed.split('.')[1]?.length ?? 0)
}

for (const { place, webSocket, longPolling, polling, ratios } of sessions) {
  test(`${place}: the ratios follow from the means, to the rounding of the inputs`, () => {
    const [base] = webSocket
    for (const [printed, [mean]] of [[ratios[0], longPolling] as const, [ratios[1], polling] as const]) {
      const lowest = (+mean - half(mean)) / (+base + half(base))
      const highest = (+mean + half(mean)) / (+base - half(base))
      assert.ok(
        lowest <= +printed + half(printed) && highest >= +printed - half(printed),
        `${printed} of ${mean}`,
      )
    }
  })
}

function contrast([mean1, sd1]: Printed, [mean2, sd2]: Printed) {
  return welch({ n: 1200, mean: +mean1, sd: +sd1 }, { n: 1200, mean: +mean2, sd: +sd2 })
}

test('WebSocket is faster than polling everywhere, as the text says', () => {
  for (const { webSocket, polling } of sessions) assert.ok(contrast(webSocket, polling).p < 0.01)
})

test('known deviation: the text counts 9 sessions for WebSocket, 1 for long polling and 2 equal; its table gives 10, 1, 1', () => {
  const tests = sessions.map(({ place, webSocket, longPolling }) => ({
    place,
    ...contrast(webSocket, longPolling),
  }))
  const significant = tests.filter(({ p }) => p < 0.01)
  assert.equal(significant.filter(({ difference }) => difference < 0).length, 10)
  assert.deepEqual(
    significant.filter(({ difference }) => difference > 0).map(({ place }) => place),
    ['Lund 10:45'],
  )
  // Only Caracas at noon stays open; no other comes near, so no rounding and no usual level makes it two.
  const open = tests.filter(({ p }) => p >= 0.01)
  assert.deepEqual(
    open.map(({ place }) => place),
    ['Caracas 12:00'],
  )
  assert.ok(significant.every(({ p }) => p < 0.001))
})

test('Nagaoka at 11:16: long polling was slower than polling, as the text says', () => {
  const [nagaoka] = sessions.filter(({ place }) => place === 'Nagaoka 11:16')
  assert.ok(nagaoka)
  const { difference, p } = contrast(nagaoka.longPolling, nagaoka.polling)
  // The paper's alternative is one-sided; two-sided, p is 0.011 and misses its 99 %.
  assert.ok(difference > 0 && p / 2 < 0.01)
})

/** As printed, since the last digit tells how far a figure was rounded. Each group is 30 iterations. */
type Row = readonly [users: number, mean1: string, sd1: string, mean2: string, sd2: string, p: string]

/** Table III: response latency in ms without and with the broker. */
const latency: readonly Row[] = [
  [50, '36.83', '2.89', '38', '1.70', '0.06168'],
  [100, '87.67', '3.97', '89.37', '2.68', '0.05681'],
  [500, '292.77', '6.04', '300.20', '3.4', '2.21e-7'],
  [1000, '489.43', '7.76', '497.50', '4.53', '7.56e-6'],
  [5000, '678.87', '11.27', '688.97', '4.87', '3.25e-5'],
  [10000, '793.63', '10.50', '805.30', '5.48', '1.32e-6'],
]

/** Table IV: bandwidth out in kbit/s without and with the broker. */
const bandwidth: readonly Row[] = [
  [50, '10.52', '0.23', '10.51', '0.21', '0.9392'],
  [100, '18.92', '0.61', '19.03', '0.51', '0.4809'],
  [500, '44.47', '1.16', '44.80', '1.23', '0.2944'],
  [1000, '70.24', '0.77', '70.80', '0.77', '0.0074'],
  [10000, '307.25', '4.61', '332.44', '4.94', '3.54e-28'],
]

/**
 * Bandwidth at 5,000 users. The printed p lies 5 % above the highest that the printed figures allow (2.74e-24 to
 * 3.55e-24 by Student, 4.86e-23 to 6.05e-23 by Welch), so one of its five figures is misprinted or was computed
 * from others. Nothing hangs on it.
 */
const deviation: Row = [5000, '286.58', '2.21', '298.44', '3.11', '3.73e-24']

type TTest = (first: Group, second: Group) => Pick<Difference, 'p'>

/** The lowest and highest value that rounds to the printed one. */
function rounding(printed: string): readonly [number, number] {
  const [digits = '', exponent = '0'] = printed.split('e')
  const decimals = digits.split('.')[1]?.length ?? 0
  const half = 0.5 * 10 ** (Number(exponent) - decimals)
  return [Number(printed) - half, Number(printed) + half]
}

/**
 * Lowest and highest p that the printed figures allow. p falls with the distance of the means and grows with both
 * spreads, so the ends are found at the ends; where the means' roundings overlap, the highest p is 1.
 */
function possible([, mean1, sd1, mean2, sd2]: Row, tTest: TTest): readonly [number, number] {
  const [[low1, high1], [low2, high2]] = [rounding(mean1), rounding(mean2)]
  const [[narrow1, wide1], [narrow2, wide2]] = [rounding(sd1), rounding(sd2)]
  const p = (distance: number, spread1: number, spread2: number) =>
    tTest({ n: 30, mean: 0, sd: spread1 }, { n: 30, mean: distance, sd: spread2 }).p
  const farthest = Math.max(high2 - low1, high1 - low2)
  const nearest = Math.max(0, low2 - high1, low1 - high2)
  return [p(farthest, narrow1, narrow2), p(nearest, wide1, wide2)]
}

/** Whether some figures that round to the printed ones give a p that rounds to the printed one. */
function isMet(row: Row, tTest: TTest): boolean {
  const [lowest, highest] = possible(row, tTest)
  const [printedLow, printedHigh] = rounding(row[5])
  return lowest <= printedHigh && highest >= printedLow
}

for (const [name, table] of Object.entries({ latency, bandwidth })) {
  for (const row of table) {
    test(`${name} at ${row[0]} users: Student's p is ${row[5]} to the rounding of the inputs`, () => {
      assert.ok(isMet(row, student), `possible: ${possible(row, student).join(' to ')}`)
    })
  }
}

test("the paper's test was Student's with pooled variance, two-sided: Welch's cannot give these", () => {
  const sharp = [...latency.slice(2), ...bandwidth.slice(4)]
  assert.equal(sharp.length, 5)
  assert.deepEqual(
    sharp.filter((row) => isMet(row, welch)),
    [],
  )
  const oneSided: TTest = (first, second) => ({ ...student(first, second), p: student(first, second).p / 2 })
  assert.deepEqual(
    sharp.filter((row) => isMet(row, oneSided)),
    [],
  )
})

test('known deviation: bandwidth at 5,000 users is met by neither test', () => {
  assert.equal(isMet(deviation, student), false)
  assert.equal(isMet(deviation, welch), false)
  assert.ok(possible(deviation, student)[1] > 0.94 * Number(deviation[5]))
})

test("Welch's test comes to the same conclusions at 0.05 in every row", () => {
  for (const row of [...latency, ...bandwidth, deviation]) {
    const [, mean1, sd1, mean2, sd2, p] = row
    const found = welch({ n: 30, mean: +mean1, sd: +sd1 }, { n: 30, mean: +mean2, sd: +sd2 })
    assert.equal(found.p < 0.05, Number(p) < 0.05, `${row[0]} users`)
  }
})
