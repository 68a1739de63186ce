// Made-up records: lost messages, failures of a run, timely returns, and flat memory.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWindowRecord, type Outage, type Seen, type WindowRecord } from '../load/cuttable-window.ts'
import {
  accountFor,
  analyse,
  type BrowserRecord,
  type FaultKind,
  type FaultRecord,
  isInTime,
  type MemorySample,
  type ResilienceRecord,
  type ResilienceSummary,
  returnsIn,
} from './resilience-summary.ts'

/** `a-1@5`: message a-1 under number 5. */
function seen(words: string): Seen[] {
  return words
    .split(' ')
    .filter(Boolean)
    .map((word) => {
      const [id = '', seq = ''] = word.split('@')
      return { id, seq: Number(seq) }
    })
}

const accepted = new Map([
  ['a-1', 1],
  ['a-2', 2],
  ['b-1', 3],
  ['a-10', 4],
])
const noWrong = { lost: [], told: [], duplicated: [], reordered: [] }

test('all, once and in order', () => {
  assert.deepEqual(accountFor(seen('a-1@1 a-2@2 b-1@3 a-10@4'), accepted), { n: 4, ...noWrong })
})

test('a message that never arrived is lost', () => {
  assert.deepEqual(accountFor(seen('a-1@1 b-1@3'), accepted), { n: 2, ...noWrong, lost: ['a-2', 'a-10'] })
})

test('a message that arrived again is only a duplicate, under its number or another', () => {
  const account = accountFor(seen('a-1@1 a-2@2 a-1@1 b-1@3 a-10@4 a-2@9'), accepted)
  assert.deepEqual(account, { n: 6, ...noWrong, duplicated: ['a-1', 'a-2'] })
})

test('a message after a later number of the log is out of order', () => {
  assert.deepEqual(accountFor(seen('a-1@1 b-1@3 a-2@2 a-10@4'), accepted).reordered, ['a-2'])
})

test('a message after a later one of its sender is out of order, whatever the log says', () => {
  assert.deepEqual(accountFor(seen('a-2@1 a-1@2 b-1@3 a-10@4'), accepted).reordered, ['a-1'])
  // Counters are numbers, not strings: 10 comes after 2.
  assert.deepEqual(accountFor(seen('a-2@1 a-10@2'), new Map()).reordered, [])
})

test('an unacknowledged message is not expected, and no delivery of an accepted one', () => {
  assert.deepEqual(accountFor(seen('a-1@1 a-2@2 b-1@3 a-10@4 c-1@5'), accepted), { n: 4, ...noWrong })
})

test('a message missing at a snapshot is told; one missing elsewhere is lost', () => {
  const place = { place: 1, head: 3 }
  assert.deepEqual(accountFor(seen('a-1@1 a-10@4'), accepted, [place]), {
    n: 2,
    ...noWrong,
    told: ['a-2', 'b-1'],
  })
  assert.deepEqual(accountFor(seen('a-1@1 a-10@4'), accepted, [{ place: 2, head: 4 }]), {
    n: 2,
    ...noWrong,
    lost: ['a-2'],
    told: ['b-1'],
  })
})

test('a snapshot does not excuse missing later messages', () => {
  const early = [{ place: 1, head: 2 }]
  const { lost, told } = accountFor(seen('a-1@1'), accepted, early, new Set(accepted.keys()))
  assert.deepEqual([lost, told], [['b-1', 'a-10'], ['a-2']])
})

test('after a snapshot a window starts over: it may repeat messages, and numbers may restart', () => {
  const snapshots = [{ place: 3, head: 1 }]
  const account = accountFor(seen('a-1@1 a-2@2 b-1@3 a-1@1 b-1@2 a-10@3'), accepted, snapshots)
  assert.deepEqual(account, { n: 6, ...noWrong })
  const twice = accountFor(seen('a-1@1 a-2@2 b-1@3 a-1@1 a-10@3 a-10@4'), accepted, snapshots)
  assert.deepEqual(twice.duplicated, ['a-10'])
})

const promised = { cuts: 1, restarts: 1, kills: 1 }

function windowRecord(change: Partial<WindowRecord> = {}): WindowRecord {
  return {
    ...createWindowRecord('w1', 'sse/2', true),
    published: ['w1-1', 'w1-2'],
    accepted: new Map([
      ['w1-1', 1],
      ['w1-2', 2],
    ]),
    seen: seen('w1-1@1 w1-2@2'),
    outages: [{ fromMs: 100, toMs: 350 }],
    frames: 3,
    recovered: 1,
    cuts: 1,
    ...change,
  }
}

function fault(kind: FaultKind, isDone = true): FaultRecord {
  return { kind, how: '', target: '', atMs: 0, lastedMs: 0, outcome: '', isDone }
}

function recordOf(change: Partial<ResilienceRecord> = {}): ResilienceRecord {
  return {
    lastedMs: 1000,
    windows: [windowRecord()],
    faults: [fault('cut'), fault('restart'), fault('kill')],
    memory: [],
    log: seen('w1-1@1 w1-2@2'),
    browsers: [],
    crashes: [],
    settledAfterMs: 10,
    ...change,
  }
}

