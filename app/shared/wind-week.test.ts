// The last week of wind in minutes: bounded, with its gaps, and equal after transfer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WindHistory, weekMs } from './wind-history.ts'
import { assertNear, gustyWind, measured, startAt } from './wind-testing.ts'
import { readWeek, writeWeek } from './wind-week.ts'

function recorded(count: number, everyMs: number): WindHistory {
  const history = new WindHistory()
  for (let index = 0; index < count; index += 1)
    history.take(measured(index % 10, 200), startAt + index * everyMs)
  return history
}

const minuteMs = 60_000
const minutesOf = (history: WindHistory) => history.since(Number.NEGATIVE_INFINITY, 'minute')
const transferred = (history: WindHistory) =>
  readWeek(JSON.parse(JSON.stringify(writeWeek(minutesOf(history), true)))).stretches

test('is bounded, and keeps each minute’s readings, extremes and gust', () => {
  const history = new WindHistory()
  for (let at = startAt; at < startAt + weekMs + 3_600_000; at += 30_000) history.take(measured(5, 90), at)
  const minutes = minutesOf(history)
  assert.ok(minutes.length >= 10_080 && minutes.length <= 10_082, `${minutes.length}`)
  const gusty = new WindHistory()
  for (const { reading, at } of gustyWind(600, 4)) gusty.take(reading, at)
  const had = minutesOf(gusty)
  const has = transferred(gusty)
  assert.equal(has.length, had.length)
  for (const [place, stretch] of has.entries()) {
    assert.equal(stretch.sums.count, had[place]?.sums.count)
    assertNear(stretch.highestMetresPerSecond, had[place]?.highestMetresPerSecond ?? 0, 0.01)
    assertNear(stretch.gustMetresPerSecond ?? 0, had[place]?.gustMetresPerSecond ?? 0, 0.01)
  }
})

test('what is received goes before what a window has, without a gap of its own and without a minute twice', () => {
  const past = recorded(1200, 250)
  const own = new WindHistory()
  for (let index = 1200; index < 2400; index += 1) own.take(measured(3, 90), startAt + index * 250)
  own.joinWeek(transferred(past))
  const minutes = minutesOf(own)
  assert.deepEqual(
    minutes.map(({ startsAnew }) => startsAnew),
    [true, ...Array(minutes.length - 1).fill(false)],
  )
  assert.equal(new Set(minutes.map(({ firstAt }) => Math.floor(firstAt / minuteMs))).size, minutes.length)
  own.joinWeek(transferred(past))
  assert.equal(minutesOf(own).length, minutes.length)
  const late = new WindHistory()
  late.take(measured(3, 90), startAt + 3_600_000)
  late.joinWeek(transferred(past))
  assert.equal(minutesOf(late).at(-1)?.startsAnew, true)
})

test('a week that was received in part is completed', () => {
  const whole = new WindHistory()
  for (let minute = 0; minute < 100; minute += 1) whole.take(measured(5, 90), startAt + minute * minuteMs)
  const minutes = transferred(whole)
  const own = new WindHistory()
  own.take(measured(5, 90), startAt + 100 * minuteMs)
  own.joinWeek([...minutes.slice(0, 20), ...minutes.slice(90)])
  own.joinWeek(minutes)
  own.take(measured(5, 90), startAt + 101 * minuteMs)
  assert.equal(minutesOf(own).length, 102)
})

test('an invalid week is refused', () => {
  const { minutes } = writeWeek(minutesOf(recorded(10, 250)), true)
  for (const wrong of [
    null,
    {},
    { minutes: { ...minutes, gust: [] } },
    { minutes: { ...minutes, after: ['x'] } },
  ])
    assert.throws(() => readWeek(wrong))
})
