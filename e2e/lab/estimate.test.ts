// Estimates by a clock of the test's, and against the times of the committed runs.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { z } from 'zod'
import { capacity } from '../scenarios/capacity.ts'
import { keystrokes } from '../scenarios/keystrokes.ts'
import { payload } from '../scenarios/payload.ts'
import { pubsub } from '../scenarios/pubsub.ts'
import { windows } from '../scenarios/windows.ts'
import { Estimate, formatClock, formatDuration, type Plan } from './estimate.ts'
import type { Experiment } from './experiment.ts'
import { optionsOf } from './testing.ts'

function estimated(sessions: number, plan: Plan) {
  let now = 1000
  const estimate = new Estimate(sessions, plan, () => now)
  return {
    estimate,
    pass: (ms: number) => {
      now += ms
    },
  }
}

test('before the first session the plan counts, then the time of those that are done', () => {
  const { estimate, pass } = estimated(5, { sessionMs: 60_000 })
  assert.equal(estimate.leftMs, 300_000)
  pass(20_000)
  assert.equal(estimate.leftMs, 280_000)
  pass(70_000)
  assert.equal(estimate.leftMs, 240_000)
  estimate.sessionDone()
  assert.equal(estimate.leftMs, 4 * 90_000)
  pass(30_000)
  estimate.sessionDone()
  assert.equal(estimate.leftMs, 3 * 60_000)
})

test('unequal sessions keep their proportions; without a plan nothing is known before the first', () => {
  const unequal = estimated(3, { sessionMs: [30_000, 10_000, 20_000], thenMs: 5000 })
  assert.equal(unequal.estimate.leftMs, 65_000)
  unequal.pass(60_000)
  unequal.estimate.sessionDone()
  assert.equal(unequal.estimate.leftMs, 65_000)
  const { estimate, pass } = estimated(2, {})
  assert.equal(estimate.leftMs, null)
  pass(40_000)
  estimate.sessionDone()
  assert.equal(estimate.leftMs, 40_000)
})

test('a run that continues until a limit takes at most that long, or its planned sessions', () => {
  const { estimate, pass } = estimated(3, { sessionMs: 10_000, limitMs: 60_000 })
  assert.equal(estimate.leftMs, 60_000)
  for (let session = 1; session <= 4; session += 1) {
    pass(10_000)
    estimate.sessionDone()
  }
  assert.equal(estimate.leftMs, 20_000)
  assert.equal(estimated(3, { sessionMs: 40_000, limitMs: 60_000 }).estimate.leftMs, 120_000)
})

test('times are written in the unit that fits', () => {
  const written = [1000, 47_000, 96_000, 100_000, 400_000, 5_000_000, 9_000_000, 40_000_000].map(
    formatDuration,
  )
  assert.deepEqual(written, [
    '5 seconds',
    '45 seconds',
    '95 seconds',
    '2 minutes',
    '7 minutes',
    '83 minutes',
    '2.5 hours',
    '11 hours',
  ])
  assert.deepEqual([0, 4400, 250_000].map(formatClock), ['0:00', '0:04', '4:10'])
})

/** From the run's command. */
async function checkCommitted<Shape extends z.ZodRawShape, Options>(
  experiment: Pick<Experiment<Shape, Options>, 'name' | 'flags' | 'options' | 'plan'>,
) {
  const file = join(import.meta.dirname, `../../reports/reference-${experiment.name}/summary.json`)
  const { command, startedAt, finishedAt, parameters } = JSON.parse(await readFile(file, 'utf8'))
  const options = optionsOf(experiment, ...command.split(' ').slice(5))
  const tookMs = Date.parse(finishedAt) - Date.parse(startedAt)
  const plan = experiment.plan?.(options) ?? {}
  const expectedMs = new Estimate(parameters.sessions, plan, () => 0).leftMs ?? Number.NaN
  const ratio = expectedMs / tookMs
  assert.ok(ratio > 2 / 3 && ratio < 4 / 3, `${experiment.name}: ${expectedMs} ms, but took ${tookMs}`)
}

test('the estimates of the committed runs are within a third of their times', async () => {
  await checkCommitted(keystrokes)
  await checkCommitted(windows)
  await checkCommitted(payload)
  await checkCommitted(capacity)
  await checkCommitted(pubsub)
})
