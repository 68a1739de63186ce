// Which readings count, for how long, and in what time.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSampling } from './sampling.ts'
import { calm, fault, measured, startAt } from './testing.ts'

test('a reading stands for the time since the one before', () => {
  const sampling = createSampling()
  assert.equal(sampling.take(measured(5, 90), startAt).sample?.coversMs, 0)
  assert.deepEqual(sampling.take(measured(6, 91), startAt + 250).sample, {
    at: startAt + 250,
    speedMetresPerSecond: 6,
    directionDegrees: 91,
    coversMs: 250,
    startsAnew: false,
  })
})

test('a calm has its speed and no direction, even where the sensor repeats the last one', () => {
  const { sample } = createSampling().take({ ...calm(0.03), directionDegrees: 160 }, startAt)
  assert.equal(sample?.speedMetresPerSecond, 0.03)
  assert.equal(sample?.directionDegrees, null)
})

test('a fault counts not at all, and what follows starts anew', () => {
  const sampling = createSampling()
  sampling.take(measured(5, 90), startAt)
  assert.deepEqual(sampling.take(fault, startAt + 250), { at: startAt + 250, sample: null })
  assert.equal(sampling.take({ ...fault, speedMetresPerSecond: 999.99 }, startAt + 300).sample, null)
  const after = sampling.take(measured(5, 90), startAt + 500).sample
  assert.equal(after?.startsAnew, true)
  assert.equal(after?.coversMs, 0)
})

test('so does what follows more than 5 s of nothing', () => {
  const sampling = createSampling()
  sampling.take(measured(5, 90), startAt)
  assert.equal(sampling.take(measured(5, 90), startAt + 5000).sample?.startsAnew, false)
  assert.equal(sampling.take(measured(5, 90), startAt + 10_001).sample?.startsAnew, true)
})

test('a clock that is set back does not take the time along', () => {
  const sampling = createSampling()
  const stamps = [0, 1000, -3_599_000, -3_598_750, -3_598_500]
  const times = stamps.map((stamp) => sampling.take(measured(5, 90), startAt + stamp).at - startAt)
  assert.deepEqual(times, [0, 1000, 1000, 1250, 1500])
})
