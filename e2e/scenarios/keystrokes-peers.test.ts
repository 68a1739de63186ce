// Relays with known faults, from made-up samples: what was built in, and what was found.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keystrokes } from './keystrokes.ts'
import { madeRun, withSamples } from './testing.ts'

test('a built-in delay is compared with the relay’s own stamps, built-in faults with the ids', () => {
  const behaviours = ['bare:sse/2', 'bare+5ms:sse/2', 'bare+faults:sse/2'].map((mode) => ({
    mode,
    medianMs: 4,
  }))
  const made = madeRun({ behaviours, sessionSpread: 0, keys: 100, blocks: 1, windows: 2 })
  const samples = made.samples.map((sample) => {
    const at = sample.acceptedAt ?? 0
    const addedMs = sample.mode.includes('5ms') ? 5 : 0
    const late = (ms: number | null) => (ms === null ? null : ms + addedMs)
    const id = `${sample.mode}.${sample.session}-${sample.key}`
    const isLost = sample.mode.includes('faults') && sample.key === 30
    return { ...sample, id, committingAt: at + addedMs, receivedAt: isLost ? null : late(sample.receivedAt) }
  })
  const { details, comparisons } = keystrokes.analyse(withSamples(made, samples))
  assert.equal(comparisons.length, 0)
  const [delayed, spoiled] = details.knownFaults
  assert.ok(delayed && spoiled)
  assert.deepEqual([delayed.sound, delayed.builtMs, delayed.holds], ['bare:sse/2', 5, true])
  assert.ok(Math.abs(delayed.foundMs - 5) < 0.5, String(delayed.foundMs))
  assert.deepEqual(
    [spoiled.lost, spoiled.duplicated, spoiled.reordered],
    [
      { built: 8, found: 8 },
      { built: 8, found: 0 },
      { built: 8, found: 0 },
    ],
  )
})

test('a mode is compared with the sound relay alone', () => {
  const behaviours = ['sse/2', 'bare:sse/2', 'bare+5ms:sse/2'].map((mode) => ({ mode, medianMs: 4 }))
  assert.deepEqual(
    keystrokes.analyse(madeRun({ behaviours })).comparisons.map(({ mode, baseline }) => [mode, baseline]),
    [['sse/2', 'bare:sse/2']],
  )
})

test('without a sound relay, a delay is compared with the relay that delays least', () => {
  const behaviours = ['bare+20ms:sse/2', 'bare+25ms:sse/2'].map((mode, place) => ({
    mode,
    medianMs: 20 + 5 * place,
  }))
  const made = madeRun({ behaviours, sessionSpread: 0, keys: 40, blocks: 1, windows: 2 })
  const samples = made.samples.map((sample) => ({
    ...sample,
    committingAt: (sample.acceptedAt ?? 0) + (sample.mode.includes('25') ? 25 : 20),
  }))
  const { knownFaults } = keystrokes.analyse(withSamples(made, samples)).details
  assert.deepEqual(
    knownFaults.map(({ mode, sound, builtMs }) => [mode, sound, builtMs]),
    [['bare+25ms:sse/2', 'bare+20ms:sse/2', 5]],
  )
})
