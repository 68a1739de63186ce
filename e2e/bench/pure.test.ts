// Checks the bench's arithmetic: turns, percentiles, rows, tables, and what it refuses.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bottleneckOf } from './crowd.ts'
import { readCrowdOptions } from './crowd-options.ts'
import { readFanoutOptions } from './fanout-options.ts'
import { fanoutRows, type RoundFigures } from './fanout-rows.ts'
import { connectionsFor, requireSockets } from './sockets.ts'
import { textTable } from './table.ts'
import { percentile, sortedLatencies } from './tallied.ts'
import { split, turnsOf } from './turns.ts'

test('each round has everyone once, in another order', () => {
  const rounds = turnsOf(['a', 'b', 'c', 'd'], 4)
  for (const round of rounds) assert.deepEqual([...round].sort(), ['a', 'b', 'c', 'd'])
  assert.equal(new Set(rounds.map((round) => round.join(''))).size, 4)
  assert.ok(new Set(rounds.map(([first]) => first)).size >= 2)
})

test('messages are split without losing any', () => {
  assert.deepEqual(split(10, 4), [3, 3, 2, 2])
  assert.deepEqual(split(2, 1), [2])
})

test('percentiles are of the nearest rank', () => {
  const sorted = sortedLatencies([Float64Array.of(30, 10), Float64Array.of(20, 40)])
  assert.deepEqual([...sorted], [10, 20, 30, 40])
  assert.deepEqual(
    [0.25, 0.5, 0.51, 0.99, 1].map((share) => percentile(sorted, share)),
    [10, 20, 30, 40, 40],
  )
  assert.ok(Number.isNaN(percentile(new Float64Array(0), 0.5)))
})

function round(cpuMs: number, n: number, latencyMs: number): RoundFigures {
  const counts = { n, lost: 0, duplicated: 0, reordered: 0, failures: [] }
  return { ...counts, cpuMs, latenciesMs: [new Float64Array(n).fill(latencyMs)] }
}

test('ratios are taken within each round', () => {
  const rows = fanoutRows(
    new Map([
      [{ name: 'sse/2', perBrowser: 10 }, [round(1, 100, 2), round(4, 100, 2), round(3, 100, 2)]],
      [{ name: 'ws', perBrowser: 1 }, [round(2, 100, 4), round(8, 100, 4), round(5, 100, 4)]],
    ]),
  )
  const [sse, ws] = rows
  assert.equal(sse?.cpuMicrosPerDelivery, 30)
  assert.deepEqual([sse?.ratioToWs, sse?.ratioToWsMin, sse?.ratioToWsMax], [0.5, 0.5, 0.6])
  assert.equal(sse?.p99RatioToWs, 0.5)
  assert.equal(ws?.ratioToWs, 1)
})

test('without ws there is no ratio, and without deliveries no figure', () => {
  const [row] = fanoutRows(new Map([[{ name: 'sse/2', perBrowser: 1 }, [round(1, 0, 0)]]]))
  assert.equal(row?.ratioToWs, null)
  assert.equal(row?.cpuMicrosPerDelivery, null)
  assert.equal(row?.p50Ms, null)
})

test('a table is aligned', () => {
  assert.equal(
    textTable(
      ['mode', 'n'],
      [
        ['ws', '10'],
        ['sse/2', '9'],
      ],
    ),
    '  mode    n\n  ─────────\n  ws     10\n  sse/2   9\n',
  )
})

test('what cannot be is refused by name', () => {
  assert.throws(() => readFanoutOptions(['--modes', 'sse/3']), /--modes names "sse\/3"/)
  assert.throws(() => readFanoutOptions(['--windows', '0']), /--windows is "0"/)
  assert.throws(() => readFanoutOptions(['--per-browser', '1,x']), /--per-browser is "1,x"/)
  assert.throws(
    () => readFanoutOptions(['--peers', 'sockjs']),
    /--peers is "sockjs": there are ws, socket\.io and http2/,
  )
  assert.throws(() => readFanoutOptions(['--rate', '1', '--seconds', '2', '--rounds', '3']), /--rounds is 3/)
  assert.throws(() => readCrowdOptions(['--mode', 'sse']), /--mode is "sse"/)
  assert.deepEqual(readFanoutOptions(['--peers', '']).peers, [])
})

test('a crowd that this system cannot connect is told what to do', () => {
  const crowd = { mode: readCrowdOptions(['--mode', 'websocket/1.1']).mode, windows: 10_000, perBrowser: 10 }
  assert.throws(() => requireSockets(crowd, 4096), /ulimit -n 10200/)
  assert.throws(() => requireSockets({ ...crowd, windows: 40_000 }, 100_000), /28000/)
  assert.equal(connectionsFor({ ...crowd, mode: readCrowdOptions(['--mode', 'sse/2']).mode }), 1000)
})

test('who was busy is said in one sentence', () => {
  assert.match(bottleneckOf(0.5, 0.4), /^Neither was saturated/)
  assert.match(bottleneckOf(0.97, 0.4), /^The server was the bottleneck/)
  assert.match(bottleneckOf(0.5, 0.95), /^The load clients/)
})
