// What the monitor counts, when it samples, and what Prometheus reads.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Monitor } from './monitor.ts'
import { createManualTime } from './wire/testing.ts'

const windowOf = (mode: string, backlogBytes = 0) => ({
  ...{ id: 'w1', channels: ['main'], mode, backlogBytes },
  ...{ droppedReadings: 0, heardAt: null },
})

function createMonitor() {
  const time = createManualTime()
  const windows = () => [windowOf('sse/2', 100), windowOf('sse/2'), windowOf('polling/2', 20)]
  const monitor = new Monitor({ timers: time, windows, log: 'memory', isLogUp: () => true, workers: 1 })
  return { time, monitor }
}

test('a look begins the seconds, and each tells what happened in it', () => {
  const { time, monitor } = createMonitor()
  monitor.stored(1)
  assert.deepEqual([monitor.reply(0).seconds, time.pending()], [[], 1])
  for (const ms of [1, 2, 3, 40]) monitor.stored(ms)
  monitor.sent(12)
  monitor.omitted()
  time.advance(2000)
  const [first, second] = monitor.reply(0).seconds
  assert.deepEqual(
    [first?.stored, first?.sent, first?.omitted, first?.windows, first?.backlogBytes],
    [4, 12, 1, { 'sse/2': 2, 'polling/2': 1 }, 120],
  )
  assert.deepEqual(first?.latencyMs, { p50: 3, p90: 40, p99: 40, max: 40 })
  assert.deepEqual([second?.stored, second?.latencyMs], [0, null])
  assert.deepEqual(monitor.reply(first?.at ?? 0).seconds, [second])
  monitor.stop()
})

test('two minutes are kept, and it ends when nobody looks', () => {
  const { time, monitor } = createMonitor()
  for (let second = 0; second < 200; second += 1) {
    monitor.reply(0)
    time.advance(1000)
  }
  assert.equal(monitor.reply(0).seconds.length, 120)
  time.advance(75_000)
  assert.equal(time.pending(), 0)
  assert.deepEqual([monitor.reply(0).seconds, time.pending()], [[], 1])
  monitor.stop()
})

test('Prometheus gets counters, gauges and a histogram, with units in their names', async () => {
  const { monitor } = createMonitor()
  monitor.stored(3)
  monitor.stored(30)
  monitor.sent(12)
  const lines = (await monitor.metrics()).split('\n')
  for (const line of [
    'crosswind_messages_stored_total 2',
    'crosswind_messages_sent_total 12',
    'crosswind_windows{mode="sse/2"} 2',
    'crosswind_windows{mode="polling/2"} 1',
    'crosswind_backlog_bytes 120',
    'crosswind_log_up 1',
    'crosswind_publish_duration_seconds_bucket{le="0.005"} 1',
    'crosswind_publish_duration_seconds_bucket{le="+Inf"} 2',
    'crosswind_publish_duration_seconds_count 2',
    '# TYPE process_cpu_seconds_total counter',
  ])
    assert.ok(lines.includes(line), line)
  for (const line of lines)
    assert.match(line, /^(?:# (?:HELP|TYPE) .+|[a-z_0-9]+(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? \S+|)$/)
  monitor.stop()
})
