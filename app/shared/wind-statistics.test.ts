// Wind statistics compared with hand calculations and brute force, and at span limits.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createSeededRandom, drawNormal } from '../../protocol/time.ts'
import type { ReadingBody } from './page-messages.ts'
import { noFigures, WindAggregator } from './wind-statistics.ts'
import { assertNear, calm, fault, measured, startAt } from './wind-testing.ts'

/** The figures after these readings, `everyMs` apart. */
function figuresOf(readings: readonly ReadingBody[], everyMs = 250) {
  const aggregator = new WindAggregator()
  for (const [place, reading] of readings.entries()) aggregator.take(reading, startAt + place * everyMs)
  return aggregator.figures(startAt + (readings.length - 1) * everyMs)
}

describe('which readings count, for how long, and at what time', () => {
  test('before the first reading there are no figures', () => {
    assert.deepEqual(new WindAggregator().figures(startAt), noFigures)
  })

  test('a reading covers the time since the one before', () => {
    const aggregator = new WindAggregator()
    assert.equal(aggregator.take(measured(5, 90), startAt).stretch?.sums.coversMs, 0)
    const { at, stretch } = aggregator.take(measured(6, 90), startAt + 250)
    assert.deepEqual(
      [at, stretch?.firstAt, stretch?.lowestMetresPerSecond, stretch?.startsAnew],
      [startAt + 250, startAt + 250, 6, false],
    )
    assert.deepEqual(
      [stretch?.sums.count, stretch?.sums.speed, stretch?.sums.directed, stretch?.sums.coversMs],
      [1, 6, 1, 250],
    )
    assertNear(stretch?.sums.east, 6)
    assertNear(stretch?.sums.sine, 1)
  })

  test('a calm has its speed and no direction, even if the sensor repeats the last one', () => {
    const { stretch } = new WindAggregator().take({ ...calm(0.03), directionDegrees: 160 }, startAt)
    assert.deepEqual([stretch?.sums.speed, stretch?.sums.directed], [0.03, 0])
  })

  test('a fault does not count, and the next reading starts anew', () => {
    const aggregator = new WindAggregator()
    aggregator.take(measured(5, 90), startAt)
    assert.deepEqual(aggregator.take(fault, startAt + 250), { at: startAt + 250, stretch: null })
    assert.equal(aggregator.take({ ...fault, speedMetresPerSecond: 999.99 }, startAt + 300).stretch, null)
    const { stretch } = aggregator.take(measured(5, 90), startAt + 500)
    assert.deepEqual([stretch?.startsAnew, stretch?.sums.coversMs], [true, 0])
  })

  test('a reading after more than 5 s of silence starts anew', () => {
    const aggregator = new WindAggregator()
    aggregator.take(measured(5, 90), startAt)
    assert.equal(aggregator.take(measured(5, 90), startAt + 5000).stretch?.startsAnew, false)
    assert.equal(aggregator.take(measured(5, 90), startAt + 10_001).stretch?.startsAnew, true)
  })

  test('setting the clock back does not set back the time', () => {
    const aggregator = new WindAggregator()
    const stamps = [0, 1000, -3_599_000, -3_598_750, -3_598_500]
    const times = stamps.map((stamp) => aggregator.take(measured(5, 90), startAt + stamp).at - startAt)
    assert.deepEqual(times, [0, 1000, 1000, 1250, 1500])
  })

  test('faults never count, calms only for speed, and identical readings each count', () => {
    const { tenMinutes } = figuresOf([measured(6, 90), measured(6, 90), fault, fault, calm(0)])
    assertNear(tenMinutes?.speedMetresPerSecond, 4)
    assertNear(tenMinutes?.directionDegrees, 90)
  })
})

