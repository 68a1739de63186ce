// Columns with gaps and means, axes with round steps, and the history in words.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ReadingBody } from '../../app/shared/page-messages.ts'
import { WindHistory } from '../../app/shared/wind-history.ts'
import { calm, fault, gustyWind, measured, startAt } from '../../app/shared/wind-testing.ts'
import { toMetresPerSecond, type WindUnit } from '../../sensor/wind-units.ts'
import { type HistoryMinutes, historyMinutes } from '../store.ts'
import { type Column, columnAt, formatMoment, historyModel, redrawMsFor } from './history-view-model.ts'

/** Readings by their time in ms after the start. */
function historyOf(...readings: readonly (readonly [afterMs: number, reading: ReadingBody])[]) {
  const history = new WindHistory()
  for (const [afterMs, reading] of readings) history.take(reading, startAt + afterMs)
  return history
}

interface Shown {
  readonly minutes?: HistoryMinutes
  readonly unit?: WindUnit
  readonly width?: number
}

/** At 300 pixels, ten minutes have columns of 3 s. */
function shown(
  history: WindHistory,
  nowAfterMs: number,
  { minutes = 10, unit = 'M', width = 300 }: Shown = {},
) {
  return historyModel(history, { minutes, nowAt: startAt + nowAfterMs, unit, width })
}

function columnsOf(...asked: Parameters<typeof shown>) {
  const { columns } = shown(...asked)
  const all = (part: keyof Column) => columns.map((column) => column[part])
  return { seconds: all('seconds'), speed: all('speed'), direction: all('direction') }
}

describe('columns', () => {
  test('an outage is a gap, never a straight line through it', () => {
    const history = historyOf([0, measured(4, 90)], [1000, measured(5, 90)], [21_000, measured(6, 90)])
    const { seconds, speed, direction } = columnsOf(history, 30_000, { minutes: 1 })
    assert.deepEqual(seconds, [-30, -29, -19, -9])
    assert.deepEqual(speed, [4, 5, null, 6])
    assert.equal(direction[2], null)
  })

  test('a fault is a gap, however short', () => {
    const history = historyOf([0, measured(4, 90)], [250, fault], [500, measured(5, 90)])
    assert.deepEqual(columnsOf(history, 1000, { minutes: 1 }).speed, [4, null, 5])
  })

  test('a calm has a speed but no direction', () => {
    const { speed, direction } = columnsOf(historyOf([0, calm(0.03)]), 0)
    assert.deepEqual([speed, direction], [[0.03], [null]])
  })

  test('a column is the mean of its readings, also across north, in the requested unit', () => {
    // One column begins 1 s after the start, the next at 4 s.
    const history = historyOf(
      [1000, measured(4, 350)],
      [1250, measured(6, 350)],
      [2000, measured(4, 10)],
      [2250, measured(6, 10)],
      [4000, measured(10, 90)],
    )
    const { seconds, speed, direction } = columnsOf(history, 4000)
    assert.deepEqual(seconds, [-2.375, 0])
    assert.deepEqual(speed, [5, 10])
    const [north = 180] = direction
    assert.ok(Math.min(north ?? 180, 360 - (north ?? 180)) < 1e-9)
    const inKilometres = columnsOf(history, 4000, { unit: 'K' })
    assert.ok(Math.abs((inKilometres.speed[1] ?? 0) - 36) < 1e-9)
  })

  test('no speed exceeds the gust beside it, even in a column that has just begun', () => {
    const history = new WindHistory()
    for (const { reading, at } of gustyWind(700, 4)) {
      history.take(reading, at)
      if (at < startAt + 670_000) continue
      for (const minutes of historyMinutes) {
        const { columns } = shown(history, at - startAt, { minutes })
        assert.equal(
          columns.some(({ gust }) => gust !== null),
          minutes > 1,
        )
        for (const { speed, gust } of columns)
          assert.ok(
            speed === null || gust === null || speed <= gust,
            `${speed} above ${gust}, ${minutes} min`,
          )
      }
    }
  })

  test('columns do not change as they move out of sight', () => {
    const readings = Array.from(
      { length: 400 },
      (_, index) => [index * 250, measured(index % 7, 90)] as const,
    )
    const history = historyOf(...readings)
    // Columns of 5 s, from 40 s and from 43.3 s after the start.
    const speeds = (nowAfterMs: number) => columnsOf(history, nowAfterMs, { width: 200 }).speed
    // The oldest one may be cut.
    assert.deepEqual(speeds(640_000).slice(-11), speeds(643_300).slice(-11))
  })

  test('an hour has no more columns than pixels, and still shows a gap', () => {
    const hour = Array.from({ length: 3600 }, (_, second) => [second * 1000, measured(5, 200)] as const)
    const history = historyOf(...hour.filter(([afterMs]) => afterMs < 1_800_000 || afterMs > 1_860_000))
    for (const width of [230, 700, 1200]) {
      const { speed } = columnsOf(history, 3_600_000, { minutes: 60, width })
      assert.ok(speed.length <= width, `${speed.length} columns on ${width} pixels`)
      assert.equal(speed.filter((value) => value === null).length, 1)
    }
  })
})

