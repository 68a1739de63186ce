// Checks the predicted experiment against what can be worked out by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../../server/wire/random.ts'
import { mean, standardDeviation } from '../lab/stats/summary.ts'
import type { Delay } from './path.ts'
import { predict } from './predict.ts'
import type { Profile } from './profiles.ts'

const paper = { readings: 1200, rateHz: 4, holdMs: 300, intervalMs: 150 }

/** A path that is always that long, but for so much unevenness that polls and readings do not march in step. */
function steady(floorMs: number, queueMeanMs = 0): Profile {
  const delay: Delay = { floorMs, queueMeanMs, queueSdMs: queueMeanMs, correlationMs: 100, stalls: null }
  return { name: 'steady', down: delay, up: delay, kilobitsPerSecond: null, source: 'test' }
}

function latencies(profile: Profile, seed = 1) {
  return predict(profile, { ...paper, random: createSeededRandom(seed) })
}

function assertNear(found: number, expected: number, within: number): void {
  assert.ok(Math.abs(found - expected) <= within, `${found} is not ${expected} ± ${within}`)
}

test('every method gets every reading once', () => {
  for (const values of Object.values(latencies(steady(90, 5)))) {
    assert.equal(values.length, 1200)
    assert.ok(Math.min(...values) >= 90)
  }
})

test('WebSocket takes one way', () => {
  assert.deepEqual(
    new Set(latencies(steady(90)).websocket.map((ms) => ms.toFixed(6))),
    new Set(['90.000000']),
  )
})

test('long polling takes one way too, while a round trip is shorter than the time between readings', () => {
  assert.deepEqual(latencies(steady(124))['long-polling'].slice(2).map(Math.round), Array(1198).fill(124))
})

test('beyond that each reading waits for half a round trip on average: twice one way, not the one and a half of the paper', () => {
  assertNear(mean(latencies(steady(150, 3))['long-polling']), 2 * 153, 5)
})

test('polling is 2ν + Δ/2, and evenly spread over its cycle', () => {
  const { polling } = latencies(steady(86, 2))
  assertNear(mean(polling), 2 * 88 + 75, 3)
  assertNear(standardDeviation(polling), (2 * 88 + 150) / Math.sqrt(12), 3)
})

test('an empty answer comes when the hold is over, and a reading until the next question waits for it', () => {
  const slow = { ...paper, holdMs: 290, readings: 40, rateHz: 1, random: createSeededRandom(1) }
  const held = predict(steady(20), slow)['long-polling'].slice(4).map(Math.round)
  // After an answer at 0 questions are held from 40, 370 and 700 to 330, 660 and 990: the reading at 1000 waits until 1030.
  assert.deepEqual(held.toSorted(), [...Array(18).fill(20), ...Array(18).fill(50)])
})

test('the same seed predicts the same', () => {
  assert.deepEqual(latencies(steady(90, 5), 7), latencies(steady(90, 5), 7))
})
