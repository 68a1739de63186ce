// A delay's course: its floor, order, distribution over time, and repeatability.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mean, standardDeviation } from '../../client/statistics.ts'
import { createSeededRandom } from '../../client/wire.ts'
import {
  createLoss,
  createPaths,
  type Delay,
  lossVariance,
  profiles,
  readProfile,
  scaled,
} from './profiles.ts'

const queue: Delay = { floorMs: 40, queueMeanMs: 10, queueSdMs: 10, correlationMs: 1000, stalls: null }
const stalling: Delay = {
  floorMs: 40,
  queueMeanMs: 0,
  queueSdMs: 0,
  correlationMs: 1000,
  stalls: { perSecond: 0.1, leastMs: 500, mostMs: 1500 },
}

/** One direction with this delay. */
const pathOf = (delay: Delay, seed: number) =>
  createPaths({ down: delay, up: delay }, createSeededRandom(seed)).down

/** Delays of `count` entries, one every `everyMs`. */
function waits(delay: Delay, count: number, everyMs: number, seed = 1): number[] {
  const path = pathOf(delay, seed)
  return Array.from({ length: count }, (_, n) => path(n * everyMs) - n * everyMs)
}

function assertNear(found: number, expected: number, within: number): void {
  assert.ok(Math.abs(found - expected) <= within, `${found} is not ${expected} ± ${within}`)
}

test('a queue has its mean and spread over a long time, and nothing is faster than the floor', () => {
  const found = waits(queue, 400_000, 50)
  assertNear(mean(found), 50, 0.5)
  assertNear(standardDeviation(found), 10, 1)
  assert.ok(Math.min(...found.slice(0, 50_000)) >= 40)
})

test("a queue's logarithm decorrelates within its correlation time", () => {
  const levels = waits(queue, 200_000, 100).map((wait) => Math.log(wait - 40))
  const centre = mean(levels)
  const correlation = (lag: number) =>
    mean(levels.slice(lag).map((level, n) => (level - centre) * ((levels[n] ?? 0) - centre))) /
    mean(levels.map((level) => (level - centre) ** 2))
  assertNear(correlation(1), Math.exp(-0.1), 0.02)
  assertNear(correlation(10), Math.exp(-1), 0.03)
  assertNear(correlation(50), 0, 0.03)
})

test('later entries never leave earlier', () => {
  const path = pathOf({ ...queue, queueSdMs: 60, stalls: stalling.stalls }, 3)
  let before = 0
  for (let at = 0; at < 200_000; at += 1.7) {
    const leaves = path(at)
    assert.ok(leaves >= before - 1e-6, `entered at ${at}, leaves ${leaves} before ${before}`)
    before = leaves
  }
})

test('everything that enters a stall leaves at its end; stalls have the specified frequency and length', () => {
  const stepMs = 10
  const found = waits(stalling, 2_000_000, stepMs).map((wait) => wait - 40)
  const starts = found.flatMap((wait, n) => (wait > (found[n - 1] ?? 0) ? [wait] : []))
  assertNear(starts.length / ((found.length * stepMs) / 1000), 0.1, 0.002)
  assertNear(mean(starts), 1000, 20)
  assert.ok(Math.min(...starts) > 490 && Math.max(...starts) <= 1500)
  const inside = found.findIndex((wait) => wait > 200)
  assertNear((found[inside + 10] ?? 0) + 10 * stepMs, found[inside] ?? 0, 1e-6)
  // Half the square of its length, times their frequency.
  assertNear(mean(found), (0.1 * (1000 ** 2 + 1000 ** 2 / 12)) / 2 / 1000, 2)
})

test('a constant delay is constant', () => {
  assert.deepEqual(new Set(waits({ ...stalling, stalls: null }, 1000, 33)), new Set([40]))
})

test('the same seed gives the same course, however often it is queried', () => {
  const rare = pathOf(queue, 5)
  const often = pathOf(queue, 5)
  for (let at = 0; at < 10_000; at += 3) {
    const leaves = often(at)
    if (at % 999 === 0) assert.equal(rare(at), leaves)
  }
})

test('the two directions have independent courses', () => {
  const { down, up } = createPaths({ down: queue, up: queue }, createSeededRandom(5))
  assert.notEqual(down(5000), up(5000))
})

test('speeding up a profile also scales its rate', () => {
  assert.equal(scaled(profiles.mobile, 2).kilobitsPerSecond, 12_000)
  assert.equal(scaled(profiles.lan, 2).kilobitsPerSecond, null)
})

test('a profile has its own name', () => {
  for (const [name, profile] of Object.entries(profiles)) assert.equal(profile.name, name)
})

test("a profile's name says how many packets are lost, and how many in a row", () => {
  assert.deepEqual(readProfile('wan'), profiles.wan)
  assert.deepEqual(readProfile('wan+0%')?.loss, { share: 0, burst: 1 })
  const byChance = readProfile('nagaoka+20%')
  assert.deepEqual([byChance?.name, byChance?.loss], ['nagaoka+20%', { share: 0.2, burst: 1.25 }])
  assert.deepEqual(byChance?.up, { ...profiles.nagaoka.up, stalls: null })
  assert.deepEqual(readProfile('mobile+1.5%x4')?.loss, { share: 0.015, burst: 4 })
  for (const words of ['mars', 'wan+', 'wan+1', 'wan+51%', 'wan+.%', 'wan+1%x0', 'wan+1%x', 'constructor'])
    assert.equal(readProfile(words), null, words)
})

for (const [words, share, burst] of [
  ['wan+1%', 0.01, 1.01],
  ['wan+15%', 0.15, 1.18],
  ['wan+5%x4', 0.05, 4],
] as const)
  test(`${words} loses that share, in bursts of that mean, and its counts vary as computed`, () => {
    const { loss } = readProfile(words) ?? assert.fail()
    assert.ok(loss)
    const isLost = createLoss(loss, createSeededRandom(3))
    const fates = Array.from({ length: 1_000_000 }, isLost)
    const lost = fates.filter(Boolean).length
    const bursts = fates.filter((fate, index) => fate && !fates[index - 1]).length
    assertNear(lost / fates.length / share, 1, 0.03)
    assertNear(lost / bursts / burst, 1, 0.03)
    // In groups much longer than a burst.
    const size = 1000
    const counts = Array.from({ length: fates.length / size }, (_, group) => {
      return fates.slice(group * size, (group + 1) * size).filter(Boolean).length
    })
    const asDrawn = size * share * (1 - share)
    assertNear(standardDeviation(counts) ** 2 / asDrawn / lossVariance(loss), 1, 0.15)
  })
