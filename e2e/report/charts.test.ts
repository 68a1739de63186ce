// Labels on the axes are those of their ticks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { distribution, intervals, timeline } from './charts.ts'
import { parsed } from './dom.ts'

function ticksOf(drawn: string, axis: 'x' | 'y') {
  const document = parsed(drawn)
  return [...document.querySelectorAll(`g[aria-label="${axis}-axis tick label"] text`)].map(
    ({ textContent }) => textContent,
  )
}

test('every round time on a logarithmic axis is labelled', () => {
  const values = [1.5, 590].map((ms, key) => ({ ms, key, turn: '1.1' }))
  const rows = [{ label: 'WebSocket', colour: 'black', values }]
  const times = ['2', '5', '10', '20', '50', '100', '200', '500']
  assert.deepEqual(ticksOf(distribution(rows, 980), 'x'), times)
  assert.deepEqual(ticksOf(timeline(rows, 330), 'y').toSorted(), times.toSorted())
})

test('an axis of differences keeps the zeros of hundreds, and drops trailing zeros after the point', () => {
  const look = { width: 980, axis: 'ms', references: [0] }
  const row = (low: number, high: number) =>
    intervals([{ label: 'a', point: low, interval: [low, high], isDecided: true, sessions: [] }], look)
  assert.deepEqual(ticksOf(row(-380, 480), 'x'), [
    '−400',
    '−300',
    '−200',
    '−100',
    '0',
    '100',
    '200',
    '300',
    '400',
    '500',
  ])
  assert.deepEqual(ticksOf(row(-0.1, 0.2), 'x').slice(0, 4), ['−0.1', '−0.05', '0', '0.05'])
})
