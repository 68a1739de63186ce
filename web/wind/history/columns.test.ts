// Columns: holes stay holes, means stay means, and there are no more than pixels.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnemograph } from '../../../server/wire/wind/anemograph.ts'
import { calm, fault, measured, startAt } from '../../../server/wire/wind/testing.ts'
import { columnsOf } from './columns.ts'
import { columnMsFor, redrawMsFor, spanOf, spans } from './spans.ts'

type Reading = Parameters<ReturnType<typeof createAnemograph>['take']>[0]

/** Readings by their stamp in ms after the start. */
function historyOf(readings: readonly (readonly [afterMs: number, reading: Reading])[]) {
  const anemograph = createAnemograph()
  for (const [afterMs, reading] of readings) anemograph.take(reading, startAt + afterMs)
  return anemograph.history
}

function shown(history: ReturnType<typeof historyOf>, nowAfterMs: number, columnMs = 0) {
  const options = { nowAt: startAt + nowAfterMs, columnMs, unit: 'M' } as const
  return columnsOf(history.since(0, columnMs === 0), options)
}

test('an outage is a hole, never a straight line through it', () => {
  const history = historyOf([
    [0, measured(4, 90)],
    [1000, measured(5, 90)],
    [21_000, measured(6, 90)],
  ])
  const { seconds, speed, direction } = shown(history, 30_000)
  assert.deepEqual(seconds, [-30, -29, -19, -9])
  assert.deepEqual(speed, [4, 5, null, 6])
  assert.equal(direction[2], null)
})

test('so is a fault, however short', () => {
  const history = historyOf([
    [0, measured(4, 90)],
    [250, fault],
    [500, measured(5, 90)],
  ])
  assert.deepEqual(shown(history, 1000).speed, [4, null, 5])
})

test('a calm has a speed and no direction', () => {
  const { speed, direction } = shown(historyOf([[0, calm(0.03)]]), 0)
  assert.deepEqual([speed, direction], [[0.03], [null]])
})

test('a column has the mean of its samples, right across north, in the unit asked for', () => {
  const history = historyOf([
    [0, measured(4, 350)],
    [250, measured(6, 350)],
    [1000, measured(4, 10)],
    [1250, measured(6, 10)],
    [2000, measured(10, 90)],
  ])
  const { seconds, speed, direction } = shown(history, 2000, 2000)
  assert.deepEqual(seconds, [-1.375, 0])
  assert.deepEqual(speed, [5, 10])
  const [north = 180] = direction
  assert.ok(Math.min(north ?? 180, 360 - (north ?? 180)) < 1e-9)
  const inKilometres = columnsOf(history.since(0, false), { nowAt: startAt, columnMs: 2000, unit: 'K' })
  assert.ok(Math.abs((inKilometres.speed[1] ?? 0) - 36) < 1e-9)
})

test('columns do not change while they move out of sight', () => {
  const history = historyOf(
    Array.from({ length: 400 }, (_, index) => [index * 250, measured(index % 7, 90)] as const),
  )
  const speeds = (sinceMs: number) =>
    columnsOf(history.since(startAt + sinceMs, false), { nowAt: startAt, columnMs: 5000, unit: 'M' }).speed
  // The oldest one may be cut.
  assert.deepEqual(speeds(40_000).slice(-11), speeds(43_300).slice(-11))
})

test('an hour is no more columns than pixels, and a hole in it is still there', () => {
  const hour = Array.from({ length: 3600 }, (_, second) => [second * 1000, measured(5, 200)] as const)
  const history = historyOf(hour.filter(([afterMs]) => afterMs < 1_800_000 || afterMs > 1_860_000))
  for (const width of [230, 700, 1200]) {
    const columnMs = columnMsFor(spanOf(60), width)
    const { speed } = shown(history, 3_600_000, columnMs)
    assert.ok(speed.length <= width, `${speed.length} columns on ${width} pixels`)
    assert.equal(speed.filter((value) => value === null).length, 1)
  }
})

test('every span has a word for each tick, the last is now, and is drawn as often as it moves', () => {
  for (const { minutes, ms, tickSeconds, tickWords } of spans) {
    assert.equal(tickWords.length, tickSeconds.length)
    assert.equal(tickSeconds[0], -ms / 1000, `${minutes} minutes`)
    assert.equal(tickWords.at(-1), 'now')
  }
  assert.deepEqual([redrawMsFor(spanOf(1), 600), redrawMsFor(spanOf(60), 600)], [200, 5000])
})
