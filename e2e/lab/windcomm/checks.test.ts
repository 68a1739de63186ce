// Each point of the paper, holding and not, with the figure that decides it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { madeWindRun, type WindMaking } from './made-run.ts'
import type { WindRun } from './run.ts'
import { analyse } from './summary.ts'

const modes = ['websocket/1.1', 'long-polling/1.1', 'polling/1.1']

/** WebSocket 100 ms at Lund, the others so many times that. */
function checks(
  longPolling: number,
  polling: number,
  making: WindMaking = {},
  change: Partial<WindRun> = {},
) {
  const times = [1, longPolling, polling]
  const run = madeWindRun({
    sites: ['lund'],
    modes,
    readings: 40,
    latencyOf: (_site, mode, place) => (times[modes.indexOf(mode)] ?? 0) * (100 + (place % 2)),
    ...making,
  })
  return analyse({ ...run, ...change }).checks
}

const failing = (found: ReturnType<typeof checks>) =>
  found.filter(({ holds }) => !holds).map(({ what }) => what)

test('a run as the paper’s holds in every point', () => {
  const found = checks(1.02, 2.7)
  assert.deepEqual(failing(found), [])
  assert.deepEqual(
    found.map(({ what, found }) => [what, found]),
    [
      ['Readings once and in order, in the least of 3 cells', 40],
      ['Clocks off the server’s, before and after', 0.31],
      ['Links late on average', 0.05],
      ['Long polling over WebSocket', 1.02],
      ['Polling over WebSocket', 2.7],
      ['Polling against 2ν + Δ/2', -1.68478],
    ],
  )
})

test('long polling that is slower, polling that is too slow, and not by the formula', () => {
  assert.deepEqual(failing(checks(1.16, 2.7)), ['Long polling over WebSocket'])
  assert.deepEqual(failing(checks(0.84, 2.7)), ['Long polling over WebSocket'])
  assert.deepEqual(failing(checks(1, 2.1)), ['Polling over WebSocket', 'Polling against 2ν + Δ/2'])
  assert.deepEqual(failing(checks(1, 3.1)), ['Polling against 2ν + Δ/2'])
})

test('at Nagaoka both have to be slower, by so much and beyond chance', () => {
  const nagaoka: WindMaking = { sites: ['nagaoka'] }
  assert.deepEqual(failing(checks(2, 2.6, nagaoka)), [])
  assert.deepEqual(failing(checks(1.3, 2.6, nagaoka)), ['Long polling over WebSocket, slower at 99 %'])
  const wild = (_site: string, mode: string, place: number) =>
    mode === 'websocket/1.1' ? 100 : 250 + (place === 3 ? 20_000 : 0)
  assert.deepEqual(failing(checks(0, 0, { ...nagaoka, latencyOf: wild })), [
    'Long polling over WebSocket, slower at 99 %',
    'Polling over WebSocket, slower at 99 %',
  ])
})

test('one reading that is missing, and the least cell’s count', () => {
  const [delivered] = checks(1, 2.7, { lost: 0.1 })
  assert.ok(delivered && !delivered.holds && (delivered.found ?? 40) < 40)
})

test('links that were late, and clocks that were off', () => {
  const [link] = madeWindRun({ sites: ['lund'], modes, readings: 2 }).links
  assert.ok(link)
  const late = { ...link, lateMs: 4 }
  const clock = { before: [{ name: 'clients', offsetMs: 1, boundMs: 2, errorMs: 3 }], after: [] }
  assert.deepEqual(failing(checks(1, 2.7, {}, { links: [late], clock })), [
    'Clocks off the server’s, before and after',
    'Links late on average',
  ])
})

test('a site that is not the paper’s is held to nothing of it', () => {
  assert.equal(checks(1, 2.7, { sites: ['lan'] }).length, 3)
})
