// The figures in words: whole, of part of their time, and of no time at all.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noFigures, type WindFigures } from '../../server/wire/wind/figures.ts'
import { figureWords } from './figure-words.ts'

const mean = {
  speedMetresPerSecond: 5.21,
  vectorMetresPerSecond: 5,
  directionDegrees: 228.6,
  coversMs: 119_750,
}
const figures: WindFigures = {
  twoMinutes: mean,
  tenMinutes: { ...mean, directionDegrees: null, coversMs: 185_000 },
  gustMetresPerSecond: 8.37,
  spread: { directionDegrees: 359.8, deviationDegrees: 14.3 },
}

function shown(ageMs = 0, unit: 'M' | 'F' = 'M', of = figures) {
  return figureWords(of, unit, ageMs).map(({ label, number, beside }) => [label, number, beside])
}

test('each with its time, and with how much of it there is', () => {
  assert.deepEqual(shown(), [
    ['Mean 2 min', '5.2', '229° SW'],
    ['Mean 3 of 10 min', '5.2', ''],
    ['Gust 3 of 10 min', '8.4', '3 s mean'],
    ['Spread 1 min', '±14°', '0° N'],
  ])
})

test('follows the unit', () => {
  assert.deepEqual(
    shown(0, 'F').map(([, number]) => number),
    ['1026', '1026', '1648', '±14°'],
  )
})

test('what is of a time that has passed by is gone', () => {
  const numbers = (ageMs: number) => shown(ageMs).map(([, number]) => number)
  assert.deepEqual(numbers(60_000), ['5.2', '5.2', '8.4', null])
  assert.deepEqual(numbers(120_000), [null, '5.2', '8.4', null])
  assert.deepEqual(numbers(600_000), [null, null, null, null])
})

test('before there are any, there are names and no numbers', () => {
  assert.deepEqual(
    shown(0, 'M', noFigures).map(([label, number]) => [label, number]),
    [
      ['Mean 2 min', null],
      ['Mean 10 min', null],
      ['Gust 10 min', null],
      ['Spread 1 min', null],
    ],
  )
})

test('tens of seconds while it is less than a minute', () => {
  const young = { ...figures, twoMinutes: { ...mean, coversMs: 47_900 } }
  assert.equal(shown(0, 'M', young)[0]?.[0], 'Mean 40 of 120 s')
})

test('a few readings are no mean yet', () => {
  const young = { ...figures, twoMinutes: { ...mean, coversMs: 9750 } }
  assert.deepEqual(shown(0, 'M', young)[0], ['Mean 2 min', null, ''])
})

test('the gust says what it covers from its first second on, and nothing before', () => {
  const young = (coversMs: number, gustMetresPerSecond: number | null = 4) =>
    shown(0, 'M', { ...figures, tenMinutes: { ...mean, coversMs }, gustMetresPerSecond })[2]
  assert.deepEqual(young(250, null), ['Gust 10 min', null, ''])
  assert.deepEqual(young(5000), ['Gust under 10 s', '4.0', '3 s mean'])
  assert.deepEqual(young(10_000), ['Gust 10 of 600 s', '4.0', '3 s mean'])
})
