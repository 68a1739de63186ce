// Checks what `bench fanout` refuses, and runs it once, small.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSmall, testRefusals } from '../lab/testing.ts'
import { fanout, fanoutRows, message, type SubjectName } from './fanout-bench.ts'

testRefusals(fanout, [
  ['--modes sse/3', /--modes names "sse\/3"/],
  ['--windows 0', /--windows is "0"/],
  ['--per-browser 1,x', /--per-browser is "1,x"/],
  ['--peers sockjs', /--peers is "sockjs": there are ws, socket\.io, http2, ws-stored, http2-stored/],
  // An empty list of relays is allowed.
  ['--peers  --rate 1 --seconds 2 --rounds 3', /--rounds is 3/],
])

test('four windows receive everything that one of them writes', { timeout: 120_000 }, async (t) => {
  const { summary, isFailure } = await runSmall(
    t,
    fanout,
    '--modes sse/2,websocket/1.1 --peers ws,socket.io,http2 --windows 4 --rate 10 --seconds 1 --sessions 1 --rounds 1 --warmup 0 --per-browser 2',
  )
  assert.deepEqual([isFailure, summary.finding], [false, 'None of 200 deliveries was lost.'])
  assert.deepEqual(
    summary.rows.map(({ mode, perBrowser, n, lost, duplicated, reordered }) => [
      ...[mode, perBrowser],
      ...[n, lost, duplicated, reordered],
    ]),
    (
      [
        ['sse/2', 2],
        ['websocket/1.1', null],
        ['ws', null],
        ['socket.io', null],
        ['http2', 2],
      ] as const
    ).map((subject) => [...subject, 40, 0, 0, 0]),
  )
  for (const { ratioToWs, p50Ms } of summary.rows) assert.ok((ratioToWs.median ?? 0) > 0 && (p50Ms ?? 0) > 0)
})

test('one message, in sessions with fresh servers', { timeout: 120_000 }, async (t) => {
  const flags = '--modes sse/2 --peers http2 --rate 10 --seconds 1 --sessions 2 --rounds 1 --warmup 0'
  const { summary, isFailure } = await runSmall(t, message, flags)
  const { rows } = summary
  assert.equal(isFailure, false)
  assert.deepEqual(
    rows.map(({ mode, rate, n, sessions }) => [mode, rate, n, sessions]),
    [
      ['sse/2', 10, 20, 2],
      ['http2', 10, 20, 2],
    ],
  )
  for (const { ratioToHttp2, ratioToWs } of rows)
    assert.ok((ratioToHttp2.median ?? 0) > 0 && ratioToWs.median === null)
})

function measured(name: string, sharing: number | null, ...sessions: ReturnType<typeof round>[][]) {
  const subject: SubjectName = { name, sharing, rate: 50 }
  return { ...subject, sessions }
}

function round(cpuMs: number, n: number, latencyMs: number) {
  const counts = { n, lost: 0, duplicated: 0, reordered: 0, failures: [] }
  return { ...counts, cpuMs, latenciesMs: Array<number>(n).fill(latencyMs) }
}

test('ratios are taken within each round, and their range over the sessions', () => {
  const [sse, ws] = fanoutRows([
    measured(
      ...(['sse/2', 10] as const),
      ...[[round(1, 100, 2), round(4, 100, 2), round(3, 100, 2)], [round(3, 100, 2)], [round(6, 100, 2)]],
    ),
    measured(
      ...(['ws', null] as const),
      ...[[round(2, 100, 4), round(8, 100, 4), round(5, 100, 4)], [round(5, 100, 4)], [round(5, 100, 4)]],
    ),
    measured('http2', 10, [], [round(1, 100, 1)], [round(2, 100, 1)]),
    measured('http2', 1, [round(100, 100, 1)], [round(100, 100, 1)], [round(100, 100, 1)]),
  ])
  assert.deepEqual(sse?.cpuMicrosPerDelivery, { median: 30, min: 30, max: 60 })
  assert.deepEqual(sse?.ratioToWs, { median: 0.6, min: 0.5, max: 1.2 })
  assert.deepEqual(sse?.ratioToHttp2, { median: 3, min: 3, max: 3 })
  assert.equal(sse?.p99RatioToWs, 0.5)
  assert.equal(ws?.ratioToWs.median, 1)
  assert.equal(ws?.ratioToHttp2.median, null)
})

test('without ws there is no ratio, and without deliveries no figure', () => {
  const [row] = fanoutRows([measured('sse/2', 1, [round(1, 0, 0)])])
  assert.equal(row?.ratioToWs.median, null)
  assert.equal(row?.cpuMicrosPerDelivery.median, null)
  assert.equal(row?.p50Ms, null)
})
