// Do the intervals hold what they promise, where Welch's, which takes neighbours for strangers, do not?

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, type Random } from '../../../server/wire/random.ts'
import { autoregressive } from './made-series.ts'
import { pairedDifference, pairedRatio } from './paired-series.ts'
import { summarise } from './summary.ts'
import { welch } from './welch.ts'

const trials = 400

function shareHolding(truth: number, draw: () => { readonly interval: readonly [number, number] }): number {
  const drawn = Array.from({ length: trials }, () => draw().interval)
  return drawn.filter(([low, high]) => low <= truth && truth <= high).length / trials
}

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
      shareHolding(10, () => pairedDifference(...methods(random, isShared))),
      shareHolding(2, () => pairedRatio(...methods(random, isShared))),
    ]
    // A memory that has to be guessed from the same values makes intervals a little too narrow.
    for (const share of shares) assert.ok(share >= 0.905 && share <= 0.98, `${share}`)
  })
}

test('taking neighbours for strangers would promise far too much', () => {
  const random = createSeededRandom(22)
  const share = shareHolding(10, () => {
    const [first, second] = methods(random, false)
    return welch(summarise(first), summarise(second))
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
