// Flags of `fanout` and `message`, and their comparisons in made-up rounds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyseStudy, type Row } from '../lab/study.ts'
import { optionsOf, testRefusals } from '../lab/testing.ts'
import { fanout, fanoutDesign, figuresOfRound, requireConnections } from './fanout-bench.ts'

testRefusals(fanout, [
  ['--modes sse/3', /--modes names "sse\/3"/],
  ['--windows 0', /--windows is "0"/],
  ['--per-browser 1,x', /--per-browser is "1,x"/],
  ['--peers sockjs', /--peers is "sockjs": there are ws, socket\.io, http2, ws-stored, http2-stored/],
  // An empty list of relays is allowed.
  ['--peers  --rate 1 --seconds 2 --rounds 3', /--rounds is 3/],
])

test('if the system cannot connect all windows, the error says what to do', () => {
  const connect = (name: string, windows: number, openFiles: number) => {
    const options = optionsOf(fanout, '--modes', name, '--peers', '')
    requireConnections({ ...options, windows, perBrowser: [10, 20] }, openFiles)
  }
  assert.throws(() => connect('websocket/1.1', 10_000, 4096), /ulimit -n 10200/)
  assert.throws(() => connect('sse/2,websocket/1.1', 40_000, 100_000), /28000/)
  assert.throws(() => connect('sse/2', 10_000, 1199), /ulimit -n 1200/)
  connect('sse/2', 10_000, 1200)
})

/** Microseconds of each session's rounds; null: nothing was delivered. */
function rowsOf(mode: string, sessions: readonly (readonly (number | null)[])[]): readonly Row[] {
  return sessions.flatMap((rounds, index) =>
    rounds.map(
      (cpuMicros): Row => ({
        mode,
        rate: 50,
        session: index + 1,
        expected: 100,
        lost: cpuMicros === null ? 100 : 0,
        cpuMicros,
        clientPercent: cpuMicros,
      }),
    ),
  )
}

const found = analyseStudy(fanoutDesign, {
  levels: { mode: ['sse/2 x10', 'websocket/1.1', 'ws', 'http2 x10', 'http2 x1'], rate: [50] },
  baseline: 'ws',
  samples: [
    ...rowsOf('sse/2 x10', [[10, 40, 30], [30], [95]]),
    ...rowsOf('websocket/1.1', [[50], [50], [null]]),
    ...rowsOf('ws', [[20, 80, 60], [50], [50]]),
    ...rowsOf('http2 x10', [[10], [20], [25]]),
    ...rowsOf('http2 x1', [[100], [100], [100]]),
  ],
})

test('each is compared with ws, and with http2 of as many windows to a browser', () => {
  const compared = found.comparisons.filter(({ measure }) => measure === 'cpuMicros')
  assert.deepEqual(
    compared.map(({ mode, baseline, sessions }) => [mode, baseline, sessions.map(({ ratio }) => ratio)]),
    [
      ['sse/2 x10, 50', 'ws', [0.5, 0.6, 1.9]],
      ['sse/2 x10, 50', 'http2 x10', [3, 1.5, 3.8]],
      ['websocket/1.1, 50', 'ws', [2.5 / 3, 1].map((ratio) => Number(ratio.toPrecision(6)))],
      ['http2 x10, 50', 'ws', [1 / 6, 0.4, 0.5].map((ratio) => Number(ratio.toPrecision(6)))],
      ['http2 x1, 50', 'ws', [10 / 6, 2, 2].map((ratio) => Number(ratio.toPrecision(6)))],
    ],
  )
  assert.equal(found.figures.find(({ mode }) => mode === 'websocket/1.1, 50')?.lost, 100)
})

test('a saturated process is named in one sentence', () => {
  assert.deepEqual(fanoutDesign.remarks?.(found), [
    'The load clients were saturated, so that the latency is theirs, in SSE + XHR over HTTP/2 with 10 to a browser and the relay http2 with 1 to a browser.',
  ])
})

test('a round has its processor time by delivery and its shares of a core', () => {
  const figures = { cpuMs: 0, uptimeMs: 0, rssBytes: 100, heapUsedBytes: 10, windows: 4, node: 'v26' }
  const measured = {
    received: 4,
    duplicated: 0,
    reordered: 0,
    latenciesMs: Float64Array.of(1, 2, 3, 4),
    cpuMs: 400,
    wallMs: 1000,
    receivedBytes: 0,
    sendingMs: 0,
    loopDelayP99Ms: 1,
    loopDelayMaxMs: 2,
    failures: 0,
    failureWords: [],
  }
  const counts = { n: 4, lost: 1, duplicated: 0, reordered: 0, failures: [] }
  const turn = { cpuMs: 2, before: figures, after: { ...figures, uptimeMs: 1000 }, measured: [measured] }
  assert.deepEqual(figuresOfRound({ ...counts, ...turn, latenciesMs: [1, 2, 3, 4], joinedInMs: 1 }), {
    expected: 5,
    lost: 1,
    duplicated: 0,
    reordered: 0,
    cpuMicros: 500,
    p50Ms: 2.5,
    p99Ms: 3.97,
    serverPercent: 0.2,
    clientPercent: 40,
  })
})
