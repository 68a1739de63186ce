// How the server's seconds become figures, lines and words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MonitorProcess, MonitorSecond } from '../../protocol/monitor.ts'
import { chartsOf, formatServer, formatTrouble, newestOf, processRows, withReply } from './monitor.ts'

const quantiles = { p50: 0.4, p90: 1, p99: 2.5, max: 30 }

function secondAt(at: number, change: Partial<MonitorSecond> = {}): MonitorSecond {
  return {
    at,
    cpu: 0.25,
    rssBytes: 180_000_000,
    heapBytes: 40_000_000,
    loopDelayMs: quantiles,
    windows: { 'websocket/1.1': 2, 'sse/2': 1200 },
    stored: 50,
    sent: 60_100,
    omitted: 0,
    backlogBytes: 2048,
    latencyMs: quantiles,
    isLogUp: true,
    quarantined: 0,
    ...change,
  }
}

const processWith = (seconds: readonly MonitorSecond[], name = 'server'): MonitorProcess => ({
  name,
  uptimeMs: 60_000,
  seconds,
})

const chartNamed = (name: string, ...processes: readonly (readonly MonitorSecond[])[]) =>
  chartsOf(processes.map((seconds, index) => processWith(seconds, `worker-${index + 1}`))).find(
    (chart) => chart.name === name,
  )

test('each measure has its newest figure with units, and an axis from 0 to a round number', () => {
  const charts = chartsOf([processWith([secondAt(1000)])])
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

test('seconds have fixed places: the newest is last, and a missing one is a gap', () => {
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

test('over several processes, counts are summed and delays are the worst', () => {
  const busy = { p50: 5, p90: 6, p99: 9, max: 40 }
  const idle = quantiles
  const one = [secondAt(1000, { loopDelayMs: busy, latencyMs: null, windows: { 'sse/2': 3 } })]
  const other = [secondAt(1300, { latencyMs: idle, windows: { 'sse/2': 4, 'polling/2': 1 } })]
  const chart = (name: string) => {
    const { figure, beside } = chartNamed(name, one, other) ?? {}
    return [figure, beside]
  }
  assert.deepEqual(chart('Windows'), ['8', 'sse/2 7, polling/2 1'])
  assert.deepEqual(chart('Messages in'), ['100 a second', 'accepted by the log'])
  assert.deepEqual(chart('Processor'), ['50 %', 'of one core, all processes together'])
  assert.deepEqual(chart('Latency in the server'), ['0.40 ms', 'median of the slowest; 99 % within 2.5 ms'])
  assert.deepEqual(chart('Event loop'), ['5.0 ms late', 'median of the latest; at most 40 ms'])
})

test("a sum has no dip where one process's second falls between two places", () => {
  const even = [1000, 2000, 3000, 4000, 5000].map((at) => secondAt(at, { stored: 1 }))
  const drifting = [1400, 2450, 3510, 4530].map((at) => secondAt(at, { stored: 10 }))
  assert.deepEqual(chartNamed('Messages in', even, drifting)?.line.slice(-5), [11, 11, 11, 11, 11])
})

test('each process has a row; a single-process server has none', () => {
  const log = processWith([secondAt(1000, { windows: {}, sent: 0 })], 'log')
  const rows = processRows([log, processWith([secondAt(1000)], 'worker-1')])
  assert.deepEqual(
    rows.map(({ name, windows, sent, cpu, loop }) => [name, windows, sent, cpu, loop]),
    [
      ['Log', '–', '–', '25 %', '0.40 ms, 30 ms'],
      ['Worker 1', '1,202', '60,100', '25 %', '0.40 ms, 30 ms'],
    ],
  )
  assert.deepEqual(processRows([processWith([secondAt(1000)])]), [])
})

test('a reply adds newer seconds, and removes the oldest and processes it does not name', () => {
  const reply = { node: 'v26.10.0', log: 'SQLite' }
  const seconds = Array.from({ length: 119 }, (_second, index) => secondAt(index * 1000))
  const known = [processWith(seconds, 'worker-1'), processWith(seconds, 'worker-2')]
  const newer = [118, 119, 120].map((at) => secondAt(at * 1000))
  const next = withReply(known, { ...reply, processes: [processWith(newer, 'worker-2')] })
  assert.deepEqual(
    next.map(({ name, seconds }) => [name, seconds.length, seconds[0]?.at, seconds.at(-1)?.at]),
    [['worker-2', 120, 1000, 120_000]],
  )
  assert.deepEqual([newestOf(next), newestOf([...next, ...known]), newestOf([])], [120_000, 118_000, 0])
})

test('describes the server by its uptime, workers, version and log', () => {
  const words = (minutes: number, workers = 0) => {
    const uptimeMs = minutes * 60_000
    const names = workers === 0 ? ['server'] : ['log', ...Array(workers).fill('worker-1')]
    const processes = names.map((name) => ({ name, uptimeMs, seconds: [] }))
    return formatServer({ node: 'v26.10.0', log: 'SQLite', processes })
  }
  assert.equal(words(0.5, 2), 'This server: up 0 min, 2 workers, Node 26.10.0, log in SQLite')
  assert.equal(words(0.5), 'This server: up 0 min, Node 26.10.0, log in SQLite')
  assert.equal(words(192), 'This server: up 3 h 12 min, Node 26.10.0, log in SQLite')
  assert.equal(words(1440 * 2 + 65), 'This server: up 2 d 1 h, Node 26.10.0, log in SQLite')
})

test('reports a log that does not answer, and documents that take too long to read', () => {
  const words = (...changes: readonly Partial<MonitorSecond>[]) =>
    formatTrouble(changes.map((change) => processWith([secondAt(1000, change)])))
  assert.equal(words({}), '')
  assert.match(words({}, { isLogUp: false }), /^The broker of the log does not answer/)
  assert.match(words({ quarantined: 1 }, { quarantined: 0 }), /^1 document takes the server too long/)
  assert.match(words({ quarantined: 1 }, { quarantined: 2 }), /^2 documents take the server too long/)
})
