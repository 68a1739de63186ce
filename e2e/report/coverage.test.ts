// Repeated runs: which intervals hold the pooled value, and what cannot be pooled.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coverageFiles, coverageOf, coverageReport, type RepeatedRun } from './coverage.ts'
import { reportFiles } from './render.ts'

function runOf(
  folder: string,
  sessions: readonly number[],
  ci95Ms: [number, number],
  mode = 'sse/2',
): RepeatedRun {
  const differenceMs = sessions.reduce((sum, ms) => sum + ms, 0) / sessions.length
  return {
    folder,
    command: 'npm run lab -- keystrokes',
    startedAt: `2026-11-23T0${folder}:00:00.000Z`,
    environment: { commit: 'abc', loadBefore: 0.5 },
    comparisons: [
      {
        ...{ mode, baseline: 'websocket/1.1', differenceMs, ci95Ms, verdict: 'slower' },
        sessions: sessions.map((one) => ({ differenceMs: one })),
      },
    ],
  }
}

const runs = [runOf('2', [5, 7], [5, 7]), runOf('1', [3, 5], [3, 4.9]), runOf('3', [4, 6], [4.5, 5.5])]

test('the pooled value is the mean over all sessions; a run holds it in its interval or not', () => {
  const coverage = coverageOf(runs)
  assert.equal(coverage.pooledMs, 5)
  assert.deepEqual(
    coverage.runs.map(({ folder, holds }) => [folder, holds]),
    [
      ['1', false],
      ['2', true],
      ['3', true],
    ],
  )
  assert.match(coverage.finding, /^Of 3 runs .*, 2 \(67 %\) have the pooled difference, 5\.00 ms/)
})

test('the report says it of each run, and its data do too', () => {
  const coverage = coverageOf(runs)
  const { 'report.md': words = '' } = reportFiles(coverageReport(coverage), coverage)
  assert.match(words, /\+4\.00 \| 3\.00 to 4\.90 \| no/)
  assert.equal(
    coverageFiles(coverage)['runs.csv']?.split('\n')[1],
    '1,2026-11-23T01:00:00.000Z,0.5,4,3,4.9,false,3 5',
  )
})

test('one run, and runs of different modes, are refused by name', () => {
  assert.throws(() => coverageOf(runs.slice(0, 1)), /Two runs or more/)
  assert.throws(
    () => coverageOf([...runs, runOf('4', [1, 2], [1, 2], 'sse/1.1')]),
    /^Error: 4 compares other modes than 1/,
  )
})
