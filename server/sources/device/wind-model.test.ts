// Checks the made-up wind's gusts against the process that they are said to follow.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../../wire/random.ts'
import { createWind } from './wind-model.ts'

/** The first breeze of many winds, before a lull is likely. */
function breezes(stepSeconds: number, count: number) {
  return Array.from({ length: count }, (_, seed) => {
    const next = createWind({ random: createSeededRandom(seed), stepSeconds })
    let speed = 0
    for (let passed = 0; passed < 20; passed += stepSeconds) speed = next().speedMetresPerSecond
    return speed
  }).filter((speed) => speed > 1)
}

function moments(values: readonly number[]) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
  return { mean, sd: Math.sqrt(variance) }
}

test('gusts are as strong whatever the rate: the discrete process is exact', () => {
  for (const stepSeconds of [0.1, 0.25, 1, 4]) {
    const { mean, sd } = moments(breezes(stepSeconds, 1500))
    assert.ok(Math.abs(mean - 4.5) < 0.25, `mean ${mean} at ${stepSeconds} s`)
    assert.ok(Math.abs(sd - 1.125) < 0.2, `sd ${sd} at ${stepSeconds} s`)
  }
})

test('directions are whole degrees from 0 to 359, and neighbours are close', () => {
  const next = createWind({ random: createSeededRandom(3), stepSeconds: 0.25 })
  let last = next().directionDegrees
  for (let i = 0; i < 20_000; i++) {
    const direction = next().directionDegrees
    assert.ok(Number.isInteger(direction) && direction >= 0 && direction <= 359 && !Object.is(direction, -0))
    const turn = Math.abs(((direction - last + 540) % 360) - 180)
    assert.ok(turn < 25, `${last} to ${direction}`)
    last = direction
  }
})