function summaryOf(change: Partial<ResilienceRecord> = {}): ResilienceSummary {
  const environment = {} as ResilienceSummary['environment']
  const known = {
    command: '',
    startedAt: '',
    finishedAt: '',
    environment,
    parameters: {},
    seed: 1,
    errors: '',
  }
  return analyse({ ...known, record: recordOf(change), promised, modes: ['sse/2'] })
}

test("a run that kept every promise has no failures, and the record's figures", () => {
  const { failures, modes, finding } = summaryOf()
  assert.deepEqual(failures, [])
  assert.deepEqual(
    modes.map(({ accepted, expected, n, lost, longestOutageMs, heldBack }) => [
      accepted,
      expected,
      n,
      lost,
      longestOutageMs,
      heldBack,
    ]),
    [[2, 2, 2, 0, 250, 1]],
  )
  assert.match(finding, /^Through 1 cut connection, 1 restart and 1 kill all 2 deliveries arrived/)
})

const away = (toMs: number) => ({
  faults: [fault('cut'), fault('restart'), { ...fault('kill'), atMs: 1000, lastedMs: 1000 }],
  lastedMs: 60_000,
  windows: [windowRecord({ outages: [{ fromMs: 1001, toMs }] })],
})

test('the time until windows are back after the server’s return is given per mode and in the finding', () => {
  const { failures, returns, finding } = summaryOf(away(3100))
  assert.deepEqual(failures, [])
  const figures = { n: 1, medianMs: 1100, worstMs: 1100, hit: 0, cutShort: 0 }
  assert.deepEqual(returns, {
    modes: [{ mode: 'sse/2', ...figures }],
    browsers: [],
    all: { mode: 'all', ...figures },
  })
  assert.match(
    finding,
    / Windows were back 1\.1 s after the server’s return in the median, 1\.1 s at worst\.$/,
  )
})

test('an outage that lasts until the end counts up to there', () => {
  const outages = [{ fromMs: 400, toMs: null }]
  assert.equal(summaryOf({ windows: [windowRecord({ outages })] }).modes[0]?.longestOutageMs, 600)
})

const browser: BrowserRecord = {
  name: 'chromium-1',
  outages: [],
  mode: 'sse/2',
  isWriter: true,
  typed: 1,
  expected: 1,
  n: 1,
  lost: 0,
  duplicated: 0,
  reordered: 0,
  isEqual: true,
}

const wrongs: [name: string, change: Partial<ResilienceRecord>, failure: RegExp][] = [
  ['a message that never came', { windows: [windowRecord({ seen: seen('w1-1@1') })] }, /sse\/2: 1 lost/],
  [
    'a message never acknowledged',
    { windows: [windowRecord({ published: ['w1-1', 'w1-2', 'w1-3'] })] },
    /1 messages/,
  ],
  [
    'a log with other messages, and another number',
    { log: seen('w1-2@5 c-1@6') },
    /The log: 1 lost, 1 under another number\./,
  ],
  ['a server that crashed', { crashes: ['TypeError'] }, /Server crashes: 1\./],
  ['windows that did not come back', { settledAfterMs: null }, /in time/],
  [
    'a kill without a target',
    { faults: [fault('restart'), fault('kill', false)] },
    /Only 0 of the 1 promised kills/,
  ],
  ['cuts without a target', { windows: [windowRecord({ cuts: 0 })] }, /Only 0 of the 1 promised cuts/],
  [
    'windows that return late',
    away(7600),
    /windows were back in 5\.6 s in the median and 5\.6 s at worst, required at most 2 s and 5 s; too late: sse\/2\.$/,
  ],
  [
    'a browser’s window that returns late',
    { ...away(2100), browsers: [{ ...browser, outages: [{ fromMs: 1100, toMs: 9000 }] }] },
    / and 7\.0 s at worst, .*; too late: Chromium’s sse\/2\.$/,
  ],
  ['a browser with another text', { browsers: [{ ...browser, isEqual: false }] }, /does not show/],
]

for (const [name, change, failure] of wrongs) {
  test(`${name} fails the run, and is reported`, () => {
    const { failures, finding } = summaryOf(change)
    assert.equal(failures.length, 1)
    assert.match(failures[0] ?? '', failure)
    assert.match(finding, /^Not held through/)
  })
}

const outage = (fromMs: number, toMs: number | null): Outage => ({ fromMs, toMs })

const end = (atMs: number, upMs: number, kind: FaultKind = 'restart') => ({
  ...fault(kind),
  atMs,
  lastedMs: upMs - atMs,
})

/** The returns of one window. */
function found(
  outages: readonly Outage[],
  { disturbances = [] as readonly Outage[], ends = [end(1000, 2000)] } = {},
) {
  const window = windowRecord({ outages: [...outages], disturbances: [...disturbances] })
  const record = recordOf({ windows: [window], faults: ends, lastedMs: 20_000, settledAfterMs: 0 })
  return returnsIn(record).fleet.map(({ serverUpMs, afterMs, leftOut }) => [serverUpMs, afterMs, leftOut])
}

