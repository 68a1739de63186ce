// Analysis and report of pubsub runs, and a small real run.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { describeEnvironment } from '../lab/run-environment.ts'
import { fileOf, runSmall, testRefusals } from '../lab/testing.ts'
import { pubsub } from './pubsub.ts'
import { type BrokerName, busyShare, type Iteration, type Run } from './pubsub-report.ts'

const { analyse } = pubsub

const slower: Readonly<Record<BrokerName, number>> = {
  none: 1,
  'bare-file': 1.25,
  embedded: 1.5,
  'bare-nats': 2.5,
  nats: 3,
  sqs: 10,
}

interface Making {
  readonly sessions?: number
  readonly each?: number
  readonly brokers?: readonly BrokerName[]
  readonly change?: (one: Iteration) => Partial<Iteration>
}

/** Every latency of the session's bursts is a multiple of 10 ms times the session's number. */
function madeRun({
  sessions = 3,
  each = 4,
  brokers = ['none', 'embedded', 'sqs'],
  change,
}: Making = {}): Run {
  const users = [50, 1000]
  const modes = ['websocket/1.1', 'sse/2']
  const iterations = modes.flatMap((mode) =>
    users.flatMap((size) =>
      brokers.flatMap((broker) =>
        Array.from({ length: sessions * each }, (_, place): Iteration => {
          const session = Math.floor(place / each) + 1
          const meanMs = 10 * session * slower[broker] * (size / 50) + (place % 2) / 100
          const one = {
            mode,
            users: size,
            broker,
            session,
            iteration: place + 1,
            n: size,
            duplicated: 0,
            meanMs,
            p50Ms: meanMs,
            p95Ms: meanMs * 2,
            maxMs: meanMs * 2.2,
            sendingMs: 5,
            lastMs: meanMs * 2.2,
            bytesOut: size * 300,
            serverCpuMs: size / 10,
            clientCpuShare: 0.4,
          }
          return { ...one, ...change?.(one) }
        }),
      ),
    ),
  )
  return {
    command: 'npm run lab -- pubsub',
    parameters: { sessions, iterations: sessions * each, processes: 2 },
    modes,
    users,
    brokers,
    iterations,
    requeued: null,
    waitMs: 60_000,
    brokerVersions: {},
    startedAt: '2026-11-23T00:00:00.000Z',
    finishedAt: '2026-11-23T01:00:00.000Z',
    environment: describeEnvironment({ browser: 'none', server: 'here', loadBefore: 0 }),
  }
}

const groupOf = (run: Run, mode: string, users: number, broker: BrokerName) =>
  analyse(run).groups.find((one) => one.mode === mode && one.users === users && one.broker === broker)

test("a ratio is of a session's means, and its interval is over sessions", () => {
  const group = groupOf(madeRun(), 'websocket/1.1', 50, 'embedded')
  assert.ok(group?.ratio?.interval)
  assert.ok(Math.abs(group.ratio.ratio - 1.5) < 0.001)
  // The sessions are three times as slow as each other, but their ratios alike.
  assert.ok(group.ratio.interval[1] - group.ratio.interval[0] < 0.01)
  assert.equal(groupOf(madeRun(), 'websocket/1.1', 50, 'none')?.ratio, null)
  assert.equal(groupOf(madeRun({ sessions: 1 }), 'sse/2', 50, 'sqs')?.ratio?.interval, null)
})

test('a broker is also compared with the bare relay that stores in the same way, if measured', () => {
  const brokers = ['none', 'bare-file', 'embedded', 'bare-nats', 'nats', 'sqs'] as const
  const run = madeRun({ brokers })
  const over = (broker: BrokerName) => groupOf(run, 'sse/2', 1000, broker)?.overFloor?.ratio
  assert.deepEqual(
    brokers.map(over).map((ratio) => ratio?.toFixed(2)),
    [undefined, undefined, '1.20', undefined, '1.20', undefined],
  )
  assert.match(
    analyse(run).finding,
    /^With a broker none of 75,600 messages was lost; without one none of 25,200/,
  )
  const texts = [run, madeRun()].map((one) => fileOf(pubsub, one))
  assert.deepEqual(
    texts.map((text) => text.includes('times that of the bare relay with the same broker')),
    [true, false],
  )
})

