// What the profiles of the paper's sites predict: WebSocket as the paper measured it, and what follows for the other methods.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../../server/wire/random.ts'
import { type Figures, mean, summarise } from '../lab/stats/summary.ts'
import { welch } from '../lab/stats/welch.ts'
import { type Method, predict } from './predict.ts'
import { type ProfileName, profiles, scaled } from './profiles.ts'

interface Site {
  readonly name: ProfileName
  /** The paper's: the mean of its three means, and of its three standard deviations. */
  readonly paperMs: number
  readonly paperSdMs: number
  /** Means over many runs: WebSocket's, and those of long polling and polling as multiples of it. */
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

const paper = { readings: 1200, rateHz: 4, holdMs: 300, intervalMs: 150 }
const runs = 50

type Run = Readonly<Record<Method, Figures>>

const runsOf = (name: ProfileName) => runsOfSites[name] ?? []
const runsOfSites = Object.fromEntries(sites.map(({ name }) => [name, manyRuns(name)]))

function manyRuns(name: ProfileName): readonly Run[] {
  return Array.from({ length: runs }, (_, seed) => {
    const found = predict(profiles[name], { ...paper, random: createSeededRandom(seed + 1) })
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

  test(`${name}: WebSocket is ${websocketMs} ms, the paper's ${paperMs} and its spread`, () => {
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
      assertWithin(run.polling.mean, 2 * run.websocket.mean + paper.intervalMs / 2, 0.1, 'the formula')
    }
  })
}

test('nagaoka: in every single run both are slower at the 99 % level, by 1.4 and 2.2 times and more', () => {
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
  const slower = predict(profiles.nagaoka, { ...paper, readings: 200, random: createSeededRandom(4) })
  for (const method of ['websocket', 'long-polling', 'polling'] as const) {
    assert.deepEqual(
      faster[method].map((ms) => (ms * 10).toFixed(3)),
      slower[method].map((ms) => ms.toFixed(3)),
    )
  }
})

test('a rate is made faster too, and only by what is above 0', () => {
  assert.equal(scaled(profiles.mobile, 2).kilobitsPerSecond, 12_000)
  assert.equal(scaled(profiles.lan, 2).kilobitsPerSecond, null)
  for (const faster of [0, -1, Number.NaN]) {
    assert.throws(() => scaled(profiles.lan, faster), new RegExp(`above 0; got ${faster}`))
  }
})

test('a profile goes by its own name', () => {
  for (const [name, profile] of Object.entries(profiles)) assert.equal(profile.name, name)
})
