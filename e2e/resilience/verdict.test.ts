// Checks what makes a run a failure, from records made up for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserRecord, FaultKind, FaultRecord, ResilienceRecord, WindowRecord } from './record.ts'
import { type ResilienceSummary, summarise } from './summary.ts'

const promised = { cuts: 1, restarts: 1, kills: 1 }

function windowRecord(change: Partial<WindowRecord> = {}): WindowRecord {
  return {
    name: 'w1',
    mode: 'sse/2',
    channel: 'c',
    isWriter: true,
    published: ['w1-1', 'w1-2'],
    accepted: new Map([
      ['w1-1', 1],
      ['w1-2', 2],
    ]),
    refused: [],
    seen: [
      { id: 'w1-1', seq: 1 },
      { id: 'w1-2', seq: 2 },
    ],
    outages: [
      { fromMs: -50, toMs: 0 },
      { fromMs: 100, toMs: 350 },
    ],
    frames: 3,
    recovered: 1,
    snapshots: 0,
    newLogs: 0,
    repairs: 0,
    modeChanges: 0,
    cuts: 1,
    stalls: 0,
    reasons: new Map(),
    ...change,
  }
}

function fault(kind: FaultKind, isDone = true): FaultRecord {
  return { kind, how: '', target: '', atMs: 0, lastedMs: 0, outcome: '', isDone }
}

function summaryOf(change: Partial<ResilienceRecord> = {}): ResilienceSummary {
  const record: ResilienceRecord = {
    lastedMs: 1000,
    windows: [windowRecord()],
    faults: [fault('cut'), fault('restart'), fault('kill')],
    memory: [],
    log: [
      { id: 'w1-1', seq: 1 },
      { id: 'w1-2', seq: 2 },
    ],
    browsers: [],
    crashes: [],
    settledAfterMs: 10,
    ...change,
  }
  const environment = {} as ResilienceSummary['environment']
  const when = { startedAt: '', finishedAt: '' }
  return summarise(record, {
    command: '',
    ...when,
    environment,
    parameters: {},
    seed: 1,
    promised,
    modes: ['sse/2'],
  })
}

test('a run that kept every promise has no failures, and its figures are the record’s', () => {
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
  assert.match(finding, /^Through 1 cut connections, 1 restarts and 1 kills all 2 deliveries came/)
})

test('an outage that lasts until the end counts up to there', () => {
  const outages = [
    { fromMs: -50, toMs: 0 },
    { fromMs: 400, toMs: null },
  ]
  assert.equal(summaryOf({ windows: [windowRecord({ outages })] }).modes[0]?.longestOutageMs, 600)
})

const browser: BrowserRecord = {
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
  [
    'a message that never came',
    { windows: [windowRecord({ seen: [{ id: 'w1-1', seq: 1 }] })] },
    /sse\/2: 1 lost/,
  ],
  [
    'a message never acknowledged',
    { windows: [windowRecord({ published: ['w1-1', 'w1-2', 'w1-3'] })] },
    /1 messages/,
  ],
  ['a message that the log has not', { log: [{ id: 'w1-1', seq: 1 }] }, /The log: 1 lost/],
  ['a server that ended unasked', { crashes: ['TypeError'] }, /ended 1 times/],
  ['windows that did not come back', { settledAfterMs: null }, /in time/],
  [
    'a kill that met nothing',
    { faults: [fault('restart'), fault('kill', false)] },
    /Only 0 of the 1 promised kills/,
  ],
  ['cuts that met nobody', { windows: [windowRecord({ cuts: 0 })] }, /Only 0 of the 1 promised cuts/],
  ['a browser with another text', { browsers: [{ ...browser, isEqual: false }] }, /does not show/],
]

for (const [name, change, failure] of wrongs) {
  test(`${name} fails the run, and is said`, () => {
    const { failures, finding } = summaryOf(change)
    assert.equal(failures.length, 1)
    assert.match(failures[0] ?? '', failure)
    assert.match(finding, /^Not held through/)
  })
}
