// `bench fanout` and `bench message`, each run once, small.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSmall } from '../lab/testing.ts'
import { fanout, message } from './fanout-bench.ts'

test('four windows receive everything that one of them writes', { timeout: 120_000 }, async (t) => {
  const { summary, isFailure } = await runSmall(
    t,
    fanout,
    '--modes sse/2,websocket/1.1 --peers ws,socket.io,http2 --windows 4 --rate 10 --seconds 1 --sessions 1 --rounds 1 --warmup 0 --per-browser 2',
  )
  assert.equal(isFailure, false)
  const of = (name: string) => summary.figures.filter(({ measure }) => measure === name)
  assert.deepEqual(
    of('cpuMicros').map(({ at, n, lost, duplicated, reordered }) => [
      at.mode,
      n,
      lost,
      duplicated,
      reordered,
    ]),
    ['sse/2 x2', 'websocket/1.1', 'ws', 'socket.io', 'http2 x2'].map((subject) => [subject, 40, 0, 0, 0]),
  )
  for (const name of ['cpuMicros', 'p50Ms', 'p99Ms', 'serverPercent', 'clientPercent'])
    for (const { mean } of of(name)) assert.ok((mean ?? 0) > 0, name)
  assert.equal(of('kilobytesPerWindow').length, 5)
})

test('one message, in sessions with fresh servers', { timeout: 120_000 }, async (t) => {
  const flags = '--modes sse/2 --peers http2 --rate 10 --seconds 1 --sessions 2 --rounds 1 --warmup 0'
  const { summary, isFailure } = await runSmall(t, message, flags)
  assert.equal(isFailure, false)
  const [own, relay] = summary.figures
  assert.deepEqual([own?.mode, own?.n, relay?.mode, relay?.n], ['sse/2 x1, 10', 20, 'http2 x1, 10', 20])
  const [compared] = summary.comparisons
  assert.deepEqual([compared?.baseline, compared?.sessions.length], ['http2 x1', 2])
})
