// The monitor's counts, when it samples, and what Prometheus reads.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { Monitor } from './monitor.ts'
import type { Siblings } from './workers/workers.ts'

const windowOf = (mode: string, backlogBytes = 0) => ({
  id: 'w1',
  channels: ['main'],
  mode,
  backlogBytes,
  droppedMessages: 0,
  heardAt: null,
})

const isWell = { outage: () => null, outages: () => 0, whyUnready: () => null }

function createMonitor(time = createManualTime(), siblings?: Siblings) {
  const own = siblings?.name ?? 'server'
  const windows = () => [windowOf('sse/2', 100), windowOf('sse/2'), windowOf('polling/2', 20)]
  const monitor = new Monitor({
    timers: time,
    windows,
    log: 'memory',
    health: isWell,
    threads: [
      { quarantined: 2, failed: 2, durations: new Map([['join', { count: 4, ms: 500 }]]) },
      {
        quarantined: 0,
        failed: 1,
        durations: new Map([
          ['join', { count: 1, ms: 500 }],
          ['linesFrom', { count: 3, ms: 250 }],
        ]),
      },
    ],
    heads: () => new Map([...Object.entries({ main: 7, notes: 9 })]),
    logFigures: async () => ({ brokerHead: { crosswind: 12 }, queued: { waiting: 1, dead: 2 } }),
    connections: () => ({ '2': 3, WebSocket: 1 }),
    siblings,
  })
  const seconds = (after = 0) => monitor.reply(after).processes.find(({ name }) => name === own)?.seconds
  return { time, monitor, seconds }
}

test('a request starts the sampling, and each second reports what happened in it', () => {
  const { time, monitor, seconds } = createMonitor()
  monitor.stored(1)
  assert.deepEqual([seconds(), time.pending()], [[], 1])
  for (const ms of [1, 2, 3, 40]) monitor.stored(ms)
  monitor.sent(12)
  monitor.omitted()
  time.advance(2000)
  const [first, second] = seconds() ?? []
  assert.deepEqual(
    [first?.stored, first?.sent, first?.omitted, first?.windows, first?.backlogBytes],
    [4, 12, 1, { 'sse/2': 2, 'polling/2': 1 }, 120],
  )
  assert.deepEqual(first?.latencyMs, { p50: 3, p90: 40, p99: 40, max: 40 })
  assert.deepEqual([second?.stored, second?.latencyMs], [0, null])
  assert.deepEqual(seconds(first?.at ?? 0), [second])
  monitor.stop()
})

test('two minutes are kept, and sampling ends without requests', () => {
  const { time, monitor, seconds } = createMonitor()
  for (let second = 0; second < 200; second += 1) {
    monitor.reply(0)
    time.advance(1000)
  }
  assert.equal(seconds()?.length, 120)
  time.advance(75_000)
  assert.equal(time.pending(), 0)
  assert.deepEqual([seconds(), time.pending()], [[], 1])
  monitor.stop()
})

test('Prometheus gets counters, gauges and a histogram, with units in their names', async () => {
  const { monitor } = createMonitor()
  monitor.stored(3)
  monitor.stored(30)
  monitor.sent(12)
  monitor.ended('overflow')
  monitor.unrecovered()
  monitor.failed()
  const lines = (await monitor.metrics()).split('\n')
  for (const line of [
    'crosswind_messages_stored_total 2',
    'crosswind_messages_sent_total 12',
    'crosswind_windows{mode="sse/2"} 2',
    'crosswind_windows{mode="polling/2"} 1',
    'crosswind_backlog_bytes 120',
    'crosswind_log_up 1',
    'crosswind_documents_quarantined 2',
    'crosswind_document_tasks_failed_total 3',
    'crosswind_document_tasks_total{task="join"} 5',
    'crosswind_document_tasks_total{task="linesFrom"} 3',
    'crosswind_document_task_seconds_total{task="join"} 1',
    'crosswind_connections{protocol="WebSocket"} 1',
    'crosswind_log_head 9',
    'crosswind_broker_lag_messages{stream="crosswind"} 3',
    'crosswind_queue_messages{state="dead"} 2',
    'crosswind_streams_ended_total{code="overflow"} 1',
    'crosswind_unrecovered_total 1',
    'crosswind_store_failures_total 1',
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

/** Notes arrive at once, as plain data; processes in `deaf` receive none. */
function createServer(names: readonly string[], deaf: readonly string[] = []) {
  const time = createManualTime()
  const followers = new Map<string, (note: unknown) => void>()
  const monitors = names.map((name) => {
    const siblings: Siblings = {
      sharing: null,
      name,
      count: names.length,
      post(note) {
        const words = JSON.stringify(note)
        for (const [other, take] of followers)
          if (other !== name && !deaf.includes(other)) take(JSON.parse(words))
      },
      follow(onNote) {
        followers.set(name, onNote)
        return () => void followers.delete(name)
      },
    }
    return createMonitor(time, siblings).monitor
  })
  return { time, monitors }
}

test('any process replies with the seconds of all, whose sampling a request to one starts', () => {
  const { time, monitors } = createServer(['log', 'worker-1', 'worker-2'])
  const [log, one, two] = monitors
  assert.ok(log && one && two)
  one.reply(0)
  assert.equal(time.pending(), 3)
  two.stored(1)
  two.stored(2)
  time.advance(2000)
  const processes = one.reply(0).processes
  assert.deepEqual(
    processes.map(({ name, seconds }) => [name, seconds.map(({ stored }) => stored)]),
    [
      ['log', [0, 0]],
      ['worker-1', [0, 0]],
      ['worker-2', [2, 0]],
    ],
  )
  assert.deepEqual(
    two.reply(0).processes.map(({ name }) => name),
    ['log', 'worker-1', 'worker-2'],
  )
  log.stop()
  time.advance(6000)
  assert.deepEqual(
    one.reply(0).processes.map(({ name }) => name),
    ['worker-1', 'worker-2'],
  )
  for (const monitor of monitors) monitor.stop()
})

test('one scrape has each metric once, with the samples of all processes; a late one is left out', async () => {
  const { time, monitors } = createServer(['log', 'worker-1', 'worker-2'], ['log'])
  const [, one, two] = monitors
  assert.ok(one && two)
  one.stored(3)
  two.stored(3)
  two.stored(30)
  const scrape = one.metrics()
  await new Promise(setImmediate)
  time.advance(500)
  const lines = (await scrape).split('\n')
  for (const line of [
    'crosswind_messages_stored_total{process="worker-1"} 1',
    'crosswind_messages_stored_total{process="worker-2"} 2',
    'crosswind_publish_duration_seconds_count{process="worker-2"} 2',
    'crosswind_processes_silent 1',
  ])
    assert.ok(lines.includes(line), line)
  assert.equal(
    lines.some((line) => line.includes('process="log"')),
    false,
  )
  const heads = lines.filter((line) => line.startsWith('# TYPE'))
  assert.equal(new Set(heads).size, heads.length)
  // All samples of a metric follow its header.
  let metric = ''
  for (const line of lines) {
    if (line.startsWith('# TYPE')) metric = line.split(' ')[2] ?? ''
    else if (line !== '' && !line.startsWith('#')) assert.ok(line.startsWith(metric), line)
  }
  for (const monitor of monitors) monitor.stop()
})
