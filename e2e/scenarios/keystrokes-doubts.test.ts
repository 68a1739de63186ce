// Trends within the sessions of made-up runs, and how many independent samples theirs are worth.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keystrokes } from './keystrokes.ts'
import { madeRun, withSamples } from './testing.ts'

const detailsOf = (run: ReturnType<typeof madeRun>) => keystrokes.analyse(run).details

test('a trend within the sessions is found with its size and sign, and none if there is none', () => {
  const run = madeRun({ sessions: 6, keys: 90 })
  // 3 ms from the first key to the last: 2 ms from the middle of the first third to that of the
  // last.
  const slowed = run.samples.map((sample) => {
    const laterMs = sample.mode === 'sse/2' ? (3 * sample.key) / 90 : 0
    return { ...sample, receivedAt: sample.receivedAt === null ? null : sample.receivedAt + laterMs }
  })
  const { drifts } = detailsOf(withSamples(run, slowed.toReversed()))
  assert.deepEqual(
    drifts.map(({ mode, verdict }) => [mode, verdict]),
    [
      ['sse/2', 'slower'],
      ['sse/1.1', 'none found'],
      ['websocket/1.1', 'none found'],
    ],
  )
  const [sse] = drifts
  assert.ok(sse && sse.ci95Ms[0] < 2 && sse.ci95Ms[1] > 2, String(sse?.ci95Ms))
  assert.deepEqual(detailsOf(madeRun({ sessions: 1 })).drifts, [])
})

test('samples from sessions that are far apart count for few', () => {
  const worthOf = (sessionSpread: number) =>
    detailsOf(madeRun({ sessions: 8, sessionSpread })).modes.map(({ effectiveN }) => effectiveN ?? 0)
  assert.ok(
    worthOf(0.3).every((worth) => worth < 100),
    String(worthOf(0.3)),
  )
  assert.ok(
    worthOf(0).every((worth) => worth > 200),
    String(worthOf(0)),
  )
  assert.deepEqual(
    new Set(detailsOf(madeRun({ sessions: 1 })).modes.map(({ effectiveN }) => effectiveN)),
    new Set([null]),
  )
})
