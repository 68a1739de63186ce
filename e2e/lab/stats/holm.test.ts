// Holm's correction against R and against what it promises.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holm } from './holm.ts'

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
