// Runs with known means, ratios and faults: their summary, and each point of the paper.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFaulty } from '../lab/samples.ts'
import { madeMachineRun, madeWindRun, type WindMaking } from './testing.ts'
import { analyse, formatPoints, type WindRun, type WindSummary } from './windcomm-summary.ts'

/** Known means: WebSocket 100 ± 1, alternating; the others are multiples of that. */
const times: Readonly<Record<string, number>> = {
  'websocket/1.1': 1,
  'long-polling/1.1': 1.1,
  'polling/1.1': 2.7,
  'sse/2': 1.001,
}
const known: WindMaking = {
  sites: ['lund', 'nagaoka'],
  modes: Object.keys(times),
  readings: 60,
  latencyOf: (_site, mode, place) => (times[mode] ?? 0) * (100 + (place % 2 === 0 ? 1 : -1)),
}

const summaryOf = (making: WindMaking) => analyse(madeWindRun({ ...known, ...making }))

function cell({ cells }: WindSummary, site: string, mode: string) {
  const found = cells.find((one) => one.site === site && one.mode === mode)
  assert.ok(found)
  return found
}

function near(found: number | null | undefined, expected: number): void {
  assert.ok(
    found !== null && found !== undefined && Math.abs(found - expected) < 1e-3,
    `${found}, not ${expected}`,
  )
}

test('each cell has its counts, figures and ratio', () => {
  const polling = cell(summaryOf({}), 'lund', 'polling/1.1')
  assert.deepEqual(
    [polling.n, polling.expected, polling.lost, polling.duplicated, polling.reordered, polling.effectiveN],
    [60, 60, 0, 0, 0, 60],
  )
  near(polling.meanMs, 270)
  near(polling.sdMs, 2.7 * Math.sqrt(60 / 59))
  near(polling.medianMs, 270)
  near(polling.maxMs, 272.7)
  near(polling.ratioToWebsocket, 2.7)
  for (const end of polling.ratioToWebsocketCi95 ?? []) near(end, 2.7)
})

test("WebSocket's ratio to itself is exactly 1", () => {
  const { ratioToWebsocket, ratioToWebsocketCi95 } = cell(summaryOf({}), 'lund', 'websocket/1.1')
  assert.deepEqual([ratioToWebsocket, ratioToWebsocketCi95], [1, null])
})

test('the paper’s three tests and the additional ones, each with its difference and verdict', () => {
  const tests = summaryOf({}).tests.filter(({ site }) => site === 'nagaoka')
  assert.deepEqual(
    tests.map(({ mode, against }) => `${mode} - ${against}`),
    [
      'long-polling/1.1 - websocket/1.1',
      'polling/1.1 - websocket/1.1',
      'polling/1.1 - long-polling/1.1',
      'sse/2 - websocket/1.1',
    ],
  )
  const [longPolling, polling, between, sse] = tests
  near(longPolling?.differenceMs, 10)
  near(polling?.differenceMs, 170)
  near(between?.differenceMs, 160)
  assert.deepEqual([longPolling?.verdict, longPolling?.welch.pCorrected], ['slower', null])
  // A tenth of a millisecond is nothing to Welch, and would be significant to the pairs, which
  // always differ by that much.
  near(sse?.differenceMs, 0.1)
  assert.deepEqual([sse?.verdict, sse?.doubt], ['undecided', 'chance'])
  assert.ok((sse?.welch.pCorrected ?? 0) >= (sse?.welch.p ?? 1))
})

test('between the windows of a machine, its error against the server’s clock leaves nothing open', () => {
  const latencyOf = (_: string, mode: string, place: number) =>
    (mode === 'polling/1.1' ? 6 : 5) + (place % 2) / 10
  const { tests } = analyse(
    madeMachineRun({ readings: 100, latencyOf, modes: ['websocket/1.1', 'polling/1.1'] }),
  )
  assert.deepEqual(
    tests.map(({ site, clockMs, verdict }) => [site, clockMs, verdict]),
    [
      ['here', 0.04, 'slower'],
      ['device 1', 0.04, 'slower'],
    ],
  )
})

test('between pages, a difference within their clocks’ error stays open', () => {
  const latencyOf: WindMaking['latencyOf'] = (_site, mode, place) =>
    100 + (times[mode] === 1 ? 0 : 0.5) + (place % 2) / 100
  const found = summaryOf({ latencyOf }).tests.filter(({ mode }) => mode === 'long-polling/1.1')
  assert.deepEqual(
    found.map(({ site, clockMs, verdict, doubt }) => [site, clockMs, verdict, doubt]),
    [
      ['lund', 0.62, 'undecided', 'clock'],
      // Clients share a clock.
      ['nagaoka', 0, 'slower', null],
    ],
  )
})