test('counts from the server’s return, not from its end, to the window’s first frame', () => {
  assert.deepEqual(found([outage(1010, 2700)]), [[2000, 700, null]])
})

test('each return of the server counts, after kills and restarts', () => {
  const ends = [end(1000, 2000), end(9000, 9500, 'kill')]
  assert.deepEqual(found([outage(1010, 2700), outage(9010, 9800)], { ends }), [
    [2000, 700, null],
    [9500, 300, null],
  ])
})

test('a window that notices late was away since the server’s return; one that never returned, until the end', () => {
  assert.deepEqual(found([outage(6000, 9000)]), [[2000, 7000, null]])
  assert.deepEqual(found([outage(1010, null)]), [[2000, 18_000, null]])
})

test('a window that was not away is not counted', () => {
  assert.deepEqual(found([outage(500, 900)]), [])
})

test('a window cut or stalled before its return is excluded; one cut before the server went is counted', () => {
  const hit = 'cut or stalled meanwhile'
  const after = (disturbance: Outage) =>
    found([outage(1010, 3000)], { disturbances: [disturbance] }).map(([, , leftOut]) => leftOut)
  assert.deepEqual(after(outage(2500, 2500)), [hit])
  assert.deepEqual(after(outage(500, 2500)), [hit])
  assert.deepEqual(after(outage(500, 500)), [null])
  assert.deepEqual(after(outage(3500, 4000)), [null])
})

test('a server that leaves again ends the measurement, unless the window was late by then', () => {
  const ends = [end(1000, 2000), end(4000, 5000)]
  assert.deepEqual(found([outage(1010, 5600)], { ends }), [
    [2000, 2000, 'the server was away again'],
    [5000, 600, null],
  ])
  const later = [end(1000, 2000), end(8000, 9000)]
  assert.deepEqual(found([outage(1010, 9600)], { ends: later })[0], [2000, 6000, null])
})

test('a fault that waited for the server’s start does not produce a time before the return', () => {
  const ends = [end(1000, 5000), end(3000, 9000)]
  assert.deepEqual(found([outage(1010, 9400)], { ends }), [
    [5000, 0, 'the server was away again'],
    [9000, 400, null],
  ])
})

test('figures cover the returns that count, and must be at most two seconds in the median and five at worst', () => {
  /** Windows that were back this many ms after the server's return. */
  const of = (afterMs: readonly number[], disturbances: Outage[] = []) => {
    const windows = afterMs.map((ms) => windowRecord({ outages: [outage(1010, 2000 + ms)], disturbances }))
    const { returns } = summaryOf({ windows, faults: [end(1000, 2000)], lastedMs: 20_000 })
    assert.ok(returns.modes[0])
    return returns.modes[0]
  }
  const figures = { mode: 'sse/2', hit: 0, cutShort: 0 }
  assert.deepEqual(of([100, 300, 5000]), { ...figures, n: 3, medianMs: 300, worstMs: 5000 })
  const often = (ms: number) => of(Array<number>(10).fill(ms))
  assert.deepEqual([of([]), often(2000), of([5000])].map(isInTime), [true, true, true])
  assert.deepEqual([often(2001), of([1, 1, 5001])].map(isInTime), [false, false])
  const cut = of([1], [outage(1500, 1500)])
  assert.deepEqual(cut, { ...figures, n: 0, medianMs: null, worstMs: null, hit: 1 })
})

/**
 * A life of `count` samples, two a second, with a heap that rises and falls with garbage
 * collection.
 */
function lifeOf(life: number, count: number, growth: { rss: number; heap: number }): MemorySample[] {
  return Array.from({ length: count }, (_, place) => ({
    atMs: life * 100_000 + place * 500,
    life,
    rssBytes: 150e6 + growth.rss * place,
    heapUsedBytes: 30e6 + (place % 5) * 4e6 + growth.heap * place,
    windows: 50,
  }))
}

const memoryOf = (memory: readonly MemorySample[]) => summaryOf({ memory }).memory

const still = { rss: 0, heap: 0 }

test('a heap that rises and falls is flat; one that retains more and more is not', () => {
  assert.equal(memoryOf(lifeOf(1, 60, still)).last?.isFlat, true)
  assert.equal(memoryOf(lifeOf(1, 60, { rss: 0, heap: 1e6 })).last?.isFlat, false)
  assert.equal(memoryOf(lifeOf(1, 60, { rss: 4e6, heap: 0 })).last?.isFlat, false)
})

test('only the last process is judged, excluding its warm-up', () => {
  const samples = [...lifeOf(1, 60, { rss: 9e6, heap: 9e6 }), ...lifeOf(2, 40, still)]
  const { atFirst, last } = memoryOf(samples)
  assert.equal(atFirst?.life, 1)
  assert.equal(last?.isFlat, true)
  assert.ok(Number(last?.start.atMs) >= 204_000)
})

test('too short a life is not judged', () => {
  assert.equal(memoryOf(lifeOf(1, 10, still)).last, null)
  assert.deepEqual(memoryOf([]), { atFirst: null, last: null })
})
