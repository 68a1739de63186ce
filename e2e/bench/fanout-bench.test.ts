// Checks what `bench fanout` refuses, and runs it once, small.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fanoutBench, fanoutRows } from './fanout-bench.ts'

const run = (flags: string) =>
  fanoutBench.run(flags.split(' '), () => undefined, new AbortController().signal)

test('a wrong flag is refused by name', async () => {
  await assert.rejects(run('--modes sse/3'), /--modes names "sse\/3"/)
  await assert.rejects(run('--windows 0'), /--windows is "0"/)
  await assert.rejects(run('--per-browser 1,x'), /--per-browser is "1,x"/)
  await assert.rejects(run('--peers sockjs'), /--peers is "sockjs": there are ws, socket\.io and http2/)
  // No peers at all are allowed.
  await assert.rejects(run('--peers  --rate 1 --seconds 2 --rounds 3'), /--rounds is 3/)
})

test('four windows receive all that one of them writes', { timeout: 120_000 }, async () => {
  const { rows, failures, isComplete } = await run(
    '--modes sse/2,websocket/1.1 --peers ws,socket.io,http2 --windows 4 --rate 10 --seconds 1 --rounds 1 --warmup 0 --per-browser 2',
  )
  assert.deepEqual([failures, isComplete], [[], true])
  const counts = { perBrowser: 2, n: 40, lost: 0, duplicated: 0, reordered: 0 }
  assert.deepEqual(
    rows.map(({ mode, perBrowser, n, lost, duplicated, reordered }) => ({
      mode,
      perBrowser,
      n,
      lost,
      duplicated,
      reordered,
    })),
    ['sse/2', 'websocket/1.1', 'ws', 'socket.io', 'http2'].map((mode) => ({ mode, ...counts })),
  )
  for (const { ratioToWs, p50Ms } of rows) assert.ok((ratioToWs ?? 0) > 0 && (p50Ms ?? 0) > 0)
})

function round(cpuMs: number, n: number, latencyMs: number) {
  const counts = { n, lost: 0, duplicated: 0, reordered: 0, failures: [] }
  return { ...counts, cpuMs, latenciesMs: Array<number>(n).fill(latencyMs) }
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
