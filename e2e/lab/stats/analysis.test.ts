// The summary of made-up runs whose truth is known: counts, times, verdicts, the finding, and runs that went wrong.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyse } from './analysis.ts'
import { type Making, madeRun, threeModes, withPeers } from './made-run.ts'

const summaryOf = (making: Making = {}) => analyse(madeRun(making))
const modeOf = (making: Making, name: string) => {
  const found = summaryOf(making).modes.find(({ mode }) => mode === name)
  assert.ok(found)
  return found
}

test('every (message, receiving window) is one sample', () => {
  const summary = summaryOf()
  assert.deepEqual(
    summary.modes.map(({ mode, n, expected }) => [mode, n, expected]),
    [
      ['sse/2', 1000, 1000],
      ['sse/1.1', 1000, 1000],
      ['websocket/1.1', 1000, 1000],
    ],
  )
  assert.deepEqual(
    summary.comparisons.map(({ messages, baselineMessages }) => [messages, baselineMessages]),
    [
      [200, 200],
      [200, 200],
    ],
  )
})

test('the fastest mode is named with its difference and interval', () => {
  const { finding, comparisons } = summaryOf()
  assert.match(
    finding,
    /^WebSocket was fastest: \d\.\d ms on average, \d\.\d ms \(\d\.\d to \d\.\d\) less than SSE \+ XHR over HTTP\/2\.$/,
  )
  assert.deepEqual(
    comparisons.map(({ verdict }) => verdict),
    ['faster', 'faster'],
  )
  for (const {
    differenceMs,
    ci95Ms: [low, high],
    blocks,
  } of comparisons) {
    assert.ok(low < differenceMs && differenceMs < high && high < 0)
    assert.deepEqual(
      blocks.map(({ block }) => block),
      [1, 2, 3, 4],
    )
  }
})

test('when the baseline is fastest, it is said against the next', () => {
  const behaviours = [
    { mode: 'sse/2', medianMs: 1 },
    { mode: 'sse/1.1', medianMs: 3 },
  ]
  assert.match(
    summaryOf({ behaviours }).finding,
    /^SSE \+ XHR over HTTP\/2 was faster: .* less than SSE \+ XHR over HTTP\/1.1\.$/,
  )
})

test('equal modes are undecided', () => {
  const behaviours = [
    { mode: 'sse/2', medianMs: 3 },
    { mode: 'sse/1.1', medianMs: 3 },
  ]
  const { finding, comparisons } = summaryOf({ behaviours })
  assert.equal(comparisons[0]?.verdict, 'undecided')
  assert.match(finding, /^Undecided: /)
})

test('a difference within the error of the clock is undecided, however small its p', () => {
  const run = madeRun()
  const { comparisons } = analyse({ ...run, clock: { method: 'server exchange', boundMs: 50 } })
  for (const { verdict, pCorrected } of comparisons) assert.ok(verdict === 'undecided' && pCorrected < 1e-6)
})

test('two modes faster than the baseline and like each other: neither is called fastest', () => {
  const behaviours = threeModes.map(({ mode }) => ({ mode, medianMs: mode === 'sse/2' ? 6 : 2 }))
  assert.match(summaryOf({ behaviours }).finding, /had the lowest mean, not clearly below/)
})

test('a message that five windows received weighs no more than one that a single window received', () => {
  const alone = madeRun({ windows: 1 })
  const samples = alone.samples.flatMap((sample) =>
    [1, 2, 3, 4, 5].map((receiver) => ({ ...sample, receiver })),
  )
  assert.deepEqual(analyse({ ...alone, samples }).comparisons, analyse(alone).comparisons)
})

test('each mode is compared with its peer, and all p are corrected together', () => {
  const { comparisons } = summaryOf({ behaviours: withPeers })
  assert.deepEqual(
    comparisons.map(({ mode, baseline }) => `${mode} - ${baseline}`),
    [
      'sse/1.1 - sse/2',
      'websocket/1.1 - sse/2',
      'sse/2 - bare:sse/2',
      'sse/1.1 - bare:sse/1.1',
      'websocket/1.1 - bare:websocket/1.1',
    ],
  )
  const largest = comparisons.toSorted((a, b) => b.p - a.p)[0]
  assert.ok(
    comparisons.every(({ p, pCorrected }) => pCorrected >= p) && largest && largest.pCorrected >= largest.p,
  )
  assert.ok(comparisons.some(({ p, pCorrected }) => pCorrected > p))
  const webSocket = comparisons.at(-1)
  assert.ok(webSocket && webSocket.medianRatio > 1.1 && webSocket.medianRatio < 1.35)
})

test('lost, duplicated and reordered are counted and stand first in the finding', () => {
  const faulty = { mode: 'sse/2', medianMs: 5, lost: 0.02, duplicated: 0.01, reordered: 0.01 }
  const behaviours = [faulty, { mode: 'websocket/1.1', medianMs: 2 }]
  const { n, expected, lost, duplicated, reordered } = modeOf({ behaviours }, 'sse/2')
  assert.ok(lost > 0 && duplicated > 0 && reordered > 0)
  assert.equal(n + lost, expected)
  assert.match(
    summaryOf({ behaviours }).finding,
    new RegExp(
      `^SSE \\+ XHR over HTTP/2 lost ${lost} of 1,000 samples, duplicated ${duplicated}, reordered ${reordered}\\. WebSocket was faster: `,
    ),
  )
})

test('stages have their medians, and none on the clock of another machine', () => {
  const near = modeOf({}, 'sse/2')
  assert.ok(near.inputMs && near.inputMs > 0.2 && near.inputMs < 0.4)
  assert.ok(near.upMs && near.downMs && near.downMs > near.upMs)
  assert.ok(near.applyMs && near.paintMs && near.paintMs > 6 && near.paintMs < 10)
  const far = modeOf({ oneMachine: false }, 'sse/2')
  assert.deepEqual(
    ['upMs', 'downMs', 'applyMs'].map((stage) => stage in far),
    [false, false, true],
  )
})

test('where all was lost, that is the finding, and nothing is compared', () => {
  const behaviours = threeModes.map((mode) => ({ ...mode, lost: 1 }))
  const { finding, comparisons, notCompared, modes } = summaryOf({ behaviours })
  assert.match(finding, /lost all 1,000 samples.*No transmission time was measured\.$/)
  assert.deepEqual([comparisons.length, notCompared.length], [0, 2])
  assert.deepEqual([modes[0]?.meanMs, modes[0]?.p99Ms, modes[0]?.lost], [null, null, 1000])
})

test('one mode alone, and none at all', () => {
  assert.match(
    summaryOf({ behaviours: threeModes.slice(0, 1) }).finding,
    /there was nothing to compare it with\.$/,
  )
  assert.equal(summaryOf({ behaviours: [] }).finding, 'No transmission time was measured.')
})

test('figures have at most six significant digits, and the same run gives the same summary', () => {
  const summary = summaryOf()
  for (const figure of [
    ...summary.modes.map(({ meanMs }) => meanMs),
    ...summary.comparisons.flatMap(({ ci95Ms }) => ci95Ms),
  ]) {
    assert.equal(figure, Number(figure?.toPrecision(6)))
  }
  assert.deepEqual(summary, summaryOf())
})
