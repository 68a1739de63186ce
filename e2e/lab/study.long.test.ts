// How often the interval of a ratio has the true one, over many made-up runs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, drawNormal } from '../../client/wire.ts'
import { analyseStudy, type Design, type Row } from './study.ts'

const design: Design = {
  question: 'Which drink cools faster?',
  factors: [{ name: 'drink', title: 'Drink' }],
  measures: [{ name: 'coolingMs', title: 'Cooling', unit: 'ms', better: 'less' }],
  notes: () => [],
}
const medians = { tea: 3, coffee: 4.5 } as const

/** Five sessions of eight cups; each session has its own median. */
function ratioCi95(seed: number) {
  const random = createSeededRandom(seed)
  const samples = Object.entries(medians).flatMap(([drink, medianMs]) =>
    [1, 2, 3, 4, 5].flatMap((session) => {
      const here = medianMs * Math.exp(0.2 * drawNormal(random))
      const cup = (): Row => ({ drink, session, coolingMs: here * Math.exp(0.25 * drawNormal(random)) })
      return Array.from({ length: 8 }, cup)
    }),
  )
  const measured = { levels: { drink: Object.keys(medians) }, baseline: 'tea', samples }
  return analyseStudy(design, measured).comparisons[0]?.ratioCi95
}

test('93 to 97 % of 1,000 runs whose sessions differ by 20 % have the true ratio in their interval', () => {
  const seeds = Array.from({ length: 1000 }, (_, index) => index + 1)
  const holding = seeds.filter((seed) => {
    const [low, high] = ratioCi95(seed) ?? [0, 0]
    return low <= 1.5 && 1.5 <= high
  }).length
  assert.ok(holding >= 930 && holding <= 970, `${holding} of 1,000`)
})
