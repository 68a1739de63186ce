// The history's sentence and the words at the cursor.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnemograph } from '../../../server/wire/wind/anemograph.ts'
import { calm, measured, startAt } from '../../../server/wire/wind/testing.ts'
import { historySummary, momentWords } from './history-words.ts'

const options = { spanMs: 600_000, nowAt: startAt + 600_000, unit: 'M' } as const

function stretches(readings: readonly (readonly [afterMs: number, reading: ReturnType<typeof measured>])[]) {
  const anemograph = createAnemograph()
  for (const [afterMs, reading] of readings) anemograph.take(reading, startAt + afterMs)
  return anemograph.history.since(0, false)
}

test('lowest, highest and mean of what is shown', () => {
  const shown = stretches([
    [0, measured(2, 350)],
    [300_000, measured(8.04, 10)],
  ])
  assert.equal(historySummary(shown, options), '2.0 to 8.0 m/s, mean 5.0 from 6°')
  assert.equal(historySummary(shown, { ...options, unit: 'F' }), '394 to 1583 ft/min, mean 988 from 6°')
})

test('a calm history comes from nowhere', () => {
  assert.equal(historySummary(stretches([[0, calm(0.02)]]), options), '0.0 to 0.0 m/s, mean 0.0')
})

test('a history that is shorter than its axis says so', () => {
  assert.match(historySummary(stretches([[420_000, measured(2, 90)]]), options), /^3 min: 2.0 to/)
})

test('nothing to show is said as such', () => {
  assert.equal(historySummary([], options), 'No readings in the last 10 min.')
})

test('at a moment: when, and what', () => {
  const columns = {
    seconds: [-90, -60, -30],
    speed: [5.21, null, 0.02],
    gust: [8.4, null, null],
    direction: [229, null, null],
  }
  const now = new Date(2026, 4, 3, 14, 5, 2).getTime()
  assert.equal(momentWords(columns, 0, now, 'M'), '14:03:32  5.2 m/s, gust 8.4, 229°')
  assert.equal(momentWords(columns, 1, now, 'M'), '14:04:02  no measurement')
  assert.equal(momentWords(columns, 2, now, 'M'), '14:04:32  0.0 m/s')
})
