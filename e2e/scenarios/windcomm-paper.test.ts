// The paper’s table against the one extracted from the paper, if available; formulas; the model.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { mean, standardDeviation } from '../../client/statistics.ts'
import { createSeededRandom } from '../../client/wire.ts'
import { type Figures, summarise, welch } from '../lab/statistics.ts'
import { type Delay, type Profile, type ProfileName, profiles, scaled } from '../network/profiles.ts'
import {
  expectationOf,
  keepsUp,
  type Method,
  methods,
  paperFormulaError,
  paperTests,
  predict,
} from './windcomm-paper.ts'

const table = join(import.meta.dirname, '../../../shared/papers/windcomm-table1.csv')
/** Every row, by site and method. */
const paperRows = ['edmonton', 'caracas', 'lund', 'nagaoka'].flatMap((site) =>
  methods.flatMap((method) => paperTests(site, method).map((row) => ({ site, method, ...row }))),
)

const skip = existsSync(table) ? false : 'the paper’s table is not beside this project'

test('every row equals the paper’s', { skip }, () => {
  const [, ...lines] = readFileSync(table, 'utf8').trim().split('\n')
  const rows = lines.map((line) => {
    const [site = '', , method, meanMs, sdMs, ratio] = line.split(',')
    const numbers = { meanMs: Number(meanMs), sdMs: Number(sdMs), ratio: Number(ratio) }
    return { site: site.toLowerCase(), method, ...numbers }
  })
  assert.deepEqual(new Set(paperRows), new Set(rows))
})

test('twelve tests of each method; the ratios follow from the means within rounding', () => {
  assert.equal(paperRows.length, 36)
  for (const { site, method, meanMs, ratio } of paperRows) {
    const base = paperTests(site, 'websocket').map((row) => row.meanMs)
    const least = Math.min(...base)
    const most = Math.max(...base)
    assert.ok(ratio > meanMs / most - 0.006 && ratio < meanMs / least + 0.006, `${site} ${method} ${ratio}`)
  }
})

const paper = { betweenReadingsMs: 250, intervalMs: 150 }

test('the paper’s own example: 155 ms for polling with ν of 40', () => {
  const { expectedMs, worstMs } = expectationOf('polling', { ...paper, oneWayMs: 40 })
  assert.deepEqual([expectedMs, worstMs], [155, 270])
})

test('long polling equals WebSocket below M/2, and is 3ν/2 to 2ν above', () => {
  assert.deepEqual(expectationOf('long-polling', { ...paper, oneWayMs: 124 }), {
    expectedMs: 124,
    worstMs: null,
  })
  assert.deepEqual(expectationOf('long-polling', { ...paper, oneWayMs: 160 }), {
    expectedMs: 240,
    worstMs: 320,
  })
  assert.equal(keepsUp({ ...paper, oneWayMs: 125 }), false)
})

const experiment = { readings: 1200, rateHz: 4, holdMs: 300, intervalMs: 150 }

/**
 * A path with constant delay, except for enough unevenness that polls and readings do not stay in
 * step.
 */
function steady(floorMs: number, queueMeanMs = 0): Profile {
  const delay: Delay = { floorMs, queueMeanMs, queueSdMs: queueMeanMs, correlationMs: 100, stalls: null }
  return { name: 'steady', down: delay, up: delay, kilobitsPerSecond: null, loss: null, source: 'test' }
}

function latencies(profile: Profile, seed = 1) {
  return predict(profile, { ...experiment, random: createSeededRandom(seed) })
}

function assertNear(found: number, expected: number, within: number): void {
  assert.ok(Math.abs(found - expected) <= within, `${found} is not ${expected} ± ${within}`)
}

test('every method gets every reading once', () => {
  for (const values of Object.values(latencies(steady(90, 5)))) {
    assert.equal(values.length, 1200)
    assert.ok(Math.min(...values) >= 90)
  }
})

test('WebSocket takes one way', () => {
  assert.deepEqual(
    new Set(latencies(steady(90)).websocket.map((ms) => ms.toFixed(6))),
    new Set(['90.000000']),
  )
})

test('long polling also takes one way, while a round trip is shorter than the time between readings', () => {
  assert.deepEqual(latencies(steady(124))['long-polling'].slice(2).map(Math.round), Array(1198).fill(124))
})

test("beyond that each reading waits half a round trip on average: twice one way, not the paper's one and a half", () => {
  assertNear(mean(latencies(steady(150, 3))['long-polling']), 2 * 153, 5)
})

test('polling is 2ν + Δ/2, evenly spread over its cycle', () => {
  const { polling } = latencies(steady(86, 2))
  assertNear(mean(polling), 2 * 88 + 75, 3)
  assertNear(standardDeviation(polling), (2 * 88 + 150) / Math.sqrt(12), 3)
})

test('an empty response comes when the hold is over, and a reading waits for the next request', () => {
  const slow = { ...experiment, holdMs: 290, readings: 40, rateHz: 1, random: createSeededRandom(1) }
  const held = predict(steady(20), slow)['long-polling'].slice(4).map(Math.round)
  // After a response at 0, requests are held from 40, 370 and 700 to 330, 660 and 990: the reading
  // at 1000 waits until 1030.
  assert.deepEqual(held.toSorted(), [...Array(18).fill(20), ...Array(18).fill(50)])
})

test('the same seed predicts the same', () => {
  assert.deepEqual(latencies(steady(90, 5), 7), latencies(steady(90, 5), 7))
})