test('the formulas are set beside the measurements, with the deviation', () => {
  const [lund, nagaoka] = summaryOf({}).predictions
  assert.deepEqual([lund?.oneWayMs, lund?.limitMs, lund?.binds], [100, 125, true])
  const [, longPolling, polling] = lund?.methods ?? []
  near(longPolling?.deviation, 0.1)
  near(polling?.formulaMs, 275)
  near(polling?.deviation, 270 / 275 - 1)
  const websocket = nagaoka?.methods[0]
  assert.equal(websocket?.deviation, null)
  const { model, modelWithoutStalls } = websocket
  assert.ok(model && modelWithoutStalls && model.meanMs > modelWithoutStalls.meanMs)
})

test('beyond M/2, long polling is expected to take 3ν/2, and 2ν at worst', () => {
  const [site] = summaryOf({ latencyOf: () => 150 }).predictions
  const longPolling = site?.methods.find(({ method }) => method === 'long-polling')
  assert.deepEqual([site?.binds, longPolling?.formulaMs, longPolling?.formulaWorstMs], [false, 225, 300])
})

test('made ten times as fast, M and Δ are tenths too', () => {
  const [site] = summaryOf({ faster: 10, latencyOf: () => 10 }).predictions
  const polling = site?.methods.find(({ method }) => method === 'polling')
  assert.deepEqual([site?.limitMs, site?.binds, polling?.formulaMs], [12.5, true, 27.5])
})

test('lost, repeated and reordered readings are counted, and come first', () => {
  const summary = summaryOf({ lost: 0.1, duplicated: 0.1, reordered: 0.1 })
  const { n, lost, expected } = cell(summary, 'lund', 'polling/1.1')
  assert.ok(lost > 0 && n === expected - lost)
  assert.match(
    summary.finding,
    /^websocket\/1\.1 at Lund lost \d+ of 60 readings, repeated \d+, reordered \d+; /,
  )
  assert.ok(summary.cells.some(isFaulty))
  assert.ok(!summaryOf({}).cells.some(isFaulty))
})

test('the finding says that the networks are simulated, and how many of the paper’s points hold', () => {
  const { finding } = summaryOf({ sites: ['lund'] })
  assert.equal(
    finding,
    'Over simulated networks, at Lund long polling took 1.10 times WebSocket’s mean and polling 2.70. Of the paper’s 3 points 2 hold, 1 only within a wider bound.',
  )
  assert.equal(
    summaryOf({ sites: ['lan'] }).finding,
    'Over simulated networks, at Lan long polling took 1.10 times WebSocket’s mean and polling 2.70.',
  )
  assert.match(
    summaryOf({ sites: ['lund', 'nagaoka'] }).finding,
    / Of the paper’s 5 points 2 hold, 1 only within a wider bound, 2 do not\.$/,
  )
  assert.match(summaryOf({ faster: 10 }).finding, /^10 times as fast as asked for: /)
})

test('over several sessions, ratios and their intervals are over sessions, and stand beside the paper', () => {
  // Sessions of 20 readings: polling takes 3, 3.3 and 3.63 times as long.
  const latencyOf = (_site: string, mode: string, place: number) =>
    mode === 'polling/1.1' ? 300 * 1.1 ** Math.floor(place / 20) : 99 + 2 * (place % 2)
  const summary = summaryOf({ sites: ['nagaoka'], sessions: 3, latencyOf })
  const polling = cell(summary, 'nagaoka', 'polling/1.1')
  assert.equal(polling.sessions.length, 3)
  for (const [place, ratio] of [3, 3.3, 3.63].entries()) near(polling.sessions[place]?.ratio, ratio)
  near(polling.ratioToWebsocket, 3.3)
  // Student's t with 2 degrees of freedom, over √3.
  const [low, high] = polling.ratioToWebsocketCi95 ?? []
  near(low, 3.3 / 1.1 ** (4.30265 / Math.sqrt(3)))
  near(high, 3.3 * 1.1 ** (4.30265 / Math.sqrt(3)))
  assert.deepEqual(summary.remarks, [
    'Nagaoka, with 95 % intervals over sessions: WebSocket’s mean was 100 (100 to 100) ms, in the paper 153 to 163, its standard deviation 1.03 (1.03 to 1.03) ms, in the paper 133 to 176; long polling took 1.00 (1.00 to 1.00) times WebSocket’s mean, in the paper 3.59 to 4.22; polling took 3.30 (2.60 to 4.18) times WebSocket’s mean, in the paper 3.81 to 4.48.',
  ])
  assert.deepEqual(summaryOf({}).remarks, [])
})

test('points that hold only within the wider bound, or not at all, are named with their sites', () => {
  assert.match(
    formatPoints(summaryOf({ sites: ['lund', 'nagaoka'] }).checks),
    / Only within the wider bound at Lund: long polling over WebSocket\. Not at Nagaoka: long polling over WebSocket and polling over WebSocket\.$/,
  )
})

test('a trend is found, with its size, if the network became slower', () => {
  const latencyOf: WindMaking['latencyOf'] = (site, _mode, place) =>
    100 + (place % 3) + (site === 'nagaoka' ? place / 10 : 0)
  const { drifts } = summaryOf({ latencyOf, readings: 300 })
  const found = drifts.filter(({ pCorrected }) => pCorrected <= 0.01)
  assert.deepEqual([...new Set(found.map(({ site }) => site))], ['nagaoka'])
  for (const { differenceMs } of found) assert.ok(Math.abs(differenceMs - 20) < 0.5, String(differenceMs))
})

