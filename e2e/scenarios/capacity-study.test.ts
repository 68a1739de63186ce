// Made-up ramps with known CPU and losses: their rows, what is compared, and the finding.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileOf, filesOf, optionsOf, testRefusals } from '../lab/testing.ts'
import { capacity } from './capacity.ts'
import { joined, nextOf, type RampSetup, rampsOf } from './capacity-ramps.ts'
import { cpuBetween, rampRow } from './capacity-study.ts'
import { type CapacityMaking, madeCapacityRun, madeCapacityRunOf, madeRamps } from './testing.ts'

const flagsOf = (words: string) => words.split(' ')
const comparing = flagsOf('--experiments comparison --modes websocket/1.1,sse/2 --peers engine.io,ws')
const most = flagsOf('--experiments most --peers= --windows 0 --connections 1000 --sessions 1')

test('each mode is compared with each peer, by its CPU per window in ramps of one session', () => {
  const { comparisons, finding } = capacity.analyse(
    madeCapacityRun({
      flags: [...comparing, '--sessions', '3'],
      // A slow session slows both down.
      cpuMs: ({ subject }, session) => ({
        server:
          session * (subject === 'websocket/1.1' ? 600 + 30 * session : subject === 'engine.io' ? 1000 : 500),
      }),
    }),
  )
  const whole = comparisons.filter(({ measure }) => measure === 'cpuMsPerWindow')
  // WebSocket, and HTTP/2 with each number of windows to a session.
  assert.equal(whole.length, 3 * 2)
  assert.deepEqual(
    whole.find(({ mode }) => mode === 'comparison: WebSocket')?.sessions.map(({ ratio }) => ratio),
    [0.63, 0.66, 0.69],
  )
  assert.match(
    finding,
    /server CPU of WebSocket was 0\.66 \(0\.59 to 0\.74\) times that of Engine\.IO; 1\.32 \(1\.18 to 1\.48, undecided\) times that of ws/,
  )
})

test('a ramp that lost windows is no sample; the finding names it with the server’s words, and the run fails', () => {
  const flags = flagsOf('--experiments workers --workers 1,3 --peers= --sessions 3')
  const isKilled = ({ workers }: RampSetup, session: number) => workers === 3 && session === 2
  const run = madeCapacityRun({
    flags,
    cpuMs: ({ workers }) =>
      workers === 1 ? { server: 1200 } : { log: 100, 'worker 1': 600, 'worker 2': 10 },
    lost: (setup, session) => (isKilled(setup, session) ? { dropped: setup.windows } : {}),
  })
  const summary = capacity.analyse(run)
  const carried = summary.comparisons.find(({ measure }) => measure === 'windowsCarried')
  assert.deepEqual(
    carried?.sessions.map(({ session, ratio }) => ({ session, ratio })),
    [
      { session: 1, ratio: 2 },
      { session: 3, ratio: 2 },
    ],
  )
  assert.equal(summary.ramps.find(({ workers }) => workers === 3)?.dropped, 3200)
  assert.match(
    summary.finding,
    /^A ramp broke, and is in no figure: workers: WebSocket, 3 workers, session 2; of 3,200 windows 0 failed to open and 3,200 were dropped\. The server’s last line: worker 3 ended\. 3 workers carry 2\.00 \(2\.00 to 2\.00\) times/,
  )
  assert.equal(capacity.report(run, summary).isFailure, true)
  assert.match(
    filesOf(capacity, run)['server-errors.txt'] ?? '',
    /^workers: .*3 workers, session 2\nworker 2 ended\nworker 3 ended/,
  )
  const sound = madeCapacityRun({ flags })
  assert.equal(capacity.report(sound, capacity.analyse(sound)).isFailure, false)
})

test('workers carry what their busiest process does, including the first, beside the thesis’s n/2', () => {
  const cpuMs: CapacityMaking['cpuMs'] = ({ workers }): Readonly<Record<string, number>> =>
    workers === 1
      ? { server: 1200 }
      : workers === 2
        ? { log: 100, 'worker 1': 650, 'worker 2': 550 }
        : { log: 600, 'worker 1': 450, 'worker 2': 450, 'worker 3': 450 }
  const run = madeCapacityRun({ flags: flagsOf('--experiments workers --peers= --sessions 1'), cpuMs })
  const { comparisons, figures } = capacity.analyse(run)
  const ratios = (name: string) =>
    comparisons.filter(({ measure }) => measure === name).map(({ ratio }) => ratio)
  assert.deepEqual(ratios('windowsCarried'), [1.84615, 2])
  // All processes together.
  assert.deepEqual(ratios('lateCpuMsPerWindow'), [1.08333, 1.625])
  const first = figures.filter(({ measure }) => measure === 'firstCarries').map(({ p50 }) => p50)
  const one = figures.find(({ measure }) => measure === 'windowsCarried')?.p50 ?? 0
  assert.deepEqual(
    [first[0], Math.round((first[1] ?? 0) / one), Math.round((first[2] ?? 0) / one)],
    [null, 12, 2],
  )
  assert.match(
    fileOf(capacity, run),
    /Here: 2 workers 1\.85, where n\/2 is 1\.00; 3 workers 2\.00, where n\/2 is 1\.50/,
  )
})

