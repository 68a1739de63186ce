// Repeated runs: the intervals that contain the pooled value, and runs that cannot be pooled.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coverageFiles, coverageOf, coverageReport, type RepeatedRun } from './coverage.ts'
import { reportFiles } from './render.ts'

/** In each session the mode took this multiple of the baseline's 4 ms. */
function runOf(
  folder: string,
  ratios: readonly number[],
  medianRatioCi95: [number, number],
  mode = 'sse/2',
): RepeatedRun {
  const medianRatio = ratios.reduce((product, ratio) => product * ratio, 1) ** (1 / ratios.length)
  const sessions = ratios.map((one) => ({
    ratio: 2 * one,
    medianRatio: one,
    difference: 4 * (one - 1),
  }))
  const difference = sessions.reduce((sum, one) => sum + one.difference, 0) / sessions.length
  const differenceCi95: [number, number] = [difference - 1, difference + 1]
  return {
    folder,
    command: 'npm run lab -- keystrokes',
    startedAt: `2026-11-23T0${folder}:00:00.000Z`,
    environment: { commit: 'abc', loadBefore: 0.5 },
    figures: [
      { mode, mean: 8 * medianRatio },
      { mode: 'websocket/1.1', mean: 4 },
    ],
    comparisons: [
      {
        mode,
        baseline: 'websocket/1.1',
        difference,
        differenceCi95,
        medianRatio,
        medianRatioCi95,
        ratio: 2 * medianRatio,
        ratioCi95: [medianRatio, 4 * medianRatio] as [number, number],
        sessions,
      },
    ],
  }
}

const runs = [
  runOf('2', [1.9, 2.1], [1.9, 2.1]),
  runOf('1', [0.9, 1.1], [0.9, 1.1]),
  runOf('3', [3.8, 4.2], [1.5, 4.5]),
]

test("the pooled ratio is the geometric mean over all sessions; each run's interval contains it or not", () => {
  const { means, medians, difference, finding } = coverageOf(runs)
  const inWords = ({ runs: each }: typeof means) =>
    each.map(({ value, holds }) => `${value.toFixed(2)} ${holds}`).join(', ')
  assert.equal(medians.pooled.toFixed(2), '1.99')
  assert.equal(inWords(medians), '0.99 false, 2.00 true, 3.99 true')
  assert.equal(means.pooled.toFixed(2), '3.99')
  assert.equal(inWords(means), '1.99 false, 3.99 true, 7.99 false')
  assert.equal(difference.pooled.toFixed(2), '5.33')
  assert.equal(inWords(difference), '0.00 false, 4.00 false, 12.00 false')
  assert.match(
    finding,
    /, 1 \(33 %\) have the pooled ratio of the means, 3\.99, .* 2 \(67 %\) .* 1\.99, and 0 \(0 %\) .* 5\.33 ms\.$/,
  )
})

test('the report and its data give this for each run', () => {
  const coverage = coverageOf(runs)
  const { 'report.md': words = '' } = reportFiles(coverageReport(coverage), coverage)
  assert.match(words, /\| 4\.00 \| 1\.99 \| .* \| no \| 0\.99 \| 0\.90 to 1\.10 \| no \|/)
  const [, first = ''] = coverageFiles(coverage)['runs.csv']?.split('\n') ?? []
  assert.match(first, /^1,2026-11-23T01:00:00\.000Z,0\.5,4,1\.98997.*,false,.*,0\.9,1\.1,false,/)
})

test('a single run, and runs of different modes, are rejected by name', () => {
  assert.throws(() => coverageOf(runs.slice(0, 1)), /At least two runs/)
  assert.throws(
    () => coverageOf([...runs, runOf('4', [1, 2], [1, 2], 'sse/1.1')]),
    /^Error: 4 compares different modes from 1/,
  )
})