describe('means', () => {
  function meanWind(...winds: (readonly [speed: number, degrees: number | null])[]) {
    const readings = winds.map(([speed, degrees]) =>
      degrees === null ? calm(speed) : measured(speed, degrees),
    )
    const { tenMinutes } = figuresOf(readings)
    assert.ok(tenMinutes)
    return tenMinutes
  }

  test('north is between 359 and 1, in either order', () => {
    for (const [one, other] of [
      [359, 1],
      [1, 359],
    ] as const) {
      const { directionDegrees } = meanWind([5, one], [5, other])
      assert.ok(directionDegrees !== null)
      assertNear(Math.min(directionDegrees, 360 - directionDegrees), 0)
    }
  })

  test('speed is averaged as a number, direction as a vector', () => {
    const mean = meanWind([10, 0], [10, 90])
    assertNear(mean.speedMetresPerSecond, 10)
    assertNear(mean.directionDegrees, 45)
  })

  test('a direction is weighted by its speed: 3 m/s from north and 4 from east', () => {
    const mean = meanWind([3, 0], [4, 90])
    assertNear(mean.speedMetresPerSecond, 3.5)
    assertNear(mean.directionDegrees, 53.13010235415598)
  })

  test('a calm counts with its speed and no direction', () => {
    const mean = meanWind([4, 180], [0.02, null])
    assertNear(mean.speedMetresPerSecond, 2.01)
    assertNear(mean.directionDegrees, 180)
  })

  test('calms alone, and winds that cancel out, have no direction', () => {
    assert.equal(meanWind([0.02, null], [0, null]).directionDegrees, null)
    const opposite = meanWind([6, 20], [6, 200])
    assert.equal(opposite.directionDegrees, null)
    assertNear(opposite.speedMetresPerSecond, 6)
  })

  test('ten minutes of wind that turns through north after eight', () => {
    const readings = Array.from({ length: 2400 }, (_, place) =>
      place < 1920 ? measured(4, 350) : measured(8, 10),
    )
    const { tenMinutes, gustMetresPerSecond, spread } = figuresOf(readings)
    assertNear(tenMinutes?.speedMetresPerSecond, (8 * 4 + 2 * 8) / 10)
    // 8 min × 4 m/s from 350 and 2 min × 8 from 10: atan(tan 10° × (16 − 32) / 48) to the west of
    // north.
    assertNear(tenMinutes?.directionDegrees, 360 - 3.3637, 1e-3)
    assertNear(gustMetresPerSecond, 8)
    assertNear(spread?.deviationDegrees, 0, 1e-5)
    assertNear(tenMinutes?.coversMs, 2399 * 250)
  })
})

describe('spread, by Yamartino’s estimate', () => {
  function spread(...directions: (number | null)[]) {
    // All within the last minute.
    const readings = directions.map((degrees) => (degrees === null ? calm(5) : measured(5, degrees)))
    return figuresOf(readings, 2).spread
  }

  test('a steady wind has none', () => {
    assertNear(spread(200, 200, 200)?.deviationDegrees, 0, 1e-5)
  })

  test('ten degrees to either side of north', () => {
    const result = spread(350, 10)
    assert.ok(result)
    assertNear(Math.min(result.directionDegrees, 360 - result.directionDegrees), 0)
    // epsilon is sin 10°, so 10° times 1 + 0.1547 × 0.17365³.
    assertNear(result.deviationDegrees, 10.0081, 1e-4)
  })

  test('a right angle', () => {
    const result = spread(0, 90)
    assertNear(result?.directionDegrees, 45)
    // epsilon is √½: 45° times 1 + 0.1547 × 0.35355.
    assertNear(result?.deviationDegrees, 47.4613, 1e-4)
  })

  test('directions spread all around have the most', () => {
    assertNear(spread(0, 90, 180, 270)?.deviationDegrees, 103.923, 1e-3)
  })

  test('one direction has no spread, and calms have none', () => {
    assert.equal(spread(90), null)
    assert.equal(spread(90, null, null), null)
  })

  test('is within 2 % of the standard deviation for realistic winds', () => {
    for (const deviation of [5, 15, 30]) {
      const random = createSeededRandom(deviation)
      const directions = Array.from({ length: 20_000 }, () => deviation * drawNormal(random))
      const twoPass = Math.sqrt(
        directions.reduce((sum, degrees) => sum + degrees ** 2, 0) / directions.length,
      )
      const estimate = spread(...directions.map((degrees) => degrees + 360))
      assertNear(estimate?.deviationDegrees, twoPass, twoPass * 0.02)
    }
  })
})