test('if the clients were the bottleneck, by processor time or lateness, the finding says so', () => {
  const making = { flags: most, lost: () => ({ opened: 990, failed: 6, dropped: 4, missing: 25 }) }
  const limited = capacity.analyse(madeCapacityRun({ ...making, clientShare: () => 0.95 }))
  assert.equal(limited.ramps[0]?.limitedBy, 'their processor time')
  assert.match(
    limited.finding,
    /The clients were the bottleneck in “most: WebSocket, 1,000 windows”, which says nothing/,
  )
  const free = madeCapacityRun(making)
  assert.doesNotMatch(capacity.analyse(free).finding, /bottleneck/)
  assert.equal(capacity.report(free, capacity.analyse(free)).isFailure, true)
  const [ramp] = madeRamps({ flags: most })
  assert.ok(ramp)
  assert.equal(
    rampRow({ ...ramp, pingLatenessMs: { p50: 1, p99: 101, max: 500 } }).limitedBy,
    'their lateness',
  )
})

test('a ramp that goes on until something fails breaks no promise, and says what failed', () => {
  const [first] = madeRamps({ flags: most })
  assert.ok(first)
  const counts = { ...first.counts, opened: 1200, failed: 300 }
  const run = madeCapacityRunOf([first, { ...first, windows: 1500, counts, reasons: { EMFILE: 300 } }])
  const summary = capacity.analyse(run)
  assert.equal(capacity.report(run, summary).isFailure, false)
  assert.match(
    summary.finding,
    /^WebSocket, 1,000 windows on 2 workers: 1,000 opened, .* 1,500 windows on 2 workers: 1,200 opened, 300 failed and 0 were dropped \(EMFILE 300\)/,
  )
})

test('the next ramp is half as large again, up to the limit, and only where windows share no connection', () => {
  const setupsOf = (...flags: string[]) => rampsOf(optionsOf(capacity, '--experiments', 'most', ...flags))
  const [alone, shared] = setupsOf('--modes', 'websocket/1.1,sse/2', '--connections', '1000')
  assert.ok(alone && shared)
  const options = optionsOf(capacity, '--most-limit', '2000')
  assert.equal(nextOf(alone, options)?.windows, 1500)
  assert.equal(nextOf({ ...alone, windows: 1500 }, options), null)
  assert.equal(nextOf(shared, options), null)
  assert.equal(nextOf(alone, optionsOf(capacity)), null)
})

test('a pong costs what the hold costs, an opening the rest', () => {
  const flags = flagsOf('--experiments comparison --modes websocket/1.1 --peers= --sessions 1')
  const [ramp] = madeRamps({ flags })
  assert.ok(ramp)
  // 20 s of opening 800 windows, 8 s of pongs only.
  const samples = [
    { atMs: 0, cpuMs: 100, rssBytes: 1e6 },
    { atMs: 20_000, cpuMs: 2100, rssBytes: 5e6 },
    { atMs: 28_000, cpuMs: 2180, rssBytes: 9e6 },
  ]
  const row = rampRow({ ...ramp, server: [{ name: 'server', samples, pssBytes: null }] })
  assert.equal(row.cpuMicrosPerPong?.toFixed(3), (80_000 / ((ramp.counts.answered * 8) / 28)).toFixed(3))
  assert.equal(row.cpuMsPerOpening?.toFixed(3), ((2080 - 80 - (80 / 8) * 20) / 800).toFixed(3))
  assert.deepEqual([row.kilobytesPerWindow, row.megabytes, row.proportionalBytes], [10, 9, null])
  assert.equal(cpuBetween({ samples }, 5000, 15_000), 1000)
})

test('the counts of several load processes add up, second by second', () => {
  const second = (open: number, sent: number) => ({
    open,
    opened: open,
    failed: 0,
    dropped: 0,
    sent,
    answered: sent,
  })
  const tally = (roundTrips: readonly number[]) => ({
    windows: 2,
    opened: 2,
    failed: 1,
    dropped: 0,
    due: 4,
    sent: 4,
    answered: 3,
    missing: 1,
    repeated: 0,
    reasons: { reset: 1 },
    roundTripsMs: Float64Array.from(roundTrips),
    roundTripSeconds: Float64Array.from(roundTrips.map((_, place) => Math.min(1, place))),
    openedAfterMs: Float64Array.of(5),
    openingLatenessMs: Float64Array.of(),
    pingLatenessMs: Float64Array.of(1),
    seconds: [second(1, 1), second(2, 2)],
  })
  const { counts, reasons, seconds, roundTripMs, openingLatenessMs } = joined([
    tally([1, 2, 3]),
    tally([5, 6, 10]),
  ])
  assert.deepEqual([counts.opened, counts.missing, reasons.reset], [4, 2, 2])
  assert.deepEqual(
    seconds.map(({ open, sent, roundTripP50Ms }) => [open, sent, roundTripP50Ms]),
    [
      [2, 2, 3],
      [4, 4, 4.5],
    ],
  )
  assert.deepEqual([roundTripMs.p50, roundTripMs.max, openingLatenessMs.p50], [4, 10, null])
})

testRefusals(capacity, [
  ['--experiments speed', /--experiments is "speed": there are clients,/],
  ['--peers sockjs', /--peers is "sockjs": there are ws,/],
  ['--file 0', /--file is "0": must be whole numbers from 1 to 1000000/],
])
