// The server's seconds become figures, lines and words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MonitorSecond } from '../../server/wire/monitor.ts'
import { chartsOf, serverWords, withReply } from './monitor.ts'

const quantiles = { p50: 0.4, p90: 1, p99: 2.5, max: 30 }

function secondAt(at: number, change: Partial<MonitorSecond> = {}): MonitorSecond {
  return {
    ...{ at, cpu: 0.25, rssBytes: 180_000_000, heapBytes: 40_000_000, loopDelayMs: quantiles },
    ...{ windows: { 'websocket/1.1': 2, 'sse/2': 1200 }, stored: 50, sent: 60_100, omitted: 0 },
    ...{ backlogBytes: 2048, latencyMs: quantiles, isLogUp: true },
    ...change,
  }
}

const chartNamed = (name: string, seconds: readonly MonitorSecond[]) =>
  chartsOf(seconds).find((chart) => chart.name === name)

test('each measure has its newest figure, with units, and an axis from 0 to a round figure', () => {
  const charts = chartsOf([secondAt(1000)])
  assert.deepEqual(
    charts.map(({ name, figure, topWords }) => [name, figure, topWords]),
    [
      ['Windows', '1,202', '2,000'],
      ['Messages in', '50 a second', '50 a second'],
      ['Messages out', '60,100 a second', '100,000 a second'],
      ['Latency in the server', '0.40 ms', '5.0 ms'],
      ['Processor', '25 %', '100 %'],
      ['Memory', '180 MB', '200 MB'],
      ['Event loop', '0.40 ms late', '50 ms late'],
      ['Waiting', '2.0 kB', '10 kB'],
      ['Left out', '0 a second', '5 a second'],
    ],
  )
  assert.equal(charts[0]?.beside, 'sse/2 1,200, websocket/1.1 2')
})

test('seconds have places: the newest is last, and a missing one is a gap', () => {
  const seconds = [
    secondAt(1000, { stored: 1 }),
    secondAt(2010, { stored: 2 }),
    secondAt(4000, { stored: 4 }),
  ]
  const { line } = chartNamed('Messages in', seconds) ?? {}
  assert.equal(line?.length, 120)
  assert.deepEqual(line?.slice(-5), [null, 1, 2, null, 4])
})

test('without messages there is no latency, and the line has a gap', () => {
  const chart = chartNamed('Latency in the server', [secondAt(1000), secondAt(2000, { latencyMs: null })])
  assert.equal(chart?.figure, '–')
  assert.deepEqual(chart?.line.slice(-2), [0.4, null])
  assert.deepEqual(chartsOf([]), [])
})

test('a reply adds its newer seconds, and the oldest go', () => {
  const reply = { node: 'v26.10.0', uptimeMs: 0, log: 'SQLite', workers: 1 }
  const known = Array.from({ length: 119 }, (_second, place) => secondAt(place * 1000))
  const next = withReply(known, { ...reply, seconds: [118, 119, 120].map((at) => secondAt(at * 1000)) })
  assert.deepEqual([next.length, next[0]?.at, next.at(-1)?.at], [120, 1000, 120_000])
})

test('the server is named by its age, version and log', () => {
  const words = (minutes: number, workers = 1) =>
    serverWords({ node: 'v26.10.0', uptimeMs: minutes * 60_000, log: 'SQLite', workers, seconds: [] })
  assert.equal(words(0.5, 2), 'One of 2 workers: up 0 min, Node 26.10.0, log in SQLite')
  assert.equal(words(0.5), 'This server: up 0 min, Node 26.10.0, log in SQLite')
  assert.equal(words(192), 'This server: up 3 h 12 min, Node 26.10.0, log in SQLite')
  assert.equal(words(1440 * 2 + 65), 'This server: up 2 d 1 h, Node 26.10.0, log in SQLite')
})
