// Checks what `bench crowd` refuses, and what it reports about a turn.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modeNamed } from '../../client/wire.ts'
import { readOptions } from '../lab/experiment.ts'
import { crowd, crowdRow, requireConnections } from './crowd-bench.ts'

test('an unknown mode is refused by name', () => {
  assert.throws(() => readOptions(crowd, ['--mode', 'sse']), /--mode is "sse": there are sse\/2,/)
})

test('if the system cannot connect a crowd, the error says what to do', () => {
  const connect = (name: string, windows: number, openFiles: number) => {
    const mode = modeNamed(name)
    assert.ok(mode)
    requireConnections({ mode, windows, perBrowser: 10 }, openFiles)
  }
  assert.throws(() => connect('websocket/1.1', 10_000, 4096), /ulimit -n 10200/)
  assert.throws(() => connect('websocket/1.1', 40_000, 100_000), /28000/)
  assert.throws(() => connect('sse/2', 10_000, 1199), /ulimit -n 1200/)
  connect('sse/2', 10_000, 1200)
})

function crowdOf(cpuMs: number, clientCpuMs: number) {
  const figures = { cpuMs: 0, uptimeMs: 0, rssBytes: 100, heapUsedBytes: 10, windows: 4, node: 'v26' }
  const counts = { n: 4, lost: 0, duplicated: 0, reordered: 0, latenciesMs: [1, 2, 3, 4], failures: [] }
  const measured = {
    received: 4,
    duplicated: 0,
    reordered: 0,
    latenciesMs: Float64Array.of(1, 2, 3, 4),
    cpuMs: clientCpuMs,
    wallMs: 1000,
    receivedBytes: 0,
    sendingMs: 0,
    loopDelayP99Ms: 1,
    loopDelayMaxMs: 2,
    failures: 0,
    failureWords: [],
  }
  return crowdRow(readOptions(crowd, ['--windows', '4']).options, figures, {
    ...counts,
    cpuMs,
    before: { ...figures, rssBytes: 500 },
    after: { ...figures, uptimeMs: 1000 },
    measured: [measured],
    joinedInMs: 1,
  })
}

test('a row has its latencies, its processor time and its memory by delivery and window', () => {
  const { p50Ms, maxMs, cpuMicrosPerDelivery, rssBytesPerWindow } = crowdOf(2, 400)
  assert.deepEqual([p50Ms, maxMs, cpuMicrosPerDelivery, rssBytesPerWindow], [2.5, 4, 500, 100])
})

test('a saturated process is named in one sentence', () => {
  assert.match(crowdOf(500, 400).bottleneck, /^Neither was saturated: the server used 50 % of a core/)
  assert.match(crowdOf(970, 400).bottleneck, /^The server was the bottleneck/)
  assert.match(crowdOf(500, 950).bottleneck, /^The load clients/)
})