describe('sliding spans', () => {
  test('a reading expires when its span has passed, to the millisecond', () => {
    const aggregator = new WindAggregator()
    aggregator.take(measured(6, 90), startAt)
    aggregator.take(measured(8, 90), startAt + 3000)
    const mean = (afterMs: number) => aggregator.figures(startAt + afterMs).tenMinutes?.speedMetresPerSecond
    assert.deepEqual([599_999, 600_000, 602_999].map(mean), [7, 8, 8])
    assert.deepEqual(aggregator.figures(startAt + 603_000), noFigures)
    aggregator.take(measured(4, 90), startAt + 700_000)
    assert.equal(aggregator.figures(startAt + 700_000).tenMinutes?.speedMetresPerSecond, 4)
  })

  test('readings within a 240th of the span expire together with the last', () => {
    const aggregator = new WindAggregator()
    for (const afterMs of [0, 100, 450]) aggregator.take(measured(6, 90), startAt + afterMs)
    assert.equal(aggregator.figures(startAt + 600_449).tenMinutes?.coversMs, 450)
    assert.equal(aggregator.figures(startAt + 600_450).tenMinutes, null)
  })

  test('sums equal recomputed sums, at irregular times and over outages', () => {
    const random = createSeededRandom(5)
    const aggregator = new WindAggregator()
    const all: { at: number; speed: number; coversMs: number }[] = []
    let at = startAt
    for (let index = 0; index < 5000; index += 1) {
      // Never two within a 240th of the span, with an occasional outage.
      const pauseMs = random() < 0.01 ? 3000 + 750_000 * random() : 2500 + 2000 * random()
      at += pauseMs
      const speed = Math.floor(1000 * random()) / 100
      const { stretch } = aggregator.take(measured(speed, 90), at)
      all.push({ at, speed, coversMs: stretch?.sums.coversMs ?? 0 })
      const now = at + 1000 * random()
      const expected = all.filter((one) => one.at > now - 600_000)
      const { tenMinutes } = aggregator.figures(now)
      const speeds = expected.reduce((sum, one) => sum + one.speed, 0)
      assertNear(tenMinutes?.speedMetresPerSecond, speeds / expected.length)
      assertNear(
        tenMinutes?.coversMs,
        expected.reduce((sum, one) => sum + one.coversMs, 0),
        1e-3,
      )
    }
  })

  test('maxima equal recomputed maxima', () => {
    const random = createSeededRandom(7)
    const aggregator = new WindAggregator()
    const speeds: number[] = []
    const means: number[] = []
    for (let second = 0; second < 1000; second += 1) {
      speeds.push(Math.floor(1000 * random()) / 100)
      const { stretch } = aggregator.take(measured(speeds.at(-1) ?? 0, 90), startAt + second * 1000)
      means.push(speeds.slice(-3).reduce((sum, speed) => sum + speed, 0) / 3)
      // The first reading covers no time: three that cover 2.5 s exist from the fourth on.
      const whole = means.slice(3).slice(-60)
      if (whole.length > 0) assertNear(stretch?.gustMetresPerSecond, Math.max(...whole))
    }
  })

  test('a reading costs at most four joins for each maximum, at 20 a second over ten minutes', (t) => {
    // Maxima join with Math.max, which the time of a reading uses once more.
    const max = t.mock.method(Math, 'max')
    const aggregator = new WindAggregator()
    const readings = 20_000
    for (let index = 0; index < readings; index += 1) {
      aggregator.take(measured(5, 90), startAt + index * 50)
      aggregator.figures(startAt + index * 50)
    }
    const joins = max.mock.callCount() - readings
    max.mock.restore()
    assert.ok(joins > readings && joins <= 2 * 4 * readings, `${joins} joins for ${readings} readings`)
  })
})