describe('at a moment', () => {
  /** Its time and speed, at a place of the cursor. */
  function seen(history: WindHistory, seconds: number, nowAfterMs = 60_000, change: Shown = { minutes: 1 }) {
    const { columns } = shown(history, nowAfterMs, change)
    const { place, column } = columnAt(columns, seconds)
    return [place, column.seconds, column.speed]
  }

  test('time and reading belong together, however far apart readings are', () => {
    const history = historyOf([50_000, measured(4, 90)], [54_000, measured(5, 90)], [58_000, measured(6, 90)])
    assert.deepEqual(seen(history, -10), [0, -10, 4])
    assert.deepEqual(seen(history, -8.1), [0, -10, 4])
    assert.deepEqual(seen(history, -7.9), [1, -6, 5])
    assert.deepEqual(seen(history, -0.5), [2, -2, 6])
  })

  test('in an outage, before the first reading and long after the last, nothing was measured', () => {
    const history = historyOf([10_000, measured(4, 90)], [11_000, measured(5, 90)], [40_000, measured(6, 90)])
    assert.deepEqual(seen(history, -49), [1, -49, 5])
    assert.deepEqual(seen(history, -48.9), [2, -48.9, null])
    assert.deepEqual(seen(history, -20.1), [2, -20.1, null])
    assert.deepEqual(seen(history, -20), [3, -20, 6])
    assert.deepEqual(seen(history, -58), [-1, -58, null])
    assert.deepEqual(seen(history, -5), [4, -5, null])
    assert.deepEqual(seen(new WindHistory(), -5), [0, -5, null])
  })

  test('a fault is a moment without a measurement, however short', () => {
    const history = historyOf([0, measured(4, 90)], [250, fault], [500, measured(5, 90)])
    assert.deepEqual(seen(history, -0.75, 1000), [1, -0.75, null])
    assert.deepEqual(seen(history, -1, 1000), [0, -1, 4])
  })

  test('a column has its own time, anywhere in it', () => {
    const history = new WindHistory()
    for (let second = 0; second < 600; second += 1) history.take(measured(5, 90), startAt + second * 1000)
    for (let seconds = -590; seconds < 0; seconds += 0.5) {
      const [, at, speed] = seen(history, seconds, 600_000, { minutes: 10 })
      assert.ok(speed !== null && Math.abs(Number(at) - seconds) <= 2.5, `${at} at ${seconds}`)
    }
  })
})

describe('axes', () => {
  const speedAxis = (highest: number, unit: WindUnit) => {
    const history = historyOf([0, measured(toMetresPerSecond(highest, unit), 90)])
    return shown(history, 0, { unit }).speedAxis
  }

  test('each length has a word for each tick, ends at now, and is redrawn as often as it moves', () => {
    for (const minutes of historyMinutes) {
      const { seconds, ticks } = shown(new WindHistory(), 0, { minutes }).timeAxis
      assert.equal(seconds, minutes * 60)
      assert.equal(ticks[0]?.seconds, -seconds, `${minutes} minutes`)
      assert.ok(ticks.every(({ word }) => word !== ''))
      assert.deepEqual(ticks.at(-1), { seconds: 0, word: 'now' })
    }
    assert.deepEqual([redrawMsFor(1, 600), redrawMsFor(60, 600)], [200, 5000])
  })

  test('the speed axis has round steps that include every value', () => {
    assert.deepEqual(speedAxis(7.2, 'M'), { top: 8, ticks: [0, 2, 4, 6, 8] })
    assert.deepEqual(speedAxis(8, 'M'), { top: 10, ticks: [0, 5, 10] })
    assert.deepEqual(speedAxis(31, 'M'), { top: 40, ticks: [0, 10, 20, 30, 40] })
    assert.deepEqual(speedAxis(6000, 'F').ticks, [0, 2000, 4000, 6000, 8000])
  })

  test('in a calm the axis ends at 2 m/s, in any unit', () => {
    assert.equal(speedAxis(0, 'M').top, 2)
    assert.equal(speedAxis(0, 'F').top, 400)
  })

  test('the highest value is always below the top, and the steps are few', () => {
    for (let highest = 0; highest < 200; highest += 0.13) {
      const { top, ticks } = speedAxis(highest, 'K')
      assert.ok(top > highest)
      assert.ok(ticks.length <= 5, `${ticks}`)
    }
  })
})

describe('words', () => {
  const summary = (history: WindHistory, unit: WindUnit = 'M') => shown(history, 600_000, { unit }).summary

  test('summarises the lowest, highest and mean of the readings shown', () => {
    const history = historyOf([1000, measured(2, 350)], [300_000, measured(8.04, 10)])
    assert.equal(summary(history), 'Readings 2.0 to 8.0 m/s, mean 5.0 from 6°')
    assert.equal(summary(history, 'F'), 'Readings 394 to 1583 ft/min, mean 988 from 6°')
  })

  test('a calm history has no direction', () => {
    assert.equal(summary(historyOf([1000, calm(0.02)])), 'Readings 0.0 to 0.0 m/s, mean 0.0')
  })

  test('a history shorter than its axis says so', () => {
    assert.match(summary(historyOf([420_000, measured(2, 90)])), /^3 min: readings 2.0 to/)
  })

  test('says when there is nothing to show', () => {
    assert.equal(summary(new WindHistory()), 'No readings in the last 10 min.')
  })

  test('at a moment: the time and the values', () => {
    const now = new Date(2026, 4, 3, 14, 5, 2).getTime()
    const words = (seconds: number, speed: number | null, gust: number | null, direction: number | null) =>
      formatMoment({ seconds, from: seconds, to: seconds, speed, gust, direction }, now, 'M')
    assert.equal(words(-90, 5.21, 8.4, 229), '14:03:32  5.2 m/s, gust 8.4, 229°')
    assert.equal(words(-60, null, null, null), '14:04:02  no readings')
    assert.equal(words(-30, 0.02, null, null), '14:04:32  0.0 m/s')
  })
})