interface Site {
  readonly name: ProfileName
  /** The paper's: the mean of its three means, and of its three standard deviations. */
  readonly paperMs: number
  readonly paperSdMs: number
  /**
   * Means over many runs: WebSocket's, and those of long polling and polling as multiples of it.
   */
  readonly websocketMs: number
  readonly longPolling: number
  readonly polling: number
}

const sites: readonly Site[] = [
  { name: 'edmonton', paperMs: 40.17, paperSdMs: 3.64, websocketMs: 40.2, longPolling: 1, polling: 3.87 },
  { name: 'lund', paperMs: 87.44, paperSdMs: 1.75, websocketMs: 87.4, longPolling: 1, polling: 2.86 },
  {
    name: 'caracas',
    paperMs: 115.23,
    paperSdMs: 33.52,
    websocketMs: 115.2,
    longPolling: 1.05,
    polling: 2.66,
  },
  {
    name: 'nagaoka',
    paperMs: 157.63,
    paperSdMs: 157.07,
    websocketMs: 157.5,
    longPolling: 2.04,
    polling: 2.56,
  },
]

/** Nagaoka's times spread widest. */
const runsAt = (name: ProfileName) => (name === 'nagaoka' ? 40 : 15)

type Run = Readonly<Record<Method, Figures>>

const runsOf = (name: ProfileName) => runsOfSites[name] ?? []
const runsOfSites = Object.fromEntries(sites.map(({ name }) => [name, manyRuns(name)]))

function manyRuns(name: ProfileName): readonly Run[] {
  return Array.from({ length: runsAt(name) }, (_, seed) => {
    const found = predict(profiles[name], { ...experiment, random: createSeededRandom(seed + 1) })
    return {
      websocket: summarise(found.websocket),
      'long-polling': summarise(found['long-polling']),
      polling: summarise(found.polling),
    }
  })
}

const ratio = (run: Run, method: Method) => run[method].mean / run.websocket.mean

function assertWithin(found: number, expected: number, share: number, what: string): void {
  assert.ok(Math.abs(found / expected - 1) <= share, `${what}: ${found}, not ${expected} ± ${share * 100} %`)
}

for (const { name, paperMs, paperSdMs, websocketMs, longPolling, polling } of sites) {
  const found = runsOf(name)

  test(`${name}: WebSocket takes ${websocketMs} ms, the paper's ${paperMs} and its spread`, () => {
    const websocket = mean(found.map((run) => run.websocket.mean))
    assertWithin(websocket, websocketMs, 0.005, 'predicted')
    assertWithin(websocket, paperMs, 0.01, 'of the paper')
    assertWithin(mean(found.map((run) => run.websocket.sd)), paperSdMs, 0.1, 'spread')
  })

  test(`${name}: long polling is ${longPolling} and polling ${polling} times as slow`, () => {
    assertWithin(mean(found.map((run) => ratio(run, 'long-polling'))), longPolling, 0.01, 'long polling')
    assertWithin(mean(found.map((run) => ratio(run, 'polling'))), polling, 0.01, 'polling')
  })
}

for (const name of ['edmonton', 'lund', 'caracas'] as const) {
  test(`${name}: every single run stays within what the formulas say`, () => {
    for (const run of runsOf(name)) {
      assert.ok(ratio(run, 'long-polling') < 1.15, `long polling is ${ratio(run, 'long-polling')}`)
      assert.ok(
        ratio(run, 'polling') > 2.2 && ratio(run, 'polling') < 4.5,
        `polling is ${ratio(run, 'polling')}`,
      )
      assertWithin(run.polling.mean, 2 * run.websocket.mean + experiment.intervalMs / 2, 0.1, 'the formula')
    }
  })
}

test('nagaoka: in every single run both are slower at the 99 % level, by at least 1.4 and 2.2 times', () => {
  for (const run of runsOf('nagaoka')) {
    assert.ok(ratio(run, 'long-polling') >= 1.4, `long polling is ${ratio(run, 'long-polling')}`)
    assert.ok(ratio(run, 'polling') >= 2.2, `polling is ${ratio(run, 'polling')}`)
    assert.ok(welch(run['long-polling'], run.websocket, 0.99).interval[0] > 0)
    assert.ok(welch(run.polling, run.websocket, 0.99).interval[0] > 0)
  }
})

test('made ten times as fast, everything takes a tenth', () => {
  const quick = { readings: 200, rateHz: 40, holdMs: 30, intervalMs: 15, random: createSeededRandom(4) }
  const faster = predict(scaled(profiles.nagaoka, 10), quick)
  const slower = predict(profiles.nagaoka, { ...experiment, readings: 200, random: createSeededRandom(4) })
  for (const method of ['websocket', 'long-polling', 'polling'] as const) {
    assert.deepEqual(
      faster[method].map((ms) => (ms * 10).toFixed(3)),
      slower[method].map((ms) => ms.toFixed(3)),
    )
  }
})

test('the paper’s own polling tests deviate this far from its formula', () => {
  const percent = (site: string) => Number((100 * (paperFormulaError(site) ?? Number.NaN)).toFixed(1))
  // 150.4 for 2 · 40.5 + 75; 241.4 for 2 · 91.92 + 75; 283.5 for 2 · 122.9 + 75.
  assert.deepEqual(['edmonton', 'lund', 'caracas'].map(percent), [3.6, 6.7, 11.6])
  assert.equal(paperFormulaError('lan'), null)
})