describe('gusts: the highest 3 s mean, and what is none', () => {
  /**
   * Adds speeds in metres per second, `everyMs` apart; `take` returns the ten-minute gust after the
   * last.
   */
  function record() {
    const aggregator = new WindAggregator()
    let now = startAt
    let gustOfMinute: number | null = null
    const gust = () => aggregator.figures(now).gustMetresPerSecond
    return {
      take(speeds: readonly number[], everyMs = 250) {
        for (const speed of speeds) {
          now += everyMs
          gustOfMinute = aggregator.take(measured(speed, 200), now).stretch?.gustMetresPerSecond ?? null
        }
        return gust()
      },
      wait(ms: number) {
        now += ms
        return gust()
      },
      gustOfMinute: () => gustOfMinute,
    }
  }

  const seconds = (count: number, speed: number): number[] => Array.from({ length: count * 4 }, () => speed)

  test('there is none until 2.5 s are covered', () => {
    const anemometer = record()
    assert.equal(anemometer.take(seconds(2, 5)), null)
    assert.equal(anemometer.take(seconds(1, 5)), 5)
  })

  test('three seconds of 11 are a gust of 11; one second of 20 gives a 3 s mean of 10', () => {
    const anemometer = record()
    anemometer.take(seconds(10, 5))
    anemometer.take(seconds(3, 11))
    assertNear(anemometer.take(seconds(10, 5)), 11)
    // One second of 20 within 3 s of 5: (20 + 5 + 5) / 3.
    const other = record()
    other.take(seconds(10, 5))
    other.take(seconds(1, 20))
    assertNear(other.take(seconds(10, 5)), 10)
  })

  test('expires after ten minutes, and the gust of the last minute after one', () => {
    const anemometer = record()
    anemometer.take(seconds(3, 9))
    anemometer.take(seconds(57, 2))
    assert.equal(anemometer.gustOfMinute(), 9)
    anemometer.take(seconds(7, 2))
    assertNear(anemometer.gustOfMinute(), 2)
    assert.equal(anemometer.wait(55_000), 9)
    assert.equal(anemometer.wait(600_000), null)
  })

  test('after a pause the last minute has no gust', () => {
    const anemometer = record()
    anemometer.take(seconds(3, 9))
    anemometer.wait(60_000)
    anemometer.take([2])
    assert.equal(anemometer.gustOfMinute(), null)
  })

  test('one reading a second is enough, and so is one in two seconds, but one in four is not', () => {
    assert.equal(record().take([5, 5, 5, 5], 1000), 5)
    assert.equal(record().take([5, 5, 5], 2000), 5)
    assert.equal(record().take([5, 5, 5, 5, 5], 4000), null)
  })

  test('a backlog that arrives all at once is not a gust', () => {
    const anemometer = record()
    anemometer.take(seconds(5, 5))
    anemometer.wait(9000)
    // 36 readings of 9 s within 36 ms, 3 s of 14 among them.
    const backlog = [...seconds(3, 5), ...seconds(3, 14), ...seconds(3, 5)]
    assert.equal(anemometer.take(backlog, 1), 5)
    const after = anemometer.take(seconds(4, 5))
    assert.ok(after !== null && after < 14, `${after}`)
  })

  test('two readings around a pause are not a gust, however long the pause is', () => {
    for (const pauseMs of [2400, 3250, 4000]) {
      const anemometer = record()
      anemometer.take(seconds(10, 3))
      anemometer.take([3], pauseMs)
      anemometer.take([12])
      // The highest possible mean of 3 s of whole readings: one of 12 among eleven of 3.
      assertNear(anemometer.take(seconds(10, 3)), (12 + 11 * 3) / 12, 0.1)
    }
  })

  test('a stall whose readings arrive all at once gives no gust from the first two', () => {
    const anemometer = record()
    anemometer.take(seconds(10, 3))
    anemometer.take([12], 4000)
    anemometer.take([12, ...seconds(3, 3)], 0)
    const gust = anemometer.take(seconds(10, 3))
    assert.ok(gust !== null && gust < 4.5, `${gust}`)
  })

  test('paired timestamps, and a sensor that is set to another rate, keep their gusts', () => {
    const pairs = record()
    for (let pair = 0; pair < 20; pair += 1) {
      pairs.take([7], 450)
      pairs.take([7], 50)
    }
    assertNear(pairs.gustOfMinute(), 7)
    const slower = record()
    slower.take(seconds(10, 3))
    assertNear(slower.take([8, 8, 8, 8, 8, 8, 8], 2000), 8)
  })
})
