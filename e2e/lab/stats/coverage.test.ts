// Do the intervals hold what they promise? Drawn thousands of times from distributions whose truth is known.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, drawNormal, type Random } from '../../../server/wire/random.ts'
import { medianRatio } from './median-ratio.ts'
import { summarise } from './summary.ts'
import { welch } from './welch.ts'

function shareHolding(trials: number, truth: number, draw: () => readonly [number, number]): number {
  const holding = Array.from({ length: trials }, draw).filter(([low, high]) => low <= truth && truth <= high)
  return holding.length / trials
}

/** Within 3.5 standard errors of a share of 0.95: a right interval fails this once in 2,000 seeds. */
function assertCovers(share: number, trials: number): void {
  const tolerance = 3.5 * Math.sqrt((0.95 * 0.05) / trials)
  assert.ok(Math.abs(share - 0.95) < tolerance, `${share} of ${trials} intervals hold the truth`)
}

const listOf = (length: number, draw: () => number) => Array.from({ length }, draw)
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

/** Messages received by four windows each: the message's own luck, times a little for each window. */
function messages(random: Random, count: number, median: number): readonly (readonly number[])[] {
  return Array.from({ length: count }, () => {
    const shared = lognormal(random, median, 0.4)
    return listOf(4, () => lognormal(random, shared, 0.15))
  })
}

function bootstrapShare(
  trials: number,
  regroup: (drawn: readonly (readonly number[])[]) => readonly (readonly number[])[],
) {
  const random = createSeededRandom(13)
  return shareHolding(trials, 2, () => {
    const first = regroup(messages(random, 60, 4))
    const second = regroup(messages(random, 60, 2))
    return medianRatio(first, second, { random, resamples: 250 }).interval
  })
}

test('95 % of bootstrap intervals hold the true ratio of medians, drawing whole messages', () => {
  assertCovers(
    bootstrapShare(500, (drawn) => drawn),
    600,
  )
})

test('drawing single samples would promise too much', () => {
  const share = bootstrapShare(100, (drawn) => drawn.flat().map((sample) => [sample]))
  assert.ok(share < 0.85, `${share} of the intervals hold the truth`)
})