test('a run in which nothing arrived also has a summary', () => {
  const summary = summaryOf({ lost: 1 })
  assert.equal(cell(summary, 'lund', 'sse/2').meanMs, null)
  assert.deepEqual(summary.tests, [])
  assert.match(summary.finding, /there is no WebSocket time to compare with\. /)
  assert.ok(!JSON.stringify(summary).includes('NaN'))
})

const modes = ['websocket/1.1', 'long-polling/1.1', 'polling/1.1']

/** WebSocket 100 ms at Lund, the others are multiples of that. */
function checks(
  longPolling: number,
  polling: number,
  making: WindMaking = {},
  change: Partial<WindRun> = {},
) {
  const times = [1, longPolling, polling]
  const run = madeWindRun({
    sites: ['lund'],
    modes,
    readings: 40,
    latencyOf: (_site, mode, place) => (times[modes.indexOf(mode)] ?? 0) * (100 + (place % 2)),
    ...making,
  })
  return analyse({ ...run, ...change }).checks
}

const withOutcome = (wanted: 'weaker' | 'fails') => (found: ReturnType<typeof checks>) =>
  found.filter(({ outcome }) => outcome === wanted).map(({ what }) => what)
const failing = withOutcome('fails')
const weaker = withOutcome('weaker')

test('a run like the paper’s holds in every point', () => {
  const found = checks(1.02, 2.7)
  assert.deepEqual([...failing(found), ...weaker(found)], [])
  assert.deepEqual(
    found.map(({ what, found }) => [what, found]),
    [
      ['Readings once and in order, in the least of 3 cells', 40],
      ['Clocks off the server’s, before and after', 0.31],
      ['Links late on average', 0.05],
      ['Long polling over WebSocket', 1.02],
      ['Polling over WebSocket', 2.7],
      ['Polling against 2ν + Δ/2', -1.68478],
    ],
  )
})

test('long polling that is slower, polling that is too slow, and off the formula', () => {
  assert.deepEqual(failing(checks(1.19, 2.7)), ['Long polling over WebSocket'])
  assert.deepEqual(failing(checks(0.8, 2.7)), ['Long polling over WebSocket'])
  assert.deepEqual(failing(checks(1, 2.1)), ['Polling over WebSocket', 'Polling against 2ν + Δ/2'])
  assert.deepEqual(failing(checks(1, 3.1)), ['Polling against 2ν + Δ/2'])
})

test('the paper’s own range is one thing, the wider bound another', () => {
  assert.deepEqual(weaker(checks(1.1, 2.7)), ['Long polling over WebSocket'])
  // The paper prints two decimals.
  assert.deepEqual(weaker(checks(1.034, 2.7)), [])
  assert.deepEqual(weaker(checks(1.036, 2.7)), ['Long polling over WebSocket'])
  // The paper's own tests at Lund were up to 6.7 % from the formula.
  assert.deepEqual(weaker(checks(1, 2.99)), ['Polling against 2ν + Δ/2'])
  assert.deepEqual(weaker(checks(1, 3.01)), ['Polling over WebSocket', 'Polling against 2ν + Δ/2'])
})

test('a ratio is compared with what the paper measured at that site: at Nagaoka it is not enough to be slower', () => {
  const nagaoka: WindMaking = { sites: ['nagaoka'] }
  const both = ['Long polling over WebSocket', 'Polling over WebSocket']
  assert.deepEqual(failing(checks(1.96, 2.43, nagaoka)), both)
  assert.deepEqual(failing(checks(4, 4.2, nagaoka)), [])
  assert.deepEqual(failing(checks(4, 2.43, nagaoka)), both.slice(1))
  assert.deepEqual(
    checks(4, 4.2, nagaoka)
      .filter(({ site }) => site === 'nagaoka')
      .map(({ wanted }) => wanted),
    ['3.59–4.22', '3.81–4.48'],
  )
})

test("one missing reading, and the smallest cell's count", () => {
  const [delivered] = checks(1, 2.7, { lost: 0.1 })
  assert.ok(delivered?.outcome === 'fails' && (delivered.found ?? 40) < 40)
})

test('links that were late, and clocks that were off', () => {
  const [link] = madeWindRun({ sites: ['lund'], modes, readings: 2 }).links
  assert.ok(link)
  const late = { ...link, lateMs: 4 }
  const clock = { before: [{ name: 'clients', offsetMs: 1, boundMs: 2, errorMs: 3 }], after: [] }
  assert.deepEqual(failing(checks(1, 2.7, {}, { links: [late], clock })), [
    'Clocks off the server’s, before and after',
    'Links late on average',
  ])
})

test('a site outside the paper is compared with none of it', () => {
  assert.equal(checks(1, 2.7, { sites: ['lan'] }).length, 3)
})
