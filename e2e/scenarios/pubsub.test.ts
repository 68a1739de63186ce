// Made-up pubsub runs: what the scenario declares, as its summary, report and samples show it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { summarise, welch } from '../lab/statistics.ts'
import type { Level, Row } from '../lab/study.ts'
import { fileOf, testRefusals } from '../lab/testing.ts'
import { pubsub } from './pubsub.ts'
import { figureAt, paperP } from './pubsub-paper.ts'
import { madePubsubRun } from './testing.ts'

const ratiosOf = (run: ReturnType<typeof madePubsubRun>, broker: Level) =>
  pubsub
    .analyse(run)
    .comparisons.filter(({ at, measure }) => measure === 'meanMs' && at.broker === broker)
    .filter(({ at }) => at.mode === 'sse/2' && at.users === 1000)
    .map(({ baseline, ratio }) => [baseline, ratio.toFixed(2)])

test('each broker is compared with none, and with the bare relay that stores in the same way, if measured', () => {
  const brokers = ['none', 'bare-file', 'embedded', 'bare-nats', 'nats', 'sqs']
  const run = madePubsubRun({ brokers })
  assert.deepEqual(
    brokers.map((broker) => ratiosOf(run, broker)),
    [
      [],
      [['none', '1.25']],
      [
        ['none', '1.50'],
        ['bare-file', '1.20'],
      ],
      [['none', '2.50']],
      [
        ['none', '3.00'],
        ['bare-nats', '1.20'],
      ],
      [['none', '10.00']],
    ],
  )
  const floor = madePubsubRun({ brokers: ['bare-nats', 'nats'] })
  assert.deepEqual(ratiosOf(floor, 'nats'), [['bare-nats', '1.20']])
})

test('a message that does not return is named first, and breaks a promise only with a broker', () => {
  const lossy = (lost: string) =>
    madePubsubRun({
      change: ({ broker, users, mode }: Row) =>
        broker === lost && users === 1000 && mode === 'sse/2' ? { lost: 10 } : {},
    })
  const [bare, stored] = ['none', 'embedded'].map((broker) => {
    const run = lossy(broker)
    const summary = pubsub.analyse(run)
    return { summary, isFailure: pubsub.report(run, summary).isFailure }
  })
  assert.match(
    bare?.summary.finding ?? '',
    /^A bare relay by SSE \+ XHR over HTTP\/2 lost nothing up to 50 users and lost 120 of 12,000 samples with 1,000 users\. /,
  )
  assert.deepEqual([bare?.isFailure, stored?.isFailure], [false, true])
})

test('busy clients are named instead of the server', () => {
  const busy = madePubsubRun({ change: ({ users }) => (users === 1000 ? { clientCpuPercent: 95 } : {}) })
  assert.match(
    pubsub.analyse(busy).remarks?.at(-1) ?? '',
    /^In 6 of 12 places a client process was busy for over 90 % of the time: there the clients were/,
  )
  assert.doesNotMatch(pubsub.analyse(madePubsubRun()).remarks?.join() ?? '', /bottleneck/)
})

test('the report has the paper’s figures and its test beside those of the run', () => {
  const text = fileOf(pubsub, madePubsubRun())
  assert.match(
    text,
    /\| 1,000 \| SQS \| 4,000 ± [\d.,]+ \| 498 ± 4\.53 \| 0\.00 \| 0\.00 \| [\d.]+ \| 70\.8 \|/,
  )
  assert.match(text, /\| 1,000 \| SQS \| [\d.]+ × 10⁻\S+ \| 1\.000 \| [\d.]+ × 10⁻\S+ \|/)
})

test('the paper’s test is Welch’s over the iterations', () => {
  const run = madePubsubRun()
  const summary = pubsub.analyse(run)
  const [sqs, none] = ['sqs', 'none'].map((broker) => {
    const place = { broker, users: 50, mode: 'sse/2' }
    const isThere = (row: Row) => row.broker === broker && row.users === 50 && row.mode === 'sse/2'
    const values = run.samples.filter(isThere).map(({ meanMs }) => Number(meanMs))
    return { row: figureAt(summary, 'meanMs', place), figures: summarise(values) }
  })
  assert.ok(sqs?.row && none?.row)
  const ratio = (paperP(sqs.row, none.row) ?? Number.NaN) / welch(sqs.figures, none.figures).p
  assert.ok(Math.abs(ratio - 1) < 0.001, `${ratio}`)
})

test('samples.csv.gz has a burst in each row', () => {
  const run = madePubsubRun()
  const [header, row] = fileOf(pubsub, run, 'samples.csv.gz').split('\n')
  assert.match(header ?? '', /^broker,users,mode,session,iteration,expected,lost,duplicated,mean_ms,kbps,/)
  assert.match(row ?? '', /^none,50,websocket\/1\.1,1,1,50,0,0,10\.000,/)
  const place = { broker: 'none', users: 50, mode: 'websocket/1.1' }
  assert.equal(figureAt(pubsub.analyse(run), 'bytesPerMessage', place)?.mean, 300)
})

testRefusals(pubsub, [
  ['--modes polling/2', /polling\/2: a user of pubsub waits/],
  ['--brokers kafka', /there are none, bare-file, embedded, bare-nats, nats, sqs/],
  ['--iterations 2', /at least as many as sessions/],
])
