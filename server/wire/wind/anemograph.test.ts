// Readings in, figures and history out: as a whole, over faults, outages and repeats.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnemograph } from './anemograph.ts'
import { assertNear, calm, fault, measured, startAt } from './testing.ts'

test('before the first reading there is nothing', () => {
  const anemograph = createAnemograph()
  assert.deepEqual(anemograph.figures(startAt), {
    twoMinutes: null,
    tenMinutes: null,
    gustMetresPerSecond: null,
    spread: null,
  })
  assert.equal(anemograph.history.oldestAt(), null)
})

test('ten minutes of wind that turns through north after eight', () => {
  const anemograph = createAnemograph()
  let now = startAt
  for (let index = 0; index < 2400; index += 1) {
    now = startAt + index * 250
    anemograph.take(index < 1920 ? measured(4, 350) : measured(8, 10), now)
  }
  const { twoMinutes, tenMinutes, gustMetresPerSecond, spread } = anemograph.figures(now)
  assertNear(twoMinutes?.speedMetresPerSecond, 8)
  assertNear(twoMinutes?.directionDegrees, 10)
  assertNear(tenMinutes?.speedMetresPerSecond, (8 * 4 + 2 * 8) / 10)
  // 8 min × 4 m/s from 350 and 2 min × 8 from 10: atan(tan 10° × (16 − 32) / 48) to the west of north.
  assertNear(tenMinutes?.directionDegrees, 360 - 3.3637, 1e-3)
  assertNear(gustMetresPerSecond, 8)
  assertNear(spread?.deviationDegrees, 0, 1e-5)
  assertNear(tenMinutes?.coversMs, 2399 * 250)
})

test('faults count in nothing, calms in speed alone, and identical readings each', () => {
  const anemograph = createAnemograph()
  for (const [index, reading] of [measured(6, 90), measured(6, 90), fault, fault, calm(0)].entries())
    anemograph.take(reading, startAt + index * 250)
  const { twoMinutes } = anemograph.figures(startAt + 1000)
  assertNear(twoMinutes?.speedMetresPerSecond, 4)
  assertNear(twoMinutes?.directionDegrees, 90)
  assert.deepEqual(
    anemograph.history.since(0, true).map(({ startsAnew }) => startsAnew),
    [true, false, true],
  )
})

test('figures of a sensor that fell silent leave with their time', () => {
  const anemograph = createAnemograph()
  for (let index = 0; index < 40; index += 1) anemograph.take(measured(6, 90), startAt + index * 250)
  const later = anemograph.figures(startAt + 200_000)
  assert.equal(later.twoMinutes, null)
  assert.equal(later.spread, null)
  assertNear(later.tenMinutes?.speedMetresPerSecond, 6)
})