test('a message that does not return is lost, and a failure of the run only with a broker', () => {
  const change = ({ broker, users }: Iteration) => (broker === 'none' && users === 1000 ? { n: 990 } : {})
  const summary = analyse(madeRun({ change }))
  assert.match(summary.finding, /^With a broker none of 50,400 messages was lost; without one 240 of 25,200/)
  const group = groupOf(madeRun({ change }), 'sse/2', 1000, 'none')
  assert.deepEqual([group?.lost, group?.lossPercent], [120, 1])
  const embedded = groupOf(madeRun({ change }), 'sse/2', 1000, 'embedded')
  assert.equal(embedded?.lostEach.p, 0)
})

test('busy clients are named instead of the server', () => {
  const change = ({ users }: Iteration) => (users === 1000 ? { clientCpuShare: busyShare + 0.05 } : {})
  const run = madeRun({ change })
  assert.match(analyse(run).finding, /In 6 of 12 groups .* there the clients were the bottleneck\./)
  assert.match(fileOf(pubsub, run), /larger than they seem/)
  assert.doesNotMatch(analyse(madeRun()).finding, /bottleneck/)
})

test('bandwidth is TLS bytes over the time until the last answer', () => {
  const group = groupOf(
    madeRun({ sessions: 1, each: 2, change: () => ({ lastMs: 100 }) }),
    'sse/2',
    1000,
    'none',
  )
  assert.equal(group?.kbps.mean, (8 * 300_000) / 100)
  assert.equal(group?.bytesPerMessage, 300)
})

test('the report shows the paper beside each group, and no figure for what was not measured', () => {
  const text = fileOf(pubsub, madeRun())
  assert.match(text, /\| Users \| None \| Embedded \| SQS \| Paper, none \| Paper, SQS \|/)
  assert.match(
    text,
    /\| 1,000 \| 400 ± [\d.]+ \| 600 ± [\d.]+ \| 4,000 ± [\d.,]+ \| 489 ± 7\.76 \| 498 ± 4\.53 \|/,
  )
  const makings: Making[] = [
    { sessions: 1, each: 1 },
    { brokers: ['embedded'] },
    { change: () => ({ n: 0, meanMs: null, p50Ms: null, p95Ms: null, maxMs: null }) },
  ]
  for (const making of makings) {
    const run = madeRun(making)
    const html = fileOf(pubsub, run, 'report.html')
    const shown = html.replace(/<style>.*?<\/style>/gs, '')
    assert.doesNotMatch(shown, /NaN|undefined|Infinity|null/, JSON.stringify(making))
  }
})

testRefusals(pubsub, [
  ['--modes polling/2', /polling\/2: a user of pubsub waits/],
  ['--brokers kafka', /there are none, bare-file, embedded, bare-nats, nats, sqs/],
  ['--iterations 2', /at least as many as sessions/],
])

test('a small run: each user’s message returns, with and without a log', async (t) => {
  const flags = '--users 20 --brokers none,bare-file,embedded --iterations 2 --sessions 2 --warmup 0'
  const { summary, isFailure, out } = await runSmall(t, pubsub, flags)
  assert.equal(isFailure, false)
  assert.deepEqual(
    summary.groups.map(({ mode, broker, n, duplicated }) => [mode, broker, n, duplicated]),
    ['websocket/1.1', 'sse/2'].flatMap((mode) =>
      ['none', 'bare-file', 'embedded'].map((broker) => [mode, broker, 40, 0]),
    ),
  )
  // The log's envelope and acknowledgement are larger than a relay's message.
  const [bare, , stored] = summary.groups.map(({ bytesPerMessage }) => Number(bytesPerMessage))
  assert.ok(bare !== undefined && stored !== undefined && bare > 200 && stored > bare)
  const rows = (await readFile(join(out, 'iterations.csv'), 'utf8')).trim().split('\n')
  assert.equal(rows.length, 1 + 2 * 3 * 2)
})
